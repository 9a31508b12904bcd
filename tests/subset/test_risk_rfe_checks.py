"""scikit-learn's own checks, without exceptions."""

from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from rlselect import RiskRFE


@parametrize_with_checks(
    [
        RiskRFE(),
        RiskRFE(kernel="linear"),
        RiskRFE(loss="hinge"),
        RiskRFE(loss="hinge", kernel="linear", fit_intercept=False),
        RiskRFE(loss="epsilon_insensitive", kernel="poly", step=0.5),
        RiskRFE(loss="logistic", kernel="chi2"),
        RiskRFE(LinearRegression()),
        RiskRFE(LogisticRegression(), loss="logistic", stopping="held-out", random_state=0),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)
