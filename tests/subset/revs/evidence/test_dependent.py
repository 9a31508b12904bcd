"""Evidence of rows that share levels, against dense covariance matrices and explicit levels."""

import numpy as np
import pytest
from scipy.optimize import minimize

from rlselect.data import Batch, Units
from rlselect.kernels import ClassOutcome, ClusterLevels, CourseLevels, CoxOutcome, OrdinalOutcome, Spread
from rlselect.subset.revs.evidence import (
    OUTCOME_SHAPES,
    DependentGlm,
    DependentOutcome,
    DependentRidge,
    DependentRows,
    GlmSubset,
    Rows,
)

CODE = np.repeat([0, 1, 2, 3, 4, 5, 6, 7], [3, 4, 5, 6, 7, 5, 4, 6])
N = len(CODE)


def linear(levels, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 6))
    X[:, 3:] = rng.normal(size=(8, 3))[CODE]
    y = X[:, 0] + X[:, 3] + rng.normal(size=8)[CODE] + rng.normal(size=N)
    w = rng.integers(1, 3, size=N).astype(float)
    return DependentRows(X, y, w, levels), X, y, w


def dense_covariance(levels, spread):
    cov = spread.size * (CODE[:, None] == CODE)
    if isinstance(levels, CourseLevels):
        cov = spread.size * spread.memory ** np.abs(np.subtract.outer(np.arange(N), np.arange(N)))
    return cov


@pytest.mark.parametrize("levels", [ClusterLevels(CODE), CourseLevels(np.zeros(N, dtype=int))])
def test_linear_evidence_is_that_of_generalised_least_squares(levels):
    rows, X, y, w = linear(levels)
    state = DependentRidge(rows, Units(np.arange(6)))

    def naive(mask, spread):
        """With the scale of whitened columns, y integrated over its scale and intercept."""
        V = np.diag(1.0 / w) + dense_covariance(levels, spread)
        inverse = np.linalg.inv(V)
        one = np.ones(N)
        project = inverse - np.outer(inverse @ one, one @ inverse) / (one @ inverse @ one)
        inside = X[:, mask]
        gram = inside.T @ project @ inside
        scale = np.sqrt(np.diag(gram) / w.sum())
        G, c = gram / np.outer(scale, scale), inside.T @ project @ y / scale
        M = G + np.eye(len(G)) / state.slab
        quad = y @ project @ y - c @ np.linalg.solve(M, c)
        logdet = np.linalg.slogdet(state.slab * M)[1]
        whole = -0.5 * (np.linalg.slogdet(V)[1] + np.log(one @ inverse @ one))
        return whole - 0.5 * (w.sum() - 1.0) * np.log(quad) - 0.5 * logdet

    masks = [np.array([True, False, False, True, True, False]), np.zeros(6, dtype=bool)]
    found, first = [], state.spread
    for mask in masks:
        state.reset(mask)
        found.append(state.evidence)
    assert found[0] - found[1] == pytest.approx(naive(masks[0], first) - naive(masks[1], first), abs=1e-7)
    moves = state.moves()
    state.toggle(3)
    assert moves[3] == pytest.approx(state.evidence - found[1], abs=1e-7)
    # and under another spread, on the same scale of evidence
    assert state.learn_dispersion()
    assert not state.learn_dispersion()
    one = np.arange(6) == 3
    assert state.spread != first
    assert state.evidence - found[1] == pytest.approx(
        naive(one, state.spread) - naive(masks[1], first), abs=1e-6
    )


def test_linear_effects_beside_levels_have_a_hole_at_zero():
    state = DependentRidge(linear(ClusterLevels(CODE))[0], Units(np.arange(6)))
    assert state.shapes
    assert all(shape.alike and not shape.share for shape in state.shapes)


