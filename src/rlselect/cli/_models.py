"""Fitted models in files: written, read, and used on new rows."""

from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rlselect.cli._files import (
    DateOrder,
    names_in,
    require_column,
    split_names,
    with_moments,
    with_numbers,
    with_target,
)
from rlselect.cli._progress import say
from rlselect.cli._show import report_of
from rlselect.cli._tables import require_table_name, write_tables
from rlselect.data import load_source
from rlselect.persist import load, save
from rlselect.report import printable, side_by_side

__all__ = ["load_model", "report_again", "save_model", "write_predictions"]


def save_model(estimator: Any, path: Path | None, day_first: Mapping[str, bool | None] | None = None) -> None:
    """Write a fitted estimator, where that was asked for, with the order that its dates were read in."""
    if path is not None:
        if day_first:
            estimator.day_first_ = dict(day_first)
        save(estimator, path)
        say(f"Wrote {printable(path)}")


def load_model(path: Path) -> Any:
    """Read a fitted estimator."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}; --save writes one.")
    return load(path)


def report_again(
    fits: Mapping[str, Any],
    data: Any,
    target: str | None,
    weight: str | None,
    event: str | None,
    expand_dates: DateOrder | None,
    *,
    drop_missing_target: bool = False,
) -> dict[str, Any]:
    """What models found, and how well they tell the target of given rows.

    Parameters
    ----------
    fits : mapping of str to estimators
        The models by their names; several are put side by side.
    data : table or source, optional
        Rows that took no part in the fits.
    target, weight, event : str, optional
        Columns of the data; the target is called as in the fit where that is not said.
    expand_dates : "told", "day" or "month", optional
        As in `write_predictions`.
    drop_missing_target : bool, default=False
        Whether rows without a target are left out.
    """
    (name, first), *others = fits.items()
    given: dict[str, Any] = {}
    if data is not None:
        for other, fit in fits.items():
            if "X" not in signature(fit.report).parameters:
                raise ValueError(
                    f"{other!r} holds a {type(fit).__name__}, whose report judges no rows; leave out --data."
                )
        if getattr(first, "family_", None) == "cox" and event is None:
            raise ValueError(f"{name!r} tells times of events; name their column with --event.")
        if getattr(first, "family_", None) != "cox" and event is not None:
            raise ValueError(f"{name!r} tells no times of events; leave out --event.")
        told = _targets_in(data, target, first)
        data = with_target(data, told) if drop_missing_target else data
        also = [*told, *(name for name in (weight, event) if name is not None)]
        rows = _for_model(first, name, load_source(data, "rlselect report"), expand_dates, also)
        if len(told) == 1 and first._target_name:
            # under the name that the model knows, it is no feature
            rows = rows.rename_columns([first._target_name if n in told else n for n in rows.column_names])
            told = [first._target_name]
        y = told if len(told) > 1 else told[0] if event is None else (told[0], event)
        given = {"X": rows, "y": y} | ({} if weight is None else {"sample_weight": weight})
    if not others:
        return {"title": name, **report_of(first, **given)}
    if weight is not None:
        raise ValueError("--weight is for one model; of several, all rows count the same: leave it out.")
    return side_by_side(fits, **given).dict


def _for_model(
    model: Any, called: str, data: Any, expand_dates: DateOrder | None, also: Sequence[str] = ()
) -> Any:
    """Rows with dates made what they were in the fit; a table loses columns that the model does not know."""
    if expand_dates:
        data, _ = with_numbers(data, expand_dates, also, model=model)
    elif hasattr(model, "times_"):
        # times stay dates
        for name, first in getattr(model, "day_first_", {}).items():
            data, _ = with_moments(data, name, first)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return data
    present = set(names_in(data))
    if {name.removesuffix(".days") for name in set(names) - present} & present:
        raise ValueError(f"{called!r} was fitted on dates made numbers; use --expand-dates here, too.")
    wanted = {*names, *also}
    return data.select([n for n in data.column_names if n in wanted]) if isinstance(data, pa.Table) else data


def _targets_in(data: Any, target: str | None, model: Any) -> list[str]:
    """The columns of the rows that hold the target, by the option or by the names that the fit knew."""
    columns = names_in(data)
    named = split_names(target, columns) if target is not None else []
    known = getattr(model, "response_names_", [model._target_name] if model._target_name else [])
    if not named and not known:
        raise ValueError("The model does not know what its target was called; name the column with --target.")
    for name in named or known:
        require_column(name, columns, "--target", "--data")
    return list(named or known)


def write_predictions(
    path: Path,
    data: Any,
    out: Path,
    *,
    proba: bool,
    interval: float | None = None,
    average: bool = True,
    kept: Iterator[pa.Table] | None = None,
    expand_dates: DateOrder | None = None,
) -> int:
    """Predict new rows and write one line for each.

    Parameters
    ----------
    path : Path
        The model.
    data : table or source
        New rows; columns that the model does not know are not looked at.
    out : Path
        .csv, .parquet, .feather or .jsonl.
    proba : bool
        Whether to add the probabilities of the classes.
    interval : float, optional
        Probability with which the ends to add hold a new value; all rows are loaded for it.
    average : bool, default=True
        Whether a model may average over subsets, where it can.
    kept : iterator of pyarrow.Table, optional
        Columns to write before the predictions, in the order of the rows.
    expand_dates : "told", "day" or "month", optional
        What stands first in dates such as 01/02/2024, if dates become what they were in the fit.

    Returns
    -------
    int
        The number of rows.
    """
    require_table_name(out)
    model = load_model(path)
    if not hasattr(model, "predict"):
        raise ValueError(
            f"{str(path)!r} holds a {type(model).__name__}, which predicts no rows; rlselect report shows "
            "what it found."
        )
    if proba and not hasattr(model, "predict_proba"):
        raise ValueError(f"{str(path)!r} predicts numbers, not classes; leave out --proba.")
    if proba and hasattr(model, "response_names_"):
        raise ValueError(f"{str(path)!r} predicts several responses; leave out --proba.")
    if interval is not None:
        _refuse_interval(model, path, average)
        data = load_source(data, "rlselect predict --interval")
    data = _for_model(model, str(path), data, expand_dates)
    given = {}
    if not average:
        if "average" not in signature(model.predict).parameters:
            raise ValueError(
                f"{str(path)!r} holds a {type(model).__name__}, which averages nothing; leave out "
                "--no-average."
            )
        given = {"average": False}
    tables = _tables(model, data, proba, interval, given)
    return write_tables(out, tables if kept is None else _beside(kept, tables))


def _refuse_interval(model: Any, path: Path, average: bool) -> None:
    """Refuse intervals of a model that has none."""
    if not hasattr(model, "predict_interval") or model.family_ != "gaussian":
        raise ValueError(f"{str(path)!r} has no intervals, as numbers of revs have; leave out --interval.")
    if not average:
        raise ValueError("Intervals stand about an average; leave out --no-average or --interval.")


def _beside(kept: Iterator[pa.Table], tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Rows of both, whose tables need not end at the same rows."""
    waiting: pa.Table | None = None
    for told in tables:
        while waiting is None or len(waiting) < len(told):
            further = next(kept)
            waiting = further if waiting is None else pa.concat_tables([waiting, further])
        beside, waiting = waiting.slice(0, len(told)), waiting.slice(len(told))
        twice = set(beside.column_names) & set(told.column_names)
        if twice:
            raise ValueError(
                f"--keep {min(twice)!r} has the name of what is predicted; rename it in the data."
            )
        yield pa.table([*beside.columns, *told.columns], [*beside.column_names, *told.column_names])


