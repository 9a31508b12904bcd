"""A subset of several models against the models one by one."""

import numpy as np
import pytest

from rlselect.data import Batch, Units
from rlselect.subset.revs.evidence import SHAPES, GlmSubset, JointSubset, LazyGram, RidgeSubset, Rows


def data(n=120, p=6):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, p))
    Y = X[:, :2] @ rng.standard_normal((2, 3)) + rng.standard_normal((n, 3))
    Y[:, 2] = rng.random(n) < 1.0 / (1.0 + np.exp(-Y[:, 2]))
    return X, Y


def models(X, Y):
    units = Units(np.array([0, 1, 2, 3, 4, 4]))

    def rows(r):
        return Rows(lambda where: Batch(X[where], Y[where, r], None, None), as_is=r < 2)

    parts = []
    for r in range(2):
        gram = LazyGram(rows(r), X.shape[1])
        gram.grow([slice(0, len(X))])
        gram.fetch(range(X.shape[1]))
        parts.append(RidgeSubset(gram, units))
    third = rows(2)
    third.append(slice(0, len(X)))
    return [*parts, GlmSubset(third, units, "binomial")]


def ridge_evidence(X, y, slab):
    """Log evidence of a linear model with the prior N(0, slab s^2), as the formula says, up to a constant."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    t = (y - y.mean()) / y.std()
    n = len(Z)
    cover = np.eye(n) + slab * Z @ Z.T
    quad = t @ np.linalg.solve(cover, t)
    return -0.5 * (n - 1) * np.log(quad) - 0.5 * np.linalg.slogdet(cover)[1]


@pytest.mark.parametrize("subset", [[], [0], [0, 3, 4]])
def test_the_evidence_is_the_sum_over_the_responses(subset):
    X, Y = data()
    parts = models(X, Y)
    joint, mask = JointSubset([p.copy() for p in parts]), np.isin(np.arange(5), subset)
    joint.reset(mask)
    for part in parts:
        part.reset(mask)
    assert joint.evidence == pytest.approx(sum(p.evidence for p in parts))
    np.testing.assert_allclose(joint.moves(), sum(p.moves() for p in parts))
    columns = np.flatnonzero(mask[[0, 1, 2, 3, 4, 4]])
    naive = sum(ridge_evidence(X[:, columns], Y[:, r], parts[r].slab) for r in range(2))
    assert sum(p.evidence for p in parts[:2]) == pytest.approx(naive)


def test_moves_are_the_prices_of_making_them():
    joint = JointSubset(models(*data())[:2], weight=0.7)
    joint.toggle(0)
    before, prices = joint.evidence, joint.moves().copy()
    for unit, price in enumerate(prices):
        joint.toggle(unit)
        assert joint.evidence - before == pytest.approx(price)
        joint.toggle(unit)


def test_a_weight_scales_the_evidence_and_a_copy_walks_alone():
    parts = models(*data())
    full, half = JointSubset(parts), JointSubset(parts, weight=0.5)
    full.toggle(1)
    assert half.evidence + half.alike == pytest.approx(0.5 * (full.evidence + full.alike))
    twin = full.copy()
    twin.toggle(2)
    assert full.mask.tolist() == [False, True, False, False, False]
    assert twin.size == 2
    before = twin.slab
    twin.parts[0].set_prior(1.0, SHAPES[0])
    assert twin.slab != before
    assert full.slab == before


@pytest.mark.parametrize("known", [range(6), range(2)])
def test_another_response_shares_the_products_of_columns(known):
    X, Y = data()
    gram = LazyGram(Rows(lambda where: Batch(X[where], Y[where, 0], None, None), as_is=True), 6)
    gram.grow([slice(0, 60), slice(60, 120)])
    gram.fetch(known)
    first = RidgeSubset(gram, Units(np.array([0, 1, 2, 3, 4, 4])))
    alone = models(X, Y)[1]
    twin = first.with_response(Y[:, 1])
    for unit in (0, 4, 2):
        twin.toggle(unit)
        alone.toggle(unit)
        assert twin.evidence == pytest.approx(alone.evidence)
        np.testing.assert_allclose(twin.moves(), alone.moves(), atol=1e-9)
    # and the first one goes its own way
    first.toggle(1)
    assert first.evidence == pytest.approx(ridge_evidence(X[:, [1]], Y[:, 0], first.slab))
