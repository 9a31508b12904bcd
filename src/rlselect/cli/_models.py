"""Fitted models in files: written, read, and used on new rows."""

import io
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rlselect._watch import tell
from rlselect.cli._progress import say
from rlselect.persist import load, save
from rlselect.report import printable, replace_file

__all__ = ["load_model", "save_model", "write_predictions"]


def save_model(estimator: Any, path: Path | None) -> None:
    """Write a fitted estimator, where that was asked for."""
    if path is not None:
        save(estimator, path)
        say(f"Wrote {printable(path)}")


def load_model(path: Path) -> Any:
    """Read a fitted estimator."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}; --save writes one.")
    return load(path)


def write_predictions(path: Path, data: Any, out: Path, *, proba: bool) -> int:
    """Predict new rows and write one line for each.

    Parameters
    ----------
    path : Path
        The model.
    data : table or source
        New rows; columns that the model does not know are not looked at.
    out : Path
        .csv, .parquet or .feather.
    proba : bool
        Whether to add the probabilities of the classes.

    Returns
    -------
    int
        The number of rows.
    """
    open_writer = _writer(out)
    model = load_model(path)
    if not hasattr(model, "predict"):
        raise ValueError(
            f"{str(path)!r} holds a {type(model).__name__}, which predicts no rows; rlselect report shows "
            "what it found."
        )
    if proba and not hasattr(model, "predict_proba"):
        raise ValueError(f"{str(path)!r} predicts numbers, not classes; leave out --proba.")
    names = getattr(model, "feature_names_in_", None)
    if isinstance(data, pa.Table) and names is not None:
        expanded = {name.removesuffix(".days") for name in set(names) - set(data.column_names)}
        if expanded & set(data.column_names):
            raise ValueError(f"{str(path)!r} was fitted on dates made numbers; use --expand-dates here, too.")
        data = data.select([name for name in data.column_names if name in set(names)])
    count = 0

    def pieces() -> Iterator[bytes]:
        nonlocal count
        file = _Pieces()
        writer: Any = None
        for table in _tables(model, data, proba):
            writer = writer or open_writer(file, table.schema)
            writer.write_table(table)
            count += len(table)
            tell(rows=count)
            yield file.taken()
        writer.close()
        yield file.taken()

    replace_file(out, pieces())
    return count


def _tables(model: Any, data: Any, proba: bool) -> Iterator[pa.Table]:
    """Predictions as tables: one for rows in memory, one for each batch of a source."""
    told = model.predict(data)
    shares = model.predict_proba(data) if proba else None
    whole = hasattr(told, "shape")
    batches = [told] if whole else told
    beside = repeat(None) if shares is None else ([shares] if whole else shares)
    for labels, share in zip(batches, beside, strict=False):
        columns = {"prediction": np.asarray(labels)}
        if share is not None:
            columns |= {f"p({name})": np.asarray(share)[:, k] for k, name in enumerate(model.classes_)}
        yield pa.table({name: pa.array(values) for name, values in columns.items()})


class _Pieces(io.RawIOBase):
    """What Arrow writes, to be taken away piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[bytes] = []
        self._count = 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._kept.append(bytes(content))
        self._count += len(self._kept[-1])
        return len(self._kept[-1])

    def tell(self) -> int:
        return self._count

    def taken(self) -> bytes:
        """All that was written since the last time."""
        content, self._kept = b"".join(self._kept), []
        return content


def _writer(out: Path) -> Callable[[Any, pa.Schema], Any]:
    from pyarrow import csv, ipc, parquet

    writers: dict[str, Callable[[Any, pa.Schema], Any]] = {
        ".csv": csv.CSVWriter,
        ".parquet": parquet.ParquetWriter,
        ".feather": ipc.new_file,
    }
    if out.suffix.lower() not in writers:
        raise ValueError(f"--out {str(out)!r} was given; its name must end in {', '.join(writers)}.")
    return writers[out.suffix.lower()]
