"""scikit-learn's own checks, for both tasks and the paper's search."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from rlselect import ActorCriticPredictor

# some checks fit noise, where selecting nothing is right
pytestmark = pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")

SHORT = {"max_iter": 6, "batch_size": 8, "random_state": 0}


@parametrize_with_checks(
    [
        ActorCriticPredictor(**SHORT),
        ActorCriticPredictor(task="regression", predictor="kernel", **SHORT),
        ActorCriticPredictor(task="classification", predictor="linear", missing="indicator", **SHORT),
        ActorCriticPredictor.paper(predictor="linear", task="regression", **SHORT),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
