"""Doses: polynomials, kernels and densities by hand, the best dose found, and nothing beyond support."""

import numpy as np
import pytest
from scipy.stats import norm

from rlselect import AdvantageLearning, QLearning, TrialData, load, regime_value, save
from rlselect.regimes._dose import learn_doses


def dose_trial(n=300, seed=0, confounded=False, propensity="randomized"):
    """The best dose is 2.5 + x / 2; by chance, or nearly what a history suggests."""
    rng = np.random.default_rng(seed)
    x, noise = rng.normal(size=(2, n))
    dose = 2.5 + x + 0.5 * noise if confounded else rng.uniform(0.0, 5.0, size=n)
    reward = 4.0 - np.square(dose - 2.5 - 0.5 * x) + x + 0.5 * rng.normal(size=n)
    table = {"x": x, "noise": rng.normal(size=n), "dose": dose, "R": reward}
    stage = {"history": ["x", "noise"], "action": "dose", "reward": "R", "propensity": propensity}
    return TrialData.from_wide(table, [stage | {"action_type": "dose"}]), table


def test_polynomials_are_orthogonal_and_mixtures_interpolate():
    trial, table = dose_trial(200)
    doses = trial.stages[0].doses
    exact = np.array([np.interp(table["dose"], doses.grid, code) for code in doses.codes.T]).T
    np.testing.assert_allclose(doses.mixture(table["dose"]) @ doses.codes, exact, atol=1e-12)
    moments = exact.T @ exact / 200
    np.testing.assert_allclose(moments, np.eye(3), atol=0.05)
    assert np.abs(exact.mean(axis=0)).max() < 0.03
    # a cubic of the grid is a combination of the codes and a constant
    cubic = 1.0 + doses.grid - 2.0 * doses.grid**2 + 0.3 * doses.grid**3
    design = np.column_stack([np.ones(len(cubic)), doses.codes])
    np.testing.assert_allclose(design @ np.linalg.lstsq(design, cubic, rcond=None)[0], cubic, atol=1e-8)


def test_importance_is_kernel_over_density():
    trial, table = dose_trial(60, confounded=True, propensity="estimate")
    doses, stage = trial.stages[0].doses, trial.stages[0]
    X = stage.history
    expected = doses.expected(X)
    # expected doses: the first column counts, the second hardly
    assert np.corrcoef(expected, table["x"])[0, 1] > 0.95
    h = 1.06 * doses.residuals.std() * 60**-0.2
    b = 1.06 * table["dose"].std() * 60**-0.2
    found = trial.importance(1)
    for i in (0, 7):
        others = np.arange(60) != i
        away = (table["dose"][i] - expected[i] - doses.residuals[others]) / h
        density = max(norm.pdf(away).mean() / h, 0.05 / np.ptp(doses.grid))
        for k in (0, 10):
            low, high = (doses.grid[[0, -1]] - doses.grid[k]) / b
            kernel = norm.pdf((table["dose"][i] - doses.grid[k]) / b) / b / (norm.cdf(high) - norm.cdf(low))
            assert found[i, k] == pytest.approx(kernel / density, rel=1e-6)
    assert trial.action_probabilities(1).sum(axis=1) == pytest.approx(np.ones(60))
    given = trial.taken_probabilities(1)
    known = TrialData.from_wide(
        table,
        [{"history": ["x"], "action": "dose", "reward": "R", "action_type": "dose", "propensity": given}],
    )
    np.testing.assert_allclose(known.taken_probabilities(1), given)


@pytest.mark.parametrize("method", ["dr", "ipw"])
def test_value_of_a_fixed_dose(method):
    """E 4 - (d - 2.5 - x / 2)^2 is 3.75 at d = 2.5 and 2.75 at 3.5.

    Weights alone value doses in the neighbourhood, less by the variance of the kernel.
    """
    errors = []
    for seed in range(2):
        trial, _ = dose_trial(600, seed)
        for dose, worth in ((2.5, 3.75), (3.5, 2.75)):
            found = regime_value(trial, [dose], method=method, model="anova", random_state=0)
            smoothed = 0.0 if method == "dr" else trial.stages[0].doses.bandwidth ** 2
            errors.append((found.value - worth + smoothed) / found.standard_error)
    assert np.abs(np.mean(errors)) < 1.5
    assert np.abs(errors).max() < 3.5


@pytest.mark.parametrize("make", [QLearning, AdvantageLearning])
def test_the_best_dose_is_found(make, tmp_path):
    trial, _ = dose_trial(300, 1)
    learner = make(model="linear", random_state=0).fit(trial)
    assert learner.tailoring_ == [["x"]]
    x = np.array([-1.5, 0.0, 1.5])
    new = {"x": x, "noise": np.zeros(3)}
    np.testing.assert_allclose(learner.predict(new), 2.5 + 0.5 * x, atol=0.4)
    if make is QLearning:
        # the optimum is worth 4
        assert abs(learner.value_.value - 4.0) < 3.0 * learner.value_.standard_error + 0.1
        assert learner.value_.standard_error < 0.3
        assert set(learner.regime_.predict(new)) <= set(learner.actions_[0])
        fresh, _ = dose_trial(300, 2)
        again = regime_value(fresh, learner, random_state=0)
        assert abs(again.value - 4.0) < 3.0 * again.standard_error + 0.1
        save(learner, tmp_path / "learner")
        np.testing.assert_array_equal(load(tmp_path / "learner").predict(new), learner.predict(new))


