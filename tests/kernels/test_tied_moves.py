"""One-step prices under tied effects, against the two fits or the quadratic written out."""

import numpy as np
import pytest

from rlselect.kernels import Ties, prior_logdet, tied_adds, tied_removes

SLAB = 0.4


def columns(n=50, p=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.5 * rng.standard_normal((p, p)))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, 0.8 * X[:, 0] + 0.5 * X[:, 2] + rng.standard_normal(n), rng


def ties(X, share):
    return share * np.corrcoef(X.T) + (1.0 - share) * np.eye(X.shape[1])


def tie(K, subset):
    inside = K[np.ix_(subset, subset)]
    return Ties(K[subset], np.linalg.inv(inside), np.linalg.slogdet(inside)[1])


class Quadratic:
    """A quadratic loss with curvature weights and a target, minimised for any subset, intercept included."""

    def __init__(self, X, weight, target, K):
        self.X, self.weight, self.target, self.K = X, weight, target, K

    def fit(self, subset):
        A = np.column_stack([np.ones(len(self.X)), self.X[:, subset]])
        prior = np.zeros((len(subset) + 1, len(subset) + 1))
        prior[1:, 1:] = np.linalg.inv(SLAB * self.K[np.ix_(subset, subset)])
        hessian = (A * self.weight[:, None]).T @ A + prior
        coef = np.linalg.solve(hessian, A.T @ (self.weight * self.target))
        rest = self.target - A @ coef
        loss = 0.5 * self.weight @ rest**2 + 0.5 * coef @ prior @ coef
        logdet = np.linalg.slogdet(hessian)[1] - np.linalg.slogdet(prior[1:, 1:])[1]
        return A, hessian, coef, rest, loss, logdet


@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("subset", [[], [2], [0, 2, 5]])
def test_every_move_is_the_difference_of_two_fits(share, subset):
    X, target, rng = columns()
    problem = Quadratic(X, rng.uniform(0.1, 2.0, len(X)), target, ties(X, share))
    A, hessian, coef, rest, loss, logdet = problem.fit(subset)
    weight, inverse = problem.weight, np.linalg.inv(hessian)
    own = tie(problem.K, subset) if share else None
    assert np.linalg.slogdet(hessian)[1] + prior_logdet(len(subset), SLAB, own) == pytest.approx(logdet)
    adds = tied_adds(
        X.T @ (weight * rest),
        X.T**2 @ weight,
        (A * weight[:, None]).T @ X,
        inverse,
        coef[1:],
        own,
        SLAB,
    )
    for j in set(range(X.shape[1])) - set(subset):
        _, bigger, with_j, _, loss_j, logdet_j = problem.fit([*subset, j])
        assert adds.fall[j] == pytest.approx(loss - loss_j, abs=1e-9)
        assert adds.logdet[j] == pytest.approx(logdet_j - logdet, abs=1e-9)
        assert adds.mean[j] == pytest.approx(with_j[-1], abs=1e-9)
        assert adds.variance[j] == pytest.approx(np.linalg.inv(bigger)[-1, -1], abs=1e-9)
    removes = tied_removes(inverse[1:, 1:], coef[1:], own, SLAB)
    for i, j in enumerate(subset):
        *_, loss_j, logdet_j = problem.fit([other for other in subset if other != j])
        assert removes.fall[i] == pytest.approx(loss - loss_j, abs=1e-9)
        assert removes.logdet[i] == pytest.approx(logdet_j - logdet, abs=1e-9)


def test_a_column_like_one_inside_is_expected_to_do_the_same():
    X, _, rng = columns()
    X[:, 1] = X[:, 0] + 0.3 * rng.standard_normal(len(X))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    target = X[:, 0] + X[:, 1] + rng.standard_normal(len(X))
    prices = []
    for share in (0.0, 0.9):
        problem = Quadratic(X, np.ones(len(X)), target, ties(X, share))
        A, hessian, coef, rest, *_ = problem.fit([0])
        adds = tied_adds(
            X.T @ rest,
            X.T**2 @ problem.weight,
            A.T @ X,
            np.linalg.inv(hessian),
            coef[1:],
            tie(problem.K, [0]),
            SLAB,
        )
        prices.append(adds.fall[1] - 0.5 * adds.logdet[1])
    assert prices[1] > prices[0]


@pytest.mark.parametrize("subset", [[], [0, 2, 5]])
def test_effects_without_ties_are_those_tied_by_nothing(subset):
    X, target, rng = columns()
    problem = Quadratic(X, rng.uniform(0.1, 2.0, len(X)), target, np.eye(X.shape[1]))
    A, hessian, coef, rest, *_ = problem.fit(subset)
    weight, inverse = problem.weight, np.linalg.inv(hessian)
    sums = X.T @ (weight * rest), X.T**2 @ weight, (A * weight[:, None]).T @ X
    outside = np.setdiff1d(np.arange(X.shape[1]), subset)
    plain, tied = (
        (
            np.array(tied_adds(*sums, inverse, coef[1:], own, SLAB))[:, outside],
            np.array(tied_removes(inverse[1:, 1:], coef[1:], own, SLAB)),
        )
        for own in (None, tie(problem.K, subset))
    )
    for values, same in zip(plain, tied, strict=True):
        np.testing.assert_allclose(values, same, rtol=1e-12, atol=1e-14)
