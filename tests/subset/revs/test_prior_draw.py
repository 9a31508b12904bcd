"""How often each prior of the coefficients is drawn."""

import numpy as np

from rlselect.subset.revs._prior_draw import draw_prior
from rlselect.subset.revs.evidence import OUTCOME_SHAPES


class State:
    """Has a table of its own."""

    shapes = OUTCOME_SHAPES[:3]

    def slabs(self):
        return np.array([0.1, 1.0])

    def evidence_table(self, shapes):
        return np.log(np.array([[1.0, 2.0, 1.0], [0.0001, 0.0001, 0.0001]]))


def test_priors_are_drawn_as_the_evidence_and_their_scale_say():
    state, rng = State(), np.random.default_rng(1)
    drawn = [draw_prior(state, 1.0, rng)[1].alike for _ in range(4000)]
    np.testing.assert_allclose(np.bincount(drawn) / 4000, [0.25, 0.5, 0.25], atol=0.03)
