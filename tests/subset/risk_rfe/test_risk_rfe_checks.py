"""scikit-learn's own checks, without exceptions."""

import pytest
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from rlselect import RiskRFE

FIXED = {"regularization": 0.01, "bandwidth": 3.0}


# Some checks fit pure noise, where selecting nothing is right and scikit-learn's transform remarks on it.
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@parametrize_with_checks(
    [
        RiskRFE(),
        RiskRFE(loss="squared"),
        RiskRFE(kernel="linear"),
        RiskRFE(loss="squared_label", missing="indicator"),
        RiskRFE(kernel="chi2", stopping="loo-ric"),
        RiskRFE(loss="hinge", kernel="linear", fit_intercept=False, regularization=0.1, step=0.5),
        RiskRFE(loss="logistic", stopping="held-out", random_state=0, step=0.5, **FIXED),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@parametrize_with_checks(
    [
        RiskRFE(loss="hinge", **FIXED),
        RiskRFE(loss="epsilon_insensitive", kernel="poly", step=0.5, **FIXED),
        RiskRFE(LinearRegression()),
    ]
)
def test_estimator_checks_of_more_machines(estimator, check):
    check(estimator)
