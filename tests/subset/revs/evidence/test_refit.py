"""The final model: maximum likelihood checked against scikit-learn and closed forms, and held-out gains."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

from rlselect.kernels import log_likelihood, mean_and_curvature
from rlselect.subset.revs.evidence._gram import LazyGram
from rlselect.subset.revs.evidence._refit import SeparationWarning, fit_glm, heldout_gains
from rlselect.subset.revs.evidence._refit_blocks import (
    fit_glm_blocks,
    fit_linear_blocks,
    fit_moments,
    is_precise,
)
from rlselect.subset.revs.evidence._rows import Rows

FAMILIES = ["gaussian", "binomial", "poisson"]


def problem(family, n=300, k=4, seed=0, strength=0.8):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, k)) @ (np.eye(k) + 0.3 * rng.standard_normal((k, k)))
    offset = 0.4 * rng.standard_normal(n)
    eta = 0.5 + A @ np.linspace(-strength, strength, k) + offset
    if family == "gaussian":
        y = eta + rng.standard_normal(n)
    else:
        y = rng.random(n) < expit(eta) if family == "binomial" else rng.poisson(np.exp(eta))
    return A, y.astype(float), rng.uniform(0.2, 3.0, size=n), offset


def peer(family):
    if family == "gaussian":
        return LinearRegression()
    if family == "binomial":
        return LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)
    return PoissonRegressor(alpha=0.0, tol=1e-10, max_iter=10_000)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_coefficients_are_those_of_scikit_learn(family, weighted):
    A, y, w, _ = problem(family)
    w = w if weighted else None
    fit = fit_glm(A, y, family, w)
    expected = peer(family).fit(A, y, sample_weight=w)
    np.testing.assert_allclose(fit.coef, np.ravel(expected.coef_), atol=1e-5)
    assert fit.intercept == pytest.approx(float(np.ravel(expected.intercept_)[0]), abs=1e-5)
    assert not fit.separated


@pytest.mark.parametrize("family", FAMILIES)
def test_the_score_is_zero_with_weights_and_offset(family):
    A, y, w, offset = problem(family)
    fit = fit_glm(A, y, family, w, offset)
    design = np.column_stack([np.ones(len(y)), A])
    mean, curvature = mean_and_curvature(family, design @ fit.all_coef + offset)
    np.testing.assert_allclose(design.T @ (w * (y - mean)), 0.0, atol=1e-4)
    information = (design * (w * curvature)[:, None]).T @ design
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(information), rtol=1e-4, atol=1e-9)


def test_standard_errors_of_least_squares():
    A, y, _, _ = problem("gaussian")
    fit = fit_glm(A, y, "gaussian")
    design = np.column_stack([np.ones(len(y)), A])
    residual = y - design @ fit.all_coef
    noise = residual @ residual / (len(y) - 5)
    assert fit.dispersion == pytest.approx(noise)
    expected = np.sqrt(noise * np.diagonal(np.linalg.inv(design.T @ design)))[1:]
    np.testing.assert_allclose(fit.errors, expected, rtol=1e-8)


def test_a_two_by_two_table():
    a, b, c, d = 30, 12, 18, 25
    x = np.repeat([1.0, 1.0, 0.0, 0.0], [a, b, c, d])
    y = np.repeat([1.0, 0.0, 1.0, 0.0], [a, b, c, d])
    fit = fit_glm(x[:, None], y, "binomial")
    assert fit.coef[0] == pytest.approx(np.log(a * d / (b * c)), abs=1e-6)
    assert fit.intercept == pytest.approx(np.log(c / d), abs=1e-6)
    assert fit.errors[0] == pytest.approx(np.sqrt(1 / a + 1 / b + 1 / c + 1 / d), rel=1e-5)


def test_a_ratio_of_two_rates():
    rng = np.random.default_rng(0)
    x = np.repeat([1.0, 0.0], 50)
    exposure = rng.uniform(10.0, 1e5, size=100)
    y = rng.poisson(exposure * np.where(x, 0.02, 0.01)).astype(float)
    fit = fit_glm(x[:, None], y, "poisson", None, np.log(exposure))
    counts = [y[x == v].sum() for v in (1.0, 0.0)]
    totals = [exposure[x == v].sum() for v in (1.0, 0.0)]
    assert fit.coef[0] == pytest.approx(
        np.log(counts[0] / totals[0]) - np.log(counts[1] / totals[1]), abs=1e-6
    )
    assert fit.errors[0] == pytest.approx(np.sqrt(1 / counts[0] + 1 / counts[1]), rel=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_columns(family):
    _, y, w, _ = problem(family)
    fit = fit_glm(np.zeros((len(y), 0)), y, family, w)
    mean = np.average(y, weights=w)
    expected = {"gaussian": mean, "binomial": np.log(mean / abs(1 - mean)), "poisson": np.log(mean)}[family]
    assert fit.intercept == pytest.approx(expected, abs=1e-6)
    assert fit.coef.shape == fit.errors.shape == (0,)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_weight_is_a_repeated_row(family):
    A, y, _, offset = problem(family)
    repeat = np.random.default_rng(3).integers(0, 4, size=len(y))
    once = fit_glm(A, y, family, repeat.astype(float), offset)
    again = fit_glm(*(np.repeat(v, repeat, axis=0) for v in (A, y)), family, None, np.repeat(offset, repeat))
    np.testing.assert_allclose(once.all_coef, again.all_coef, atol=1e-6)
    np.testing.assert_allclose(once.errors, again.errors, rtol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_scales_and_means_do_not_matter(family):
    A, y, w, offset = problem(family)
    scales, means = np.array([1e12, 1e-12, 1.0, 1e3]), np.array([-1e13, 3e-12, 1e8, 0.0])
    plain = fit_glm(A, y, family, w, offset)
    fit = fit_glm(A * scales + means, y, family, w, offset)
    np.testing.assert_allclose(fit.coef * scales, plain.coef, rtol=1e-5)
    np.testing.assert_allclose(fit.errors * scales, plain.errors, rtol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", ["copy", "sum", "constant"])
def test_columns_that_others_explain_share_the_effect(family, case):
    A, y, w, offset = problem(family)
    extra = {"copy": A[:, 0], "sum": A[:, 0] - 0.3 * A[:, 1], "constant": np.full(len(y), 0.1)}[case]
    B = np.column_stack([A, extra])
    plain, fit = fit_glm(A, y, family, w, offset), fit_glm(B, y, family, w, offset)
    known = np.column_stack([np.ones(len(y)), B]) @ fit.all_coef
    expected = np.column_stack([np.ones(len(y)), A]) @ plain.all_coef
    np.testing.assert_allclose(known, expected, atol=1e-5)
    assert np.abs(fit.all_coef).max() < 10
    assert np.all(fit.errors < 10)
    if case == "copy":
        assert fit.coef[0] == pytest.approx(fit.coef[4], abs=1e-6)
    if case == "constant":
        assert fit.coef[4] == pytest.approx(0.0, abs=1e-6)


def test_more_columns_than_rows_fit_exactly():
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((10, 20)), rng.standard_normal(10)
    fit = fit_glm(A, y, "gaussian")
    np.testing.assert_allclose(A @ fit.coef + fit.intercept, y, atol=1e-8)


def separated(kind):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((120, 3))
    if kind == "classes":
        return A, (A[:, 0] + A[:, 1] > 0.2).astype(float), "binomial"
    y = (rng.random(120) < expit(A[:, 1])).astype(float)
    A[:, 0] = np.arange(120) % 10 == 0
    if kind == "one cell":
        y[A[:, 0] == 1] = 1.0
        return A, y, "binomial"
    if kind == "boundary":
        # classes that touch in one value: the likelihood has no maximum either
        A[:, 0] = np.round(2 * A[:, 2])
        y = np.where(A[:, 0] == 0, y, A[:, 0] > 0).astype(float)
        return A[:, [0, 1]], y, "binomial"
    y = rng.poisson(np.exp(0.5 * A[:, 1])).astype(float)
    y[A[:, 0] == 1] = 0.0
    return A, y, "poisson"


@pytest.mark.parametrize("kind", ["classes", "one cell", "boundary", "counts"])
def test_separation_is_answered_by_a_penalised_fit_and_a_warning(kind):
    A, y, family = separated(kind)
    with pytest.warns(SeparationWarning, match="ridge"):
        fit = fit_glm(A, y, family)
    assert fit.separated
    assert np.all(np.isfinite(fit.all_coef))
    assert np.abs(fit.coef).max() < 10
    # the answer is the penalised maximum: ridge of one on the standardised scale
    Z = (A - A.mean(axis=0)) / A.std(axis=0)
    mean, _ = mean_and_curvature(family, A @ fit.coef + fit.intercept)
    np.testing.assert_allclose(Z.T @ (y - mean), fit.coef * A.std(axis=0), atol=1e-4)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.7, 0.95])
def test_a_level_without_variation_is_separation_however_common(family, share):
    rng = np.random.default_rng(0)
    A = np.column_stack([rng.random(400) < share, rng.standard_normal(400)]).astype(float)
    y = rng.poisson(np.exp(A[:, 1])).astype(float)
    if family == "binomial":
        y = (rng.random(400) < expit(A[:, 1])).astype(float)
    y[A[:, 0] == 1] = 0.0
    with pytest.warns(SeparationWarning, match=f"for {int(A[:, 0].sum())} of 400 rows"):
        assert fit_glm(A, y, family).separated
    y[np.flatnonzero(A[:, 0])[0]] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not fit_glm(A, y, family).separated


@pytest.mark.parametrize("strength", [1.0, 4.0, 12.0])
def test_strong_effects_are_not_separation(strength):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((4000, 2))
    y = (rng.random(4000) < expit(strength * A[:, 0])).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = fit_glm(A, y, "binomial")
    assert fit.coef[0] == pytest.approx(strength, rel=0.2)


def test_nearly_repeated_columns_are_not_separation():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((500, 2))
    A[:, 1] = A[:, 0] + 1e-3 * A[:, 1]
    y = (rng.random(500) < expit(A[:, 0] + 200 * (A[:, 1] - A[:, 0]))).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = fit_glm(A, y, "binomial")
    assert np.abs(fit.coef).max() > 50


def test_counts_of_nothing_are_no_failure():
    A, _, _, _ = problem("poisson")
    fit = fit_glm(A[:, :0], np.zeros(len(A)), "poisson")
    assert fit.intercept < -4
    assert np.exp(fit.intercept) * len(A) < 1.0


# ---- held-out gains ----


def naive_gains(X, y, family, subset, columns_of, w, offset, rng, n_folds=5):
    """Refit without (or with) the columns of each unit, fold by fold; exact for least squares."""
    folds = rng.permutation(len(y)) % n_folds
    gains = np.zeros((n_folds, len(columns_of)))

    def loss(columns, fold):
        inside = folds != fold
        fit = fit_glm(X[inside][:, columns], y[inside], family, w[inside], offset[inside])
        eta = X[~inside][:, columns] @ fit.coef + fit.intercept + offset[~inside]
        values = (y[~inside] - eta) ** 2 if family == "gaussian" else -log_likelihood(family, y[~inside], eta)
        return np.average(values, weights=w[~inside])

    for fold in range(n_folds):
        for unit, columns in enumerate(columns_of):
            if set(columns) <= set(subset):
                without = [j for j in subset if j not in columns]
                gains[fold, unit] = loss(without, fold) - loss(list(subset), fold)
            else:
                gains[fold, unit] = loss(list(subset), fold) - loss([*subset, *columns], fold)
    return gains.mean(axis=0)


@pytest.mark.parametrize("family", FAMILIES)
def test_gains_are_refits(family):
    A, y, w, offset = problem(family, n=150, k=6, strength=0.4)
    subset = np.array([0, 2, 5])
    units = [np.array([0]), np.array([1]), np.array([2, 5]), np.array([3]), np.array([4])]
    gains = heldout_gains(A, y, family, subset, units, w, offset, np.random.default_rng(7))
    expected = naive_gains(A, y, family, subset, units, w, offset, np.random.default_rng(7))
    if family == "gaussian":
        np.testing.assert_allclose(gains, expected, atol=1e-8)
    else:
        # one Newton step instead of a refit
        np.testing.assert_allclose(gains, expected, atol=0.01 + 0.1 * np.abs(expected).max())


def test_gains_do_not_see_scales_and_means():
    A, y, w, offset = problem("gaussian", n=150, k=6)
    scales = np.array([1e12, 1e-12, 1.0, 1e6, 1.0, 1e-8])
    means = np.array([1e13, 0.0, 1e8, 0.0, -1e4, 1e-8])
    subset, units = np.array([0, 2]), [np.array([j]) for j in range(6)]
    plain = heldout_gains(A, y, "gaussian", subset, units, w, offset, np.random.default_rng(7))
    scaled = heldout_gains(
        A * scales + means, y, "gaussian", subset, units, w, offset, np.random.default_rng(7)
    )
    np.testing.assert_allclose(scaled, plain, atol=1e-6)


def test_gains_of_repeated_and_constant_columns():
    A, y, _w, _offset = problem("gaussian", n=150, k=6)
    A[:, 1], A[:, 3], A[:, 4] = A[:, 0], 0.3, A[:, 0] + A[:, 2]
    subset, units = np.array([0, 2]), [np.array([j]) for j in range(6)]
    gains = heldout_gains(A, y, "gaussian", subset, units, None, None, np.random.default_rng(7))
    np.testing.assert_allclose(gains[[1, 3, 4]], 0.0, atol=1e-12)
    # a group with a copy of itself inside: leaving together costs what leaving alone would
    both = heldout_gains(
        A, y, "gaussian", np.array([0, 1, 2]), [np.array([0, 1]), np.array([2])], None, None,
        np.random.default_rng(7),
    )  # fmt: skip
    alone = heldout_gains(
        A, y, "gaussian", np.array([0, 2]), [np.array([0]), np.array([2])], None, None,
        np.random.default_rng(7),
    )  # fmt: skip
    np.testing.assert_allclose(both, alone, atol=1e-8)


@pytest.mark.parametrize("n", [3, 12, 19])
def test_too_few_rows_say_nothing(n):
    A, y, _, _ = problem("gaussian", n=n)
    units = [np.array([j]) for j in range(4)]
    gains = heldout_gains(A, y, "gaussian", np.array([1]), units, None, None, np.random.default_rng(0))
    assert np.all(np.isnan(gains))


def test_groups_outside_the_model_say_nothing():
    A, y, _, _ = problem("gaussian")
    units = [np.array([0]), np.array([1, 2]), np.array([3])]
    gains = heldout_gains(A, y, "gaussian", np.array([0]), units, None, None, np.random.default_rng(0))
    np.testing.assert_array_equal(np.isnan(gains), [False, True, False])


def test_a_fold_without_weight_is_left_out():
    A, y, w, _ = problem("gaussian", n=100)
    w[5:] = 0.0
    units = [np.array([j]) for j in range(4)]
    gains = heldout_gains(A, y, "gaussian", np.array([1]), units, w, None, np.random.default_rng(0))
    assert gains.shape == (4,)
    assert not np.any(np.isinf(gains))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_blocks_give_the_fit_of_all_rows(family, weighted):
    rng = np.random.default_rng(5)
    A = rng.standard_normal((6000, 3)) * [1.0, 50.0, 0.01] + [0.0, 300.0, -4.0]
    eta = 0.3 + (A - [0.0, 300.0, -4.0]) @ [0.8, -0.01, 30.0]
    y = {
        "gaussian": lambda: 1e3 + eta + rng.standard_normal(6000),
        "binomial": lambda: (rng.random(6000) < 1 / (1 + np.exp(-eta))).astype(float),
        "poisson": lambda: rng.poisson(np.exp(eta)).astype(float),
    }[family]()
    weight, offset = (rng.uniform(0, 2, 6000), 0.1 * rng.standard_normal(6000)) if weighted else (None, None)
    rows = (A, y, weight, offset)

    def blocks(then):
        for part in np.array_split(np.arange(6000), 7):
            yield then(*(None if v is None else v[part] for v in rows))

    few = tuple(None if v is None else v[:300] for v in rows)
    if family == "gaussian":
        fit = fit_linear_blocks(blocks, np.append(A[0], y[0]))
    else:
        fit = fit_glm_blocks(blocks, few, family)
    whole = fit_glm(A, y, family, weight, offset)
    np.testing.assert_allclose(fit.all_coef, whole.all_coef, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(fit.errors, whole.errors, rtol=1e-4)
    assert fit.dispersion == pytest.approx(whole.dispersion, rel=1e-6)


def test_separated_blocks_ask_for_all_rows():
    x = np.linspace(-1, 1, 400)[:, None]
    y = (x[:, 0] > 0).astype(float)

    def blocks(then):
        yield then(x[::2], y[::2], None, None)
        yield then(x[1::2], y[1::2], None, None)

    assert fit_glm_blocks(blocks, (x[::9], y[::9], None, None), "binomial") is None


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_sums_of_a_search_give_the_same_model(single, weighted):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((6000, 8)) * [1, 2, 3, 4, 5, 6, 7, 8] + 5.0
    y = X[:, 1] - 0.5 * X[:, 4] + rng.standard_normal(6000) + 100.0
    weight = rng.uniform(0.5, 2.0, 6000) if weighted else None

    def take(rows):
        some = None if weight is None else weight[rows]
        return SimpleNamespace(X=X[rows], y=y[rows], sample_weight=some, offset=None)

    gram = LazyGram(Rows(take, single=single), 8, 2)
    gram.grow([slice(i, i + 500) for i in range(0, 6000, 500)])
    columns = np.array([4, 1])
    assert gram.moments(columns) is None
    gram.fetch(columns)
    moments = gram.moments(columns)
    ours, theirs = fit_moments(moments), fit_glm(X[:, columns], y, "gaussian", weight)
    assert is_precise(ours, moments)
    for name in ("intercept", "coef", "errors", "covariance", "dispersion"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-5 if single else 1e-9)


def test_sums_that_lost_the_digits_of_a_model_are_told():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((6000, 3)).astype(np.float32)
    X[:, 2] = X[:, 1] + 1e-3 * X[:, 2]

    def moments(noise, columns):
        y = X[:, 0] + noise * rng.standard_normal(6000)

        def take(rows):
            return SimpleNamespace(X=X[rows], y=y[rows], sample_weight=None, offset=None)

        gram = LazyGram(Rows(take, single=True), 3)
        gram.grow([slice(0, 3000), slice(3000, 6000)])
        gram.fetch(columns)
        return gram.moments(np.array(columns))

    for noise, columns, precise in ((1.0, [0, 1], True), (1e-5, [0, 1], False), (1.0, [1, 2], False)):
        made = moments(noise, columns)
        assert is_precise(fit_moments(made), made) is precise


def dispersed(n=600, seed=0):
    A, _, w, offset = problem("poisson", n=n, seed=seed)
    rng = np.random.default_rng(seed + 1)
    mean = np.exp(0.5 + A @ np.linspace(-0.5, 0.5, A.shape[1]) + offset)
    return A, rng.poisson(mean * rng.gamma(1.25, 0.8, n)).astype(float), w, offset


def test_negative_binomial_fits_are_the_maximum_of_the_likelihood():
    A, y, w, offset = dispersed()
    fit = fit_glm(A, y, "negative_binomial", w, offset)

    def value(coef, dispersion):
        eta = coef[0] + A @ coef[1:] + offset
        return float(w @ log_likelihood("poisson", y, eta, dispersion=dispersion))

    top = value(fit.all_coef, fit.overdispersion)
    assert fit.overdispersion == pytest.approx(0.8, rel=0.3)
    for factor in (0.97, 1.03):
        assert value(fit.all_coef, factor * fit.overdispersion) < top
        for j in range(len(fit.all_coef)):
            moved = fit.all_coef.copy()
            moved[j] += (factor - 1.0) * 0.3
            assert value(moved, fit.overdispersion) < top
    known = fit_glm(A, y, "negative_binomial", w, offset, overdispersion=fit.overdispersion)
    np.testing.assert_allclose(known.coef, fit.coef, atol=1e-8)
    # more spread counts say less
    assert np.all(fit.errors > fit_glm(A, y, "poisson", w, offset).errors)


def test_negative_binomial_blocks_are_one_fit():
    A, y, w, offset = dispersed()
    whole = fit_glm(A, y, "negative_binomial", w, offset)

    def blocks(then):
        for start in range(0, len(y), 150):
            some = slice(start, start + 150)
            yield then(A[some], y[some], w[some], offset[some])

    fit = fit_glm_blocks(blocks, (A[:200], y[:200], w[:200], offset[:200]), "negative_binomial")
    np.testing.assert_allclose(fit.all_coef, whole.all_coef, atol=2e-4)
    np.testing.assert_allclose(fit.errors, whole.errors, rtol=2e-3)
    assert fit.overdispersion == pytest.approx(whole.overdispersion, rel=2e-3)


def test_poisson_counts_fitted_as_negative_binomial_are_nearly_poisson():
    A, y, _, offset = problem("poisson", n=2000)
    fit, poisson = (fit_glm(A, y, family, None, offset) for family in ("negative_binomial", "poisson"))
    assert fit.overdispersion < 0.05
    np.testing.assert_allclose(fit.coef, poisson.coef, atol=0.02)
