"""A look at rows without keeping them: what the current model leaves of the response, column by column."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import score_and_curvature
from rlselect.subset.revs.evidence._block import Block

Floats = NDArray[np.floating]


class Scores(NamedTuple):
    """What some rows say about a model: X'r, and the sums of r, r squared and the weights."""

    products: Floats
    total: float
    square: float
    weight: float
    n_rows: int


class Look:
    """Scores of a model over rows that pass by, two halves of them apart.

    It costs one product per number, where a column of the Gram matrix costs one more each.

    Parameters
    ----------
    n_columns : int
        Number of design columns p.
    coef : array
        Coefficients of the model that is looked at.

    Attributes
    ----------
    products : array of shape (2, p)
        X'r of the two halves.
    total : array of shape (2,)
        Sum of r.
    square, weight : float
        Sums of r squared and of the weights.
    n_rows : int
        Rows that passed by.
    """

    def __init__(self, n_columns: int, coef: Floats) -> None:
        self.coef = coef.copy()
        self.products = np.zeros((2, n_columns))
        self.total = np.zeros(2)
        self.square = self.weight = 0.0
        self.n_rows = 0
        self._blocks = 0

    def add(self, scores: Scores) -> None:
        """Take in one more block."""
        half = self._blocks % 2
        self._blocks += 1
        self.products[half] += scores.products
        self.total[half] += scores.total
        self.square += scores.square
        self.weight += scores.weight
        self.n_rows += scores.n_rows


def linear_scores(
    block: Block, subset: list[int], coef: Floats, level: float, center: float, unit: float
) -> Scores:
    """Scores of a linear model, whose response is counted from `center` in `unit`."""
    y = block.y if block.offset is None else block.y - block.offset
    return _scores(block, (y - center) / unit - level - block.combination(subset, coef))


def glm_scores(block: Block, subset: list[int], coef: Floats, likelihood: tuple[str, float]) -> Scores:
    """Scores of a generalised linear model (family and dispersion), its intercept first."""
    eta = coef[0] + block.combination(subset, coef[1:])
    eta = eta if block.offset is None else eta + block.offset
    family, dispersion = likelihood
    return _scores(block, score_and_curvature(family, block.y, eta, dispersion)[0])


def _scores(block: Block, residual: Floats) -> Scores:
    weighted = block.weighted(residual)
    weight = float(len(block)) if block.weight is None else float(block.weight.sum())
    products = block.products(weighted[None])[0]
    return Scores(products, float(weighted.sum()), float(weighted @ residual), weight, len(block))


def paying_z(
    schur: Floats, slab: float, shape: int, price: float, sizes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """|z| from which on a column outside the subset pays for its unit. Cost O(p).

    Parameters
    ----------
    schur : array of shape (p,)
        Curvature of each column given the subset, 1/g included.
    slab, shape
        Prior of the coefficients, see `RidgeSubset`.
    price : float
        Of one more unit, in units of log evidence.
    sizes : array of int of shape (p,)
        Columns of the unit that each belongs to; the others are taken to add nothing.

    Returns
    -------
    array of shape (p,)
    """
    width = np.log(np.maximum(slab * schur, 1e-300))
    cost = np.maximum(price + 0.5 * sizes * width, 0.0)
    square = 2.0 * cost
    if shape:
        # z^2 / 2 + log((z^2 + 1) / (g schur)) = cost, by halving: the left side rises with z
        low, high, single = np.zeros_like(cost), 2.0 * np.maximum(cost + width, 0.0), sizes == 1
        for _ in range(50):
            middle = 0.5 * (low + high)
            over = 0.5 * middle + np.log1p(middle) > cost + width
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        square = np.where(single, high, square)
    return np.asarray(np.sqrt(square), dtype=np.float64)
