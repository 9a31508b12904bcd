"""Outcome-weighted learning against general solvers on tiny problems, and in trials with known answers."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from rlselect import TrialData, compare_regimes, regime_value
from rlselect.regimes import outcome_weighted_regime
from rlselect.regimes._joint_margins import _project, joint_margins, primal_objective


def tiny(T, seed=0, n=12):
    rng = np.random.default_rng(seed)
    grams = [1.0 + X @ X.T for X in rng.normal(size=(T, n, 2))]
    signs = rng.choice([-1.0, 1.0], size=(T, n))
    if T > 1:
        signs[1, :3] = 0.0  # not there at the second stage
    return grams, signs, rng.uniform(0.0, 2.0, size=n)


@pytest.mark.parametrize("T", [1, 2, 3])
def test_joint_margins_against_a_general_solver(T):
    """With slacks, as a quadratic programme in the machines' coefficients."""
    grams, signs, costs = tiny(T)
    n = len(costs)

    def unpack(z):
        return z[: T * n].reshape(T, n), z[T * n :]

    def objective(z):
        beta, slack = unpack(z)
        return 0.5 * sum(b @ g @ b for b, g in zip(beta, grams, strict=True)) + costs @ slack

    def margins(z):
        beta, slack = unpack(z)
        f = np.array([g @ b for b, g in zip(beta, grams, strict=True)])
        return (signs * f + slack - np.abs(signs)).ravel()

    start = np.concatenate([np.zeros(T * n), np.ones(n)])
    bounds = [(None, None)] * (T * n) + [(0.0, None)] * n
    found = minimize(
        objective,
        start,
        bounds=bounds,
        constraints={"type": "ineq", "fun": margins},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert found.success
    mine = joint_margins(grams, signs, costs)
    assert primal_objective(grams, signs, costs, mine) == pytest.approx(found.fun, rel=1e-4)
    functions = [
        np.array([g @ b for b, g in zip(beta, grams, strict=True)]) for beta in (mine, unpack(found.x)[0])
    ]
    np.testing.assert_allclose(functions[0], functions[1], atol=0.02)


def test_projections_are_the_nearest_points():
    rng = np.random.default_rng(1)
    points, costs = rng.normal(size=(3, 20)), rng.uniform(0.1, 1.0, size=20)
    for k, mine in enumerate(_project(points, costs).T):
        assert (mine >= 0.0).all()
        assert mine.sum() <= costs[k] + 1e-12
        # no vertex of the set lies in the direction of what was cut off
        away = points[:, k] - mine
        best = linprog(-away, A_ub=[[1.0] * 3], b_ub=[costs[k]])
        assert -best.fun <= away @ mine + 1e-9


def two_stages(n, seed, policy=None):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    table = {"x": x, "z": z, "u": rng.normal(size=n)}
    coins = rng.choice(["a", "b"], size=(2, n))
    table["A1"] = coins[0] if policy is None else policy(table, 1)
    table["A2"] = coins[1] if policy is None else policy(table, 2)
    first, second = (np.where(table[name] == "b", 1.0, -1.0) for name in ("A1", "A2"))
    table["R"] = 2.0 + first * x + second * z + 0.5 * rng.normal(size=n)
    return table


STAGES = [
    {"history": ["x", "u"], "action": "A1", "propensity": "randomized"},
    {"history": ["z"], "action": "A2", "reward": "R", "propensity": "randomized"},
]


@pytest.mark.parametrize(("options", "least"), [({}, 3.2), ({"residuals": False, "kernel": "rbf"}, 2.5)])
def test_regimes_of_two_stages(options, least):
    """The best regime is sign(x), sign(z), worth 2 + 2 E|x| = 3.6; chance is worth 2."""
    trial = TrialData.from_wide(two_stages(150, 0), STAGES)
    regime = outcome_weighted_regime(trial, random_state=0, **options)
    worth = two_stages(20_000, 1, regime.predict)["R"].mean()
    assert worth > least
    assert abs(regime.value_.value - worth) < 3.0 * regime.value_.standard_error
    fresh = TrialData.from_wide(two_stages(150, 5), STAGES)
    found = compare_regimes(fresh, {"owl": regime, "chance": "observed"}, model="linear", random_state=0)
    assert found.difference("owl", "chance").interval[1] > least - 2.0
    assert "value" in repr(regime)


def test_all_stages_at_once_need_strong_effects():
    """Rewards are 5 for those who did right at both stages and almost 0 for others: 5 is the best value."""
    rng = np.random.default_rng(2)
    table = two_stages(150, 2)

    def both_right(table):
        return ((table["A1"] == "b") == (table["x"] > 0)) & ((table["A2"] == "b") == (table["z"] > 0))

    table["R"] = 5.0 * both_right(table) + 0.1 * rng.uniform(size=150)
    regime = outcome_weighted_regime(TrialData.from_wide(table, STAGES), algorithm="sowl", random_state=0)
    assert both_right(two_stages(20_000, 1, regime.predict)).mean() > 0.8
    # what is said in the notes: with moderate effects the machines vanish
    grams, signs = [1.0 + X @ X.T for X in rng.normal(size=(2, 60, 2))], rng.choice([-1.0, 1.0], size=(2, 60))
    found = joint_margins(grams, signs, 0.01 * (1.0 + 0.2 * (signs > 0).all(axis=0)))
    functions = [gram @ mine for gram, mine in zip(grams, found, strict=True)]
    assert np.abs(functions).max() < 0.2


def test_one_stage_is_one_machine_and_small_rewards_may_be_good():
    rng = np.random.default_rng(0)
    x, action = rng.normal(size=80), rng.choice([0, 1], size=80)
    table = {"x": x, "A": action, "R": (2 * action - 1) * x + 0.3 * rng.normal(size=80)}
    trial = TrialData.from_wide(
        table, [{"history": ["x"], "action": "A", "reward": "R", "propensity": {0: 0.5, 1: 0.5}}]
    )
    new = {"x": [-1.0, 1.0]}
    for maximize, best in ((True, [0, 1]), (False, [1, 0])):
        regime = outcome_weighted_regime(trial, maximize=maximize, random_state=0)
        assert regime.predict(new).tolist() == best
    both = [
        outcome_weighted_regime(trial, algorithm=algorithm, random_state=0, **more)
        for algorithm, more in (("bowl", {"residuals": False}), ("sowl", {}))
    ]
    np.testing.assert_allclose(both[0].stages[0].coefficients, both[1].stages[0].coefficients)
    assert regime_value(trial, both[0], model="linear", random_state=0).value > 0.5


def test_what_outcome_weighted_learning_does_not_know():
    table = two_stages(60, 0) | {"A1": np.arange(60) % 3}
    with pytest.raises(ValueError, match="stage 1 has 3 actions; outcome-weighted learning knows two"):
        outcome_weighted_regime(TrialData.from_wide(table, STAGES))
    trial = TrialData.from_wide(two_stages(60, 0), STAGES)
    with pytest.raises(ValueError, match="residuals has no effect with algorithm='sowl'"):
        outcome_weighted_regime(trial, algorithm="sowl", residuals=True)
    with pytest.raises(ValueError, match="algorithm='owl' was given; it must be"):
        outcome_weighted_regime(trial, algorithm="owl")