def counts(family, levels, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    eta = 0.8 * X[:, 0] + 0.7 * rng.normal(size=8)[CODE]
    y = (rng.random(N) < 1 / (1 + np.exp(-eta))) if family == "binomial" else rng.poisson(np.exp(eta))
    rows = Rows(lambda where, *_: Batch(X, y.astype(float), None, None))
    rows.append(slice(0, N))
    return DependentGlm(rows, Units(np.arange(5)), family, levels), X, y.astype(float)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
@pytest.mark.parametrize("levels", [ClusterLevels(CODE), CourseLevels(np.zeros(N, dtype=int))])
def test_laplace_evidence_is_that_of_a_model_with_its_levels(family, levels):
    state, X, y = counts(family, levels)
    state.reset(np.array([True, False, True, False, False]))
    inside = np.column_stack([np.ones(N), (X * state.column_scale)[:, [0, 2]]])
    if isinstance(levels, ClusterLevels):
        Z, cov = (CODE[:, None] == np.arange(8)).astype(float), state.spread.size * np.eye(8)
    else:
        Z, cov = np.eye(N), dense_covariance(levels, state.spread)
    design, Q = np.column_stack([inside, Z]), np.linalg.inv(cov)
    prior = np.zeros((design.shape[1], design.shape[1]))
    prior[1:3, 1:3] = np.eye(2) / state.slab
    prior[3:, 3:] = Q

    def parts(b):
        eta = design @ b
        if family == "binomial":
            mean = 1 / (1 + np.exp(-eta))
            return y @ eta - np.logaddexp(0, eta).sum(), y - mean, mean * (1 - mean)
        return y @ eta - np.exp(eta).sum(), y - np.exp(eta), np.exp(eta)

    b = minimize(
        lambda b: 0.5 * b @ prior @ b - parts(b)[0],
        np.zeros(design.shape[1]),
        jac=lambda b: prior @ b - design.T @ parts(b)[1],
        tol=1e-12,
    ).x
    value, _, curvature = parts(b)
    hessian = (design.T * curvature) @ design + prior
    naive = value - 0.5 * b @ prior @ b - 0.5 * np.linalg.slogdet(hessian)[1]
    naive += 0.5 * np.linalg.slogdet(Q)[1] - 0.5 * 2 * np.log(state.slab)
    # counts have a constant of the data beside
    free = state.evidence
    state.reset(np.zeros(5, dtype=bool))
    empty = state.evidence
    design, prior = (
        design[:, [0, *range(3, design.shape[1])]],
        np.delete(np.delete(prior, [1, 2], 0), [1, 2], 1),
    )
    b = minimize(
        lambda b: 0.5 * b @ prior @ b - parts(b)[0],
        np.zeros(design.shape[1]),
        jac=lambda b: prior @ b - design.T @ parts(b)[1],
        tol=1e-12,
    ).x
    value, _, curvature = parts(b)
    hessian = (design.T * curvature) @ design + prior
    base = value - 0.5 * b @ prior @ b - 0.5 * np.linalg.slogdet(hessian)[1] + 0.5 * np.linalg.slogdet(Q)[1]
    assert free - empty == pytest.approx(naive - base, abs=2e-3)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_levels_of_no_variance_change_no_price(family):
    state, X, y = counts(family, ClusterLevels(CODE))
    rows = Rows(lambda where, *_: Batch(X, y, None, None))
    rows.append(slice(0, N))
    plain = GlmSubset(rows, Units(np.arange(5)), family)
    state.spread = Spread(0.0)
    state._rescale(np.ones(N))
    mask = np.array([True, False, False, True, False])
    for one in (state, plain):
        one.reset(mask)
    np.testing.assert_allclose(state.moves(), plain.moves(), atol=1e-3)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_a_move_is_priced_by_one_newton_step_beside_the_levels(family):
    state, X, y = counts(family, ClusterLevels(CODE))
    state.reset(np.array([True, False, False, False, False]))
    X = X * state.column_scale
    A = np.column_stack([np.ones(N), X[:, 0], CODE[:, None] == np.arange(8)])
    b = np.concatenate([state._coef, state._level])
    mean = 1 / (1 + np.exp(-A @ b)) if family == "binomial" else np.exp(A @ b)
    w = mean * (1 - mean) if family == "binomial" else mean
    M = (A.T * w) @ A + np.diag([0.0, 1 / state.slab, *[1 / state.spread.size] * 8])
    for j in range(1, 5):
        x = X[:, j]
        pull = (x * w) @ A
        schur = (x * w) @ x + 1 / state.slab - pull @ np.linalg.solve(M, pull)
        step = x @ (y - mean) / schur
        naive = 0.5 * step**2 * schur - 0.5 * np.log(state.slab * schur)
        naive += np.log((step**2 + 1 / schur) / state.slab)
        assert state.moves()[j] == pytest.approx(naive, abs=1e-4)


@pytest.mark.parametrize("levels", [ClusterLevels(CODE), CourseLevels(np.zeros(N, dtype=int))])
def test_every_column_has_the_curvature_beside_the_levels_that_it_has_without_them(levels):
    state, X, y = counts("poisson", levels)
    weight, one = y.mean(), np.ones(N)
    inverse = np.linalg.inv(np.eye(N) / weight + dense_covariance(levels, state.spread))
    project = inverse - np.outer(inverse @ one, one @ inverse) / (one @ inverse @ one)
    beside = np.einsum("ni,nm,mi->i", X, project, X)
    np.testing.assert_allclose(state.column_scale**2, weight * N / beside)


def test_learning_changes_what_is_shared_and_comes_to_rest():
    state, _, _ = counts("poisson", ClusterLevels(CODE))
    first = state.spread
    turns = [state.learn_dispersion() for _ in range(10)]
    assert turns[0]
    assert not turns[-1]
    assert state.spread != first
    assert isinstance(state.spread, Spread)
    assert state.copy().evidence == state.evidence


def outcomes(family, levels, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5))
    X[:, 2:] = rng.normal(size=(8, 3))[CODE]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    eta = X[:, 0] + rng.normal(size=8)[CODE]
    if family == "multinomial":
        codes = np.digitize(eta + rng.logistic(size=N), [-0.7, 0.7])
        plain = ClassOutcome(codes, 3, np.ones(N))
    elif family == "ordinal":
        codes = np.digitize(eta + rng.logistic(size=N), [-0.7, 0.7])
        plain = OrdinalOutcome(codes, 3, np.ones(N), np.zeros(N))
    else:
        plain = CoxOutcome(rng.exponential(np.exp(-eta)), rng.random(N) < 0.8, np.ones(N), np.zeros(N))
    units = Units(np.arange(5))
    return DependentOutcome(np.ascontiguousarray(X.T), units, plain, float(N), levels), plain


