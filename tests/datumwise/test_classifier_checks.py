"""scikit-learn's own checks, without exceptions."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from rlselect import DatumwiseClassifier
from rlselect.datumwise import DatumwiseRegressor, PolicyIteration


@parametrize_with_checks(
    [
        DatumwiseClassifier(
            scoring="bins", search=PolicyIteration(n_iter=1, n_restarts=1, n_averaged=1, n_folds=2)
        )
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([DatumwiseRegressor(scoring="bins", search=PolicyIteration(n_iter=4))])
def test_estimator_checks_of_the_regressor(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([DatumwiseClassifier(scoring="linear", budget=3)])
def test_estimator_checks_of_lines(estimator, check):
    check(estimator)
