"""Shapes of the prior of the coefficients."""

import numpy as np
import pytest

from rlselect.subset.revs.evidence import PROPER_SHAPES, SHAPES
from rlselect.subset.revs.evidence._ties import tie, tied_rows


@pytest.mark.parametrize("shape", SHAPES)
def test_which_densities_integrate_to_one(shape):
    correlations = np.array([[1.0, 0.8], [0.8, 1.0]])
    prior = tie(tied_rows(correlations, [0, 1], shape.share, np.zeros(2, dtype=bool)), [0, 1])
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    mesh = np.array(np.meshgrid(nodes, nodes)).reshape(2, -1)
    mass = np.outer(weights, weights).ravel() / weights.sum() ** 2
    # squared effects over g, as the factors of alike effects; without them the density is a normal one
    squares = (np.linalg.cholesky(np.linalg.inv(prior.inverse)) @ mesh) ** 2
    total = float(mass @ squares.prod(axis=0)) if shape.alike else 1.0
    assert (total == pytest.approx(1.0)) == (shape in PROPER_SHAPES)
