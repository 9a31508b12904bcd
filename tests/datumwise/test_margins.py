"""What is taken off the scores of purchases."""

import numpy as np
import pytest
from problems import (
    improved,
    make_problem,
)

from rlselect.datumwise import PolicyIteration, _folds, _margins


def test_ranks_of_units_do_not_know_the_fold_left_out():
    rng = np.random.default_rng(4)
    problem = make_problem(120, 5, 0.1)
    folds = np.arange(120) % 3
    ranks = _margins.unit_ranks(problem, folds)
    assert sorted(ranks[0]) == [0, 1, 2, 3, 4]
    changed = problem.take(np.arange(120), problem.weights)
    changed.labels = np.where(folds == 1, rng.integers(0, 2, 120), problem.labels)
    again = _margins.unit_ranks(changed, folds)
    assert (again[1] == ranks[1]).all()
    assert (again[[0, 2, 3]] != ranks[[0, 2, 3]]).any()
    assert _margins.unit_ranks(problem, 0 * folds).shape == (1, 5)


def test_what_is_taken_off_goes_by_rank():
    ranks = np.array([[0, 2, 1], [1, 0, 2]])
    off = _margins.taken_off(10.0, (0.0, 0.02), ranks, 2)
    assert off[0][0] == pytest.approx([0, 3, 0])
    assert off[1][1] == pytest.approx([0.2, 0.2, 3.2])


def test_margin_is_the_one_with_the_highest_value():
    problem, folds = make_problem(200, 80, 0.02), np.zeros(200, dtype=np.intp)
    found = improved(problem, PolicyIteration(n_folds=1, states_per_row=6), folds)
    chosen, bought, value = _margins.choose_margin(problem, found, folds, _margins.unit_ranks(problem, folds))
    again, returns = _folds.evaluate(problem, chosen, folds)
    assert (again == bought).all()
    assert returns.mean() == pytest.approx(value)
    plain, returns = _folds.evaluate(problem, found, folds)
    # without a margin something always seems worth buying
    assert value > returns.mean() + 0.1
    assert bought.sum(axis=1).mean() < plain.sum(axis=1).mean() - 5
