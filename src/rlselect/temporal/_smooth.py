"""Nadaraya-Watson smoothing of effect curves, and how much of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from rlselect._clock import present_clock
from rlselect._parallel import run_tasks
from rlselect.kernels import deviance
from rlselect.temporal._design import ProcessDesign
from rlselect.temporal._equations import Equations
from rlselect.temporal._estimate import Estimate, with_offset
from rlselect.temporal._influence import HeldInfluence, Influence, SmoothedInfluence

Array = NDArray[np.float64]

Kernel: TypeAlias = Literal["triangular", "epanechnikov", "gaussian"]
Rule: TypeAlias = Literal["cv", "cv-times"]
# told when a fold is done; true when a watcher asks to stop
Report: TypeAlias = Callable[[], bool] | None
KERNELS, RULES = get_args(Kernel), get_args(Rule)
N_FOLDS = 5
# Width of the window for inference, relative to that with the smallest error, in which what bends is biased
# by about as much as noise makes it vary, also after one correction (temporal_coverage_smoothed.md).
_NARROW = 0.7
# fine enough that the best of them smooths like the best of all: neighbours differ by a fifth or so
N_CANDIDATES = 15


@dataclass(frozen=True)
class Window:
    """Which times count for a smoothed value, and how much: the kernel and its width in units of time."""

    width: float
    kernel: Kernel

    def narrower(self) -> "Window":
        """The window for inference."""
        return Window(_NARROW * self.width, self.kernel)

    def weights(self, distance: Array) -> Array:
        """Kernel at distances in units of time, one at distance zero."""
        d = np.abs(distance / self.width)
        if self.kernel == "triangular":
            return np.maximum(1.0 - d, 0.0)
        if self.kernel == "epanechnikov":
            return np.maximum(1.0 - d**2, 0.0)
        return np.exp(-0.5 * d**2)


def smoothing_matrix(
    clock: Array, window: Window, sound: NDArray[np.bool_], *, leave_out: bool = False
) -> Array:
    """Matrix that turns raw into smoothed curves, times x sound times; NaN where no neighbour is in reach."""
    weights = window.weights(clock[:, None] - clock[None, :])
    if leave_out:
        np.fill_diagonal(weights, 0.0)
    weights = weights[:, sound]
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1.0), np.nan)


def _square(clock: Array, window: Window, sound: NDArray[np.bool_], corrected: bool) -> Array:
    """Matrix among the sound times; `corrected`: what smoothing leaves of the raw curves is smoothed too.

    That takes away the bias of first order, by which a kernel flattens what bends.
    """
    matrix = smoothing_matrix(clock, window, sound)[sound]
    return 2.0 * matrix - matrix @ matrix if corrected else matrix


def smooth_values(
    values: Array, sound: NDArray[np.bool_], clock: Array, window: Window, *, corrected: bool = False
) -> Array:
    """Smooth along the first axis, times; flagged times stay NaN."""
    matrix = _square(clock, window, sound, corrected)
    out = np.full_like(values, np.nan)
    kept = values[sound]
    out[sound] = (matrix @ kept.reshape(len(kept), -1)).reshape(kept.shape)
    return out


def smooth_influence(
    raw: Influence, sound: NDArray[np.bool_], clock: Array, window: Window, *, corrected: bool = False
) -> Influence:
    """Influence functions of smoothed curves, held where the raw ones are."""
    if isinstance(raw, HeldInfluence):
        return HeldInfluence(smooth_values(raw.psi, sound, clock, window, corrected=corrected))
    weights = np.zeros((len(clock), len(clock)))
    weights[np.ix_(sound, sound)] = _square(clock, window, sound, corrected)
    return SmoothedInfluence(raw, weights)


def candidate_bandwidths(clock: Array) -> Array:
    """From no smoothing at all (the smallest gap) to half the observed range, evenly on the log scale."""
    gaps = np.diff(clock)
    return np.geomspace(gaps.min(), max((clock[-1] - clock[0]) / 2.0, gaps.min()), N_CANDIDATES)


def subject_fold_scores(
    design: ProcessDesign, equations: Equations, kernel: Kernel, candidates: Array, report: Report
) -> tuple[Array, str | None]:
    """Held-out deviance per row of every bandwidth, folds over subjects.

    Whole subjects are held out because errors at neighbouring times belong to the same subjects: leaving out
    single times lets the noise of the neighbours look like signal. Stopped early, the folds done decide, and
    the reason is returned too.
    """
    n = design.n_independent
    # a fixed shuffle: the choice must not depend on how ids happen to be sorted, nor on a seed
    fold = np.random.default_rng(0).permutation(n) % N_FOLDS
    held = [(fold == k).astype(float) for k in range(N_FOLDS)]
    total, rows = np.zeros(len(candidates)), 0.0
    with present_clock().part(1.0, N_FOLDS, report) as clock:
        for some in _as_many_as_run_at_once(held):
            if clock.look() is not None:
                break
            tasks = ((design, equations, kernel, candidates, mine) for mine in some)
            for part, weight in run_tasks(_fold_score, tasks):
                total, rows = total + part, rows + weight
                clock.tick()
    return (total / rows if rows else np.full(len(candidates), np.inf)), clock.reason


def _as_many_as_run_at_once(held: list[Array]) -> Iterator[list[Array]]:
    """Between these parcels a watcher is told, and may stop."""
    size = max(effective_n_jobs(None), 1)
    return (held[first : first + size] for first in range(0, len(held), size))


def _fold_score(
    design: ProcessDesign, equations: Equations, kernel: Kernel, candidates: Array, held: Array
) -> tuple[Array, float]:
    """Deviance of some subjects under curves of the others, for every bandwidth, and their rows."""
    total = np.zeros(len(candidates))
    train = equations.solve(design.reweighted(1.0 - held))
    sound = train.sound
    if not sound.any():
        return total, 0.0
    judged = design.reweighted(held)
    judged = judged if sound.all() else judged.at_times(np.flatnonzero(sound))
    for j, width in enumerate(candidates):
        beta = smoothing_matrix(design.clock, Window(width, kernel), sound)[sound] @ train.beta[sound]
        eta = with_offset((beta[:, None, :] @ judged.x)[:, 0, :], judged.offset)
        total[j] = deviance(equations.link, equations.variance, eta, judged.y, judged.w).sum()
    return total, float(judged.w.sum())


def time_fold_scores(raw: Estimate, clock: Array, kernel: Kernel, candidates: Array) -> Array:
    """Mean squared error, in standard errors, of each time predicted from the other times."""
    sound = raw.sound
    scores = np.full(len(candidates), np.inf)
    for j, width in enumerate(candidates):
        matrix = smoothing_matrix(clock, Window(width, kernel), sound, leave_out=True)[sound]
        if np.isfinite(matrix).all():
            scores[j] = (((raw.beta[sound] - matrix @ raw.beta[sound]) / raw.se[sound]) ** 2).mean()
    return scores


def score_bandwidths(
    rule: Rule, design: ProcessDesign, equations: Equations, raw: Estimate, kernel: Kernel, report: Report
) -> tuple[dict[str, Array], str]:
    """Candidate bandwidths with their scores, of which the smallest is best, and why no more were tried."""
    if raw.sound.sum() < 3:
        raise ValueError(
            f"bandwidth={rule!r} needs at least 3 time points that can be estimated, found {raw.sound.sum()}"
        )
    candidates = candidate_bandwidths(design.clock)
    reason = None
    if rule == "cv":
        scores, reason = subject_fold_scores(design, equations, kernel, candidates, report)
    if rule == "cv-times" or (reason is not None and not np.isfinite(scores).any()):
        # also where there was no time for a single fold
        scores = time_fold_scores(raw, design.clock, kernel, candidates)
    if not np.isfinite(scores).any():
        raise ValueError(f"bandwidth={rule!r}: no candidate could be scored; give a number instead")
    return {"bandwidth": candidates, "score": scores}, reason or "all candidates"