def _tables(
    model: Any, data: Any, proba: bool, interval: float | None, given: dict[str, Any]
) -> Iterator[pa.Table]:
    """Predictions as tables: one for rows in memory, one for each batch of a source."""
    if hasattr(model, "long_columns_"):
        from rlselect.cli._regimes import recommend_rows

        rows = load_source(data, "rlselect predict")
        for option, name in model.long_columns_.items():
            require_column(name, rows.column_names, f"--{option}", "the data")
        yield pa.table({"recommendation": pa.array(recommend_rows(model, rows))})
        return
    told = model.predict(data, **given)
    shares = model.predict_proba(data, **given) if proba else None
    ends = None if interval is None else model.predict_interval(data, level=interval)
    whole = hasattr(told, "shape")
    batches = [told] if whole else told
    beside = repeat(None) if shares is None else ([shares] if whole else shares)
    for labels, share in zip(batches, beside, strict=False):
        each = getattr(model, "response_names_", None)
        columns = {"prediction": np.asarray(labels)}
        if each is not None:
            columns = {f"prediction of {name}": np.asarray(labels)[:, k] for k, name in enumerate(each)}
        if share is not None:
            columns |= {f"p({name})": np.asarray(share)[:, k] for k, name in enumerate(model.classes_)}
        if ends is not None:
            columns |= _named_ends(ends, each)
        yield pa.table({name: pa.array(values) for name, values in columns.items()})


def _named_ends(ends: np.ndarray, responses: Any) -> dict[str, np.ndarray]:
    """Ends of intervals of shape (n_rows, 2), or (n_rows, n_responses, 2), by the names of their columns."""
    if responses is None:
        return {"lower": ends[:, 0], "upper": ends[:, 1]}
    return {
        f"{end} of {name}": ends[:, k, i]
        for k, name in enumerate(responses)
        for i, end in enumerate(("lower", "upper"))
    }
