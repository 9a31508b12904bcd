"""Cuts of numbers against a search through all of them."""

import itertools

import numpy as np
import pytest

from rlselect.datumwise._answer_cuts import answer_edges
from rlselect.datumwise._encoding import quantile_edges


def inner_squares(values, edges):
    place = np.searchsorted(edges, values, side="left")
    return sum(((own := values[place == k]) - own.mean()) @ (own - own.mean()) for k in np.unique(place))


@pytest.mark.parametrize("seed", range(4))
def test_no_other_cuts_leave_less_inside(seed):
    values = np.exp(np.random.default_rng(seed).normal(size=24))
    ordered = np.sort(values)
    # five rows in each at least
    cuts = [(a, b) for a, b in itertools.combinations(range(5, 20), 2) if b - a >= 5]
    least = min(inner_squares(values, ordered[[a - 1, b - 1]]) for a, b in cuts)
    edges = answer_edges(values, np.ones(24), 3)
    assert inner_squares(values, edges) == pytest.approx(least)
    assert np.bincount(np.searchsorted(edges, values)).min() >= 5


@pytest.mark.parametrize("kind", ["skewed", "one far", "counts", "ties"])
def test_weights_are_copies_and_units_and_order_do_not_count(kind):
    rng = np.random.default_rng(1)
    values = {
        "skewed": np.exp(rng.normal(size=400)),
        "one far": np.append(rng.normal(size=399), 1e6),
        "counts": rng.poisson(9, size=400).astype(float),
        "ties": np.maximum(rng.normal(size=400), 0.0),
    }[kind]
    weights = rng.integers(1, 4, size=400).astype(float)
    edges = answer_edges(values, weights, 16)
    assert (np.diff(edges) > 0).all()
    copies = np.repeat(values, weights.astype(int))
    np.testing.assert_allclose(answer_edges(copies, np.ones(len(copies)), 16), edges)
    order = rng.permutation(400)
    np.testing.assert_allclose(answer_edges(values[order], weights[order], 16), edges)
    np.testing.assert_allclose(answer_edges(3 * values - 2, weights, 16), 3 * edges - 2)


def test_few_rows_and_few_values_are_cut_at_quantiles():
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=40), rng.integers(0, 5, size=300).astype(float)):
        weights = np.ones(len(values))
        np.testing.assert_array_equal(answer_edges(values, weights, 16), quantile_edges(values, weights, 16))
