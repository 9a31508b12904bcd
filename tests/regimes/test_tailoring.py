"""Decision features: which set is chosen, and those of models that are no kernel machines."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from rlselect import QLearning, TrialData
from rlselect.machines import EliminationPath
from rlselect.regimes._tailoring import TailoringPath, _with_changes


def test_a_regressor_may_decide_by_a_curve():
    rng = np.random.default_rng(0)
    X, action = rng.normal(size=(200, 3)), rng.choice([-1, 1], 200)
    reward = X[:, 1] + action * (np.square(X[:, 0]) - 1.0) + 0.5 * rng.normal(size=200)
    table = {f"x{j}": X[:, j] for j in range(3)} | {"action": action, "reward": reward}
    stage = {"history": ["x0", "x1", "x2"], "action": "action", "reward": "reward", "propensity": "1:1"}
    model = make_pipeline(PolynomialFeatures(3, include_bias=False), Ridge(1.0))
    learner = QLearning(model=model, selection=None, random_state=0).fit(TrialData.from_wide(table, [stage]))
    assert learner.tailoring_ == [["x0"]]


def test_a_handful_of_subjects_may_be_in_one_fold():
    """Somebody has to be left to learn from: where all of them judge, nothing is said to decide."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        table = {"x": rng.normal(size=4), "action": [0, 1, 0, 1], "reward": rng.normal(size=4)}
        stage = {"history": ["x"], "action": "action", "reward": "reward", "propensity": "1:1"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            trial = TrialData.from_wide(table, [stage])
            learner = QLearning(model="linear", random_state=seed).fit(trial)
        assert learner.tailoring_[0] in ([], ["x"])
        assert np.isfinite(learner.value_.value)


def _judged(values):
    """A path from two columns to none, whose sets are worth so much to each of four subjects."""
    losses = [-np.array(mine, dtype=float) for mine in values]
    return EliminationPath(sizes=[2, 1, 0], order=[1, 0], weights=np.ones(4), losses=losses)


def test_a_column_of_the_best_set_stays_where_its_slope_is_sure():
    # by column 0 decisions are worth .5 more on average, less than a standard error
    path = _judged([[3, -1, 1, -1], [3, -1, 1, -1], [0, 0, 0, 0]])
    assert TailoringPath(path, lambda groups: []).groups == []
    assert TailoringPath(path, lambda groups: [g for g in groups if g == 0]).groups == [0]


@pytest.mark.parametrize(
    ("changes", "deciding", "decide"),
    [
        (None, None, [0, 1]),
        # what plainly changes an action is added, what rather does not is taken away unless it is sure
        ([0.1, 0.1, 0.95, 0.7], [1, 2, 3], [1, 2]),
        ([0.6, 0.1, 0.1, 0.1], [0, 1], [0, 1]),
        # the regime does not decide by what is not in it
        ([0.6, 0.1, 0.1, 0.1], [0], [0]),
    ],
)
def test_probable_changes_have_a_say_in_what_decides(changes, deciding, decide):
    known = None if changes is None else np.array(changes)
    machine = SimpleNamespace(changes=known, deciding=deciding, groups=[0, 1, 2, 3])
    assert _with_changes(machine, [0, 1], sure=[1]) == decide


def test_four_arms_name_every_column_that_decides_and_no_other():
    """The value of decisions alone misses one of the three here."""
    rng = np.random.default_rng(2)
    X, arm = rng.normal(size=(200, 6)), rng.integers(0, 4, size=200)
    gains = np.column_stack([np.zeros(200), 0.9 * X[:, :3]])
    names = [f"x{j}" for j in range(6)]
    table = dict(zip(names, X.T, strict=True)) | {"arm": arm}
    table["reward"] = X[:, 3] + gains[np.arange(200), arm] + rng.normal(size=200)
    stage = {"history": names, "action": "arm", "reward": "reward", "propensity": "1:1:1:1"}
    learner = QLearning(random_state=0)
    learner._describe_decisions(learner._learn(TrialData.from_wide(table, [stage]), arm >= 0, bool), bool)
    assert learner.model_ == ["lines"]
    assert learner.tailoring_ == [["x0", "x1", "x2"]]


def test_no_slope_speaks_for_columns_that_change_no_decision():
    asked = []
    path = _judged([[1, 2, 3, 4]] * 3)
    assert TailoringPath(path, lambda groups: asked.append(groups) or groups).groups == []
    assert asked == [[]]


def test_few_subjects_of_an_arm_do_not_hide_what_plainly_changes_its_worth():
    """Decisions by x0 are worth less than a standard error more than one arm for all, which has 40 of 200."""
    rng = np.random.default_rng(511)
    X, drug = rng.normal(size=(200, 4)), rng.permutation(200) < 40
    reward = X[:, 1] + drug * (0.1 + 0.8 * X[:, 0]) + rng.normal(size=200)
    table = {f"x{j}": X[:, j] for j in range(4)} | {"drug": drug.astype(int), "reward": reward}
    names = [f"x{j}" for j in range(4)]
    stage = {"history": names, "action": "drug", "reward": "reward", "propensity": {0: 0.8, 1: 0.2}}
    learner = QLearning(model="linear", random_state=0).fit(TrialData.from_wide(table, [stage]))
    assert "x0" in learner.tailoring_[0]
