"""A chain in stretches: where each begins, under which prior, and what it counts."""

import numpy as np
import pytest

from rlselect.subset.revs._stretches import draw_prior, run_stretches
from rlselect.subset.revs._visited import Tally, pooled
from rlselect.subset.revs.evidence import OUTCOME_SHAPES

RIGHT, WRONG = np.array([True, False]), np.array([True, True])


class State:
    """The deeper the hole of the prior, the better it suits the first subset."""

    shapes = OUTCOME_SHAPES

    def __init__(self):
        self.mask, self.begun = WRONG, []

    def slabs(self):
        return np.array([0.1, 1.0])

    def evidence_table(self, shapes):
        depth = 50.0 if self.mask.sum() == 1 else -50.0
        return np.array([[depth * shape.alike, depth * shape.alike - 100.0] for shape in shapes]).T

    def reset(self, mask):
        self.mask = np.array(mask)

    def set_prior(self, slab, shape):
        self.begun.append((tuple(self.mask), slab, shape.alike))


class Straying:
    """Visits the light subset ten times as often as the heavy one, and ends there."""

    def __init__(self, stop=None):
        self.state, self.rng, self.stopped = State(), np.random.default_rng(0), None
        self.tally, self.left = Tally(2), stop

    def run(self, steps):
        scale = 700.0 * self.rng.standard_normal()
        self.tally.add(RIGHT.astype(float), scale + 60.0, RIGHT)
        for _ in range(10):
            self.tally.add(WRONG.astype(float), scale, WRONG)
        self.state.reset(WRONG)
        if self.left is not None:
            self.left -= 1
            self.stopped = None if self.left else "time budget"

    def stand(self, state):
        self.state, self.tally = state, Tally(2)


def test_the_prior_is_drawn_beside_a_subset_drawn_by_its_weight():
    chain = Straying()
    run_stretches(chain, 100, 25)
    # the plain, wide prior suits the subset where every stretch ended; none begins there
    assert chain.state.begun == [((True, False), 0.1, 2)] * 5
    assert chain.tally.weight == 4.0
    np.testing.assert_allclose(chain.tally.mean, [1.0, 0.0], atol=1e-12)
    assert sorted(np.exp(list(chain.tally.seen.values()))) == pytest.approx([0.0, 4.0])


@pytest.mark.parametrize(("stop", "counted"), [(1, 1.0), (3, 2.0)])
def test_a_chain_that_is_stopped_hands_back_what_it_saw(stop, counted):
    chain = Straying(stop)
    run_stretches(chain, 100, 25)
    assert chain.tally.weight == counted


def test_priors_are_drawn_as_the_evidence_and_their_scale_say():
    state, rng = State(), np.random.default_rng(1)
    state.evidence_table = lambda shapes: np.log(np.array([[1.0, 2.0, 1.0], [0.0001, 0.0001, 0.0001]]))
    drawn = [draw_prior(state, 1.0, rng)[1].alike for _ in range(4000)]
    np.testing.assert_allclose(np.bincount(drawn) / 4000, [0.25, 0.5, 0.25], atol=0.03)


def test_tallies_are_pooled_with_equal_weight():
    heavy, light, empty = Tally(2), Tally(2), Tally(2)
    heavy.add(np.array([1.0, 0.0]), 900.0, RIGHT)
    light.add(np.array([0.0, 1.0]), -900.0, ~RIGHT)
    light.add(np.array([1.0, 1.0]), -900.0, WRONG)
    pool = pooled([heavy, light, empty])
    np.testing.assert_allclose(pool.mean, [0.75, 0.5])
    assert sorted(np.exp(list(pool.seen.values()))) == pytest.approx([0.5, 0.5, 1.0])
