import numpy as np
import pytest

from rlselect import ThompsonSelector
from rlselect.data import open_table
from rlselect.subset.rivals._rival import read_problem
from rlselect.subset.rivals._thompson import _SpikeAndSlab


def linear(n=200, p=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 3] - X[:, 8] + 0.5 * rng.standard_normal(n)


def test_draws_have_the_frequencies_of_the_exact_posterior():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 3))
    X[:, 1] = 0.7 * X[:, 0] + 0.7 * X[:, 1]
    y = 0.5 * X[:, 0] + rng.standard_normal(25)
    problem = read_problem(open_table(X, y, owner="test"), "regression", "test")
    model = _SpikeAndSlab(problem, 0)
    z = (y - y.mean()) / y.std()
    # evidence of every subset, with the noise integrated out as the sampler does
    masks = np.array([[(k >> j) & 1 for j in range(3)] for k in range(8)], dtype=bool)
    logs = []
    for mask in masks:
        A = problem.X[:, mask]
        cov = np.eye(25) + A @ A.T
        rate = 0.5 * (z @ np.linalg.solve(cov, z) + 1e-3)
        shape = 0.5 * (25 + 1)
        logs.append(-0.5 * np.linalg.slogdet(cov)[1] - shape * np.log(rate) - mask.sum() * np.log(3.0))
    weights = np.exp(np.array(logs) - max(logs))
    exact = weights @ masks / weights.sum()
    draws = np.array([model.use(np.arange(3), rng) for _ in range(6000)])
    np.testing.assert_allclose(draws.mean(axis=0), exact, atol=0.05)


@pytest.mark.parametrize("reward", ["linear", "trees"])
def test_the_arms_of_true_features_win(reward):
    X, y = linear()
    found = ThompsonSelector(reward=reward, n_rounds=80, random_state=0).fit(X, y)
    assert found.support_[[3, 8]].all()
    # a column that goes with y by chance does so in every round
    assert found.support_.sum() <= (2 if reward == "linear" else 3)
    assert set(found.ranking_[[3, 8]]) == {1, 2}
    np.testing.assert_allclose(found.inclusion_, found.arms_[:, 0] / found.arms_.sum(axis=1))


def test_trees_see_what_a_line_cannot():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((300, 10))
    y = np.abs(X[:, 2]) + 0.2 * rng.standard_normal(300)
    assert not ThompsonSelector(n_rounds=60, random_state=0).fit(X, y).support_.any()
    trees = ThompsonSelector(reward="trees", n_rounds=60, random_state=0).fit(X, y)
    assert np.flatnonzero(trees.support_).tolist() == [2]


def test_batches_of_a_stream_add_up():
    selector = ThompsonSelector(n_rounds=20, random_state=0)
    for seed in range(4):
        selector.partial_fit(*linear(80, seed=seed))
    assert np.flatnonzero(selector.support_).tolist() == [3, 8]
    assert (selector.n_batches_, selector.n_rounds_) == (4, 80)
    # a failed batch leaves what was learnt
    before = selector.arms_.copy()
    with pytest.raises(ValueError, match="features"):
        selector.partial_fit(*linear(80, p=12))
    np.testing.assert_array_equal(selector.arms_, before)
    assert selector.fit(*linear()).n_batches_ == 1


# the second: classes without any order
@pytest.mark.parametrize(
    ("reward", "names"), [("linear", [0, 1, 2]), ("linear", [1, 0, 2]), ("trees", [0, 1, 2])]
)
def test_several_classes(reward, names):
    X, y = linear()
    labels = np.array(names)[np.digitize(y, [-1, 1])]
    found = ThompsonSelector(reward=reward, n_rounds=40, random_state=0).fit(X, labels)
    assert set(found.ranking_[[3, 8]]) == {1, 2}


def test_a_batch_with_other_classes_is_refused():
    X, y = linear()
    selector = ThompsonSelector(n_rounds=5, random_state=0).partial_fit(X, y > 0)
    with pytest.raises(ValueError, match="all classes in each"):
        selector.partial_fit(X, np.where(y > 0, "yes", "no"))
