"""Decision features of models that are no kernel machines: their contrasts may be curved."""

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
