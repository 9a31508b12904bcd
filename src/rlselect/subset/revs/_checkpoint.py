"""Progress of a long search on disk: written whole or not at all, and only for the data it came from."""

import hashlib
import io
import os
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np

from rlselect.data import DataSource

# a save costs far less than so many seconds of search
_EVERY = 30.0
_FORMAT = 1


class Checkpoint:
    """A file that holds where a search stands.

    The file is a pickle: load only what you have written yourself.

    Parameters
    ----------
    path : str or Path
        The file; its folder must exist.
    table : DataSource
        The data, which are not saved.
    options : dict
        What else decides the answer.
    """

    def __init__(self, path: Any, table: DataSource, options: dict[str, Any]) -> None:
        self._path = Path(path)
        if self._path.is_dir() or not self._path.absolute().parent.is_dir():
            raise ValueError(
                f"checkpoint={str(path)!r} cannot be written: give the name of a file in a folder that "
                "exists."
            )
        self._table = table
        self._print = _fingerprint(table, options)
        self._last = time.monotonic()

    def due(self) -> bool:
        """Whether it is time to save again."""
        return time.monotonic() - self._last >= _EVERY

    def save(self, state: dict[str, Any], outside: dict[str, Any]) -> None:
        """Write the state; what is `outside` is only referred to.

        A kill at any moment leaves the file as it was before or as it is after.
        """
        buffer = io.BytesIO()
        names = {id(value): name for name, value in self._shared(outside).items()}
        pickler = pickle.Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL)
        pickler.persistent_id = lambda value: names.get(id(value))  # type: ignore[method-assign]
        pickler.dump(state)
        body = {"format": _FORMAT, "print": self._print, "state": buffer.getvalue()}
        body["random"] = outside["rng"].bit_generator.state
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}.part")
        try:
            with part.open("wb") as file:
                pickle.dump(body, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self._path)
        finally:
            part.unlink(missing_ok=True)
        self._last = time.monotonic()

    def load(self, outside: dict[str, Any]) -> dict[str, Any] | None:
        """Return what was saved, and set the random numbers to where they were; None if nothing was."""
        if not self._path.exists():
            return None
        where = f"checkpoint={str(self._path)!r}"
        try:
            with self._path.open("rb") as file:
                body = pickle.load(file)
            known = body["format"] == _FORMAT
        except Exception as error:
            raise ValueError(
                f"{where} is not a checkpoint of this library ({type(error).__name__}); remove the file or "
                "give another name."
            ) from None
        if not known or body["print"] != self._print:
            raise ValueError(
                f"{where} belongs to other data or other options; remove the file to start anew, or give "
                "another name."
            )
        shared = self._shared(outside)
        loader = pickle.Unpickler(io.BytesIO(body["state"]))
        loader.persistent_load = shared.__getitem__  # type: ignore[method-assign]
        state = loader.load()
        outside["rng"].bit_generator.state = body["random"]
        return state

    def remove(self) -> None:
        """Forget the progress of a search that has ended."""
        self._path.unlink(missing_ok=True)

    def _shared(self, outside: dict[str, Any]) -> dict[str, Any]:
        return {"table": self._table, **outside}


def _fingerprint(table: DataSource, options: dict[str, Any]) -> str:
    """Tell data and options from others, without a pass over the data."""
    digest = hashlib.sha256(repr(sorted(options.items())).encode())
    digest.update(repr((table.n_rows, table.columns, np.dtype(table.dtype).str)).encode())
    digest.update(repr(table.fingerprint()).encode())
    return digest.hexdigest()
