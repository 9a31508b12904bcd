"""One step of policy iteration."""

import numpy as np
import pytest
from problems import (
    make_problem,
)

from rlselect.datumwise import PolicyIteration, _improve


def test_several_numbers_of_bins_are_averaged():
    settings = PolicyIteration(n_folds=1, states_per_row=4)
    theta = {}
    for n_bins in (3, 4, (3, 4)):
        problem = make_problem(120, 3, 0.01, n_bins)
        states = _improve.draw_states(problem, settings, None, np.random.default_rng(5))
        folds = np.zeros(120, dtype=np.intp)
        policy = _improve.regress(problem, settings, states, None, folds)[-1]
        theta[n_bins] = policy.probabilities(problem.codes, np.ones((120, 3), bool))
    mean = (theta[3] + theta[4]) / 2
    inside = (theta[3] > 0.01) & (theta[4] > 0.01) & (theta[3] < 0.99) & (theta[4] < 0.99)
    assert inside.mean() > 0.3
    assert theta[3, 4][inside] == pytest.approx(mean[inside], abs=1e-6)
