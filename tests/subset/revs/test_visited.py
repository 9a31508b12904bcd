"""Subsets that chains have counted."""

import numpy as np
import pytest

from rlselect.learn import subset_key
from rlselect.subset.revs._visited import merge_visits


def key(*units):
    mask = np.zeros(11, dtype=bool)
    mask[list(units)] = True
    return subset_key(mask)


def test_chains_weigh_the_same_whatever_their_scale():
    first = {key(0, 3): np.log(3.0), key(): 0.0}
    second = {key(0, 3): 2000.0, key(10): 2000.0}
    found = merge_visits([first, second, {}], 11)
    np.testing.assert_allclose(found.weights, [0.625, 0.25, 0.125])
    assert [list(s) for s in found.subsets] == [[0, 3], [10], []]
    few = found.heaviest(2)
    np.testing.assert_allclose(few.weights, [0.625 / 0.875, 0.25 / 0.875])
    assert found.share_without(np.arange(11) == 3) == pytest.approx(0.375)
    assert found.share_without(np.ones(11, dtype=bool)) == pytest.approx(0.125)
    labels = np.arange(100, 111)
    assert [list(s) for s in few.relabelled(labels).subsets] == [[100, 103], [110]]


@pytest.mark.parametrize("chains", [[], [{}, {}]])
def test_nothing_counted(chains):
    assert merge_visits(chains, 5) is None
