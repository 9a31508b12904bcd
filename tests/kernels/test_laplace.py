"""One-step prices of logistic and Poisson moves of blocks, against the step written out."""

import numpy as np
import pytest
from scipy.special import expit

from rlselect.kernels import (
    laplace_block_add,
    laplace_block_remove,
    log_hole_factor,
    mean_and_curvature,
)

SLAB = 0.4
FAMILIES = ["binomial", "poisson"]


def problem(family, seed=0, n=60, p=7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.3 * rng.standard_normal((p, p)))
    eta = 0.2 + 0.5 * X[:, 0] - 0.4 * X[:, 2]
    y = (rng.random(n) < expit(eta)).astype(float) if family == "binomial" else rng.poisson(np.exp(eta))
    return X, y.astype(float), rng.uniform(0.2, 3.0, size=n)


class Mode:
    """Posterior mode of a subset by plain Newton steps, with what the kernels are given."""

    def __init__(self, family, X, y, w, subset):
        self.family, self.X, self.y, self.w, self.subset = family, X, y, w, subset
        self.A = np.column_stack([np.ones(len(y)), X[:, subset]])
        self.prior = np.diag([0.0] + [1.0 / SLAB] * len(subset))
        self.coef = np.zeros(self.A.shape[1])
        for _ in range(50):
            hessian, gradient = self.sums()
            self.coef = self.coef + np.linalg.solve(hessian, gradient)
        hessian, _ = self.sums()
        mean, curvature = mean_and_curvature(family, self.A @ self.coef)
        self.W = w * curvature
        self.inverse = np.linalg.inv(hessian)
        self.cross = (self.A * self.W[:, None]).T @ X
        self.score = X.T @ (w * (y - mean))

    def sums(self):
        mean, curvature = mean_and_curvature(self.family, self.A @ self.coef)
        hessian = (self.A * (self.w * curvature)[:, None]).T @ self.A + self.prior
        return hessian, self.A.T @ (self.w * (self.y - mean)) - self.prior @ self.coef

    def one_step_add(self, columns):
        """Quadratic model of the log posterior around the mode, over the larger subset."""
        big = np.column_stack([self.A, self.X[:, columns]])
        prior = np.diag([0.0] + [1.0 / SLAB] * (big.shape[1] - 1))
        hessian = (big * self.W[:, None]).T @ big + prior
        mean, _ = mean_and_curvature(self.family, self.A @ self.coef)
        gradient = big.T @ (self.w * (self.y - mean)) - prior @ np.append(self.coef, [0.0] * len(columns))
        gain = 0.5 * gradient @ np.linalg.solve(hessian, gradient)
        logdet = np.linalg.slogdet(hessian)[1] - np.linalg.slogdet(np.linalg.inv(self.inverse))[1]
        return gain - 0.5 * logdet - 0.5 * len(columns) * np.log(SLAB)

    def one_step_remove(self, columns):
        """Same quadratic model, minimised under the constraint that the columns have coefficient zero."""
        places = [1 + self.subset.index(j) for j in columns]
        keep = [i for i in range(len(self.coef)) if i not in places]
        hessian = np.linalg.inv(self.inverse)
        inside = hessian[np.ix_(keep, keep)]
        # the best move of the kept ones when the others go to zero
        away = -self.coef[places]
        follow = -np.linalg.solve(inside, hessian[np.ix_(keep, places)] @ away)
        move = np.zeros(len(self.coef))
        move[places], move[keep] = away, follow
        loss = 0.5 * move @ hessian @ move
        logdet = np.linalg.slogdet(inside)[1] - np.linalg.slogdet(hessian)[1]
        return -loss - 0.5 * logdet + 0.5 * len(columns) * np.log(SLAB)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("block", [[3], [3, 6], [1, 3, 6]])
def test_blocks_are_one_naive_newton_step(family, block):
    mode = Mode(family, *problem(family), [0, 2])
    inside = (mode.X[:, block] * mode.W[:, None]).T @ mode.X[:, block] + np.eye(len(block)) / SLAB
    across = mode.cross[:, block]
    added = laplace_block_add(inside - across.T @ mode.inverse @ across, mode.score[block], SLAB)
    assert added == pytest.approx(mode.one_step_add(block), abs=1e-8)

    larger = Mode(family, mode.X, mode.y, mode.w, [0, *block])
    places = [2 + i for i in range(len(block))]
    removed = laplace_block_remove(larger.inverse[np.ix_(places, places)], larger.coef[places], SLAB)
    assert removed == pytest.approx(larger.one_step_remove(block), abs=1e-8)


def test_many_blocks_at_once_are_each_alone():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 3, 3))
    blocks, score = A @ A.transpose(0, 2, 1) + np.eye(3), rng.standard_normal((4, 3))
    together = laplace_block_add(blocks, score, SLAB)
    alone = [laplace_block_add(b, s, SLAB) for b, s in zip(blocks, score, strict=True)]
    np.testing.assert_allclose(together, alone, atol=1e-12)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_hole_at_zero_takes_the_evidence_times_a_ratio_of_moments(order):
    mean, variance = np.array([[0.3, -0.7], [0.0, 0.0]]), 0.4
    covariance = np.array([[[0.2, 0.05], [0.05, 0.1]], [[0.4, 0.0], [0.0, 0.4]]])
    # products of Gauss-Hermite rules are exact for these polynomials
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    grid = np.array([(a, b) for a in nodes for b in nodes])
    mass = np.array([a * b for a in weights for b in weights]) / (2.0 * np.pi)
    posterior = [
        mass @ ((m + grid @ np.linalg.cholesky(v).T) ** 2).sum(axis=1) ** order
        for m, v in zip(mean, covariance, strict=True)
    ]
    prior = mass @ (variance * (grid**2).sum(axis=1)) ** order
    factor = log_hole_factor(mean, covariance, variance, order)
    np.testing.assert_allclose(factor, np.log(posterior / prior), atol=1e-12)
