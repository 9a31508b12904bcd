"""What a block of rows adds to the sums that a generalised linear model is fitted and priced by."""

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import dispersion_likelihoods, log_likelihood, score_and_curvature
from rlselect.subset.revs.evidence._block import Block

Floats = NDArray[np.float64]


def block_design(block: Block, subset: list[int]) -> Floats:
    """A one and some columns of every row, shape (m + 1, rows)."""
    design = np.ones((len(subset) + 1, len(block)))
    design[1:] = block.columns(subset)
    return design


def block_predictor(
    block: Block, subset: list[int], coef: Floats, design: Floats | None
) -> tuple[Floats, Floats]:
    design = block_design(block, subset) if design is None else design
    eta = coef @ design
    return design, eta if block.offset is None else eta + block.offset


def newton_parts(
    block: Block, subset: list[int], coef: Floats, likelihood: tuple[str, float], design: Floats | None = None
) -> tuple[Floats, Floats, float]:
    """What a block adds to the curvature, the gradient and the log likelihood."""
    design, eta = block_predictor(block, subset, coef, design)
    family, dispersion = likelihood
    score, curvature = score_and_curvature(family, block.y, eta, dispersion)
    return (
        (design * block.weighted(curvature)) @ design.T,
        design @ block.weighted(score),
        float(block.weighted(log_likelihood(family, block.y, eta, dispersion=dispersion)).sum()),
    )


def price_parts(
    block: Block,
    subset: list[int],
    coef: Floats,
    likelihood: tuple[str, float],
    members: list[NDArray[np.intp]],
    design: Floats | None = None,
) -> tuple[Floats, Floats, Floats, list[Floats]]:
    """What a block adds to the scores and curvatures of all columns, and their products with the subset."""
    design, eta = block_predictor(block, subset, coef, design)
    score, curvature = score_and_curvature(likelihood[0], block.y, eta, likelihood[1])
    weight = block.weighted(curvature)
    bent = design * weight
    products = block.products(np.vstack([block.weighted(score), bent]))
    inside = [block.within(columns, weight) for columns in members]
    return products, block.squares(weight), bent @ design.T, inside


def probe_parts(
    block: Block, subset: list[int], coef: Floats, likelihood: tuple[str, float], probes: NDArray[np.intp]
) -> Floats:
    _, eta = block_predictor(block, subset, coef, None)
    _, curvature = score_and_curvature(likelihood[0], block.y, eta, likelihood[1])
    return block.products(block.columns(probes) * block.weighted(curvature))


def tie_parts(block: Block, columns: list[int]) -> tuple[Floats, Floats]:
    """What a block adds to the sums of all columns, their products with some, and their squares."""
    ones = block.weighted(np.ones(len(block)))
    vectors = np.vstack([ones, block.columns(columns) * ones])
    return block.products(vectors), block.squares(ones)


def dispersion_parts(block: Block, subset: list[int], coef: Floats, grid: Floats) -> Floats:
    """What a block adds to the log likelihood of counts under every dispersion of a grid."""
    _, eta = block_predictor(block, subset, coef, None)
    return dispersion_likelihoods(block.y, eta, block.weight, grid)
