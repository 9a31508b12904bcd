"""Kernels from which features leave: updates equal rebuilding."""

import numpy as np
import pytest

from rlselect.kernels._kernel_matrix import squared_distance_part
from rlselect.machines._kernels import AdditiveKernel, PolynomialKernel, make_kernel, make_state
from rlselect.machines._solve import fold_numbers


@pytest.mark.parametrize(
    "kernel",
    [
        "rbf",
        "linear",
        "poly",
        "chi2",
        PolynomialKernel(2, 0.5),
        AdditiveKernel(lambda a, b: np.abs(a[:, None] - b[None]).sum(-1), lambda t: np.exp(-t)),
    ],
)
def test_update_equals_rebuild(kernel):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2, size=(20, 7))
    X[:, 2] *= 1e4
    groups = [np.array([0]), np.array([1, 4]), np.array([2]), np.array([3]), np.array([5, 6])]
    kernel = make_kernel(kernel)
    state = make_state(kernel, X, groups, 1.7)
    for gone in (2, 0, 4):
        keep = [g for g in state.active if g != gone]
        fresh = make_state(kernel, X, [groups[g] for g in keep], 1.7).gram()
        np.testing.assert_allclose(state.without(gone), fresh, rtol=1e-6, atol=1e-6 * np.abs(fresh).max())
        state.drop([gone])
        np.testing.assert_allclose(state.gram(), fresh, rtol=1e-6, atol=1e-6 * np.abs(fresh).max())
        np.testing.assert_allclose(
            state.cross(X, state.active), fresh, rtol=1e-6, atol=1e-6 * np.abs(fresh).max()
        )


def test_definitions():
    A, B = np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]])
    assert make_kernel("rbf")(A, B, 2.0)[0, 0] == pytest.approx(np.exp(-5 / 4))
    assert make_kernel("linear")(A, B)[0, 0] == pytest.approx(5)
    assert make_kernel("poly")(A, B, 2.0)[0, 0] == pytest.approx((1 + 5 / 4) ** 3)
    assert make_kernel("chi2")(A, B, 2.0)[0, 0] == pytest.approx(np.exp(-(4 / 4 + 1 / 3) / 4))
    assert make_kernel("chi2")(np.zeros((1, 2)), np.zeros((1, 2)), 2.0)[0, 0] == 1.0


def _plain(A, B):
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(-1))


def _dropping(A, B):
    return _plain(A, B)


_dropping.removal = "drop"


def _own(A, B):
    return _plain(A, B)


_own.removal = lambda X, columns: np.delete(X, columns, axis=1)


@pytest.mark.parametrize("kernel", [_plain, _dropping, _own])
def test_callables_say_how_features_leave(kernel):
    X = np.random.default_rng(0).normal(size=(8, 3))
    state = make_state(make_kernel(kernel), X, [np.array([j]) for j in range(3)], 1.0)
    np.testing.assert_allclose(state.without(1), _plain(X[:, [0, 2]], X[:, [0, 2]]))
    state.drop([1])
    np.testing.assert_allclose(state.cross(X[:2], state.active), _plain(X[:2, [0, 2]], X[:, [0, 2]]))


def test_bad_kernel_parameters():
    with pytest.raises(ValueError, match="degree"):
        PolynomialKernel(0)
    strange = lambda A, B: A @ B.T  # noqa: E731
    strange.removal = "maybe"
    with pytest.raises(ValueError, match="removal"):
        make_kernel(strange)


def test_folds_depend_on_rows_not_on_their_order():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.integers(0, 2, size=30).astype(float)
    folds = fold_numbers(X, y)
    order = rng.permutation(30)
    np.testing.assert_array_equal(fold_numbers(X[order], y[order]), folds[order])
    twice = fold_numbers(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    np.testing.assert_array_equal(twice, np.repeat(folds, 2))
    assert set(folds) == set(range(5))


def test_distances_of_many_columns_are_those_of_differences():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(30, 9)), rng.normal(size=(20, 9))
    b[3] = a[5]
    expected = np.square(a[:, None] - b).sum(axis=-1)
    found = squared_distance_part(a, b)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert found.min() >= 0.0
    # One huge value would cost the product its digits: rows that are equal stay so.
    a[:, 0] += 1e9
    b[:, 0] += 1e9
    np.testing.assert_array_equal(squared_distance_part(a, a).diagonal(), 0.0)
    np.testing.assert_allclose(squared_distance_part(a, b), np.square(a[:, None] - b).sum(axis=-1))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("gone", [[1], [0, 2], [0, 1, 2, 4]])
def test_groups_leave_together_as_one_by_one(kernel, gone):
    X = np.random.default_rng(0).standard_normal((12, 7))
    groups = [np.array([0, 1]), np.array([2]), np.array([3]), np.array([4, 5]), np.array([6])]
    together, single = (make_state(make_kernel(kernel), X, groups, 1.5) for _ in range(2))
    together.drop(gone)
    for group in gone:
        single.drop([group])
    assert together.active == single.active
    np.testing.assert_allclose(together.gram(), single.gram(), rtol=1e-12, atol=1e-12)


def test_distances_of_very_many_columns_are_added_up_in_parts():
    a, b = np.random.default_rng(0).standard_normal((2, 5, 2500))
    expected = np.square(a[:, None] - b).sum(axis=-1)
    np.testing.assert_allclose(squared_distance_part(a, b), expected, rtol=1e-11)
