"""Binary and count rewards: Q-values in range, fits against a general optimiser, what is refused."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LinearRegression

from rlselect import QLearning, TrialData, load, regime_value, save
from rlselect.kernels import log_likelihood
from rlselect.regimes._own_loss import _left_out_deviance, fit_linked, response_links


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_fits_minimise_their_objective(family):
    rng = np.random.default_rng(0)
    Z, weights = rng.normal(size=(60, 4)), rng.uniform(0.5, 2.0, size=60)
    eta = Z[:, 0] - 0.5
    y = rng.uniform(size=60) < expit(eta) if family == "binomial" else rng.poisson(np.exp(eta))
    y = y.astype(float)

    def objective(b, lam, keep):
        losses = -2.0 * log_likelihood(family, y, b[0] + Z @ b[1:], constant=False)
        return lam * b[1:] @ b[1:] + (weights * keep) @ losses / weights.sum()

    def naive(lam, keep=1.0):
        return minimize(objective, np.zeros(5), args=(lam, keep), method="BFGS", options={"gtol": 1e-9}).x

    for lam in (1.0, 0.01):
        found = fit_linked(Z, y, weights, family, [lam])
        np.testing.assert_allclose([found.intercept, *found.coefficients], naive(lam), atol=1e-4)
    # leaving one out, by refitting and by one step
    lam = 0.05
    b = naive(lam)
    exact = []
    for row in range(60):
        keep = np.arange(60) != row
        away = naive(lam, keep.astype(float))
        exact.append(-2.0 * log_likelihood(family, y[row], away[0] + Z[row] @ away[1:], constant=False))
    ridge = np.array([0.0, *[lam * weights.sum()] * 4])
    quick = _left_out_deviance(np.vstack([np.ones(60), Z.T]), y, weights, family, ridge, b)
    assert quick == pytest.approx(weights @ exact / weights.sum(), rel=0.03)
    # of several penalties the one with the smallest such risk
    lams = [100.0, 1.0, 0.05, 1e-6]
    risks = []
    for one in lams:
        fit = fit_linked(Z, y, weights, family, [one])
        ridge = np.array([0.0, *[one * weights.sum()] * 4])
        coef = np.array([fit.intercept, *fit.coefficients])
        risks.append(_left_out_deviance(np.vstack([np.ones(60), Z.T]), y, weights, family, ridge, coef))
    assert fit_linked(Z, y, weights, family, lams).lam == lams[int(np.argmin(risks))]


def binary_trial(n=300, seed=0, counts=False):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    first, second = rng.choice([-1, 1], size=(2, n))
    eta = 1.5 * x * second + 2.0 * z * first
    reward = rng.poisson(np.exp(0.4 * eta)) if counts else rng.uniform(size=n) < expit(2.0 * eta)
    columns = {"z": z, "A1": first, "x": x, "A2": second, "Y": reward.astype(float)}
    half = {-1: 0.5, 1: 0.5}
    stages = [
        {"history": ["z"], "action": "A1", "propensity": half},
        {"history": ["x"], "action": "A2", "reward": "Y", "propensity": half},
    ]
    return columns, stages


@pytest.mark.parametrize(
    ("model", "maximize"),
    [("linear", True), ("linear", False), ("anova", True), ("rbf", True), (LinearRegression(), True)],
)
def test_probabilities_stay_probabilities(model, maximize):
    columns, stages = binary_trial(100)
    trial = TrialData.from_wide(columns, stages)
    assert trial.reward_type == "binary"
    learner = QLearning(model=model, maximize=maximize, selection=None, random_state=0).fit(trial)
    far = {name: [-30.0, 0.0, 30.0] for name in ("x", "z")} | {"A1": [1, -1, 1]}
    for stage in (1, 2):
        q = learner.q_values(far, stage)
        assert (q >= 0.0).all()
        assert (q <= 1.0).all()
    if model in ("linear", "anova"):
        best = learner.predict({"x": [-1.0, 1.0], "z": [0.0, 0.0], "A1": [1, 1]}, 2)
        assert best.tolist() == ([-1, 1] if maximize else [1, -1])
    assert "Rewards are 0 or 1" in " ".join(learner.summary().dict["notes"])


def test_probabilities_with_many_subjects_are_near_the_truth(tmp_path):
    """From 500 subjects on, by columns; the fit survives a file."""
    columns, stages = binary_trial(900, seed=1)
    learner = QLearning(model="linear", random_state=0).fit(TrialData.from_wide(columns, stages))
    grid = {"z": [1.0, -1.0, 0.0], "A1": [1, 1, 1], "x": [1.0, 0.5, -1.0]}
    truth = expit(2.0 * (1.5 * np.array(grid["x"])[:, None] * [-1, 1] + 2.0 * np.array(grid["z"])[:, None]))
    assert np.abs(learner.q_values(grid, 2) - truth).max() < 0.15
    save(learner, tmp_path / "learner")
    again = load(tmp_path / "learner")
    np.testing.assert_allclose(again.q_values(grid, 2), learner.q_values(grid, 2))


@pytest.mark.parametrize("kind", ["binary", "number"])
def test_values_of_rare_events_are_within_what_rewards_can_be(kind):
    """Doubly robust scores of seven events may be below 0 on the mean, and their intervals reach below."""
    rng = np.random.default_rng(3)
    table = {"x": rng.normal(size=120), "arm": rng.integers(0, 2, 120), "y": np.zeros(120)}
    # all events are of those who were not treated as the regime says
    others = np.flatnonzero(table["arm"] == (table["x"] > 0))
    table["y"][rng.choice(others, 7, replace=False)] = 1.0
    stage = {"history": ["x"], "action": "arm", "reward": "y", "propensity": {0: 0.5, 1: 0.5}}
    trial = TrialData.from_wide(table, [stage], reward_type=kind)
    value = regime_value(trial, lambda h, t: (h["x"] <= 0).astype(int), model="linear", random_state=0)
    if kind == "binary":
        assert value.interval[0] == 0.0
        assert 0.0 <= value.value < value.interval[1] <= 1.0
        assert trial.limits(0.5) == (0.0, 1.0)
    else:
        assert value.interval[0] < 0.0
        assert value.value == pytest.approx(value.scores.mean())


def test_counts_are_positive_and_numbers_are_as_they_were():
    columns, stages = binary_trial(250, counts=True)
    plain = TrialData.from_wide(columns, stages)
    assert plain.reward_type == "number"
    trial = TrialData.from_wide(columns, stages, reward_type="count")
    learner = QLearning(model="linear", random_state=0).fit(trial)
    far = {"z": [-9.0, 9.0], "A1": [1, 1], "x": [-9.0, 9.0]}
    assert (learner.q_values(far, 2) > 0.0).all()
    assert (learner.q_values(far, 2) <= 1.5 * columns["Y"].max()).all()
    assert (QLearning(model="linear", random_state=0).fit(plain).q_values(far, 2) < 0.0).any()
    assert regime_value(trial, [1, 1], model="linear", random_state=0).value > 0.0


def test_ranges_add_up_over_stages():
    columns, stages = binary_trial(60)
    columns["R1"] = (np.arange(60) % 2).astype(float)
    trial = TrialData.from_wide(columns, [stages[0] | {"reward": "R1"}, stages[1]])
    first, last = response_links("binary", trial.stages, 0.5, 1.0)
    assert (first.low, first.high, last.high) == (0.0, 1.5, 1.0)
    first, _ = response_links("binary", trial.stages, 0.5, -1.0)
    assert (first.low, first.high) == (-1.5, 0.0)
    assert first.to_unit(np.array([-1.5, 0.0, 0.1])).tolist() == [0.0, 1.0, 1.0]


def test_rewards_that_are_not_what_they_are_said_to_be():
    columns, stages = binary_trial(40)
    columns["Y"] = columns["Y"] + 0.5 * (np.arange(40) == 3)
    with pytest.raises(ValueError, match=r"but a reward is .*5; it must be 0 or 1"):
        TrialData.from_wide(columns, stages, reward_type="binary")
    with pytest.raises(ValueError, match="whole number of at least 0"):
        TrialData.from_wide(columns, stages, reward_type="count")
    with pytest.raises(ValueError, match="reward_type='yes' was given; it must be one of"):
        TrialData.from_wide(columns, stages, reward_type="yes")


def test_the_dissertation_knows_squared_loss_alone():
    columns, stages = binary_trial(60)
    learner = QLearning.paper(random_state=0).fit(TrialData.from_wide(columns, stages))
    assert all(machine.link is None for machine in learner._machines)