def test_nothing_beyond_what_such_subjects_were_given():
    """More is always better, but subjects were given 2.5 + x and some noise."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    dose = 2.5 + x + 0.4 * rng.normal(size=300)
    table = {"x": x, "dose": dose, "R": dose + 0.1 * rng.normal(size=300)}
    stage = {"history": ["x"], "action": "dose", "reward": "R", "action_type": "dose"}
    with pytest.warns(UserWarning, match="Overlap is poor"):
        learner = QLearning(model="linear", random_state=0).fit(TrialData.from_wide(table, [stage]))
    best = learner.predict({"x": [-1.0, 0.0, 1.0]})
    assert (np.diff(best) > 0.0).all()
    assert (np.abs(best - [1.5, 2.5, 3.5]) < 1.0).all()
    assert (best > [1.5, 2.5, 3.5]).all()
    limited = TrialData.from_wide(table, [stage | {"feasible": (2.0, 3.0)}])
    allowed = limited.stages[0].allowed(limited.stages[0].history)
    assert allowed.any(axis=1).all()
    grid = limited.stages[0].doses.grid
    assert not allowed[:, (grid < 2.0) | (grid > 3.0)].any()


def test_two_stages_with_a_dose_in_the_history():
    rng = np.random.default_rng(0)
    n = 300
    table = {"x": rng.normal(size=n), "d": rng.uniform(0, 2, size=n), "b": rng.choice(["p", "q"], size=n)}
    # after a large dose "q" is right, after a small one "p"
    table["R"] = (table["d"] - 1.0) * np.where(table["b"] == "q", 1.0, -1.0) + 0.2 * rng.normal(size=n)
    stages = [
        {"history": ["x"], "action": "d", "action_type": "dose", "propensity": "randomized"},
        {"history": [], "action": "b", "reward": "R", "propensity": "randomized"},
    ]
    trial = TrialData.from_wide(table, stages)
    assert "doses 0" in repr(trial)
    learner = QLearning(model="linear", random_state=0).fit(trial)
    assert learner.predict({"x": [0.0, 0.0], "d": [0.2, 1.8]}, 2).tolist() == ["p", "q"]
    assert abs(learner.predict({"x": [0.0]})[0] - 1.0) > 0.7


def test_what_is_no_dose():
    trial, table = dose_trial(50)
    stage = {"history": ["x"], "action": "dose", "reward": "R", "action_type": "dose"}
    with pytest.raises(ValueError, match="Say action_type='dose' if they are doses"):
        TrialData.from_wide(table, [stage | {"action_type": "label"}])
    with pytest.raises(ValueError, match="2 different doses; below 10 they are labels"):
        TrialData.from_wide(table | {"dose": np.arange(50) % 2}, [stage])
    with pytest.raises(ValueError, match="action_type='dose', but 'a' is not a finite number"):
        TrialData.from_wide(table | {"dose": ["a"] * 50}, [stage])
    with pytest.raises(ValueError, match="action_type='amount' of stage 1 was given"):
        TrialData.from_wide(table, [stage | {"action_type": "amount"}])
    with pytest.raises(ValueError, match="propensity='2:1' of stage 1 is of labels"):
        TrialData.from_wide(table, [stage | {"propensity": "2:1"}])
    with pytest.raises(ValueError, match="has no dose in common with those that were given"):
        TrialData.from_wide(table, [stage | {"feasible": (7.0, 8.0)}])
    with pytest.raises(ValueError, match="the regime recommends the dose 9 at stage 1; those given there"):
        regime_value(trial, [9.0])
    with pytest.raises(ValueError, match="must be the smallest and the largest dose"):
        learn_doses([], np.empty((50, 0)), table["dose"], "low", True, 1)


def test_densities_of_many_doses_are_those_of_few(monkeypatch):
    trial, table = dose_trial(150, confounded=True, propensity="estimate")
    stage = trial.stages[0]
    one_by_one = stage.doses.masses(stage.history), stage.doses.densities(stage.history, table["dose"])
    monkeypatch.setattr("rlselect.regimes._dose._MANY_PAIRS", 500)
    by_spline = stage.doses.masses(stage.history), stage.doses.densities(stage.history, table["dose"])
    for exact, found in zip(one_by_one, by_spline, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-6 * exact.max())


def test_a_part_of_a_trial_of_doses_has_the_densities_of_its_own():
    trial, _ = dose_trial(80, confounded=True, propensity="estimate")
    some = np.arange(0, 80, 2)
    part = trial.part(some)
    doses, stage = part.stages[0].doses, part.stages[0]
    assert part.n_subjects == 40
    np.testing.assert_array_equal(doses.residuals, trial.stages[0].doses.residuals[some])
    away = stage.dose - doses.expected(stage.history)
    width = 1.06 * doses.residuals.std() * 40**-0.2
    kernel = norm.pdf((away[:, None] - doses.residuals) / width) / width
    np.fill_diagonal(kernel, 0.0)
    floor = 0.05 / np.ptp(doses.grid)
    np.testing.assert_allclose(part.taken_probabilities(1), np.maximum(kernel.sum(axis=1) / 39, floor))
