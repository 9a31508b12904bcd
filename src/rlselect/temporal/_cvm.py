"""Cramer-von Mises test of two groups measured repeatedly."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rlselect._options import check_value, one_of, whole
from rlselect._random import RandomState, as_generator
from rlselect.data import Columns
from rlselect.temporal._small import webb

Array = NDArray[np.float64]

Null: TypeAlias = Literal["studentised", "centred", "pooled", "permutation"]
# draws at a time
_BLOCK = 128


@dataclass(frozen=True)
class CvMTest:
    """Outcome of `two_sample_cvm`.

    Attributes
    ----------
    statistic, pvalue : float
        Of all readings pooled.
    groups : the two labels
    n_subjects, n_readings : of each group
    null : how the null distribution was simulated
    by_visit : data frame with one row per visit (statistic, pvalue, subjects per group), or None
    ecdf : dict, label -> (sorted values, cumulative shares); `ECDFDisplay` draws it
    """

    statistic: float
    pvalue: float
    groups: tuple[Any, Any]
    n_subjects: tuple[int, int]
    n_readings: tuple[int, int]
    null: Null
    by_visit: Any = field(default=None, repr=False)
    ecdf: dict[Any, tuple[Array, Array]] = field(default_factory=dict, repr=False)


def two_sample_cvm(
    values: Any,
    group: Any,
    id: Any,
    visit: Any = None,
    *,
    data: Any = None,
    null: Null = "studentised",
    n_draws: int = 5000,
    random_state: RandomState = None,
) -> CvMTest:
    r"""Test whether two groups of subjects have the same distribution of a repeated measure.

    The statistic is :math:`\frac{NM}{N+M}\int (F_1 - F_2)^2\,dH` over all readings. Readings of one subject
    belong together, so the null distribution is simulated from whole subjects; taking the readings as
    independent rejects a true null far too often.

    Parameters
    ----------
    values : array or str
        Readings; missing ones are left out.
    group : array or str
        Group of each reading: two labels, the same for all readings of a subject.
    id : array or str
        Subject of each reading.
    visit : array or str, optional
        When given, every visit is also tested by itself (`by_visit`).
    data : table, optional
        Where the names above are columns.
    null : {"studentised", "centred", "pooled", "permutation"}, default="studentised"
        ``"studentised"`` multiplies the influence functions of whole subjects inside each group by random
        numbers and compares the statistic relative to its variance, in the data and in every draw: valid also
        when the groups differ in their dependence or number of readings, and holds its level when one of
        them is small. ``"centred"`` draws subjects with replacement inside each group and centres the
        difference: also for groups that differ, but rejects too often when one is small. ``"pooled"`` draws
        both groups from all subjects, ``"permutation"`` permutes the labels of subjects: both need the groups
        to be exchangeable under the null.
    n_draws : int, default=5000
        Draws of the null distribution.
    random_state : int, Generator, RandomState or None
        Seed of the draws.

    Returns
    -------
    CvMTest

    See Also
    --------
    rlselect.temporal.ECDFDisplay : plot of the two distribution functions.

    Notes
    -----
    Cost: O(subjects x (draws + distinct values) x subjects), of ``"studentised"``; O(draws x subjects x
    distinct values) of the others. Differences in spread or shape are seen as well as shifts.

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.temporal import two_sample_cvm
    >>> rng = np.random.default_rng(0)
    >>> ids = np.repeat(np.arange(40), 3)
    >>> score = np.repeat(rng.standard_normal(40), 3) + rng.standard_normal(120) + 2.0 * (ids < 20)
    >>> bool(two_sample_cvm(score, ids < 20, ids, n_draws=500, random_state=0).pvalue < 0.01)
    True
    """
    check_value("null", null, one_of(*get_args(Null)))
    check_value("n_draws", n_draws, whole(1))
    reading, label, subject, when, labels = _read(values, group, id, visit, data)
    rng = as_generator(random_state)
    statistic, pvalue, sizes = _one_test(reading, label, subject, null, n_draws, rng)
    table = None
    if when is not None:
        table = _each_visit(reading, label, subject, when, null, n_draws, rng)
    return CvMTest(
        statistic,
        pvalue,
        (labels[0], labels[1]),
        sizes,
        (int((label == 0).sum()), int((label == 1).sum())),
        null,
        table,
        {labels[g]: _ecdf(reading[label == g]) for g in (0, 1)},
    )


def _read(
    values: Any, group: Any, id: Any, visit: Any, data: Any
) -> tuple[Array, NDArray[np.intp], NDArray[np.intp], Any, list[Any]]:
    columns = Columns(data, "data")
    reading = columns.numbers(values, "values")
    if np.isinf(reading).any():
        raise ValueError(
            f"values holds {int(np.isinf(reading).sum())} infinite reading(s); make them missing"
        )
    present = ~np.isnan(reading)
    label, labels = columns.distinct(group, "group")
    subject, _ = columns.distinct(id, "id")
    when = None
    if visit is not None:
        code, visits = columns.distinct(visit, "visit")
        when = (code[present], visits)
    reading, label, subject = reading[present], label[present], subject[present]
    if len(labels) != 2 or len(np.unique(label)) != 2:
        raise ValueError(
            f"group must have exactly two labels with readings, found {len(np.unique(label))}: "
            f"{', '.join(str(labels[g]) for g in np.unique(label)[:5])}"
        )
    low = np.full(subject.max() + 1, 2)
    high = np.full(subject.max() + 1, -1)
    np.minimum.at(low, subject, label)
    np.maximum.at(high, subject, label)
    mixed = int(((low == 0) & (high == 1)).sum())
    if mixed:
        raise ValueError(f"{mixed} subject(s) appear in both groups; a subject's group must not change")
    return reading, label, subject, when, [v.item() if hasattr(v, "item") else v for v in labels]


def _ecdf(reading: Array) -> tuple[Array, Array]:
    levels, counts = np.unique(reading, return_counts=True)
    return levels, np.cumsum(counts) / len(reading)


def _each_visit(
    reading: Array,
    label: NDArray[np.intp],
    subject: NDArray[np.intp],
    when: Any,
    null: Null,
    n_draws: int,
    rng: np.random.Generator,
) -> Any:
    import pandas as pd

    code, visits = when
    rows = []
    for v in range(len(visits)):
        at = code == v
        if len(np.unique(label[at])) < 2:
            statistic, pvalue = np.nan, np.nan
            sizes = int((label[at] == 0).sum()), int((label[at] == 1).sum())
        else:
            statistic, pvalue, sizes = _one_test(reading[at], label[at], subject[at], null, n_draws, rng)
        rows.append({"statistic": statistic, "pvalue": pvalue, "n_first": sizes[0], "n_second": sizes[1]})
    return pd.DataFrame(rows, index=pd.Index(visits, name="visit"))


def subject_counts(reading: Array, subject: NDArray[np.intp]) -> tuple[Array, NDArray[np.intp]]:
    """Cumulative counts of every subject at the distinct readings: (subjects, values), and their codes."""
    levels, place = np.unique(reading, return_inverse=True)
    codes, who = np.unique(subject, return_inverse=True)
    counts = np.zeros((len(codes), len(levels)))
    np.add.at(counts, (who, place), 1.0)
    return np.cumsum(counts, axis=1), who


def cvm_statistic(first: Array, second: Array) -> Array:
    """Statistic from cumulative counts of the two groups, (..., values)."""
    n, m = first[..., -1:], second[..., -1:]
    gap = first / n - second / m
    together = first + second
    mass = np.diff(together, axis=-1, prepend=0.0) / (n + m)
    return (n * m / (n + m))[..., 0] * (gap**2 * mass).sum(axis=-1)


def _one_test(
    reading: Array,
    label: NDArray[np.intp],
    subject: NDArray[np.intp],
    null: Null,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[float, float, tuple[int, int]]:
    counts, who = subject_counts(reading, subject)
    side = np.zeros(len(counts), dtype=np.intp)
    side[who] = label
    sizes = (int((side == 0).sum()), int((side == 1).sum()))
    observed = float(cvm_statistic(counts[side == 0].sum(axis=0), counts[side == 1].sum(axis=0)))
    if null == "studentised":
        least, block = _studentised(counts[side == 0], counts[side == 1])
    else:
        least, block = observed, partial(_null_block, counts, side, null)
    above = 0
    for start in range(0, n_draws, _BLOCK):
        draws = block(min(_BLOCK, n_draws - start), rng)
        # ties with the observed value (few subjects, few values) count against the alternative
        above += int((draws >= least * (1.0 - 1e-12)).sum())
    return observed, (1 + above) / (n_draws + 1), sizes


def _studentised(one: Array, two: Array) -> tuple[float, Callable[[int, np.random.Generator], Array]]:
    """The integral of the squared difference relative to that of its variance, and what draws more of it."""
    total = one.sum(axis=0) + two.sum(axis=0)
    mass = np.diff(total, prepend=0.0) / total[-1]
    gap = one.sum(axis=0) / one[:, -1].sum() - two.sum(axis=0) / two[:, -1].sum()
    first, second = (
        (c - c[:, -1:] * (c.sum(axis=0) / c[:, -1].sum())) / (c[:, -1].mean() * len(c)) for c in (one, two)
    )
    # integrals of products of two subjects' influence functions, over their numbers: draws need no others
    within = [(psi * mass) @ psi.T for psi in (first, second)]
    between = (first * mass) @ second.T
    spread = sum(np.trace(products) for products in within)

    def block(size: int, rng: np.random.Generator) -> Array:
        g = [webb(size, len(products), rng) for products in within]
        moved = [np.vecdot(own @ products, own) for own, products in zip(g, within, strict=True)]
        variance = sum(
            own**2 @ np.diag(products) - length / len(products)
            for own, products, length in zip(g, within, moved, strict=True)
        )
        change = moved[0] + moved[1] - 2.0 * np.vecdot(g[0] @ between, g[1])
        return change / np.maximum(variance, np.finfo(float).tiny)

    # without any spread nothing speaks against the null
    return float(gap**2 @ mass / spread) if spread > 0 else 0.0, block


def _null_block(
    counts: Array, side: NDArray[np.intp], null: Null, size: int, rng: np.random.Generator
) -> Array:
    n = len(side)
    n_first = int((side == 0).sum())
    if null == "permutation":
        order = rng.permuted(np.broadcast_to(np.arange(n), (size, n)), axis=1)
        weight = np.zeros((size, n))
        np.put_along_axis(weight, order[:, :n_first], 1.0, axis=1)
        first = weight @ counts
        return cvm_statistic(first, counts.sum(axis=0) - first)
    if null == "pooled":
        first = _draw_weights(n, n_first, size, rng) @ counts
        return cvm_statistic(first, _draw_weights(n, n - n_first, size, rng) @ counts)
    one, two = counts[side == 0], counts[side == 1]
    first = _draw_weights(len(one), len(one), size, rng) @ one
    second = _draw_weights(len(two), len(two), size, rng) @ two
    return _centred_statistic(first, second, one.sum(axis=0), two.sum(axis=0))


def _draw_weights(n: int, k: int, size: int, rng: np.random.Generator) -> Array:
    """How often each of n subjects is drawn in k draws with replacement."""
    picks = rng.integers(n, size=(size, k)) + n * np.arange(size)[:, None]
    return np.bincount(picks.ravel(), minlength=size * n).reshape(size, n).astype(float)


def _centred_statistic(first: Array, second: Array, one: Array, two: Array) -> Array:
    """The statistic of the deviations of resampled from observed distribution functions."""
    n, m = first[:, -1:], second[:, -1:]
    gap = (first / n - second / m) - (one / one[-1] - two / two[-1])
    mass = np.diff(first + second, axis=-1, prepend=0.0) / (n + m)
    return (n * m / (n + m))[:, 0] * (gap**2 * mass).sum(axis=-1)
