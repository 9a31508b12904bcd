import numpy as np
import pytest

from rlselect.machines import EliminationPath
from rlselect.regimes import _held_out_folds


def test_more_folds_only_where_the_size_is_in_doubt(monkeypatch):
    class Machine:
        y, weights = np.zeros(200), np.ones(200)
        encoder = type("E", (), {"groups": [0, 1, 2]})()

    path = EliminationPath(sizes=[3, 2, 1, 0], order=[2, 1, 0])
    noise, deal = np.random.default_rng(0).normal(size=200), np.zeros((3, 200), dtype=int)

    def split(gap):
        # The second column is worth ``gap``; folds disagree on which it is.
        def one(machine, path, folds):
            losses = np.array([1.0 + 0 * noise, 1.0 + 0 * noise, 1.0 + gap + noise, 5.0 + noise])
            orders = [[0, 1, 2], [0, 2, 1], [0, 1, 2]]
            return _held_out_folds.Split(losses, orders, np.arange(200) % 3)

        return one

    monkeypatch.setattr(_held_out_folds, "one_split", split(1.0))
    groups, reason, splits = _held_out_folds.cross_fitted_choice(Machine(), path, deal)
    assert (groups, "of 3 eliminations" in reason) == ([0, 1], True)
    assert [len(split.orders) for split in splits] == [3]
    monkeypatch.setattr(_held_out_folds, "one_split", split(0.05))
    assert "of 9 eliminations" in _held_out_folds.cross_fitted_choice(Machine(), path, deal)[1]


def test_among_equally_good_sizes_few_of_many_are_cheaper_and_most_of_all_are_not_dearer():
    def price(size, risk=1.0):
        return _held_out_folds.price_of_set(risk, 200, size, 10)

    assert price(0) == 0.0
    assert price(2) - price(1) == pytest.approx(2.0 * np.log(45 / 10))
    assert np.ptp([price(size) for size in range(5, 11)]) == 0.0
    assert price(4, risk=0.9) < price(3)
    # a machine without error is as cheap as can be, not an error
    assert np.isfinite(price(4, risk=0.0))
