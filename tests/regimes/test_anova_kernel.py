import numpy as np
import pytest

from rlselect.machines._elimination import SquaredKernelProblem, eliminate
from rlselect.machines._losses import SquaredLoss
from rlselect.regimes._anova_kernel import (
    ActionAnovaState,
    ColumnFeatures,
    ContrastState,
    KeptState,
    simplex_codes,
)

GROUPS = [np.array([0]), np.array([1]), np.array([2]), np.array([3, 4])]
PAST = [False, False, True, True]
ACTION = np.array([5])


def data(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([
        rng.normal(size=(n, 2)),
        rng.choice([-1.0, 1.0], size=n),
        simplex_codes(3)[rng.integers(3, size=n)],
        rng.choice([-1.0, 1.0], size=n),
    ])  # fmt: skip


def naive(X, Z, groups, contrast_only=False, main=True, width=2.0):
    """The formula of the module, one entry at a time."""
    maps = [ColumnFeatures(X[:, j], width) for j in (0, 1)]
    K = np.empty((len(Z), len(X)))
    for i, z in enumerate(Z):
        for j, x in enumerate(X):
            a = z[5] * x[5]
            k = [float(maps[c](z[[c]])[0] @ maps[c](x[[c]])[0]) for c in (0, 1)]
            b = {2: z[2] * x[2], 3: z[3:5] @ x[3:5]}
            own = sum(k[g] for g in groups if g < 2)
            past = sum(b[g] for g in groups if g >= 2)
            if contrast_only:
                every, others = k[0] + k[1], b[2] + b[3]
                K[i, j] = a + (own + past) * a + (every * (1 + others) + others if main else 0.0)
            else:
                K[i, j] = a + own * (1 + a + past) + past * (1 + a)
    return K


@pytest.mark.parametrize(("contrast_only", "main"), [(False, True), (True, True), (True, False)])
def test_against_naive_code(contrast_only, main):
    X, Z = data(), data(15, seed=1)
    state = ActionAnovaState(X, GROUPS, PAST, ACTION, 2.0, contrast_only, main)
    options = {"contrast_only": contrast_only, "main": main}
    np.testing.assert_allclose(state.gram(), naive(X, X, [0, 1, 2, 3], **options), atol=1e-10)
    for g in range(4):
        rest = [h for h in range(4) if h != g]
        np.testing.assert_allclose(state.without(g), naive(X, X, rest, **options), atol=1e-10)
        np.testing.assert_allclose(state.cross(Z, rest), naive(X, Z, rest, **options), atol=1e-10)
    positions, products, _ = state.shortcut(state.gram(), [0, 1, 2, 3], np.float64)
    assert positions.tolist() == [0, 1]
    vectors = np.random.default_rng(3).normal(size=(40, 2))
    expected = np.column_stack([state.without(g) @ vectors[:, g] for g in (0, 1)])
    np.testing.assert_allclose(products(vectors), expected, atol=1e-9)
    state.drop([2, 0])
    np.testing.assert_allclose(state.gram(), naive(X, X, [1, 3], **options), atol=1e-10)


def test_column_features_are_half_linear_half_gaussian():
    x = np.linspace(-2, 2, 12)
    block = ColumnFeatures(x, 1.5)(x)
    gaussian = np.exp(-np.square((x[:, None] - x) / 1.5))
    centre = np.eye(12) - 1.0 / 12
    expected = 0.5 * np.outer(x, x) + 0.5 * centre @ gaussian @ centre
    np.testing.assert_allclose(block @ block.T, expected, atol=1e-6)
    np.testing.assert_array_equal(ColumnFeatures(x, None)(x)[:, 0], x)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_simplex_codes(k):
    codes = simplex_codes(k)
    expected = np.full((k, k), -1.0 / (k - 1))
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(codes @ codes.T, expected, atol=1e-12)
    if k == 2:
        np.testing.assert_allclose(codes[:, 0], [-1, 1])


def test_elimination_order_is_the_exhaustive_one():
    X = data(60)
    y = np.sin(X[:, 0]) * X[:, 5] + 0.5 * X[:, 2] + 0.1 * np.random.default_rng(1).normal(size=60)

    def problem():
        state = ActionAnovaState(X, GROUPS, PAST, ACTION, 2.0)
        return SquaredKernelProblem(
            state, y[:, None], np.ones(60), SquaredLoss(), 0.01, True, np.arange(60) % 5
        )

    path = eliminate(problem(), lambda left: 1)
    left, order = [0, 1, 2, 3], []
    while left:
        values = {}
        for g in left:
            M = naive(X, X, [h for h in left if h != g]) + 0.6 * np.eye(60)
            S = np.linalg.inv(M)
            S -= np.outer(S.sum(1), S.sum(0)) / S.sum()
            values[g] = y @ S @ y
        order.append(min(values, key=values.get))
        left.remove(order[-1])
    assert path.order == order


def test_kept_and_contrast_states():
    X = data()
    state = KeptState(X, GROUPS, ACTION, 1.7)
    state.drop([1])
    columns = [0, 2, 3, 4, 5]
    d = np.square(X[:, None, columns] - X[None][:, :, columns]).sum(-1)
    np.testing.assert_allclose(state.gram(), np.exp(-d / 1.7**2), atol=1e-12)
    contrast = ContrastState(X, GROUPS, ACTION, 1.7)
    contrast.drop([0])
    everything = np.exp(-np.square(X[:, None, :5] - X[None][:, :, :5]).sum(-1) / 1.7**2)
    some = np.exp(-np.square(X[:, None, 1:5] - X[None][:, :, 1:5]).sum(-1) / 1.7**2)
    expected = everything + np.outer(X[:, 5], X[:, 5]) * (1 + some)
    np.testing.assert_allclose(contrast.gram(), expected, atol=1e-12)
    np.testing.assert_allclose(contrast.cross(X, contrast.active), expected, atol=1e-12)
    np.testing.assert_allclose(
        ContrastState(X, GROUPS, ACTION, 1.7, main=False).without(0), expected - everything, atol=1e-12
    )


@pytest.mark.parametrize(("contrast_only", "main"), [(False, True), (True, True), (True, False)])
def test_some_rows_of_a_kernel(contrast_only, main):
    X = data()
    state = ActionAnovaState(X, GROUPS, PAST, ACTION, 2.0, contrast_only, main)
    rows = np.array([3, 5, 8, 21, 30])
    part = state.restrict(rows)
    np.testing.assert_allclose(part.gram(), state.gram()[np.ix_(rows, rows)], atol=1e-12)
    np.testing.assert_allclose(part.without(1), state.without(1)[np.ix_(rows, rows)], atol=1e-12)
    part.drop([0, 3])
    assert state.active == [0, 1, 2, 3]
    one_by_one = state.restrict()
    for group in (0, 3):
        one_by_one.drop([group])
    np.testing.assert_allclose(part.gram(), one_by_one.gram()[np.ix_(rows, rows)], atol=1e-10)
    np.testing.assert_allclose(
        part.cross(X[:4], [1, 2]), one_by_one.cross(X[:4], [1, 2])[:, rows], atol=1e-10
    )
