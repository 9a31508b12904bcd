"""Nadaraya-Watson smoothing of effect curves, and how much of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect._parallel import run_tasks
from rlselect.kernels import deviance
from rlselect.temporal._design import Design
from rlselect.temporal._estimate import Estimate

Array = NDArray[np.float64]

KERNELS = ("triangular", "epanechnikov", "gaussian")


def kernel_weights(distance: Array, kernel: str) -> Array:
    """Kernel at distances measured in bandwidths."""
    d = np.abs(distance)
    if kernel == "triangular":
        return np.maximum(1.0 - d, 0.0)
    if kernel == "epanechnikov":
        return np.maximum(1.0 - d**2, 0.0)
    return np.exp(-0.5 * d**2)


def smoother(
    clock: Array, bandwidth: float, kernel: str, sound: NDArray[np.bool_], *, leave_out: bool = False
) -> Array:
    """Matrix that turns raw into smoothed curves, times x sound times; NaN where no neighbour is in reach."""
    weights = kernel_weights((clock[:, None] - clock[None, :]) / bandwidth, kernel)
    if leave_out:
        np.fill_diagonal(weights, 0.0)
    weights = weights[:, sound]
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1.0), np.nan)


def smooth(raw: Estimate, clock: Array, bandwidth: float, kernel: str) -> tuple[Array, Array, Array]:
    """Smoothed coefficients, standard errors and influence functions; flagged times stay NaN."""
    sound = raw.sound
    matrix = smoother(clock[sound], bandwidth, kernel, np.ones(int(sound.sum()), dtype=bool))
    beta = np.full_like(raw.beta, np.nan)
    beta[sound] = matrix @ raw.beta[sound]
    psi = smooth_psi(raw.psi, sound, clock, bandwidth, kernel)
    return beta, np.sqrt(np.einsum("tki,tki->tk", psi, psi)) / psi.shape[2], psi


def smooth_psi(psi: Array, sound: NDArray[np.bool_], clock: Array, bandwidth: float, kernel: str) -> Array:
    """Smoothed influence functions (times, covariates, subjects); NaN at flagged times."""
    matrix = smoother(clock[sound], bandwidth, kernel, np.ones(int(sound.sum()), dtype=bool))
    out = np.full_like(psi, np.nan)
    kept = psi[sound]
    out[sound] = (matrix @ kept.reshape(len(kept), -1)).reshape(kept.shape)
    return out


def candidate_bandwidths(clock: Array) -> Array:
    """From no smoothing at all (the smallest gap) to half the observed range, evenly on the log scale."""
    gaps = np.diff(clock)
    return np.geomspace(gaps.min(), max((clock[-1] - clock[0]) / 2.0, gaps.min()), 15)


def subject_fold_scores(
    design: Design,
    fit: Callable[[Design], Estimate],
    link: str,
    variance: str,
    kernel: str,
    candidates: Array,
    n_folds: int = 5,
) -> Array:
    """Held-out deviance per row of every bandwidth, folds over subjects.

    Whole subjects are held out because errors at neighbouring times belong to the same subjects: leaving out
    single times lets the noise of the neighbours look like signal.
    """
    n = len(design.subjects)
    # a fixed shuffle: the choice must not depend on how ids happen to be sorted, nor on a seed
    fold = np.random.default_rng(0).permutation(n) % n_folds
    held = [(fold == k).astype(float) for k in range(n_folds)]
    tasks = ((design, fit, link, variance, kernel, candidates, mine) for mine in held)
    total, rows = (sum(parts) for parts in zip(*run_tasks(_fold_score, tasks), strict=True))
    return total / rows if rows else np.full(len(candidates), np.inf)


def _fold_score(
    design: Design,
    fit: Callable[[Design], Estimate],
    link: str,
    variance: str,
    kernel: str,
    candidates: Array,
    held: Array,
) -> tuple[Array, float]:
    """Deviance of some subjects under curves of the others, for every bandwidth, and their rows."""
    total = np.zeros(len(candidates))
    train = fit(design.reweighted(1.0 - held))
    sound = train.sound
    if not sound.any():
        return total, 0.0
    weights = design.w[sound] * held
    for j, width in enumerate(candidates):
        beta = smoother(design.clock, width, kernel, sound)[sound] @ train.beta[sound]
        eta = (beta[:, None, :] @ design.x[sound])[:, 0, :]
        total[j] = deviance(link, variance, eta, design.y[sound], weights).sum()
    return total, float(weights.sum())


def time_fold_scores(raw: Estimate, clock: Array, kernel: str, candidates: Array) -> Array:
    """Mean squared error, in standard errors, of each time predicted from the other times."""
    sound = raw.sound
    scores = np.full(len(candidates), np.inf)
    for j, width in enumerate(candidates):
        matrix = smoother(clock[sound], width, kernel, np.ones(int(sound.sum()), dtype=bool), leave_out=True)
        if np.isfinite(matrix).all():
            scores[j] = (((raw.beta[sound] - matrix @ raw.beta[sound]) / raw.se[sound]) ** 2).mean()
    return scores


def choose_bandwidth(
    given: Any,
    design: Design,
    raw: Estimate,
    fit: Callable[[Design], Estimate],
    link: str,
    variance: str,
    kernel: str,
) -> tuple[float, Array, Array]:
    """Bandwidth, with the candidates and their scores (empty when it was given)."""
    if not isinstance(given, str):
        return float(given), np.zeros(0), np.zeros(0)
    if raw.sound.sum() < 3:
        raise ValueError(
            f"bandwidth={given!r} needs at least 3 time points that can be estimated, found {raw.sound.sum()}"
        )
    candidates = candidate_bandwidths(design.clock)
    if given == "cv":
        scores = subject_fold_scores(design, fit, link, variance, kernel, candidates)
    else:
        scores = time_fold_scores(raw, design.clock, kernel, candidates)
    if not np.isfinite(scores).any():
        raise ValueError(f"bandwidth={given!r}: no candidate could be scored; give a number instead")
    return float(candidates[int(np.nanargmin(scores))]), candidates, scores
