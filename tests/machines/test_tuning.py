"""The search for lambda: what it looks at, and what it comes back from."""

import numpy as np
import pytest

from rlselect.machines._tuning import Tuner


class Valleys:
    """A risk with a valley at weak regularisation at first, and one at strong regularisation later."""

    def __init__(self):
        self.weak, self.asked = True, []

    def risk_at(self, lams, bandwidth):
        self.asked.append((len(lams), bandwidth))
        deep = np.array([1e-6, 1e-5]) if self.weak else np.array([0.1])
        return [float(np.abs(np.log10(lam) - np.log10(deep)).min()) for lam in lams]


@pytest.mark.parametrize(("every_lambda", "lam"), [(True, 0.1), (False, 1e-4)])
def test_a_search_that_looks_everywhere_leaves_a_valley(every_lambda, lam):
    tuner = Tuner("auto", "auto", 200.0, False, lambda p: 1, squared=True, every_lambda=every_lambda)
    problem = Valleys()
    tuner.tune(problem)
    assert problem.lam == pytest.approx(1e-5)
    problem.weak = False
    tuner.again(problem)
    # Looking around only moves a step along the slope.
    assert problem.lam == pytest.approx(lam)


def test_bandwidths_are_searched_around_the_lambda_found():
    tuner = Tuner("auto", "auto", 200.0, True, lambda p: 2, squared=True, every_lambda=True)
    problem = Valleys()
    tuner.tune(problem)
    first = len(problem.asked)
    assert first == 4
    tuner.again(problem)
    assert problem.asked[first][0] == 7
    assert all(count <= 3 for count, _ in problem.asked[first + 1 :])
