"""scikit-learn's own checks, for every family and the paper's search."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from rlselect import REVS
from rlselect.subset import Sarsa

# several checks fit well-separated blobs, or noise: that is what the warnings are for
pytestmark = [
    pytest.mark.filterwarnings("ignore::rlselect.subset.SeparationWarning"),
    pytest.mark.filterwarnings("ignore:No features were selected:UserWarning"),
]

_DRAWN = "the paper draws batches of rows, and a repeated row is drawn as two rows"


_LISTED = "classes_ of several responses is a list of arrays, which the check takes for one array"
_NEGATIVE = "the check gives negative numbers to those that say that they take counts"


def expected_failures(estimator):
    if not isinstance(estimator.search, Sarsa):
        return {"check_classifier_multioutput": _LISTED} | (
            {"check_regressor_multioutput": _NEGATIVE} if estimator.family == "poisson" else {}
        )
    return {
        "check_sample_weight_equivalence_on_dense_data": _DRAWN,
        "check_sample_weight_equivalence_on_sparse_data": _DRAWN,
    }


@parametrize_with_checks(
    [
        REVS(random_state=0),
        REVS(family="binomial", random_state=0),
        REVS(family="poisson", random_state=0),
        REVS.paper(n_preliminary=20, max_stages=60, random_state=0),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        REVS(family="multinomial", random_state=0),
        REVS(family="gaussian", missing="indicator", random_state=0),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks_of_more_options(estimator, check):
    check(estimator)
