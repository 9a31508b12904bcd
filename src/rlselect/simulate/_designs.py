"""Gaussian designs filled in place, block of rows by block of rows.

A design turns a block of independent standard normals into rows with its covariance, in place, and knows
that covariance on a few columns. Working on a few hundred rows at a time keeps a block in cache and the extra
memory small; whatever is not the row's own normals is drawn beforehand, so the length of a block never
changes the numbers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.linalg import blas, cho_solve, cholesky

# One megabyte of float32: small enough for a second-level cache.
_BLOCK_ELEMENTS = 2**18

_FACTORS = 10
_FACTOR_SIZE = 5


class RandomDesign(Protocol):
    """Rows of a centred Gaussian vector."""

    def transform(self, rows: NDArray, where: slice) -> None:
        """Turn independent standard normals into the rows ``where`` of the design, in place."""

    def covariance(self, columns: NDArray) -> NDArray:
        """Population covariance of the given columns."""


def row_blocks(n: int, p: int) -> Iterator[slice]:
    """Slices that cut n rows of p columns into blocks that stay in cache."""
    step = max(1, _BLOCK_ELEMENTS // p)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


@dataclass(frozen=True)
class BlockDesign:
    """Columns 5g..5g+4 are a shared N(0, 1) factor plus N(0, 1) noise for g = 0..9; the others are noise."""

    factors: NDArray

    @classmethod
    def draw(cls, n: int, rng: np.random.Generator, dtype: DTypeLike) -> "BlockDesign":
        """Draw the ten factors of every row."""
        factors = np.empty((n, _FACTORS), dtype=dtype)
        rng.standard_normal(out=factors, dtype=factors.dtype.type)
        return cls(factors)

    def transform(self, rows: NDArray, where: slice) -> None:
        """Add the shared factors."""
        shared = np.repeat(self.factors[where], _FACTOR_SIZE, axis=1)
        width = min(rows.shape[1], shared.shape[1])
        rows[:, :width] += shared[:, :width]

    def covariance(self, columns: NDArray) -> NDArray:
        """Population covariance of the given columns."""
        group = columns // _FACTOR_SIZE
        shared = (group[:, None] == group) & (group < _FACTORS)
        return shared + np.eye(len(columns))


@dataclass(frozen=True)
class BandedDesign:
    """Unit variances and covariance ``correlation ** |i - j|``: a stationary AR(1) along the columns."""

    correlation: float = 0.8

    def transform(self, rows: NDArray, where: slice) -> None:
        """Run the recursion x_j = c x_{j-1} + sqrt(1 - c^2) z_j along each row."""
        # Imported here: scipy.signal loads slowly and nothing else in the library needs it.
        from scipy.signal import lfilter

        innovation = np.sqrt(1.0 - self.correlation**2)
        # The first entry is no innovation: it already has the stationary variance.
        rows[:, 0] /= innovation
        numerator = np.array([innovation], dtype=rows.dtype)
        denominator = np.array([1.0, -self.correlation], dtype=rows.dtype)
        rows[:] = lfilter(numerator, denominator, rows, axis=1)

    def covariance(self, columns: NDArray) -> NDArray:
        """Population covariance of the given columns."""
        # 0.0 ** 0 = 1, so that independent columns are the case correlation = 0.
        return np.float64(self.correlation) ** np.abs(columns[:, None] - columns)


@dataclass(frozen=True)
class SparseDesign:
    """Precision B + delta I with a random sparse B, scaled to unit variances.

    ``factor`` is the lower triangular F with F F' the precision of the scaled columns, so that x = F'^{-1} z.
    """

    factor: NDArray

    @classmethod
    def draw(cls, p: int, rng: np.random.Generator, dtype: DTypeLike) -> "SparseDesign":
        """Draw B (off-diagonal entries .5 with probability .6); delta gives the condition number p."""
        upper = np.triu(0.5 * (rng.random((p, p)) < 0.6), 1)
        precision = upper + upper.T
        eigenvalues = np.linalg.eigvalsh(precision)
        # (largest + delta) / (smallest + delta) = p; where B is all zeros any delta > 0 is the same design.
        delta = (eigenvalues[-1] - p * eigenvalues[0]) / (p - 1) if upper.any() else 1.0
        precision[np.diag_indices(p)] = delta
        lower = cholesky(precision, lower=True)
        variance = np.diag(cho_solve((lower, True), np.eye(p)))
        return cls(np.asfortranarray(lower * np.sqrt(variance)[:, None], dtype=dtype))

    def transform(self, rows: NDArray, where: slice) -> None:
        """Solve F' x = z for every row; the transpose of a C-ordered block is Fortran-ordered, so no copy."""
        solve: Callable[..., NDArray] = blas.strsm if rows.dtype == np.float32 else blas.dtrsm
        solved = solve(1.0, self.factor, rows.T, lower=1, trans_a=1, overwrite_b=1)
        if not np.shares_memory(solved, rows):
            rows[:] = solved.T

    def covariance(self, columns: NDArray) -> NDArray:
        """Population covariance of the given columns."""
        lower = self.factor.astype(np.float64)
        unit = np.eye(len(lower))[:, columns]
        return cho_solve((lower, True), unit)[columns]
