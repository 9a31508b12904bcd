"""Promises about errors: episodes against sessions, thresholds against a plain search, and their coverage."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from problems import FAST
from scipy import stats

from rlselect import DatumwiseClassifier, load, save
from rlselect.datumwise import NetworkTraining
from rlselect.datumwise._rules import PurchaseRules
from rlselect.datumwise._sure import Promise, find_threshold

SEARCHES = {"bins": FAST, "network": NetworkTraining(steps=150, n_members=2, hidden=16, batch=32)}


def make_data(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    # some cases cannot be told apart at all
    clear = X[:, 0] + X[:, 1] + 0.2 * rng.normal(size=n) > 0
    return X, np.where(X[:, 2] > 0.8, rng.random(n) < 0.5, clear).astype(int)


@pytest.fixture(scope="module", params=[*SEARCHES, "budget"])
def fitted(request):
    X, y = make_data()
    scoring = "bins" if request.param == "budget" else request.param
    limit = {"budget": 2} if request.param == "budget" else {}
    model = DatumwiseClassifier(
        scoring=scoring, search=SEARCHES[scoring], feature_cost=0.02, random_state=0, **limit
    )
    return model.fit(X[:300], y[:300]), X[300:], y[300:]


@pytest.mark.parametrize("buy_more", [True, False])
def test_sessions_and_tables_agree(fitted, buy_more):
    model, X, y = fitted
    threshold = float(np.quantile(model.predict_proba(X).max(axis=1), 0.6))
    promise = Promise(0.2, 0.9, threshold, buy_more)
    careful = model._with(replace(model._fitted, promise=promise))
    assert 0 < careful.decided(X).mean() < 1
    decided, orders, answers = careful.decided(X), careful.acquisition_order(X), careful.predict(X)
    shares, plain = careful.predict_proba(X), model.acquisition_order(X)
    np.testing.assert_array_equal(decided, shares[np.arange(len(X)), answers] >= threshold)
    for i, row in enumerate(X[:25]):
        session = careful.start()
        while (name := session.next()) is not None:
            session.tell(row[int(name[1:])])
        result = session.result()
        assert (result.acquired, result.decided, result.label) == (orders[i], decided[i], answers[i])
    for before, after, sure in zip(plain, orders, decided, strict=True):
        assert after[: len(before)] == before
        if not buy_more:
            assert after == before
        elif not sure:
            assert len(after) == (6 if model.budget is None else model.budget)
    shown = model.with_max_error(0.3, X, y, buy_more=buy_more)
    # errors among the answered are as few as was promised, on the rows that show it
    assert (shown.predict(X) != y)[shown.decided(X)].mean() <= 0.3


def moments(model, row):
    """Confidence and label at each moment at which the policy would answer, in a case that buys on and on."""
    session, policy, out = model.start(), model._fitted.policy, []
    rest = list(model.units_)
    while True:
        name = session.next()
        if name is None:
            result = session.result()
            out.append((result.probabilities[result.label], result.label))
            scores = policy.action_scores(model._fitted.encoder.encode(session._x), session._bought)[0]
            rest.sort(key=lambda own: -scores[policy.rules.names.index(own)])
            if not rest or len(result.acquired) == model.budget:
                return out
            name = rest[0]
        rest.remove(name)
        session.tell(row[int(name[1:])], of=name)


@pytest.mark.parametrize("buy_more", [True, False])
def test_the_threshold_is_the_lowest_that_is_shown(fitted, buy_more):
    model, X, y = fitted
    ends = [moments(model, row)[: None if buy_more else 1] for row in X[:150]]
    tried, values = 1 - np.geomspace(1e-3, 0.5, 40), []
    for threshold in tried:
        labels = [next((label for share, label in own if share >= threshold), None) for own in ends]
        given = sum(label is not None for label in labels)
        wrong = sum(label is not None and label != truth for label, truth in zip(labels, y, strict=False))
        values.append(stats.binom.cdf(wrong, given, 0.2) if given else 1.0)
    found = np.inf
    for start in (0, 8, 16, 24, 32):
        place = start
        while place < 40 and values[place] <= 0.1 / 5:
            found = min(found, tried[place])
            place += 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        careful = model.with_max_error(0.2, X[:150], y[:150], buy_more=buy_more)
    assert careful._fitted.promise.threshold == found


def test_promises_are_kept_as_often_as_is_said():
    """Whatever the confidences are worth: here they say too much, and errors hover about what is allowed."""
    rules = PurchaseRules(["x"], [np.array([0])], np.ones(1), 1 - np.eye(2))
    policy = SimpleNamespace(
        rules=rules,
        action_scores=lambda codes, bought: np.column_stack([np.zeros(len(codes)), codes, 1 - codes]),
        probabilities=lambda codes, bought: np.column_stack([codes, 1 - codes]),
    )
    rng = np.random.default_rng(0)
    grid = np.linspace(0.5, 1, 2001)
    error = np.clip(0.12 - 0.15 * (grid - 0.5), 0, 1)  # from .12 to .045: most of it is close to .1
    broken, answered = 0, []
    for _ in range(400):
        confidence = rng.uniform(0.5, 1, 400)
        labels = (rng.random(400) < np.interp(confidence, grid, error)).astype(int)
        closed = np.ones((400, 1), dtype=bool)
        threshold = find_threshold(policy, confidence[:, None], closed, None, labels, 0.08, 0.9, True)
        over = grid >= threshold
        broken += bool(over.any() and error[over].mean() > 0.08)
        answered.append(over.mean())
    # at most 10 % of 400, with three standard errors
    assert broken <= 40 + 3 * 6
    assert np.mean(answered) > 0.05  # it is no empty promise


def test_promises_are_saved_and_reported(fitted, tmp_path):
    model, X, y = fitted
    careful = model.with_max_error(0.3, X, y, level=0.8)
    save(careful, tmp_path / "a.model")
    np.testing.assert_array_equal(load(tmp_path / "a.model").decided(X), careful.decided(X))
    facts = careful.report(X=X, y=y).dict["facts"]
    assert facts["Promised"] == "at most 0.3 of the answers wrong, at level 0.8"
    assert facts["Answered"] == pytest.approx(careful.decided(X).mean())
    right = (careful.predict(X) == y)[careful.decided(X)]
    assert facts["Accuracy of what is answered"] == pytest.approx(right.mean())
    assert model.decided(X).all()
    assert "Promised" not in model.report(X=X, y=y).dict["facts"]


def test_what_cannot_be_promised(fitted):
    model, X, y = fitted
    with pytest.warns(UserWarning, match="The 20 rows do not show that any answers"):
        nothing = model.with_max_error(0.01, X[:20], y[:20])
    assert not nothing.decided(X).any()
    for change in (
        lambda: nothing.at(feature_cost=0.1),
        lambda: nothing.with_budget(1),
        lambda: nothing.with_mean_cost(0.1, X),
        lambda: nothing.frontier(X, y),
        lambda: nothing.with_max_error(0.1, X, y),
    ):
        with pytest.raises(ValueError, match="after with_max_error"):
            change()
    for wrong in ({"max_error": 0.0}, {"max_error": 1.0}, {"max_error": 0.1, "level": 1.0}):
        with pytest.raises(ValueError, match="above 0 and below 1"):
            model.with_max_error(X=X, y=y, **wrong)
    with pytest.raises(ValueError, match="buy_more"):
        model.with_max_error(0.1, X, y, buy_more="yes")
