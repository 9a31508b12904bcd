"""Who could have taken which action, and who says so."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from rlselect import QLearning, TrialData, regime_value
from rlselect.regimes import OverlapDisplay, _propensity
from rlselect.regimes._never_taken import _chance_of_none, find_never_taken

STAGE = {"history": ["x", "z"], "action": "A", "reward": "R"}


def table(n, chance, seed=0):
    """Actions 0 and 1, the latter with a probability that depends on x."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    return {"x": x, "z": z, "A": (rng.uniform(size=n) < chance(x)).astype(int), "R": x + rng.normal(size=n)}


def expit(z):
    return 1.0 / (1.0 + np.exp(-z))


def test_estimated_propensities_follow_the_history_and_overlap_says_so():
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    chance = 1.0 / (1.0 + np.exp(-3.0 * x))
    data = {"x": x, "A": (rng.uniform(size=600) < chance).astype(int), "R": x}
    stage = {"history": ["x"], "action": "A", "reward": "R"}
    trial = TrialData.from_wide(data, [stage])
    assert np.abs(trial.action_probabilities(1)[:, 1] - chance).mean() < 0.05
    (report,) = trial.overlap()
    assert "Overlap is poor" in report.advice
    assert report.largest_imbalance[0] == "x"
    assert report.effective_size[0] < report.counts[0]
    (fine,) = TrialData.from_wide(table(300, lambda x: 0.5 + 0 * x), [STAGE]).overlap()
    assert "causal only if" in fine.advice
    assert "largest imbalance" in str(fine)


def test_few_who_stayed_and_many_who_were_lost_are_reported():
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    stays = rng.uniform(size=500) < 1.0 / (1.0 + np.exp(-4.0 * x))
    data = {"x": x, "A": rng.choice([0, 1], size=500), "R": x}
    data |= {"B": np.where(stays, rng.choice([0.0, 1.0], size=500), np.nan), "S": np.where(stays, x, np.nan)}
    stages = [
        {"history": ["x"], "action": "A", "reward": "R", "propensity": "randomized"},
        {"action": "B", "reward": "S", "propensity": "randomized"},
    ]
    first, last = TrialData.from_wide(data, stages, leaving="weights").overlap()
    assert first.smallest_remaining < 0.05
    assert "few stand for" in first.advice
    assert last.smallest_remaining == 1.0
    assert all(report.smallest_remaining == 1.0 for report in TrialData.from_wide(data, stages).overlap())


@pytest.mark.parametrize("chance", [lambda x: x > 0, lambda x: np.abs(x) > 0.67, lambda x: expit(4 * x)])
def test_every_action_of_every_subject_counts(chance):
    """The action taken may be likely for everyone while the other one is out of reach."""
    trial = TrialData.from_wide(table(200, chance), [STAGE])
    (report,) = trial.overlap()
    assert report.poor
    assert report.rare_share > 0.05
    assert report.smallest == pytest.approx(trial.action_probabilities(1).min())
    with pytest.warns(UserWarning, match="Stage 1: Overlap is poor"):
        learner = QLearning(model="linear", selection=None, random_state=0).fit(trial)
    assert "Overlap is poor" in str(learner.summary())
    with pytest.warns(UserWarning, match="Stage 1: Overlap is poor"):
        regime_value(trial, [1], method="ipw")


def test_actions_that_are_not_feasible_are_not_out_of_reach():
    data = table(200, lambda x: 0.5 * (x > -1))

    def feasible(history):
        return np.column_stack([np.ones(len(history["x"]), bool), history["x"] > -1])

    (all_allowed,) = TrialData.from_wide(data, [STAGE]).overlap()
    (limited,) = TrialData.from_wide(data, [STAGE | {"feasible": feasible}]).overlap()
    assert all_allowed.rare_share > limited.rare_share
    assert not limited.poor


def test_arms_that_are_rare_by_design_are_fine():
    data = table(400, lambda x: 0.04 + 0 * x)
    (report,) = TrialData.from_wide(data, [STAGE | {"propensity": {0: 0.96, 1: 0.04}}]).overlap()
    assert not report.poor
    assert report.smallest == pytest.approx(0.04)


