"""The reverse scree graph draws what the path says."""

import numpy as np
import pytest

from rlselect.simulate import make_rational
from rlselect.subset import ReverseScreeDisplay, RiskRFE, Threshold


@pytest.mark.parametrize("rule", ["change-point", "loo-2se", Threshold(lambda size: 1.0 / size)])
def test_display(rule):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    X, y, _ = make_rational(60, n_features=8, random_state=0)
    selector = RiskRFE(stopping=rule).fit(X, y)
    display = ReverseScreeDisplay.from_estimator(selector)
    top, bottom = display.axes_
    assert display.n_removed == 8 - selector.n_features_
    np.testing.assert_allclose(top.lines[0].get_ydata(), selector.path_["objective"])
    assert bottom.get_xlabel() == "features removed"
    assert len(top.lines) == (5 if isinstance(rule, Threshold) else 4)
    plt.close(display.figure_)
