"""Labels with less chance in them: honest, unbiased over all rows, and no use where they are wrong."""

import numpy as np
import pytest

from rlselect import DatumwiseClassifier
from rlselect.datumwise import PolicyIteration, _soft_labels
from rlselect.datumwise._encoding import make_encoder
from rlselect.datumwise._plan import PLAN, PurchasePlan
from rlselect.datumwise._problem import PurchaseProblem
from rlselect.datumwise._rules import PurchaseRules
from rlselect.datumwise._soft_labels import soft_labels


def make_problem(n_rows, seed=0, n_classes=2):
    """Rows of noisy classes, and the probabilities they were drawn with."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    scores = np.exp(0.7 * X[:, :1] * np.arange(n_classes))
    truth = scores / scores.sum(axis=1, keepdims=True)
    y = (rng.random((n_rows, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    groups = [np.array([j]) for j in range(3)]
    rules = PurchaseRules(list("abc"), groups, np.full(3, 0.01), 1 - np.eye(n_classes))
    encoder = make_encoder("bins", (3, 5, 8)).fit(X, np.ones(n_rows))
    closed = np.zeros(X.shape, dtype=bool)
    weights = rng.uniform(0.5, 2, n_rows)
    return PurchaseProblem(rules, encoder, encoder.encode(X), closed, y.astype(np.intp), weights), truth


def with_labels(problem, labels):
    other = problem.take(np.arange(len(labels)), problem.weights)
    other.labels = labels
    return other


def soft(problem, folds, plan=PLAN):
    return soft_labels(problem, folds, np.random.default_rng(1), plan=plan)


def test_they_are_closer_to_the_truth_than_labels():
    problem, truth = make_problem(400, n_classes=3)
    found = soft(problem, np.zeros(400, dtype=np.intp))
    assert found.shape == (1, 400, 3)
    labels = np.eye(3)[problem.labels]
    assert np.mean((found[0] - truth) ** 2) < 0.15 * np.mean((labels - truth) ** 2)


def test_the_fold_left_out_has_no_say():
    plan = PurchasePlan(leaves=(5,))
    problem, _ = make_problem(150)
    folds = np.arange(150) % 3
    found = soft(problem, folds, plan)
    assert found.shape == (4, 150, 2)
    flipped = with_labels(problem, np.where(folds == 1, 1 - problem.labels, problem.labels))
    again = soft(flipped, folds, plan)
    rest = folds != 1
    assert (again[1][rest] == found[1][rest]).all()
    for other in (0, 2, 3):
        assert np.abs(again[other] - found[other])[rest].max() > 0.1
    # what is left out has its label
    assert (found[1][~rest] == np.eye(2)[problem.labels[~rest]]).all()


def test_the_row_itself_has_no_say():
    problem, _ = make_problem(80)
    everyone = np.ones(80, dtype=bool)
    found = _soft_labels._out_of_bag(problem, everyone, 3, 0, None, PLAN)
    for row in (3, 40, 77):
        labels = problem.labels.copy()
        labels[row] = 1 - labels[row]
        again = _soft_labels._out_of_bag(with_labels(problem, labels), everyone, 3, 0, None, PLAN)
        assert again[row] == pytest.approx(found[row], abs=1e-12)
        assert np.abs(again - found).max() > 0.01


def test_classes_stay_as_frequent_as_they_are():
    problem, _ = make_problem(120, n_classes=3)
    folds = np.arange(120) % 4
    labels = np.eye(3)[problem.labels]
    for fold, own in enumerate(soft(problem, folds)):
        rows = folds != fold
        weights = problem.weights[rows]
        expected = np.average(labels[rows], axis=0, weights=weights)
        assert np.average(own[rows], axis=0, weights=weights) == pytest.approx(expected)
        assert own.sum(axis=1) == pytest.approx(np.ones(120))


def test_leaves_are_as_small_as_the_labels_are_sure(monkeypatch):
    used = []
    original = _soft_labels._out_of_bag

    def spy(problem, rows, leaf, *rest):
        used.append(leaf)
        return original(problem, rows, leaf, *rest)

    monkeypatch.setattr(_soft_labels, "_out_of_bag", spy)
    noisy, _ = make_problem(300)
    folds = np.arange(300) % 2
    soft(noisy, folds)
    sure = with_labels(noisy, (noisy.codes[:, 0] > np.median(noisy.codes[:, 0])).astype(np.intp))
    soft(sure, folds)
    tries = len(PLAN.leaves)
    assert used[tries] == used[tries + 1] > used[-1] == used[-2]


@pytest.mark.parametrize("n_rows", [2, 3, 6])
def test_few_rows(n_rows):
    problem, _ = make_problem(n_rows)
    found = soft(problem, np.arange(n_rows) % 2)
    assert np.isfinite(found).all()
    X, y = np.arange(2.0 * n_rows).reshape(n_rows, 2), np.arange(n_rows) % 2
    search = PolicyIteration(exact_states=0, n_iter=1)
    model = DatumwiseClassifier(search=search, random_state=0).fit(X, y)
    assert set(model.predict(X)) <= {0, 1}


def test_a_class_of_one_row():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 3))
    y = np.arange(40) == 39  # without this row's fold there is one class
    search = PolicyIteration(n_iter=2, states_per_row=6)
    model = DatumwiseClassifier(search=search, random_state=0).fit(X, y)
    assert model.score(X, y) >= 39 / 40


def fitted(X, y, **settings):
    search = PolicyIteration(n_iter=2, states_per_row=6, **settings)
    return DatumwiseClassifier(search=search, feature_cost=0.002, random_state=3).fit(X, y)


def test_they_are_taught_in_the_second_climb():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 5))
    y = X[:, 0] + X[:, 1] + 2 * rng.normal(size=150) > 0
    soft, hard = fitted(X, y), fitted(X, y, soft_labels=False)
    assert (soft.path_["value"][:2] == hard.path_["value"][:2]).all()
    assert (soft.path_["value"][2:] != hard.path_["value"][2:]).any()


@pytest.mark.parametrize("settings", [{"n_folds": 1}, {"n_restarts": 1}])
def test_without_folds_or_a_second_climb_labels_are_taught(settings):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(100, 4))
    y = X[:, 0] + rng.normal(size=100) > 0
    soft, hard = fitted(X, y, **settings), fitted(X, y, soft_labels=False, **settings)
    assert all((soft.path_[key] == hard.path_[key]).all() for key in soft.path_)


@pytest.mark.parametrize("scoring", ["bins", "linear"])
def test_missing_values(scoring):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(120, 4))
    y = X[:, 0] + X[:, 1] > 0
    X[rng.random(X.shape) < 0.3] = np.nan
    model = DatumwiseClassifier(scoring=scoring, search=PolicyIteration(n_iter=2), random_state=0)
    assert model.fit(X, y).score(X, y) > 0.75
