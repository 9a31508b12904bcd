r"""Censored times: rewards of which only a lower bound is known, weighted by the chance to see them whole.

With G(t) the Kaplan-Meier estimate of the probability to be followed up to time t, a subject whose time from
s to e at a stage is known stands for :math:`G(s) / G(e)` subjects who entered the stage.
"""

from collections.abc import Sequence

import numpy as np

__all__ = ["censored_at", "cut_times", "uncensored_probabilities"]

# a probability of being followed below which few would stand for many
_FEWEST, _ADVISED = 0.05, 0.1


def cut_times(
    rewards: Sequence[np.ndarray], censored: Sequence[np.ndarray], horizon: float | None
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Times of all stages and who is censored in them, as far as a horizon: lists of (n,) arrays."""
    for number, (times, flags) in enumerate(zip(rewards, censored, strict=True), start=1):
        if (times < 0.0).any():
            raise ValueError(
                f"stage {number} has the time {np.nanmin(times):g}; with censored stages rewards are times "
                "and must not be negative"
            )
        unknown = np.flatnonzero(flags & np.isnan(times))
        if len(unknown):
            raise ValueError(
                f"{len(unknown)} subject(s), the first in row {unknown[0]}, are censored at stage {number} "
                "without a time; give the time up to which they were followed as their reward"
            )
    if horizon is None:
        return list(rewards), list(censored)
    if not horizon > 0.0:
        raise ValueError(f"horizon={horizon!r} was given; it must be a positive time.")
    known = np.nan_to_num(rewards)
    ends = np.minimum(np.cumsum(known, axis=0), horizon)
    cut = np.diff(ends, axis=0, prepend=0.0)
    reached = known.sum(axis=0) >= horizon
    kept = [np.where(np.isnan(times), np.nan, mine) for times, mine in zip(rewards, cut, strict=True)]
    return kept, [flags & ~reached for flags in censored]


def censored_at(censored: Sequence[np.ndarray], present: Sequence[np.ndarray]) -> np.ndarray:
    """Who is censored, at the last stage at which they are present: (stages, n) bool array."""
    anywhere = np.any(censored, axis=0)
    last = np.sum(present, axis=0) - 1
    for number, flags in enumerate(censored, start=1):
        later = np.flatnonzero(flags & (last >= number))
        if len(later):
            raise ValueError(
                f"{len(later)} subject(s), the first in row {later[0]}, are censored at stage {number} but "
                f"have an action at stage {number + 1}; correct one of the two"
            )
    return (np.arange(len(censored))[:, None] == last) & anywhere


def uncensored_probabilities(
    rewards: Sequence[np.ndarray], present: Sequence[np.ndarray], censored: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Probability to be followed to the end of each stage, given that to its beginning: (stages, n).

    The last stage of a subject ends with all of its time.
    """
    times = np.asarray(rewards)
    total, gone = times.sum(axis=0), np.asarray(censored.any(axis=0))
    ends = np.cumsum(times, axis=0)
    last = np.sum(present, axis=0) - 1
    ends[last, np.arange(len(total))] = total
    followed = _followed(total, gone, weights)
    _check_follow_up(total, gone, followed)
    at_ends = followed(ends)
    return at_ends / np.vstack([np.ones(len(total)), at_ends[:-1]])


class _followed:
    """Kaplan-Meier estimate of the probability that a subject is followed up to a time, or longer."""

    def __init__(self, total: np.ndarray, gone: np.ndarray, weights: np.ndarray) -> None:
        self.times = np.unique(total[gone])
        leave = np.array([weights[gone & (total == time)].sum() for time in self.times])
        # an event at the same time comes first
        there = np.array([weights[(total > time) | (gone & (total == time))].sum() for time in self.times])
        self.left = np.concatenate([[1.0], np.cumprod(1.0 - leave / there)])

    def __call__(self, times: np.ndarray) -> np.ndarray:
        return self.left[np.searchsorted(self.times, times, side="left")]


def _check_follow_up(total: np.ndarray, gone: np.ndarray, followed: _followed) -> None:
    longest = float(total.max())
    least = float(followed(total[~gone]).min()) if (~gone).any() else 0.0
    if least >= _FEWEST and not gone[total == longest].all():
        return
    enough = np.sort(total)[followed(np.sort(total)) >= _ADVISED]
    why = "is censored, and what would have come after it is not known"
    if least < _FEWEST:
        why = f"would be seen of {100 * least:.1f} % of the subjects only, so that few would stand for many"
    raise ValueError(
        f"the longest time, {longest:.4g}, {why}; give a horizon up to which time counts, such as "
        f"horizon={float(enough[-1]) if len(enough) else longest:.3g}"
    )
