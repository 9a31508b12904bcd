"""Spread: how much further responses of some units lie from their means than those of others."""

import numpy as np
from numpy.typing import NDArray

from rlselect.temporal._design import ProcessDesign
from rlselect.temporal._estimate import ScoreParts

Array = NDArray[np.float64]

# a variance, relative to the mean of all, that a line may not fall below
_LEAST = 0.1
# relative to the largest: directions that no covariate tells
_NOTHING = 1e-8


def relative_spread(parts: ScoreParts, design: ProcessDesign) -> Array:
    """Variances of responses beside the working ones, relative to their mean at each time, (times, units).

    Squared residuals, over what their working variance and leverage let expect, are a line in the covariates,
    the same at all times: of a small arm that varies more than the other, few subjects tell the variance of
    the difference. The line is shrunk towards none by as much as chance alone would tilt it, so that all are
    1 where nothing speaks against it.
    """
    live = design.w > 0
    size = parts.weight * design.w
    ratio = np.where(live, parts.enlarged(0.5) ** 2 / np.where(live & (size > 0), size, 1.0), 0.0)
    count = np.maximum(live.sum(axis=1, keepdims=True), 1)
    mean = ratio.sum(axis=1, keepdims=True) / count
    excess = np.where(live, ratio / np.where(mean > 0, mean, 1.0) - 1.0, 0.0)
    middle = (design.x * live[:, None, :]).sum(axis=2, keepdims=True) / count[:, :, None]
    tilt = (design.x - middle) * live[:, None, :]
    tilt /= np.maximum(np.abs(tilt).max(axis=(0, 2), keepdims=True), np.finfo(float).tiny)
    values, vectors = np.linalg.eigh(np.einsum("tki,tli->kl", tilt, tilt))
    told = values > _NOTHING * max(values[-1], np.finfo(float).tiny)
    k = int(told.sum())
    if k == 0 or design.n_independent <= k + 1:
        return np.ones_like(design.w)
    # coordinates in which the coefficients are uncorrelated sums
    root = (vectors[:, told] / np.sqrt(values[told])).T
    along = np.einsum("kl,tli->tki", root, tilt)
    slope = np.einsum("tki,ti->k", along, excess)
    line = np.einsum("k,tki->ti", slope, along)
    own = design.gather(((excess - line)[:, None, :] * along).sum(axis=0))
    wald = float(slope @ np.linalg.pinv(own @ own.T) @ slope) * (1.0 - k / design.n_independent)
    kept = max(0.0, 1.0 - k / wald) if wald > 0 else 0.0
    return np.maximum(1.0 + kept * line, _LEAST)