def test_an_action_of_a_handful_of_subjects_is_a_guess():
    rng = np.random.default_rng(0)
    data = {
        "x": rng.normal(size=60),
        "a": np.array(["rare"] * 4 + ["one", "two"] * 28),
        "r": rng.normal(size=60),
    }
    stage = {"history": ["x"], "action": "a", "reward": "r", "propensity": "randomized"}
    (report,) = TrialData.from_wide(data, [stage]).overlap()
    assert report.poor
    assert report.advice.startswith("Fewer than 5 subjects took rare: ")
    # four of each are what a small trial has
    small = {name: np.concatenate([values[:4], values[4:12]]) for name, values in data.items()}
    (report,) = TrialData.from_wide(small, [stage]).overlap()
    assert not report.poor


def test_what_was_said_of_actions_is_checked():
    data = table(300, lambda x: expit(1.5 * x))
    for said in ("randomized", {0: 0.5, 1: 0.5}):
        (report,) = TrialData.from_wide(data, [STAGE | {"propensity": said}]).overlap()
        assert report.contradicted
        assert "were not randomised like that" in report.advice
    (fair,) = TrialData.from_wide(table(300, lambda x: 0.5 + 0 * x), [STAGE | {"propensity": said}]).overlap()
    assert not fair.contradicted


def test_weights_balance_what_choices_did_not():
    data = table(1000, lambda x: expit(x))
    data["group"] = np.where(data["x"] > 0, "high", "low")
    data["sex"] = np.tile(["f", "m"], 500)
    stage = STAGE | {"history": ["x", "z", "group", "sex"]}
    trial = TrialData.from_wide(data, [stage])
    (report,) = trial.overlap()
    chances, took = trial.action_probabilities(1), data["A"]
    weights = 1.0 / chances[np.arange(1000), took]
    mine, spread = data["x"], data["x"].std()
    before = abs(mine[took == 1].mean() - mine[took == 0].mean()) / spread
    means = [np.average(mine[took == k], weights=weights[took == k]) for k in (0, 1)]
    assert report.balance["x"] == pytest.approx((before, abs(means[1] - means[0]) / spread))
    assert report.balance["x"][1] < 0.3 * report.balance["x"][0]
    assert set(report.balance) == {"x", "z", "group = high", "group = low", "sex = f", "sex = m"}
    assert report.largest_imbalance == ("x", report.balance["x"][0])


def test_the_picture():
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot as plt

    data = table(100, lambda x: expit(x))
    trial = TrialData.from_wide(data, [STAGE])
    drawn = OverlapDisplay.from_trial(trial)
    probabilities, balance = drawn.axes_
    shown = np.concatenate([line.get_xdata() for line in probabilities.lines])
    assert np.allclose(np.sort(shown), np.sort(trial.action_probabilities(1).ravel()))
    (report,) = trial.overlap()
    before, after = (line.get_xdata() for line in balance.lines[:2])
    assert np.allclose(np.sort(before), np.sort([one for one, _ in report.balance.values()]))
    assert np.allclose(np.sort(after), np.sort([one for _, one in report.balance.values()]))
    plt.close("all")


