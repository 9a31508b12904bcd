"""Numbers instead of classes: the same machine with squared errors."""

import numpy as np
import pandas as pd
import pytest
from problems import FAST
from sklearn.metrics import r2_score

from rlselect import load, save
from rlselect.datumwise import DatumwiseRegressor, NetworkTraining, PaperIteration
from rlselect.datumwise._answer_cuts import answer_edges

QUICK = {
    "bins": FAST,
    "linear": FAST,
    "network": NetworkTraining(steps=300, n_members=2, hidden=24, batch=64),
}


def make_data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, 50 + 10 * (X[:, 0] + 0.7 * X[:, 1]) + 2 * rng.normal(size=n)


@pytest.fixture(scope="module", params=QUICK)
def fitted(request):
    X, y = make_data()
    model = DatumwiseRegressor(scoring=request.param, search=QUICK[request.param], random_state=0)
    return model.fit(X[:200], y[:200]), X[200:], y[200:]


def test_it_buys_what_counts_and_predicts(fitted):
    model, X, y = fitted
    assert model.score(X, y) > 0.7
    assert model.score(X, y) == pytest.approx(r2_score(y, model.predict(X)))
    weights = np.arange(len(y)) % 3
    assert model.score(X, y, weights) == pytest.approx(r2_score(y, model.predict(X), sample_weight=weights))
    assert set(np.argsort(-model.inclusion_)[:2]) == {0, 1}
    changed = X.copy()
    changed[~model.acquire(X)] = 99.0
    np.testing.assert_array_equal(model.predict(changed), model.predict(X))


def test_answers_are_means_between_quantiles_and_cost_their_squared_distance():
    X, y = make_data()
    weights = np.random.default_rng(1).integers(1, 4, size=300).astype(float)
    model = DatumwiseRegressor(scoring="bins", search=FAST, n_answers=6, random_state=0)
    model.fit(X, y, weights)
    copies = np.repeat(y, weights.astype(int))
    cuts = np.quantile(copies, np.arange(1, 6) / 6, method="inverted_cdf")
    place = np.searchsorted(cuts, copies, side="left")
    np.testing.assert_allclose(model.answers_, [copies[place == k].mean() for k in range(6)])
    losses = (model.answers_[:, None] - model.answers_[None]) ** 2 / copies.var()
    np.testing.assert_allclose(model._fitted.rules.losses, losses)
    assert model._fitted.variance == pytest.approx(copies.var())
    assert len(DatumwiseRegressor(scoring="bins")._read_answers(y, np.ones(300))[0]) == 8
    answers = DatumwiseRegressor()._read_answers(y, np.ones(300))[0]
    place = np.searchsorted(answer_edges(y, np.ones(300), 16), y, side="left")
    np.testing.assert_allclose(answers, [y[place == k].mean() for k in range(16)])


def test_a_problem_solved_exactly():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(400, 3)).astype(float)
    y = 5 + np.where(X[:, 0] == 1, X[:, 1], 3 * X[:, 2])
    model = DatumwiseRegressor(scoring="bins", feature_cost=0.02, random_state=0).fit(X, y)
    assert model.scoring_ == "table"
    np.testing.assert_allclose(model.predict(X), y)
    # the switch, and then the sensor that it points to
    assert -model.value_ == pytest.approx(0.04)
    assert model.cost(X) == pytest.approx(np.full(400, 0.04))


def test_sessions_explain_and_agree(fitted):
    model, X, _ = fitted
    orders, answers = model.acquisition_order(X[:10]), model.predict(X[:10])
    for row, order, answer in zip(X[:10], orders, answers, strict=True):
        session = model.start()
        assert session.is_number
        while (name := session.next()) is not None:
            why = session.explain()
            assert why.word == "squared error"
            assert 0 <= why.after <= why.now
            session.tell(row[int(name[1:])])
        result = session.result()
        assert result.acquired == order
        assert result.label == pytest.approx(answer, rel=1e-5)
    first = model.start().explain()
    assert 0.5 < first.now < 1.5  # with nothing known, about the variance


def test_prices_budgets_and_frontier_after_the_fit(fitted):
    model, X, y = fitted
    bought = [model.at(feature_cost=price).acquire(X).sum() for price in (0.0, 0.05, 2.0)]
    assert bought == sorted(bought, reverse=True)
    assert bought[-1] == 0
    dear = model.at(feature_cost=2.0)
    np.testing.assert_allclose(dear.predict(X), dear.start().result().label)
    assert model.with_budget(1).acquire(X).sum(axis=1).max() <= 1
    known = model.at(known=["x0"])
    assert not known.acquire(X)[:, 0].any()
    assert model.with_mean_cost(0.01, X).cost(X).mean() <= 0.01 + 1e-9
    curve = model.frontier(X, y)
    assert set(curve) == {"setting", "sparsity", "cost", "r2", "expected"}
    place = 4
    other = model.at(feature_cost=float(curve["setting"][place]))
    assert curve["r2"][place] == pytest.approx(r2_score(y, other.predict(X)), abs=1e-5)
    assert curve["sparsity"][place] == pytest.approx(other.sparsity(X))
    assert np.abs(curve["r2"] - curve["expected"]).mean() < 0.25


