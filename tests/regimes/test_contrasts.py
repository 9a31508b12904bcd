"""Slopes of contrasts against their formula, in a trial with known ones, and how wide intervals are."""

import numpy as np
import pytest
from scipy.stats import t as student

from rlselect import QLearning, TrialData
from rlselect.regimes._sample import Sample
from rlselect.regimes._slopes import _slope

HALF = {-1: 0.5, 1: 0.5}


def one_stage(n=300, seed=0):
    """Action 1 is better by 1 + 2 x + 0.5 for the north."""
    rng = np.random.default_rng(seed)
    x, u = rng.normal(size=(2, n))
    site = rng.choice(["north", "south"], size=n)
    action = rng.choice([-1, 1], size=n)
    reward = 0.5 * action * (1.0 + 2.0 * x + 0.5 * (site == "north")) + u + 0.5 * rng.normal(size=n)
    stage = {"history": ["x", "u", "site"], "action": "A", "reward": "R", "propensity": HALF}
    return TrialData.from_wide({"x": x, "u": u, "site": site, "A": action, "R": reward}, [stage])


def test_a_slope_and_its_robust_error():
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=40), rng.uniform(0.5, 2.0, size=40)
    y = 1.0 + x + rng.normal(size=40)
    design = np.column_stack([np.ones(40), x])
    bread = np.linalg.inv(design.T @ (weights[:, None] * design))
    beta = bread @ design.T @ (weights * y)
    leverage = weights * np.einsum("ij,jk,ik->i", design, bread, design)
    meat = weights * (y - design @ beta) / (1.0 - leverage)
    variance = bread @ (design.T * meat**2) @ design @ bread
    np.testing.assert_allclose(_slope(x, y, Sample(weights, None)), (beta[1], np.sqrt(variance[1, 1])))
    clusters = np.arange(40) // 4
    totals = [np.sum(((x - weights @ x / weights.sum()) * meat)[clusters == c]) for c in range(10)]
    error = _slope(x, y, Sample(weights, clusters))[1]
    assert error == pytest.approx(np.sqrt(np.sum(np.square(totals))) * bread[1, 1])


def test_slopes_hold_what_is_true_and_allow_for_all_columns():
    trial = one_stage()
    learner = QLearning(model="linear", random_state=0).fit(trial)
    (effects,) = learner.tailoring_effects_
    mine = next(effect for effect in effects if effect.column == "x")
    spread = trial.history(1)["x"].std()
    assert mine.interval[0] < 2.0 * spread < mine.interval[1]
    assert (mine.action, mine.reference, mine.n_compared) == (1, -1, 3)
    reach = student.ppf(1.0 - 0.025 / 3, 298) * mine.standard_error
    assert mine.interval[1] - mine.slope == pytest.approx(reach)
    assert {effect.column for effect in effects} <= {"x", "u", "site = south"}
    text = str(learner.summary())
    assert "all history columns of the stage together" in " ".join(text.split())


@pytest.mark.slow
def test_intervals_of_selected_columns_cover():
    """Of pure noise among 8 columns: the family of intervals misses 0 in at most 5 % of the trials."""
    missed = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, action = rng.normal(size=(150, 8)), rng.choice([-1, 1], size=150)
        table = {f"x{j}": column for j, column in enumerate(X.T)} | {"A": action, "R": rng.normal(size=150)}
        stage = {"history": [f"x{j}" for j in range(8)], "action": "A", "reward": "R", "propensity": HALF}
        learner = QLearning(model="linear", random_state=0).fit(TrialData.from_wide(table, [stage]))
        missed += any(not one.interval[0] <= 0.0 <= one.interval[1] for one in learner.tailoring_effects_[0])
    assert missed <= 6
