"""A look at rows: its sums against naive ones, and what a subset makes of them against all rows."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from rlselect.data._units import Units
from rlselect.subset.revs.evidence._glm_subset import GlmSubset
from rlselect.subset.revs.evidence._gram import LazyGram
from rlselect.subset.revs.evidence._look import glm_scores, linear_scores
from rlselect.subset.revs.evidence._ridge_subset import RidgeSubset
from rlselect.subset.revs.evidence._rows import Rows

FAMILIES = ["gaussian", "binomial", "poisson"]
MEANS = {"gaussian": lambda eta: eta, "binomial": expit, "poisson": np.exp}


def problem(n=4000, p=12, family="gaussian", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.3 * rng.standard_normal((p, p))) + 0.5
    eta = 0.3 * X[:, 0] - 0.3 * X[:, 3] + 0.05 * X[:, 7]
    weight, offset = rng.integers(0, 3, size=n).astype(float), 0.2 * rng.standard_normal(n)
    mean = MEANS[family](eta + offset)
    draw = {
        "gaussian": lambda: mean + rng.standard_normal(n),
        "binomial": lambda: (rng.random(n) < mean).astype(float),
        "poisson": lambda: rng.poisson(mean).astype(float),
    }
    return X, draw[family](), weight, offset


def make_rows(X, y, weight=None, offset=None):
    def take(rows):
        parts = [None if v is None else v[rows] for v in (weight, offset)]
        return SimpleNamespace(X=X[rows], y=y[rows], sample_weight=parts[0], offset=parts[1])

    return Rows(take)


def stand(rows, where, p, family, inside=(0, 3), units=None):
    units = Units(np.arange(p)) if units is None else units
    if family == "gaussian":
        gram = LazyGram(rows, p, 2)
        gram.grow(where)
        state = RidgeSubset(gram, units)
    else:
        for some in where:
            rows.append(some)
        state = GlmSubset(rows, units, family)
    state.reset(np.isin(np.arange(units.n_units), inside))
    return state


def look_at(state, where):
    look, task = state.look()
    for scores in state.rows.pass_by(where, task):
        look.add(scores)
    return look


HALVES = [slice(0, 2000), slice(2000, 4000)]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_naive_sums(container, weighted):
    X, y, weight, offset = problem()
    rows = make_rows(container(X), y, *((weight, offset) if weighted else ()))
    block = rows.append(slice(0, 4000))
    shift, scale = rows.scale
    Z, w = (X - shift) / scale, weight if weighted else np.ones(4000)
    given = y - offset if weighted else y
    coef = np.array([0.4, -0.2])
    for found, residual in (
        (
            linear_scores(block, [0, 3], coef, level=0.1, center=2.0, unit=3.0),
            (given - 2.0) / 3.0 - 0.1 - Z[:, [0, 3]] @ coef,
        ),
        (
            glm_scores(block, [0, 3], np.append(0.3, coef), ("binomial", 0.0)),
            y - expit(0.3 + Z[:, [0, 3]] @ coef + (offset if weighted else 0.0)),
        ),
    ):
        np.testing.assert_allclose(found.products, Z.T @ (w * residual), atol=1e-8)
        sums = (w @ residual, w @ residual**2, w.sum(), 4000)
        np.testing.assert_allclose(found[1:], sums, atol=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_look_at_the_rows_that_were_read_changes_nothing(family, weighted):
    X, y, weight, offset = problem(family=family)
    rows = make_rows(X, y, *((weight, offset) if weighted else ()))
    units = Units(np.r_[np.arange(8), 8, 8, 9, 9])
    state = stand(rows, HALVES, 12, family, units=units)
    seen = state.seen(look_at(state, HALVES))
    np.testing.assert_allclose(seen.moves(), state.moves(), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(seen.z_values(), state.z_values(), atol=1e-3)
    probes = np.array([1, 5, 6, 11])
    assert seen.leftover(probes) == pytest.approx(state.leftover(probes), abs=1e-3)
    assert not np.shares_memory(seen.mask, state.mask)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_look_at_all_rows_shows_what_all_rows_show(family):
    """Products of columns from a tenth of the rows: only errors of second order are left."""
    X, y, _, _ = problem(n=40_000, family=family, seed=1)
    few, everything = (
        [slice(0, 2000), slice(2000, 4000)],
        [slice(a, a + 4000) for a in range(0, 40_000, 4000)],
    )
    state = stand(make_rows(X, y), few, 12, family)
    seen = state.seen(look_at(state, everything))
    whole = stand(make_rows(X, y), everything, 12, family)
    outside = ~whole.mask
    assert whole.z_values()[7] > max(5.0, 1.5 * state.z_values()[7])
    np.testing.assert_allclose(seen.z_values()[outside], whole.z_values()[outside], atol=0.5)
    np.testing.assert_allclose(seen.resolution()[outside], whole.resolution()[outside], rtol=0.1)
    assert seen.noise == pytest.approx(whole.noise, rel=0.01)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("shape", [0, 1])
def test_paying_is_where_the_reward_turns(family, shape):
    X, y, _, _ = problem(family=family, seed=2)
    state = stand(make_rows(X, y), HALVES, 12, family, inside=())
    state.shape = shape
    worth = np.sort(state.moves())
    between = 0.5 * (worth[1:] + worth[:-1])
    assert np.any(between < 30.0)
    for price in between[between < 30.0]:
        np.testing.assert_array_equal(state.moves() > price, state.z_values() > state.paying(price))


@pytest.mark.parametrize("weighted", [False, True])
def test_all_columns_at_once_are_the_columns_one_by_one(weighted):
    X, y, weight, _ = problem()
    given = (X, y, weight) if weighted else (X, y)
    one, whole = (LazyGram(make_rows(*given), 12, 2) for _ in range(2))
    for gram, expected in ((one, []), (whole, [5, 2, 9, 11, 0])):
        gram.grow([slice(0, 100)])
        gram.fetch([3])
        gram.grow(HALVES, anew=True, expect=expected)
    assert all(whole.known(j) for j in range(12))
    assert not one.known(5)
    one.fetch(range(12))
    for j in range(12):
        np.testing.assert_allclose(whole.column(j), one.column(j), rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(whole.cross, one.cross, atol=1e-8)
    np.testing.assert_allclose(
        whole.moments(np.array([1, 4])).about, one.moments(np.array([1, 4])).about, rtol=1e-9, atol=1e-7
    )
