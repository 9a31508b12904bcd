"""Decision features of models that are no kernel machines: their contrasts may be curved."""

import warnings

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from rlselect import QLearning, TrialData


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