def test_with_many_subjects_some_of_them_say_which_penalty_is_best(monkeypatch):
    """What they say is as good as what everyone says; all penalties are tried where a label is rare."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 4))
    labels = (rng.random(3000) < 1.0 / (1.0 + np.exp(-X[:, 0] - 0.5 * X[:, 1] ** 2))).astype(int)
    every = _propensity.log_losses(_propensity._logistic(X, labels, 2), labels).mean()
    monkeypatch.setattr(_propensity, "_SAMPLE", 900)
    assert len(_propensity._worthwhile_strengths(X, labels, 2)) == 1
    some = _propensity.log_losses(_propensity._logistic(X, labels, 2), labels).mean()
    assert every <= some < every + 1e-3
    rare = np.where(np.arange(3000) < 5, 2, labels)
    assert _propensity._worthwhile_strengths(X, rare, 3) == _propensity._STRENGTHS


def test_estimated_probabilities_do_not_depend_on_the_order_of_the_rows():
    rng = np.random.default_rng(4)
    table = {"x": rng.normal(size=90), "z": rng.integers(0, 2, 90).astype(float), "y": rng.normal(size=90)}
    table["a"] = (table["x"] + rng.logistic(size=90) > 0.0).astype(int)
    order = rng.permutation(90)
    stages = [{"history": ["x", "z"], "action": "a", "reward": "y"}]
    one = TrialData.from_wide(table, stages)
    other = TrialData.from_wide({name: column[order] for name, column in table.items()}, stages)
    assert np.ptp(one.action_probabilities(1)[:, 0]) > 0.1
    np.testing.assert_allclose(
        other.action_probabilities(1), one.action_probabilities(1)[order], rtol=1e-7, atol=1e-9
    )


def barred(n=200, p=10, seed=0):
    """Three arms of which the third is not for those with x0 above 0, and a category."""
    rng = np.random.default_rng(seed)
    table = {f"x{j}": rng.normal(size=n) for j in range(p)} | {
        "site": rng.choice(["east", "north", "west"], n)
    }
    arm = rng.integers(0, 3, n)
    table["A"] = np.where((table["x0"] > 0) & (arm == 2), rng.integers(0, 2, n), arm)
    return table | {"R": rng.normal(size=n)}


@pytest.mark.parametrize("seed", range(3))
def test_an_action_that_ends_at_a_threshold_is_seen_among_many_columns(seed):
    table = barred(seed=seed)
    stage = {"history": [*(f"x{j}" for j in range(10)), "site"], "action": "A", "reward": "R"}
    (report,) = TrialData.from_wide(table, [stage]).overlap()
    highest = table["x0"][table["A"] == 2].max()
    count = int((table["x0"] > highest).sum())
    assert report.poor
    assert f"none of the {count} subjects with x0 above {highest:.4g} took 2" in report.advice
    (report,) = TrialData.from_wide(table, [stage | {"propensity": "1:1:1"}]).overlap()
    assert report.contradicted
    assert report.advice.startswith("None of the")

    # who could not have it is no problem once it is said
    def feasible(history):
        return np.column_stack([np.ones((len(history["x0"]), 2), dtype=bool), history["x0"] <= highest])

    (report,) = TrialData.from_wide(table, [stage | {"feasible": feasible}]).overlap()
    assert not report.never_taken


def test_a_label_without_an_action_is_seen():
    table = barred()
    table["A"] = np.where((table["site"] == "north") & (table["A"] == 1), 0, table["A"])
    (report,) = TrialData.from_wide(table, [{"history": ["site"], "action": "A", "reward": "R"}]).overlap()
    count = int((table["site"] == "north").sum())
    assert report.never_taken == (f"none of the {count} subjects with site = north took 1",)


def test_chance_that_a_part_is_without_an_action():
    # of all sets of 3 among 8, those without the first two
    sets = list(combinations(range(8), 3))
    share = np.mean([not {0, 1} & set(mine) for mine in sets])
    assert _chance_of_none(8, 3, 2) == pytest.approx(share)
    assert _chance_of_none(8, 3, 6) == 0.0


def test_clusters_that_have_one_action_each_are_not_told_to_miss_the_others():
    rng = np.random.default_rng(0)
    site = np.repeat(np.arange(16), 15)
    # the arm goes up with a column of the site, as it may by chance in so few of them
    table = {"x": np.arange(16.0)[site], "site": site, "A": (site > 9).astype(int), "R": rng.normal(size=240)}
    stage = {"history": ["x"], "action": "A", "reward": "R", "propensity": "randomized"}
    (report,) = TrialData.from_wide(table, [stage], cluster="site").overlap()
    assert not report.never_taken
    (report,) = TrialData.from_wide(table, [stage]).overlap()
    assert report.contradicted


def test_parts_without_an_action_are_rare_by_chance():
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(300):
        table = {f"x{j}": rng.normal(size=100) for j in range(5)} | {
            "A": rng.choice(3, 100, p=[0.6, 0.3, 0.1])
        }
        table["site"] = rng.choice(["a", "b", "c", "d"], 100)
        history = [*(f"x{j}" for j in range(5)), "site"]
        stage = {"history": history, "action": "A", "reward": np.zeros(100)}
        found += bool(find_never_taken(TrialData.from_wide(table, [stage]).stages[0]))
    # at most one in a hundred
    assert found <= binom.ppf(0.999, 300, 0.01)
