"""The kernel of effects of single features, pairs and so on, against its definition."""

import pickle

import numpy as np
import pytest

from rlselect.machines import AnovaKernel, AnovaState, make_kernel, make_state
from rlselect.machines._kernels import name_of_kernel

GROUPS = [np.array([0]), np.array([1, 2]), np.array([3]), np.array([4])]


def _naive(A, B, groups, bandwidth, strength):
    """The product, one pair of rows at a time."""
    matrix = np.ones((len(A), len(B)))
    for i, a in enumerate(A):
        for k, b in enumerate(B):
            for group in groups:
                distance = np.square(a[group] - b[group]).mean()
                matrix[i, k] *= 1.0 + strength * np.exp(-distance / bandwidth**2)
    return matrix


def _state(bandwidth=1.3):
    X = np.random.default_rng(0).normal(size=(12, 5))
    return X, make_state(make_kernel("anova"), X, GROUPS, bandwidth)


def test_matrices_are_the_definition():
    X, state = _state()
    assert isinstance(state, AnovaState)
    np.testing.assert_allclose(state.gram(), _naive(X, X, GROUPS, 1.3, 0.25), rtol=1e-13)
    rest = [GROUPS[g] for g in (0, 2, 3)]
    np.testing.assert_allclose(state.without(1), _naive(X, X, rest, 1.3, 0.25), rtol=1e-13)
    Z = np.random.default_rng(1).normal(size=(3, 5))
    np.testing.assert_allclose(state.cross(Z, [0, 3]), _naive(Z, X, [GROUPS[0], GROUPS[3]], 1.3, 0.25))
    assert np.linalg.eigvalsh(state.gram())[0] > -1e-12


def test_groups_leave_and_orders_are_weighed_anew_with_the_bandwidth():
    X, state = _state()
    state.drop([1, 3])
    rest = [GROUPS[0], GROUPS[2]]
    np.testing.assert_allclose(state.gram(), _naive(X, X, rest, 1.3, 0.25), rtol=1e-12)
    state.bandwidth = 0.8
    np.testing.assert_allclose(state.gram(), _naive(X, X, rest, 0.8, 0.5), rtol=1e-12)
    state.drop([0, 2])
    np.testing.assert_allclose(state.gram(), 1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_shortcut_builds_the_same_matrices(dtype):
    _, state = _state()
    positions, products, build = state.shortcut(state.gram(), state.active, dtype)
    assert len(positions) == 0
    assert products is None
    for group in state.active:
        for _ in range(2):
            np.testing.assert_allclose(build(group), state.without(group), rtol=1e-6)


def test_what_is_kept_is_the_state_and_not_its_matrices():
    X, state = _state()
    state.drop([2])
    before = state.cross(X[:2], state.active)
    again = pickle.loads(pickle.dumps(state))
    assert again._total is None
    np.testing.assert_array_equal(again.cross(X[:2], again.active), before)


def test_names():
    assert name_of_kernel(AnovaKernel()) == "anova"
    assert name_of_kernel(make_kernel("linear")) == "linear"
    assert name_of_kernel(_naive) == "_naive"
