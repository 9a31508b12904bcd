"""Posteriors in many subsets: the same as one at a time, and rows left out as if they had not been there."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln

from rlselect._clock import Clock
from rlselect.kernels import log_likelihood, score_and_curvature
from rlselect.subset.revs.evidence import (
    RowLikelihood,
    StandardRows,
    fit_glm,
    glm_posteriors,
    left_out_predictor,
    linear_posteriors,
    standardise,
)

SUBSETS = [np.array(s, dtype=np.intp) for s in ([0], [1, 3], [], [0, 1, 2, 4], [2, 3])]
SLABS = np.array([0.05, 0.4, 3.0])


def sample(family, n=40, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    eta = X[:, 0] - 0.5 * X[:, 1]
    if family == "gaussian":
        y = 3.0 + eta + rng.normal(size=n)
    elif family == "binomial":
        y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    else:
        y = rng.poisson(np.exp(0.5 * eta)).astype(float)
    w = rng.integers(1, 4, size=n).astype(float) if weighted else np.ones(n)
    return StandardRows(standardise(X, w)[0], y, w, 0.1 * rng.normal(size=n), np.ones(n))


def ridge(A, y, w, penalty):
    """Coefficients, quadratic form and log determinant of a weighted ridge with a free intercept."""
    design = np.column_stack([np.ones(len(A)), A])
    hessian = (design.T * w) @ design + np.diag([0.0, *[penalty] * A.shape[1]])
    coef = np.linalg.solve(hessian, design.T @ (w * y))
    quad = w @ (y - design @ coef) ** 2 + penalty * coef[1:] @ coef[1:]
    return coef, quad, np.linalg.slogdet(hessian)[1], hessian


@pytest.mark.parametrize("weighted", [False, True])
def test_linear_posteriors_are_ridge_regressions(weighted):
    rows = sample("gaussian", weighted=weighted)
    found = linear_posteriors(rows, SUBSETS, SLABS, judged=3)
    degrees = rows.weight.sum() - 1
    for i, places in enumerate(SUBSETS):
        best = -np.inf
        for slab in SLABS:
            coef, quad, logdet, hessian = ridge(
                rows.columns[:, places], rows.y - rows.offset, rows.weight, 1 / slab
            )
            evidence = -0.5 * degrees * np.log(quad) - 0.5 * (logdet + len(places) * np.log(slab))
            if evidence > best:
                best, kept = evidence, (coef, quad, hessian)
        coef, quad, hessian = kept
        np.testing.assert_allclose(found.coef[i, places], coef[1:], atol=1e-10)
        np.testing.assert_allclose(found.intercept[i], coef[0])
        np.testing.assert_allclose(found.noise[i], quad / degrees)
        expected = quad / degrees * np.linalg.inv(hessian)[1:, 1:]
        np.testing.assert_allclose(found.variances[i], expected, atol=1e-12)
        assert not np.delete(found.coef[i], places).any()
    assert found.left_out.predictor.shape == (3, 40)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_row_left_out_of_a_linear_posterior_might_never_have_been_there(weighted):
    rows = sample("gaussian", weighted=weighted)
    slab = 0.7
    found = linear_posteriors(rows, SUBSETS, np.array([slab]), judged=9)
    known = rows.y - rows.offset

    def evidence(A, w):
        # of the response, with a flat prior of the intercept and of the log of the noise
        _, quad, logdet, _ = ridge(A, known, w, 1 / slab)
        degrees = w.sum() - 1
        constant = -0.5 * degrees * np.log(np.pi) + gammaln(degrees / 2)
        return constant - 0.5 * degrees * np.log(quad) - 0.5 * (logdet + A.shape[1] * np.log(slab))

    for s, places in enumerate(SUBSETS):
        A = rows.columns[:, places]
        for i in (0, 7, 33):
            w = rows.weight.copy()
            w[i] -= 1.0
            coef = ridge(A, known, w, 1 / slab)[0]
            np.testing.assert_allclose(
                found.left_out.predictor[s, i], coef[0] + A[i] @ coef[1:] + rows.offset[i]
            )
            np.testing.assert_allclose(
                found.left_out.density[s, i], evidence(A, rows.weight) - evidence(A, w), atol=1e-9
            )


@pytest.mark.parametrize(("family", "dispersion"), [("binomial", 0.0), ("poisson", 0.0), ("poisson", 0.7)])
def test_glm_posteriors_are_modes(family, dispersion):
    rows = sample(family, weighted=True)
    found = glm_posteriors(rows, SUBSETS, RowLikelihood(family, dispersion), np.array([0.3]), judged=2)
    for i, places in enumerate(SUBSETS):
        A = np.column_stack([np.ones(40), rows.columns[:, places]])

        def loss(b, A=A):
            fit = rows.weight @ log_likelihood(family, rows.y, A @ b + rows.offset, dispersion=dispersion)
            return 0.5 * b[1:] @ b[1:] / 0.3 - fit

        best = minimize(loss, np.zeros(A.shape[1]), method="BFGS", options={"gtol": 1e-8}).x
        np.testing.assert_allclose(found.intercept[i], best[0], atol=1e-4)
        np.testing.assert_allclose(found.coef[i, places], best[1:], atol=1e-4)


def test_the_slab_is_that_of_largest_evidence():
    rng = np.random.default_rng(3)
    Z = standardise(rng.normal(size=(400, 4)), np.ones(400))[0]
    y = (rng.random(400) < 1 / (1 + np.exp(-2.0 * Z.sum(axis=1)))).astype(float)
    rows = StandardRows(Z, y, np.ones(400), np.zeros(400), np.ones(400))
    whole = [np.arange(4)]
    wide = glm_posteriors(rows, whole, RowLikelihood("binomial"), np.array([4.0]), judged=1)
    learnt = glm_posteriors(rows, whole, RowLikelihood("binomial"), np.array([0.001, 0.03, 4.0]), judged=1)
    np.testing.assert_allclose(learnt.coef, wide.coef)
    quiet = StandardRows(Z, rng.permutation(y), np.ones(400), np.zeros(400), np.ones(400))
    narrow = glm_posteriors(quiet, whole, RowLikelihood("binomial"), np.array([0.001]), judged=1)
    learnt = glm_posteriors(quiet, whole, RowLikelihood("binomial"), np.array([0.001, 0.03, 4.0]), judged=1)
    np.testing.assert_allclose(learnt.coef, narrow.coef)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_a_row_left_out_of_a_refit(family):
    rows = sample(family, n=80)
    A = rows.columns[:, :2]
    fit = fit_glm(A, rows.y, family, rows.weight, rows.offset)
    design = np.column_stack([np.ones(80), A])
    quick = left_out_predictor(design, rows, RowLikelihood(family), fit.all_coef, fit.covariance)
    for i in range(0, 80, 9):
        keep = np.arange(80) != i
        alone = fit_glm(A[keep], rows.y[keep], family, rows.weight[keep], rows.offset[keep])
        slow = design[i] @ alone.all_coef + rows.offset[i]
        # exact for least squares; one Newton step otherwise, which is far nearer than leaving the row in
        error = abs(design[i] @ fit.all_coef + rows.offset[i] - slow)
        assert abs(quick[i] - slow) <= (1e-9 if family == "gaussian" else 0.15 * error + 1e-9)


def test_clusters_of_any_sizes_are_left_out_as_one_by_one():
    rows = sample("binomial", n=40)
    # of six, of one, and one that holds most of what a column says
    together = np.repeat([0, 1, 2, 3, 4, 5, 6], [6, 6, 1, 1, 6, 19, 1])
    A = np.column_stack([np.ones(40), rows.columns, np.where(together == 5, 1.0, 0.0)])
    rng = np.random.default_rng(1)
    coef, half = 0.3 * rng.normal(size=7), rng.normal(size=(40, 7))
    likelihood = RowLikelihood("binomial")
    eta = A @ coef + rows.offset
    score, curvature = score_and_curvature("binomial", rows.y, eta, 0.0)
    covariance = np.linalg.inv((A.T * curvature) @ A + 1e-3 * half.T @ half)
    found = left_out_predictor(A, rows._replace(together=together), likelihood, coef, covariance)
    for cluster in range(7):
        own = together == cluster
        inside = A[own]
        rest = np.eye(7) - covariance @ (inside * curvature[own, None]).T @ inside
        step = np.linalg.lstsq(rest, covariance @ (inside.T @ score[own]), rcond=1e-8)[0]
        np.testing.assert_allclose(found[own], eta[own] - inside @ step, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_the_heaviest_subsets_come_first_and_are_enough_out_of_time(family):
    rows, subsets = sample(family), SUBSETS * 5
    make = linear_posteriors if family == "gaussian" else glm_posteriors
    given = (SLABS, 12) if family == "gaussian" else (RowLikelihood(family), SLABS[:1], 12)
    whole = make(rows, subsets, *given)
    with Clock(1e-9):
        some = make(rows, subsets, *given)
    assert len(whole.coef) == 25
    assert len(some.coef) == len(some.left_out.density) == 8
    np.testing.assert_allclose(some.coef, whole.coef[:8], rtol=1e-12)
    np.testing.assert_allclose(some.left_out.density, whole.left_out.density[:8], rtol=1e-9)
