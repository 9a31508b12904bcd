"""Draws of the limiting process: multipliers on influence functions, or refits on resampled subjects."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from rlselect._parallel import run_tasks
from rlselect.temporal._design import ProcessDesign

Array = NDArray[np.float64]

# refits per task: a single one may take a millisecond, too little to be sent alone
_REFITS = 50
# draws at a time: enough for a fast product, few enough to fit in memory beside many times
_BLOCK = 256


def multiplier_blocks(psi: Array, n_draws: int, rng: np.random.Generator) -> Iterator[Array]:
    """``sum_i z_i psi_i / n`` with independent standard normal ``z``, in blocks of draws.

    `psi` is (..., subjects); a block is (draws, ...). Cost: draws x size of `psi` multiplications.
    """
    n = psi.shape[-1]
    flat = psi.reshape(-1, n)
    for first in range(0, n_draws, _BLOCK):
        size = min(_BLOCK, n_draws - first)
        z = rng.standard_normal((size, n))
        z /= n
        yield (z @ flat.T).reshape(size, *psi.shape[:-1])


def variance_df(lengths: Array, r: int = 1) -> Array:
    """Degrees of freedom of an estimated variance, from the spread of the subjects' shares in it.

    `lengths` holds ``u_i'u_i`` of standardised influence functions along the last axis (they sum to `r`). For
    Gaussian influence functions the answer is about n, for heavy-tailed ones less.
    """
    n = lengths.shape[-1]
    spread = (lengths**2).sum(axis=-1) - r**2 / n
    return np.where(spread > 0, 2.0 * r / np.where(spread > 0, spread, 1.0), np.inf)


def stretch(squared: Array, df: Array, r: int = 1) -> Array:
    """Chi-square draws to those of a Wald statistic whose covariance was estimated with so many `df`.

    First-order Cornish-Fisher expansion of Student's t, and of Hotelling's statistic for ``r > 1``. A normal
    critical value of 3 becomes 3.1 at 75 degrees of freedom: left out, a band of level .95 covers .93.
    """
    return squared * (1.0 + (squared + r) / (4.0 * df)) ** 2


def sup_normal(psi: Array, n_draws: int, rng: np.random.Generator, *, shrink: bool = True) -> Array:
    """Draws of ``sup_t |Z(t)|`` of normal processes of variance 1, correlated as `psi`: (draws, rows).

    `psi` is (times, rows, units). With `shrink`, correlations are mixed with none at all, see `shrinkage`.
    """
    n_times, rows, n = psi.shape
    size = np.sqrt(np.einsum("tki,tki->tk", psi, psi))
    unit = psi / np.maximum(size, np.finfo(float).tiny)[:, :, None]
    mixed = np.array([shrinkage(unit[:, k]) for k in range(rows)]) if shrink else np.zeros(rows)
    unit *= n * np.sqrt(1.0 - mixed)[:, None]
    out = []
    for block in multiplier_blocks(unit, n_draws, rng):
        alone = rng.standard_normal((len(block), n_times, 1)) if shrink else 0.0
        out.append(np.abs(block + np.sqrt(mixed) * alone).max(axis=1))
    return np.concatenate(out)


def shrinkage(unit: Array) -> float:
    """How far correlations between times are not to be trusted, 0 to 1: their variance over their squares.

    `unit` (times, units) has squares that sum to 1 at each time. Few units, or one that rules them, agree
    over time by chance, which makes suprema too small. The share is that of Schäfer and Strimmer (2005), by
    which a mixture with the identity is nearest to the truth.
    """
    n = unit.shape[1]
    correlation = unit @ unit.T
    variance = np.maximum((unit**2) @ (unit**2).T - correlation**2 / n, 0.0) * (n / max(n - 1, 1))
    other = ~np.eye(len(unit), dtype=bool)
    total = float((correlation[other] ** 2).sum())
    return min(float(variance[other].sum()) / total, 1.0) if total > 0 else 1.0


def sup_refit(
    curve: Callable[[ProcessDesign], Array],
    design: ProcessDesign,
    centre: Array,
    se: Array,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[Array, float]:
    """The same sup from estimates on subjects drawn with replacement.

    A time point that cannot be estimated in a draw is left out of that draw's sup. Also returns the share of
    such (draw, time) pairs.
    """
    n = design.n_independent
    counts = [np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(n_draws)]
    some = (counts[first : first + _REFITS] for first in range(0, n_draws, _REFITS))
    done = run_tasks(_refit_some, ((curve, design, centre, se, mine) for mine in some))
    out, lost = (np.concatenate(parts) for parts in zip(*done, strict=True))
    return out[np.isfinite(out).all(axis=1)], float(lost.mean())


def _refit_some(
    curve: Callable[[ProcessDesign], Array],
    design: ProcessDesign,
    centre: Array,
    se: Array,
    counts: list[Array],
) -> tuple[Array, Array]:
    """The sup of each of some draws, NaN where nothing could be estimated, and the share of times lost."""
    wanted = np.isfinite(centre).all(axis=1).sum()
    out, lost = np.full((len(counts), centre.shape[1]), np.nan), np.empty(len(counts))
    for b, often in enumerate(counts):
        distance = np.abs(curve(design.reweighted(often.astype(float))) - centre) / se
        seen = np.isfinite(distance).all(axis=1)
        lost[b] = 1.0 - seen.sum() / wanted
        if seen.any():
            out[b] = distance[seen].max(axis=0)
    return out, lost
