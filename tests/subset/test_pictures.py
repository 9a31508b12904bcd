"""Pictures of selectors of several responses."""

import matplotlib
import numpy as np
import pytest

from rlselect import REVS
from rlselect.report import NotDrawnError
from rlselect.subset import GainDisplay, PerformanceDisplay

matplotlib.use("Agg")


def test_of_several_responses_a_variable_is_worth_what_it_is_to_the_best_of_them():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    y = np.column_stack([X[:, 0], X[:, 2]]) + 0.3 * rng.standard_normal((80, 2))
    model = REVS(random_state=0).fit(X, y)
    display = GainDisplay.from_estimator(model)
    assert dict(zip(display.names, display.gain, strict=True)) == {
        "x0": model.gain_[:, 0].max(),
        "x2": model.gain_[:, 2].max(),
    }
    with pytest.raises(NotDrawnError, match="one response"):
        PerformanceDisplay.from_estimator(model, X, y)
    matplotlib.pyplot.close("all")
