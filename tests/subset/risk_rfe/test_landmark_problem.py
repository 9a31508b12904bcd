"""Machines from landmarks: the exact machine where all rows are landmarks, and nearly so with fewer."""

import time

import numpy as np
import pytest

from rlselect import RiskRFE
from rlselect.machines import make_kernel
from rlselect.subset.risk_rfe._landmark_problem import LandmarkProblem, choose_landmarks
from rlselect.subset.risk_rfe._problem import exact_cost, pass_seconds


def problem(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 6))
    return X, X[:, 1] * X[:, 4] + 0.3 * rng.standard_normal(n)


def test_nearly_all_rows_are_nearly_the_exact_machine():
    X, y = problem(200)
    exact, near = (RiskRFE(n_landmarks=m).fit(X, y) for m in (None, 199))
    np.testing.assert_array_equal(exact.ranking_, near.ranking_)
    np.testing.assert_allclose(exact.path_["risk"], near.path_["risk"], rtol=0.02)
    np.testing.assert_allclose(exact.predict(X), near.predict(X), atol=0.05)
    assert exact.kernel_error_ == 0.0 < near.kernel_error_ < 1e-3


def test_neither_order_nor_copies_of_rows_choose_landmarks():
    X, _ = problem(80)
    order = np.random.default_rng(1).permutation(80)
    found = choose_landmarks(X, 20)
    np.testing.assert_array_equal(found, choose_landmarks(X[np.append(order, order[:9])], 20))
    assert len(choose_landmarks(X, 100)) == 80


def test_weights_count_rows():
    X, y = problem(150)
    weight = np.random.default_rng(2).integers(1, 4, size=150)
    rows = np.repeat(np.arange(150), weight)
    weighted = RiskRFE(n_landmarks=50).fit(X, y, sample_weight=weight.astype(float))
    copied = RiskRFE(n_landmarks=50).fit(X[rows], y[rows])
    np.testing.assert_array_equal(weighted.ranking_, copied.ranking_)
    for name in ("risk", "objective", "regularization", "bandwidth"):
        np.testing.assert_allclose(weighted.path_[name], copied.path_[name], rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_what_does_not_fit_is_refused_at_once(loss):
    X = np.zeros((300_000, 2))
    X[:, 0] = np.arange(300_000) % 7
    y = X[:, 0] > 3 if loss == "hinge" else X[:, 0]
    started = time.perf_counter()
    with pytest.raises(MemoryError, match=r"300000 rows need .* GB.*use loss='squared"):
        RiskRFE(loss=loss).fit(X, y)
    assert time.perf_counter() - started < 1.0


@pytest.mark.parametrize("options", [{"kernel": "linear"}, {"loss": "hinge"}, {"stopping": "held-out"}])
def test_landmarks_are_refused_where_they_have_no_effect(options):
    X, y = problem(40)
    with pytest.raises(ValueError, match="n_landmarks=10 was given"):
        RiskRFE(n_landmarks=10, **options).fit(X, y > 0 if options.get("loss") else y)


def test_removals_in_haste_keep_the_coefficients():
    X, y = problem(150)
    kernel, groups = make_kernel("rbf"), [np.array([j]) for j in range(6)]
    posed = LandmarkProblem(
        kernel, X, choose_landmarks(X, 40), y[:, None], np.ones(150), 1e-3, 3.0, True, groups
    )
    posed.refresh()
    posed.hasty = True
    found = dict(posed.removals(6))
    for group, value in found.items():
        rest = [j for j in range(6) if j != group]
        cross, inner = (
            kernel.link(kernel.part(rows[:, rest], posed.landmarks[:, rest]), 3.0)
            for rows in (X, posed.landmarks)
        )
        residual = y - cross @ posed.coefficients[:, 0]
        norm = posed.coefficients[:, 0] @ inner @ posed.coefficients[:, 0]
        assert value == pytest.approx(np.var(residual) + 1e-3 * norm, rel=1e-9)
    assert set(sorted(found, key=found.get)[-2:]) == {1, 4}


def test_a_short_budget_still_finds_the_pair():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4000, 12))
    y = 2.0 * X[:, 1] * X[:, 4] + 0.5 * rng.standard_normal(4000)
    fitted = RiskRFE(time_budget=1.0).fit(X, y)
    assert fitted.stop_reason_.startswith("time budget")
    # it may have stopped before all others have left
    assert {1, 4} <= set(np.flatnonzero(fitted.support_).tolist())
    assert fitted.n_landmarks_ < 4000


def test_estimates_of_size_grow_as_the_work_does():
    memory, seconds = exact_cost(1000, 10, 1, True)
    twice = exact_cost(2000, 10, 1, True)
    assert (twice[0] / memory, twice[1] / seconds) == pytest.approx((4.0, 8.0))
    assert exact_cost(1000, 10, 1, False)[1] > exact_cost(1000, 10, 3, True)[1] > seconds
    assert pass_seconds(20_000, 10, 100) > pass_seconds(20_000, 10, 50)