def test_summary_report_tree_and_files(fitted, tmp_path):
    model, X, y = fitted
    facts = model.report(X=X, y=y).dict["facts"]
    assert facts["R squared"] == pytest.approx(model.score(X, y))
    assert facts["Mean squared error"] == pytest.approx(np.mean((model.predict(X) - y) ** 2))
    costs = model.cost(X) + (model.predict(X) - y) ** 2 / model._fitted.variance
    assert facts["Cost per case, errors included"] == pytest.approx(costs.mean())
    assert "R squared" not in model.report(X=X).dict["facts"]
    text = str(model.summary())
    assert "Method: DatumwiseRegressor" in text
    assert "Expected squared error before" in text
    leaves = str(model.question_tree(X, max_depth=1)).split("-> ")[1:]
    assert all(float(leaf.split()[0]) in np.round(model.answers_, 2) for leaf in leaves)
    save(model, tmp_path / "a.model")
    np.testing.assert_array_equal(load(tmp_path / "a.model").predict(X), model.predict(X))


def test_columns_of_text_gaps_and_weights():
    X, y = make_data()
    frame = pd.DataFrame(X, columns=list("abcde")).assign(
        kind=np.where(X[:, 0] > 0, "high", "low"), target=y, w=np.repeat([1.0, 2.0], 150)
    )
    frame.loc[::7, "b"] = np.nan
    model = DatumwiseRegressor(scoring="bins", search=FAST, random_state=0)
    model.fit(frame, "target", sample_weight="w")
    assert model.score(frame, "target", sample_weight="w") > 0.6
    twice = pd.concat([frame, frame[150:]])
    again = DatumwiseRegressor(scoring="bins", search=FAST, random_state=0).fit(
        twice.drop(columns=["target", "w"]), twice["target"]
    )
    np.testing.assert_allclose(model.predict(frame), again.predict(frame.drop(columns=["target", "w"])))


def test_what_is_refused():
    X, y = make_data(60)
    with pytest.raises(ValueError, match="y is 3 in every row; give rows with different numbers"):
        DatumwiseRegressor().fit(X, np.full(60, 3.0))
    with pytest.raises(TypeError, match="y holds text"):
        DatumwiseRegressor().fit(X, np.where(y > 50, "a", "b"))
    with pytest.raises(ValueError, match="n_answers=1 was given"):
        DatumwiseRegressor(n_answers=1).fit(X, y)
    with pytest.raises(ValueError, match="came with scoring='network'"):
        DatumwiseRegressor(search=PaperIteration()).fit(X, y)


@pytest.mark.parametrize("seed", range(4))
def test_two_rows_are_enough(seed):
    """Both may fall into one fold, which leaves another without rows."""
    training = NetworkTraining(steps=8, n_members=2, hidden=4, batch=4)
    model = DatumwiseRegressor(search=training, random_state=seed).fit([[0.0], [1.0]], [1.0, 2.0])
    assert ((model.predict([[0.0], [1.0]]) >= 1) & (model.predict([[0.0], [1.0]]) <= 2)).all()


@pytest.mark.slow
def test_a_case_says_which_feature_counts():
    """One column says which of two others to read; how often small networks see it hangs on their draws."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(1500, 10))
    y = np.where(X[:, 0] > 0, 2 * X[:, 1], 2 * X[:, 2]) + 0.5 * rng.normal(size=1500)
    training = NetworkTraining(steps=1200, hidden=64, n_members=4)
    first = X[500:, 0] > 0
    idle, useful = [], []
    for seed in range(3):
        model = DatumwiseRegressor(search=training, random_state=seed).fit(X[:500], y[:500])
        assert model.score(X[500:], y[500:]) > 0.8
        bought = model.acquire(X[500:])
        idle.append(np.where(first, bought[:, 2], bought[:, 1]).mean())
        useful.append(np.where(first, bought[:, 1], bought[:, 2]).mean())
    assert np.mean(useful) > 0.98
    # of the column that says nothing of them, a third of the cases do without
    assert np.mean(idle) < 0.7


def test_answers_far_from_zero_are_those_of_copies():
    rng = np.random.default_rng(0)
    y, weight = 1e14 + rng.standard_normal(24), rng.integers(1, 4, 24)
    rows = np.repeat(np.arange(24), weight)
    _, labels, errors, variance = DatumwiseRegressor()._read_answers(y, weight.astype(float))
    _, repeated, others, spread = DatumwiseRegressor()._read_answers(y[rows], np.ones(len(rows)))
    np.testing.assert_array_equal(labels[rows], repeated)
    np.testing.assert_allclose(errors, others, rtol=1e-12)
    assert variance == pytest.approx(spread, rel=1e-12)
