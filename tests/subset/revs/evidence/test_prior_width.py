"""When the prior of linear effects may be wider than it begins."""

import numpy as np
import pytest

from rlselect import REVS
from rlselect.subset.revs.evidence._prior_width import WIDE, widened


def test_it_grows_to_an_end_where_rows_outnumber_columns():
    widths = [WIDE]
    while widened(widths[-1], 6, 250.0) > widths[-1]:
        widths.append(widened(widths[-1], 6, 250.0))
    assert 1e6 <= widths[-1] < 1e7
    # six columns fit twenty rows nearly perfectly, which speaks for any width
    assert widened(WIDE, 6, 20.0) == WIDE


@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_rows_that_are_fitted_perfectly_are_no_error(noise):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 40))
    y = X[:, :8] @ np.array([1e6, 1e5, 1e4, 1e3, 1e2, 10.0, 1.0, 0.1]) + noise * rng.normal(size=30)
    model = REVS(random_state=0).fit(X, y)
    assert model.support_[:2].all()
    assert np.isfinite(model.predict(X)).all()
