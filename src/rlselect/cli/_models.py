"""Fitted models in files: written, read, and used on new rows."""

from collections.abc import Iterator, Mapping
from inspect import signature
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rlselect.cli._files import DateOrder, names_in, with_moments, with_numbers
from rlselect.cli._progress import say
from rlselect.cli._tables import require_table_name, write_tables
from rlselect.persist import load, save
from rlselect.report import printable

__all__ = ["load_model", "save_model", "write_predictions"]


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


def write_predictions(
    path: Path,
    data: Any,
    out: Path,
    *,
    proba: bool,
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
    names = getattr(model, "feature_names_in_", None)
    if expand_dates:
        data, _ = with_numbers(data, expand_dates, model=model)
    elif hasattr(model, "times_"):
        # times stay dates
        for name, first in getattr(model, "day_first_", {}).items():
            data, _ = with_moments(data, name, first)
    if names is not None:
        present = set(names_in(data))
        expanded = {name.removesuffix(".days") for name in set(names) - present}
        if expanded & present:
            raise ValueError(f"{str(path)!r} was fitted on dates made numbers; use --expand-dates here, too.")
        if isinstance(data, pa.Table):
            data = data.select([name for name in data.column_names if name in set(names)])
    given = {}
    if not average:
        if "average" not in signature(model.predict).parameters:
            raise ValueError(
                f"{str(path)!r} holds a {type(model).__name__}, which averages nothing; leave out "
                "--no-average."
            )
        given = {"average": False}
    tables = _tables(model, data, proba, given)
    return write_tables(out, tables if kept is None else _beside(kept, tables))


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


def _tables(model: Any, data: Any, proba: bool, given: dict[str, Any]) -> Iterator[pa.Table]:
    """Predictions as tables: one for rows in memory, one for each batch of a source."""
    told = model.predict(data, **given)
    shares = model.predict_proba(data, **given) if proba else None
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
        yield pa.table({name: pa.array(values) for name, values in columns.items()})
