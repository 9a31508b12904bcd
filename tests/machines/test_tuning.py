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


class Plain:
    """A risk that grows with every step away from the strongest regularisation and the widest kernel."""

    def __init__(self):
        self.useful = False

    def risk_at(self, lams, bandwidth):
        if self.useful:
            return [float(np.abs(np.log10(lam) + 1.0) + np.abs(bandwidth - 4.0)) for lam in lams]
        return [1.0 - 0.01 * np.log10(lam) - 0.0001 * bandwidth for lam in lams]


def test_machines_that_eliminate_are_livelier_than_a_constant():
    def tuned(constant_risk, regularization="auto"):
        options = {"squared": False, "every_lambda": True, "constant_risk": constant_risk}
        tuner, problem = Tuner(regularization, "auto", 200.0, True, lambda p: 2, **options), Plain()
        tuner.tune(problem)
        return tuner, problem

    # without a constant to compare with, and where the machine is better than it
    for risk in (None, 1.1):
        _, still = tuned(risk)
        assert (still.lam, still.bandwidth) == (pytest.approx(1.0), pytest.approx(8.0))
    tuner, moving = tuned(1.0)
    assert (moving.lam, moving.bandwidth) == (pytest.approx(0.01), pytest.approx(2.0))
    # the last choice is kept as long as nothing is better than a constant
    moving.useful = True
    tuner.again(moving)
    found = moving.lam, moving.bandwidth
    assert found == (pytest.approx(0.1), pytest.approx(4.0))
    moving.useful = False
    tuner.again(moving)
    assert (moving.lam, moving.bandwidth) == found
    # what the user fixed, and the dissertation's single search, stay as they are
    assert tuned(1.0, 1.0)[1].lam == 1.0
    assert tuned(1.0, "paper")[1].lam == pytest.approx(1.0)
