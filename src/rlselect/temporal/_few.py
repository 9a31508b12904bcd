"""Which samples are small, and which are smaller than any whose levels were measured."""

import warnings

import numpy as np
from numpy.typing import NDArray

from rlselect._compat import user_level
from rlselect.temporal._design import ProcessDesign

Array = NDArray[np.float64]
Places = NDArray[np.intp]

# From these numbers on, of subjects and of subjects apart from a covariate's commonest value, first-order
# references hold their level (experiments/results/temporal_size.md, temporal_size_arms.md).
_SUBJECTS, _APART = 150, 25
# Times x covariates x units up to which a small arm among many subjects is worth draws with standard errors
# of their own, whose cost is that of so many numbers per draw.
_AFFORDABLE = 500_000
# Below these numbers levels are off, or were not measured: subjects more than coefficients, subjects apart
# from the commonest value of a covariate, and of the response (temporal_size_arms.md).
_RESIDUAL, _LEAST_APART, _LEAST_EVENTS = 7, 6, 5
# Share of the subjects in what weights for drop-out leave of their information: below, few of them rule.
_LEAST_EFFECTIVE = 0.5


class SmallSampleWarning(UserWarning):
    """Fewer subjects than any for which the level of tests and bands has been measured."""


def apart(design: ProcessDesign, values: Array) -> Array:
    """Independent units with another value than the commonest, (times,): the smaller arm of two.

    `values` is (times, units). The commonest value is looked for at both ends; 0 where all are equal.
    """
    live = design.w > 0
    ends = (
        values.min(axis=1, where=live, initial=np.inf),
        values.max(axis=1, where=live, initial=-np.inf),
    )
    others = [(design.gather(live & (values != end[:, None])) > 0).sum(axis=1) for end in ends]
    return np.minimum(*others)


def _typical(design: ProcessDesign, column: int) -> float:
    """Units apart at a typical time, infinite for a column that is the same everywhere (an intercept)."""
    found = apart(design, design.x[:, column, :])
    return float(np.median(found[found > 0])) if (found > 0).any() else np.inf


def is_few(design: ProcessDesign, columns: Places) -> bool:
    """Whether first-order references are not enough for the effects of some covariates."""
    if design.n_independent < _SUBJECTS:
        return True
    return design.x.size <= _AFFORDABLE and any(_typical(design, k) < _APART for k in columns)


def thin_spots(design: ProcessDesign, columns: Places) -> list[str]:
    """What is smaller than in any measured case, in words."""
    p, few = len(design.names), is_few(design, columns)
    unit = "clusters" if design.is_grouped else "subjects"
    available = (design.w > 0).sum(axis=1)
    fewest = int(available.min(initial=design.x.shape[2], where=available > p))
    least = _LEAST_APART if few else _APART
    typical = {repr(design.names[k]): (_typical(design, k), least) for k in columns}
    events = float(np.median(apart(design, design.y)[available > 0]))
    typical[repr(design.response)] = (events, _LEAST_EVENTS)
    found = [
        f"{name} is the same for all but {number:g} {unit} at a typical time (measured: {least} or more)"
        for name, (number, least) in typical.items()
        if number < least
    ]
    if design.dropout is not None:
        found += _uneven_weights(design)
    if fewest - p >= _RESIDUAL:
        return found
    measured = f"(measured: {p + _RESIDUAL} or more)"
    return [f"{fewest} subjects at some time for {p} coefficients {measured}", *found]


def _uneven_weights(design: ProcessDesign) -> list[str]:
    """Where weights for drop-out leave too little, in words: intervals hold less than they say there."""
    assert design.dropout is not None
    stays, measured = design.dropout, f"(measured: {_LEAST_EFFECTIVE:g} of them or more)"
    without = design.n_effective(design.w / np.where(stays.weights > 0, stays.weights, 1.0))
    left = design.n_effective()
    worst = int(np.argmin(np.where(without > 0, left / np.where(without > 0, without, 1.0), np.inf)))
    if left[worst] < _LEAST_EFFECTIVE * without[worst]:
        return [
            f"weights for drop-out leave the information of {left[worst]:.0f} of {without[worst]:.0f} "
            f"subjects at {design.times[worst]!s} {measured}"
        ]
    worst = int(np.argmin(stays.expected))
    if stays.expected[worst] >= _LEAST_EFFECTIVE:
        return []
    when = f"after {worst} rows" if stays.by_rows else f"at {design.times[worst]!s}"
    return [
        f"hardly any of those who were likely to leave are still there {when}: weights for drop-out leave "
        f"some {max(100.0 * stays.expected[worst], 1.0):.0f} % of the information (measured: "
        f"{100.0 * _LEAST_EFFECTIVE:.0f} % or more)"
    ]


def warn_of_few(design: ProcessDesign, columns: Places) -> None:
    """Say that a level is not known for so few subjects."""
    found = thin_spots(design, columns)
    if found:
        warnings.warn(
            f"{'; '.join(found)}: levels of tests and bands are not known for so few, take p-values and "
            "bands here as rough",
            SmallSampleWarning,
            stacklevel=user_level(),
        )