@pytest.mark.parametrize("family", ["multinomial", "ordinal", "cox"])
@pytest.mark.parametrize("levels", [ClusterLevels(CODE), CourseLevels(np.zeros(N, dtype=int))])
def test_evidence_of_outcomes_is_that_of_explicit_levels(family, levels):
    state, plain = outcomes(family, levels)
    mask = np.array([True, False, False, True, False])
    state.reset(mask)
    state.set_prior(0.03, OUTCOME_SHAPES[0])
    f, q = plain.n_own, plain.n_predictors
    order = np.arange(N) if plain.order is None else plain.order
    Z = levels.to_rows(np.eye(levels.n_nodes))[order].T
    columns = np.vstack([state._columns[mask], Z])
    Q = np.kron(np.array([levels.pull(v, state.spread) for v in np.eye(len(Z))]), np.eye(q))
    prior = np.zeros((f + 2 * q + len(Q),) * 2)
    prior[f : f + 2 * q, f : f + 2 * q] = np.eye(2 * q) / state.slab
    prior[f + 2 * q :, f + 2 * q :] = Q
    b = np.concatenate([plain.start(), np.zeros(len(columns) * q)])
    for _ in range(30):
        point = plain.at(b[:f], b[f:].reshape(-1, q).T @ columns)
        gradient = np.concatenate([point.own_score, (columns @ point.score.T).ravel()]) - prior @ b
        hessian = point.hessian(columns) + prior
        b = b + np.linalg.solve(hessian, gradient)
    naive = point.value - 0.5 * b @ prior @ b - 0.5 * np.linalg.slogdet(hessian)[1]
    naive += 0.5 * np.linalg.slogdet(Q)[1] - 0.5 * 2 * q * np.log(state.slab)
    assert state.evidence == pytest.approx(naive, abs=1e-3)


@pytest.mark.parametrize("family", ["multinomial", "ordinal", "cox"])
def test_moves_of_outcomes_lead_where_they_say_and_columns_keep_their_curvature(family):
    state, plain = outcomes(family, ClusterLevels(CODE))
    state.reset(np.array([True, False, False, False, False]))
    before, moves = state.evidence + state.alike, state.moves()
    for unit in (1, 4):
        twin = state.copy()
        twin.toggle(unit)
        assert twin.evidence + twin.alike - before == pytest.approx(moves[unit], abs=0.15)
    beside = np.einsum("maa->m", state._null().squares(state._columns))
    none = np.zeros((plain.n_predictors, N))
    alone = np.einsum(
        "maa->m", plain.at(plain.start(), none).squares(state._columns / state.column_scale[:, None])
    )
    # but for what the constant takes, columns have a mean of zero
    np.testing.assert_allclose(beside, alone, rtol=0.2)
    assert state.column_scale[4] > 1.2 * state.column_scale[1]


def test_what_rows_share_is_learnt_beside_the_subset():
    state, _ = outcomes("ordinal", ClusterLevels(CODE))
    other = state.copy()
    assert state.learn_dispersion()
    assert state.spread != other.spread
    while state.learn_dispersion():
        pass
    assert not state.learn_dispersion()
    # prices are those of what was learnt, and the copy keeps its own
    again = DependentOutcome(
        state._columns / state.column_scale[:, None], state.units, state.outcome.plain, N, ClusterLevels(CODE)
    )
    np.testing.assert_allclose(other.moves(), again.moves(), atol=1e-6)
    again.outcome.spread = state.spread
    again._rescale()
    np.testing.assert_allclose(state.moves(), again.moves(), atol=1e-3)
