"""New rows to covariates and times."""

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Columns
from rlselect.temporal._curves import FittedCurves
from rlselect.temporal._design import ProcessDesign
from rlselect.temporal._estimate import with_offset
from rlselect.temporal._formula import complete_rows, variables_of
from rlselect.temporal._formula_safety import CONTEXT
from rlselect.temporal._points import PointErrors

Array = NDArray[np.float64]


def covariates_at(design: ProcessDesign, data: Any, time: Any) -> tuple[Array, Array]:
    """Covariates (rows, p), NaN where incomplete, and the clock of each row."""
    columns = Columns(data, "data")
    clock = columns.clock(time, "time")
    if design.spec is None:
        names = design.names[1:]
        if not columns.has_names and len(columns.names) != len(names):
            raise ValueError(f"the model has {len(names)} covariates, the data {len(columns.names)} columns")
        values = columns.matrix(names if columns.has_names else columns.names, "covariate")
        return _finite(np.column_stack([np.ones(len(clock)), values]), design.names), clock
    if not columns.has_names:
        raise ValueError("the model was fitted with a formula: predict needs a table with its columns")
    names = variables_of(design.spec.formula, columns)
    rows, text = complete_rows(columns, names, np.ones(len(clock), dtype=bool))
    x = np.full((len(clock), len(design.names)), np.nan)
    if len(rows):
        _refuse_changed_kinds(text, design.text.intersection(names))
        x[rows] = _coded(design.spec, columns.to_pandas(names, rows))
    return _finite(x, design.names), clock


def _finite(x: Array, names: Sequence[str]) -> Array:
    """The covariates, none of which may be infinite: nothing can be told of such rows, as `fit` says too."""
    for name, count in zip(names, np.isinf(x).sum(axis=0), strict=True):
        if count:
            raise ValueError(
                f"{name!r} is infinite in {count} row(s); make them missing (their predictions are NaN then) "
                "or leave the rows out."
            )
    return x


def _refuse_changed_kinds(now: frozenset[str], then: frozenset[str]) -> None:
    """Refuse text for numbers, and numbers for text, which would pass for all of its levels at once."""
    for name in sorted(now ^ then):
        kinds = ("text", "numbers") if name in now else ("numbers", "text")
        written = "; say how the numbers of its file are written (--decimal ,; decimal=',' of pandas)"
        fix = written if name in now else ""
        raise TypeError(f"Column {name!r} of data holds {kinds[0]}, but held {kinds[1]} in fit{fix}.")


def _coded(spec: Any, found: Any) -> Array:
    from formulaic.errors import DataMismatchWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error", DataMismatchWarning)
        try:
            matrix = spec.get_model_matrix(found, context=CONTEXT, na_action="ignore", output="numpy")
            return np.asarray(matrix, dtype=float)
        except DataMismatchWarning as error:
            new = re.search(r"\{(.*)\}", str(error))
            raise ValueError(
                f"the data hold categories that were not there in fit{f': {new[1]}' if new else ''}; name "
                "one that was, or leave the rows out."
            ) from None


def curves_at(beta: Array, design: ProcessDesign, clock: Array) -> Array:
    """Curves at the clock of each row: exact on the grid, linear between, refused outside.

    The halves of the first bin and the last one that lie outside of their middles have the curves of the bin.
    """
    low, high = design.ends or (design.clock[0], design.clock[-1])
    known = clock[~np.isnan(clock)]
    if ((known < low) | (known > high)).any():
        first, last = _ends(design)
        raise ValueError(
            f"times must lie between {first} and {last}, where the curves were estimated; "
            f"{int(((known < low) | (known > high)).sum())} row(s) lie outside"
        )
    left, right, share = _between(design, clock)
    part = share[:, None]
    out = np.where(part == 0.0, beta[left], beta[left] * (1.0 - part) + beta[right] * part)
    out[np.isnan(clock)] = np.nan
    return out


def _ends(design: ProcessDesign) -> tuple[Any, Any]:
    """The first and the last time at which curves are told, as times are given."""
    if design.ends is None:
        return design.times[0], design.times[-1]
    if design.times.dtype.kind not in "mM":
        return design.ends
    days = np.array(design.ends) - design.clock[[0, -1]]
    first, last = design.times[[0, -1]] + (days * 86_400_000_000).round().astype("timedelta64[us]")
    return first, last


def _between(design: ProcessDesign, clock: Array) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """The times on both sides of each row's, and the share of the way between them; 0 on the grid."""
    safe = np.clip(np.where(np.isnan(clock), design.clock[0], clock), design.clock[0], design.clock[-1])
    right = np.searchsorted(design.clock, safe)
    on_grid = design.clock[right] == safe
    left = np.where(on_grid, right, np.maximum(right - 1, 0))
    gap = np.where(on_grid, 1.0, design.clock[right] - design.clock[left])
    return left, right, np.where(on_grid, 0.0, (safe - design.clock[left]) / gap)


def predictor_errors(points: PointErrors, x: Array, clock: Array) -> tuple[Array, Array]:
    """Variance of the linear predictor of each row, NaN where a curve is, and its degrees of freedom.

    Between two times the fewer degrees of freedom count.
    """
    left, right, share = _between(points.fitted.design, clock)
    known = np.asarray(np.isfinite(points.curves.beta).all(axis=1))
    usable = known[left] & (known[right] | (share == 0.0)) & ~np.isnan(clock) & np.isfinite(x).all(axis=1)
    variance, df = np.full(len(x), np.nan), np.full(len(x), np.inf)
    for first, second in np.unique(np.column_stack([left, right])[usable], axis=0):
        mine = np.flatnonzero(usable & (left == first) & (right == second))
        there = np.unique([first, second])
        for rows, psi, _, own_df in points.blocks(x[mine], there):
            at, part = mine[rows], share[mine[rows]]
            mixed = psi[0] if len(there) == 1 else (1.0 - part)[:, None] * psi[0] + part[:, None] * psi[1]
            variance[at] = np.vecdot(mixed, mixed) / psi.shape[2] ** 2
            df[at] = own_df.min(axis=0)
    return variance, df


def residual_variance(fitted: FittedCurves, clock: Array, smoothed: bool) -> tuple[Array, Array]:
    """Variance of a response about its mean at each row's time, between times interpolated, and its spare."""
    design, beta = fitted.design, fitted.curves(smoothed).beta
    eta = with_offset((beta[:, None, :] @ design.x)[:, 0, :], design.offset)
    live = design.w > 0
    spare = np.maximum(live.sum(axis=1) - len(design.names), 1)
    spread = (((design.y - eta) ** 2) * live).sum(axis=1) / spare
    left, right, share = _between(design, clock)
    variance = np.where(share == 0.0, spread[left], spread[left] * (1 - share) + spread[right] * share)
    return variance, np.minimum(spare[left], spare[right]).astype(float)


def profile_row(design: ProcessDesign, profile: Any, called: str) -> Array:
    """Covariates of a profile, one row of values by name: (covariates,)."""
    table = {name: [value] for name, value in profile.items()} if isinstance(profile, Mapping) else profile
    count = Columns(table, called).n_rows or 1
    x, _ = covariates_at(design, table, np.repeat(design.times[:1], count))
    if len(x) != 1 or np.isnan(x).any():
        raise ValueError(
            f"{called} must be one row with a value for every covariate, such as a dict of them."
        )
    return x[0]
