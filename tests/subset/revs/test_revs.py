"""REVS: what it answers, and that every option matters."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, d2_tweedie_score, r2_score
from sklearn.model_selection import StratifiedKFold, cross_val_score

import rlselect
from rlselect import REVS
from rlselect.learn import UCB, Softmax
from rlselect.simulate import make_revs
from rlselect.subset import Sarsa
from rlselect.subset.revs.evidence._refit import SeparationWarning


def problem(family="gaussian", n=150, p=10, effects=(1.0, -1.0, 0.7), seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    eta = X[:, : len(effects)] @ np.array(effects)
    if family == "gaussian":
        return X, eta + 0.7 * rng.standard_normal(n)
    if family == "binomial":
        return X, (rng.random(n) < expit(2.0 * eta)).astype(int)
    return X, rng.poisson(np.exp(0.5 + 0.6 * eta))


def selected(fitted):
    return np.flatnonzero(fitted.support_).tolist()


# ---- the answer ----


@pytest.mark.parametrize("p", [6, 30])
@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_an_easy_problem_is_solved(family, p):
    X, y = problem(family, n=300, p=p)
    fitted = REVS(family=family, random_state=0).fit(X, y)
    assert selected(fitted) == [0, 1, 2]
    assert fitted.inclusion_[:3].min() > 0.9
    assert fitted.inclusion_[3:].max() < 0.5
    assert np.all((fitted.inclusion_ >= 0) & (fitted.inclusion_ <= 1))
    assert fitted.family_ == family
    assert fitted.stop_reason_ == "converged"
    assert fitted.n_rows_read_ == 300
    assert fitted.n_features_in_ == p


@pytest.mark.parametrize("policy", ["softmax", "epsilon-greedy", "ucb", "thompson", UCB(c=0.5), Softmax(2.0)])
@pytest.mark.parametrize("p", [6, 25])
def test_every_policy_solves_it(policy, p):
    X, y = problem(p=p)
    fitted = REVS(policy=policy, random_state=0).fit(X, y)
    assert selected(fitted) == [0, 1, 2]


def test_more_variables_than_rows():
    data = make_revs(n=100, p=300, n_nonzero=4, structure="sparse", random_state=1)
    fitted = REVS(random_state=0).fit(data.X, data.y)
    np.testing.assert_array_equal(fitted.support_, data.support)


def test_fitted_shapes_and_ranking():
    X, y = problem(p=25)
    fitted = REVS(random_state=0).fit(X, y)
    for name in ("support_", "ranking_", "inclusion_", "gain_", "coef_"):
        assert getattr(fitted, name).shape == (25,)
    np.testing.assert_array_equal(np.sort(fitted.ranking_), np.arange(1, 26))
    order = np.argsort(fitted.ranking_)
    assert set(order[:3]) == {0, 1, 2}
    # 1 is best: selected first, then by inclusion
    assert np.all(np.diff(fitted.inclusion_[order][:3]) <= 1e-12)
    assert np.all(np.diff(fitted.inclusion_[order][3:]) <= 1e-12)
    assert fitted.gain_[:3].min() > 0.2
    assert np.abs(fitted.gain_[3:]).max() < 0.1
    assert fitted.column_names_ == [f"x{j}" for j in range(25)]


def test_the_path_can_be_followed():
    X, y = problem(p=25)
    fitted = REVS(random_state=0).fit(X, y)
    path = fitted.path_
    assert len(path["size"]) == fitted.n_stages_ > 100
    assert {len(v) for v in path.values()} == {fitted.n_stages_}
    assert np.abs(path["action"]).min() >= 1
    assert np.abs(path["action"]).max() <= 25
    assert set(np.unique(path["rows"])) == {150}
    for chain in np.unique(path["chain"]):
        seconds = path["seconds"][path["chain"] == chain]
        assert np.all(np.diff(seconds) >= 0)
    same = (np.diff(path["chain"]) == 0) & (np.diff(path["segment"]) == 0)
    np.testing.assert_array_equal(np.diff(path["size"])[same], np.sign(path["action"])[1:][same])


def test_the_refit_is_least_squares_on_the_selected():
    X, y = problem()
    fitted = REVS(random_state=0).fit(X, y)
    expected = LinearRegression().fit(X[:, :3], y)
    np.testing.assert_allclose(fitted.coef_[:3], expected.coef_, atol=1e-8)
    np.testing.assert_array_equal(fitted.coef_[3:], 0.0)
    assert fitted.intercept_ == pytest.approx(expected.intercept_, abs=1e-8)
    np.testing.assert_allclose(fitted.predict(X), expected.predict(X[:, :3]), atol=1e-8)
    assert fitted.score(X, y) == pytest.approx(r2_score(y, expected.predict(X[:, :3])))


def test_predictions_of_each_family():
    X, y = problem("binomial", n=300)
    names = np.array(["no", "yes"])[y]
    fitted = REVS(random_state=0).fit(X, names)
    assert fitted.classes_.tolist() == ["no", "yes"]
    chances = fitted.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_allclose(chances[:, 1], expit(fitted.decision_function(X)))
    np.testing.assert_array_equal(fitted.predict(X), np.where(chances[:, 1] > 0.5, "yes", "no"))
    assert fitted.score(X, names) == accuracy_score(names, fitted.predict(X)) > 0.8
    assert is_classifier(fitted)

    X, y = problem("poisson", n=300)
    fitted = REVS(family="poisson", random_state=0).fit(X, y)
    mean = fitted.predict(X, average=False)
    np.testing.assert_allclose(mean, np.exp(X @ fitted.coef_ + fitted.intercept_))
    assert mean.mean() == pytest.approx(y.mean(), rel=1e-6)
    assert fitted.score(X, y) == pytest.approx(d2_tweedie_score(y, fitted.predict(X), power=1))
    assert not hasattr(fitted, "predict_proba")
    assert is_regressor(fitted)


def test_transform_keeps_the_selected():
    X, y = problem()
    fitted = REVS(random_state=0).fit(X, y)
    np.testing.assert_array_equal(fitted.transform(X), X[:, :3])
    np.testing.assert_array_equal(fitted.get_support(indices=True), [0, 1, 2])
    assert fitted.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    back = fitted.inverse_transform(X[:, :3])
    np.testing.assert_array_equal(back[:, 3:], 0.0)


def test_summary_says_what_was_found_and_warns():
    X, y = problem()
    fitted = REVS(random_state=0).fit(X, y)
    text = str(fitted.summary())
    for name in ("x0", "x1", "x2"):
        assert name in text
    assert "optimistic" in text
    assert 'let inference="split" keep half of the rows out' in text
    values = fitted.summary().dict
    assert [v["name"] for v in values["variables"]] == [f"x{j}" for j in np.argsort(fitted.ranking_)[:3]]
    errors = {v["name"]: v["error"] for v in values["variables"]}
    design = np.column_stack([np.ones(150), X[:, :3]])
    residual = y - design @ np.r_[fitted.intercept_, fitted.coef_[:3]]
    expected = np.sqrt(residual @ residual / 146 * np.diagonal(np.linalg.inv(design.T @ design)))
    np.testing.assert_allclose([errors[f"x{j}"] for j in range(3)], expected[1:], rtol=1e-6)
    assert "<table" in fitted.summary()._repr_html_()


def test_the_report_opens_with_the_answer():
    X, y = problem()
    fitted = REVS(random_state=0).fit(X, y)
    answer = fitted.summary().dict["answer"]
    assert answer.startswith(f"{fitted.support_.sum()} of {X.shape[1]} variables matter for the target: ")
    assert "near certain" in answer
    kept = REVS(random_state=0, always_select=[X.shape[1] - 1]).fit(X, y)
    assert f"1 is kept as asked (x{X.shape[1] - 1})" in kept.summary().dict["answer"]
    paper = REVS.paper(random_state=0).fit(X, y).summary().dict["answer"]
    assert "near certain" not in paper
    nothing = REVS(random_state=0).fit(X, np.random.default_rng(9).standard_normal(len(y)))
    assert not nothing.support_.any()
    assert nothing.summary().dict["answer"].startswith(f"None of the {X.shape[1]} variables")


def test_the_page_ends_with_the_code_that_made_it():
    X, y = problem()
    made = REVS(random_state=3, family="gaussian").fit(X, y).summary().dict["made"]
    names = {}
    exec(made["code"].replace("model.fit(...)", ""), names)
    assert names["model"].get_params()["random_state"] == 3
    assert "policy" not in made["code"]
    assert made["Seed"] == "3"
    assert rlselect.__version__ in made["Versions"]
    assert "none was given" in REVS().fit(X, y).summary().dict["made"]["Seed"]


# ---- every option matters ----


def test_family_matters():
    X, y = problem("binomial", n=300)
    assert REVS(random_state=0).fit(X, y).family_ == "binomial"
    line = REVS(family="gaussian", random_state=0).fit(X, y)
    assert line.family_ == "gaussian"
    assert not hasattr(line, "classes_")
    # a probability line, not log odds: its predictions leave the labels
    assert set(np.unique(REVS(random_state=0).fit(X, y).predict(X))) == {0, 1}
    assert len(np.unique(line.predict(X))) > 2
    again = REVS(random_state=0).fit(X, y).set_params(family="gaussian").fit(X, y)
    assert not hasattr(again, "classes_")


def test_policy_matters():
    X, y = problem(p=25)
    walks = {
        p: REVS(policy=p, random_state=0).fit(X, y).path_["action"] for p in ("softmax", "ucb", "thompson")
    }
    assert not np.array_equal(walks["softmax"], walks["ucb"])
    assert not np.array_equal(walks["softmax"], walks["thompson"])


@pytest.mark.parametrize("idle", [{"penalty": 5.0}, {"min_effect": 0.1}, {"checkpoint": "search.npz"}])
def test_options_that_the_papers_search_would_ignore_are_refused(idle):
    X, y = np.eye(8)[:, :3], np.arange(8.0)
    with pytest.raises(ValueError, match=r"has no effect with search=Sarsa.*price"):
        REVS(search=Sarsa(), **idle).fit(X, y)


def test_penalty_matters():
    X, y = problem(effects=(1.0, 0.2))
    sizes = [REVS(penalty=p, random_state=0).fit(X, y).support_.sum() for p in (-5.0, 0.0, 3.0, 60.0, 500.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 10
    assert sizes[-1] == 0
    assert len(set(sizes)) >= 3


def test_feature_groups_matter():
    X, y = problem()
    fitted = REVS(feature_groups=[[0, 8, 9], [3, 4]], random_state=0).fit(X, y)
    assert selected(fitted) == [0, 1, 2, 8, 9]
    assert len(set(fitted.inclusion_[[0, 8, 9]])) == 1
    assert fitted.inclusion_[3] == fitted.inclusion_[4] < 0.5
    np.testing.assert_array_equal(np.sort(fitted.ranking_), np.arange(1, 11))


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_groups_in_other_families(family):
    X, y = problem(family, n=300)
    fitted = REVS(family=family, feature_groups=[[0, 9], [3, 4]], random_state=0).fit(X, y)
    assert selected(fitted) == [0, 1, 2, 9]


def test_always_and_never_matter():
    X, y = problem()
    fitted = REVS(always_select=[7], never_select=[1], random_state=0).fit(X, y)
    # a forbidden variable may be stood in for by its neighbours
    assert {0, 2, 7} <= set(selected(fitted))
    assert 1 not in selected(fitted)
    assert fitted.inclusion_[7] == 1.0
    assert fitted.inclusion_[1] == 0.0
    assert fitted.coef_[7] != 0.0


def test_all_or_nothing_may_be_asked_for():
    X, y = problem()
    everything = REVS(always_select=range(10), random_state=0).fit(X, y)
    assert everything.support_.all()
    assert everything.stop_reason_ == "nothing to choose from"
    np.testing.assert_allclose(everything.coef_, LinearRegression().fit(X, y).coef_, atol=1e-8)
    nothing = REVS(never_select=range(10), random_state=0).fit(X, y)
    assert not nothing.support_.any()
    np.testing.assert_allclose(nothing.predict(X), y.mean())


def test_missing_matters():
    X, y = problem()
    X[:20, 0] = np.nan
    with pytest.raises(ValueError, match="missing"):
        REVS(random_state=0).fit(X, y)
    dropped = REVS(missing="drop", random_state=0).fit(X, y)
    assert dropped.n_rows_read_ == 130
    assert selected(dropped) == [0, 1, 2]
    marked = REVS(missing="indicator", random_state=0).fit(X, y)
    assert marked.n_rows_read_ == 150
    assert marked.column_names_[-1] == "x0=missing"
    assert selected(marked) == [0, 1, 2]
    assert marked.coef_.shape == (11,)
    assert marked.predict(X).shape == (150,)


def test_search_matters():
    X, y = problem()
    fitted = REVS(search=Sarsa(n_train=75, n_valid=75, n_preliminary=50, max_stages=200), random_state=0).fit(
        X, y
    )
    assert fitted.stop_reason_ in ("converged", "max stages")
    assert 0 < fitted.n_rows_read_ <= 150
    assert set(selected(fitted)) <= set(range(10))
    assert fitted.predict(X).shape == (150,)


def test_n_jobs_does_not_change_the_answer():
    X, y = problem(p=25)
    once, again = (REVS(n_jobs=n, random_state=0).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(once.inclusion_, again.inclusion_)
    np.testing.assert_array_equal(once.path_["action"], again.path_["action"])


def test_random_state_matters():
    X, y = problem(p=25)
    same = [REVS(random_state=r).fit(X, y) for r in (3, 3, np.random.default_rng(3))]
    for other in same[1:]:
        np.testing.assert_array_equal(other.inclusion_, same[0].inclusion_)
    different = REVS(random_state=4).fit(X, y)
    assert not np.array_equal(different.path_["action"], same[0].path_["action"])
    # the answer hardly depends on it
    np.testing.assert_allclose(different.inclusion_, same[0].inclusion_, atol=0.1)
    assert REVS(random_state=np.random.RandomState(0)).fit(X, y).support_.sum() == 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"family": "probit"}, "family='probit'"),
        ({"policy": "greedy"}, "policy must be one of 'softmax'"),
        ({"penalty": "bic"}, "penalty='bic'.*'auto' or a finite number"),
        ({"penalty": np.nan}, "penalty=nan"),
        ({"search": "sarsa"}, "search='sarsa'.*'auto' or a Sarsa object"),
        ({"time_budget": 0}, "time_budget=0.*positive"),
        ({"time_budget": -1.0}, "time_budget=-1.0"),
        ({"random_state": "seed"}, "random_state='seed'"),
        ({"missing": "mean"}, "missing"),
        ({"always_select": ["x10"]}, "always_select.*'x10'"),
        ({"feature_groups": [[0, 1], [1]]}, "two groups"),
    ],
)
def test_options_that_make_no_sense(options, says):
    X, y = problem(n=30)
    with pytest.raises(ValueError, match=says):
        REVS(**options).fit(X, y)


# ---- weights and offsets ----


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
@pytest.mark.parametrize("p", [6, 12])
def test_a_weight_is_a_repeated_row(family, p):
    X, y = problem(family, n=120, p=p, effects=(0.6, -0.4))
    repeat = np.random.default_rng(3).integers(0, 4, size=120)
    once = REVS(family=family, random_state=0).fit(X, y, sample_weight=repeat)
    again = REVS(family=family, random_state=0).fit(np.repeat(X, repeat, axis=0), np.repeat(y, repeat))
    np.testing.assert_allclose(once.inclusion_, again.inclusion_, atol=1e-6)
    np.testing.assert_allclose(once.coef_, again.coef_, atol=1e-6)


def test_weights_matter():
    X, y = problem()
    # rows where another column speaks, with next to no weight
    y = np.r_[y[:75], 3.0 * X[75:, 7] + 0.1 * np.random.default_rng(0).standard_normal(75)]
    weight = np.r_[np.ones(75), np.full(75, 1e-9)]
    assert selected(REVS(random_state=0).fit(X, y, sample_weight=weight)) == [0, 1, 2]
    assert 7 in selected(REVS(random_state=0).fit(X, y))


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_what_an_offset_explains_is_not_selected(family):
    X, y = problem(family, n=300, effects=(1.0, -1.0))
    strength = {"gaussian": 1.0, "binomial": 2.0, "poisson": 0.6}[family]
    fitted = REVS(family=family, random_state=0).fit(X, y, offset=strength * X[:, 0])
    assert fitted.support_[1]
    assert abs(fitted.coef_[0]) < 0.3 * strength
    with_offset = fitted.predict(X, offset=strength * X[:, 0])
    assert np.mean(np.abs(with_offset - y)) < np.mean(np.abs(fitted.predict(X) - y))


def test_an_offset_of_a_line_is_a_shift_of_the_response():
    X, y = problem()
    offset = np.random.default_rng(5).standard_normal(150)
    once = REVS(random_state=0).fit(X, y, offset=offset)
    again = REVS(random_state=0).fit(X, y - offset)
    np.testing.assert_allclose(once.inclusion_, again.inclusion_, atol=1e-8)
    np.testing.assert_allclose(once.coef_, again.coef_, atol=1e-8)


def test_an_offset_of_counts_is_an_exposure():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    exposure = rng.uniform(10.0, 1e4, size=300)
    y = rng.poisson(exposure * 0.01 * np.exp(0.5 * X[:, 0]))
    fitted = REVS(family="poisson", random_state=0).fit(X, y, offset=np.log(exposure))
    assert selected(fitted) == [0]
    assert fitted.coef_[0] == pytest.approx(0.5, abs=0.05)
    assert np.exp(fitted.intercept_) == pytest.approx(0.01, rel=0.1)
    # a mean beyond all numbers is a large one
    assert 1e80 < fitted.predict(np.full((1, 6), 1e16))[0] < np.inf


# ---- when there is nothing, or too much, to find ----


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_pure_noise_is_answered_by_nothing(family):
    X, y = problem(family, effects=())
    fitted = REVS(family=family, random_state=0).fit(X, y)
    assert selected(fitted) == []
    assert "No variable" in str(fitted.summary())
    predicted = fitted.predict(X, average=False)
    assert len(np.unique(predicted)) == 1
    if family != "binomial":
        assert predicted[0] == pytest.approx(y.mean())
    with pytest.warns(UserWarning, match="No features were selected"):
        assert fitted.transform(X).shape == (150, 0)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_pure_noise_is_rarely_mistaken(family):
    # of 60 data sets a twentieth may show anything; 9 is four standard errors more
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60, 6))
        y = rng.integers(0, 2, size=60) if family == "binomial" else rng.poisson(2.0, size=60)
        y = rng.standard_normal(60) if family == "gaussian" else y
        found += REVS(family=family, random_state=0).fit(X, y).support_.any()
    assert found <= 9


@pytest.mark.parametrize("p", [6, 40])
def test_a_perfect_fit_is_recovered(p):
    X = np.random.default_rng(0).standard_normal((60, p))
    fitted = REVS(random_state=0).fit(X, 2.0 * X[:, 0] - X[:, 3] + 5.0)
    assert selected(fitted) == [0, 3]
    np.testing.assert_allclose(fitted.coef_[[0, 3]], [2.0, -1.0], atol=1e-8)
    assert fitted.intercept_ == pytest.approx(5.0)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.7, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_response_needs_no_variable(value, weighted):
    X, _ = problem()
    weight = np.random.default_rng(0).uniform(1, 2, size=150) if weighted else None
    fitted = REVS(random_state=0).fit(X, np.full(150, value), sample_weight=weight)
    assert selected(fitted) == []
    np.testing.assert_allclose(fitted.predict(X), value, rtol=1e-12)


def test_counts_of_nothing():
    X, _ = problem()
    fitted = REVS(family="poisson", random_state=0).fit(X, np.zeros(150))
    assert selected(fitted) == []
    assert fitted.predict(X).max() < 0.01


def test_one_class_is_refused():
    X, _ = problem()
    with pytest.raises(ValueError, match="only one class"):
        REVS(family="binomial").fit(X, np.ones(150))
    with pytest.raises(ValueError, match="only one class"):
        REVS().fit(X, ["a"] * 150)


def test_separation_is_answered_by_a_penalised_fit_and_a_warning():
    X, _ = problem()
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(SeparationWarning) as caught:
        fitted = REVS(random_state=0).fit(X, y)
    # the warning points at the line of the user, not into a library
    assert {w.filename for w in caught} == {__file__}
    assert selected(fitted) == [0]
    assert np.all(np.isfinite(fitted.coef_))
    assert 0 < fitted.coef_[0] < 20
    assert fitted.score(X, y) > 0.95


def test_a_cell_without_one_class_is_separation_too():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    X[:, 2] = np.arange(200) % 4 == 0
    y = (rng.random(200) < expit(X[:, 0])).astype(int)
    y[X[:, 2] == 1] = 1
    with pytest.warns(SeparationWarning):
        fitted = REVS(random_state=0).fit(X, y)
    assert 2 in selected(fitted)
    assert 0 < fitted.coef_[2] < 10


def test_constant_columns_are_left_alone():
    X, y = problem()
    X[:, 4], X[:, 5], X[:, 6] = 0.0, 0.1, 1e9
    fitted = REVS(random_state=0).fit(X, y)
    assert selected(fitted) == [0, 1, 2]
    np.testing.assert_array_equal(fitted.inclusion_[4:7], 0.0)
    asked = REVS(always_select=[5], random_state=0).fit(X, y)
    assert selected(asked) == [0, 1, 2, 5]
    assert asked.coef_[5] == pytest.approx(0.0, abs=1e-8)
    np.testing.assert_allclose(asked.predict(X), fitted.predict(X), atol=1e-8)
    alone = REVS(random_state=0).fit(np.ones((50, 3)), np.random.default_rng(0).standard_normal(50))
    assert alone.stop_reason_ == "nothing to choose from"
    assert selected(alone) == []


@pytest.mark.parametrize("p", [10, 30])
def test_copies_share_their_inclusion_and_the_first_stands_for_them(p):
    X, y = problem(p=p)
    X[:, 5], X[:, 8] = X[:, 0], X[:, 0]
    X[:, 9] = X[:, 7]
    fitted = REVS(random_state=0).fit(X, y)
    assert selected(fitted) == [0, 1, 2]
    assert fitted.inclusion_[0] == fitted.inclusion_[5] == fitted.inclusion_[8] > 0.9
    assert fitted.inclusion_[7] == fitted.inclusion_[9] < 0.5
    np.testing.assert_array_equal(fitted.coef_[[5, 8]], 0.0)
    # nor do copies dilute the others
    without = REVS(random_state=0).fit(np.delete(X, [5, 8, 9], axis=1), y)
    np.testing.assert_allclose(without.inclusion_[1:3], fitted.inclusion_[1:3], atol=0.02)


def test_a_copy_of_what_may_not_be_selected_may():
    X, y = problem()
    X[:, 5] = X[:, 0]
    assert selected(REVS(never_select=[0], random_state=0).fit(X, y)) == [1, 2, 5]
    both = REVS(always_select=[5], random_state=0).fit(X, y)
    assert selected(both) == [1, 2, 5]
    assert both.inclusion_[0] == 1.0


@pytest.mark.parametrize("n", [3, 5, 12])
def test_few_rows_are_no_failure(n):
    X, y = problem(n=n)
    fitted = REVS(random_state=0).fit(X, y)
    assert np.all(np.isfinite(fitted.predict(X)))


def test_one_column():
    X, y = problem()
    assert selected(REVS(random_state=0).fit(X[:, :1], y)) == [0]
    assert selected(REVS(random_state=0).fit(X[:, 5:6], y)) == []


@pytest.mark.parametrize("p", [10, 30, 2100])
def test_the_order_of_the_columns_does_not_matter(p):
    X, y = problem(effects=(1.0, 0.25, 0.2), n=150, p=p)
    order = np.random.default_rng(1).permutation(p)
    plain = REVS(random_state=0).fit(X, y)
    turned = REVS(random_state=0).fit(X[:, order], y)
    np.testing.assert_allclose(turned.inclusion_, plain.inclusion_[order], rtol=0, atol=1e-8)


def test_nothing_is_said_when_nothing_is_wrong(capsys):
    X, y = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        REVS(random_state=0).fit(X, y).summary()
    out = capsys.readouterr()
    assert out.out == out.err == ""


def test_counts_of_nothing_but_zeros_tell_nothing():
    X = np.random.default_rng(0).standard_normal((40, 4))
    y, weight = np.zeros(40), np.ones(40)
    y[0], weight[0] = 3.0, 0.0
    for given in ({"y": np.zeros(40)}, {"y": y, "sample_weight": weight}):
        fitted = REVS(family="poisson", random_state=0).fit(X, **given)
        assert not fitted.support_.any()
        assert not fitted.inclusion_.any()
        assert np.all(fitted.predict(X) < 1e-3)


def test_settings_beside_a_whole_search_are_refused():
    assert REVS.paper(search=Sarsa(n_train=30)).search.n_train == 30
    with pytest.raises(ValueError, match=r"search= was given beside n_train; say all of it in search=Sarsa"):
        REVS.paper(search=Sarsa(), n_train=30)


@pytest.mark.parametrize(("family", "expected"), [("multinomial", True), ("ordinal", True), ("auto", False)])
def test_folds_of_sorted_labels_have_all_classes_where_the_family_says_classes(family, expected):
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 30)
    X = rng.standard_normal((90, 2))
    X[:, 0] += 1.5 * codes
    y = np.array(["a", "b", "c"])[codes] if family == "auto" else codes
    model = REVS(family=family, random_state=0)
    assert is_classifier(model) == expected
    if expected:
        assert cross_val_score(model, X, y, cv=3).min() > 0.5
        return
    with pytest.warns(UserWarning, match="y holds '[abc]', a class that no row of the fit had"):
        scores = cross_val_score(model, X, y, cv=3)
    np.testing.assert_array_equal(scores, 0.0)
    assert cross_val_score(model, X, y, cv=StratifiedKFold(3)).min() > 0.5
