"""scikit-learn's own checks, without exceptions."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from rlselect import DatumwiseClassifier


@parametrize_with_checks([DatumwiseClassifier(), DatumwiseClassifier(scoring="linear", budget=3)])
def test_estimator_checks(estimator, check):
    check(estimator)
