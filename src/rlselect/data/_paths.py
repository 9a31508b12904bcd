"""Which files a path, a folder, a glob or a list of them names, of what kind, and what their folders say."""

import glob
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

# endings of the files of each kind; of a folder with several kinds the first one here is read
KINDS = {
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow", ".ipc"),
    "csv": (".csv", ".tsv", ".txt"),
    "json": (".jsonl", ".ndjson"),
}
_SPOKEN = {"parquet": "Parquet", "feather": "Feather", "csv": "CSV", "json": "JSON lines"}


class Files(NamedTuple):
    """Files of one kind.

    Attributes
    ----------
    kind : str
        A key of `KINDS`.
    paths : list of str
        In the order of their rows.
    folders : list of dict
        For each file the columns that the names of its folders give, such as ``year=2024``.
    """

    kind: str
    paths: list[str]
    folders: list[dict[str, Any]]


def is_paths(X: Any) -> bool:
    """Whether X is a path, or a list of paths."""
    if isinstance(X, str | Path):
        return True
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(path, str | Path) for path in X)


def kind_of(path: str | Path) -> str | None:
    """Kind of a file by the end of its name, None when that says nothing.

    Examples
    --------
    >>> kind_of("a.CSV.gz"), kind_of("b.arrow"), kind_of("c.xlsx")
    ('csv', 'feather', None)
    """
    name = str(path).lower()
    for kind, ends in KINDS.items():
        if (name.removesuffix(".gz") if kind in ("csv", "json") else name).endswith(ends):
            return kind
    return None


def find_files(X: str | Path | Sequence[str | Path]) -> Files:
    """List the files that X names; several kinds, and a file named twice, are refused."""
    if isinstance(X, str | Path):
        paths, base = _find(X), X
    else:
        paths = [found for path in X for found in _find(path)]
        path, times = Counter(paths).most_common(1)[0]
        if times > 1:
            raise ValueError(f"X names {path!r} {times} times; name each file once.")
        base = os.path.commonpath([Path(path).parent for path in paths])
    # what has another ending, or none, may still be Parquet
    kinds = {path: kind_of(path) or "parquet" for path in paths}
    first = kinds[paths[0]]
    for path, kind in kinds.items():
        if kind != first:
            raise ValueError(
                f"X names files of several kinds, {paths[0]!r} ({_SPOKEN[first]}) and {path!r} "
                f"({_SPOKEN[kind]}); read one kind at a time."
            )
    return Files(first, paths, folder_columns(paths, base))


def _find(path: str | Path) -> list[str]:
    """Files of a path, a folder or a glob, in order of their names."""
    text = str(path)
    if glob.has_magic(text):
        found = sorted(p for p in glob.glob(text, recursive=True) if Path(p).is_file())
        if not found:
            raise FileNotFoundError(f"No file matches {text!r}.")
        return found
    place = Path(path)
    if not place.exists():
        raise FileNotFoundError(f"There is no file or folder {text!r}.")
    if not place.is_dir():
        refuse_pipe(place)
        return [text]
    # names that begin with . or _ are what other programs leave beside their data
    every = sorted(str(p) for p in place.rglob("*") if p.is_file() and not p.name.startswith((".", "_")))
    for kind in KINDS:
        # a text file in a folder is more often a note than a table
        found = [p for p in every if kind_of(p) == kind and not p.lower().endswith((".txt", ".txt.gz"))]
        if found:
            return found
    raise FileNotFoundError(
        f"The folder {text!r} holds no Parquet file (.parquet or .pq), nor Feather (.feather, .arrow, "
        ".ipc), CSV (.csv, .tsv) or JSON lines (.jsonl, .ndjson)."
    )


def refuse_pipe(path: Path) -> None:
    """Refuse what can be read only once, and says of its kind nothing."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(
            f"{str(path)!r} is a pipe or a device, whose rows could be read once only; write them to a file, "
            "and give its name."
        )


def folder_columns(paths: Sequence[str], path: str | Path) -> list[dict[str, Any]]:
    """Columns that the names of folders below a path give to each file, as in ``year=2024/month=1``.

    Examples
    --------
    >>> folder_columns(["d/year=2024/city=Paris/a.parquet"], "d")
    [{'year': 2024, 'city': 'Paris'}]
    """
    fixed = []
    for part in Path(path).parts:
        if glob.has_magic(part):
            break
        fixed.append(part)
    below = [Path(p).parts[len(fixed) : -1] for p in paths]
    return [dict(_key_and_value(part) for part in parts if "=" in part) for parts in below]


def _key_and_value(part: str) -> tuple[str, Any]:
    key, text = (unquote(piece) for piece in part.split("=", 1))
    if text == "__HIVE_DEFAULT_PARTITION__":
        return key, None
    return key, int(text) if re.fullmatch(r"-?\d{1,18}", text) else text


class FolderColumns:
    """Columns that folders stand for, unless the files have them too.

    Parameters
    ----------
    paths : sequence of str
        The files.
    folders : sequence of dict
        What the folders of each file say.
    inside : sequence of str
        Columns of the files.
    """

    def __init__(
        self, paths: Sequence[str], folders: Sequence[dict[str, Any]], inside: Sequence[str]
    ) -> None:
        self._folders = folders
        keys = list(folders[0])
        for path, values in zip(paths, folders, strict=True):
            if list(values) != keys:
                raise ValueError(
                    f"{path!r} lies in folders that name the columns {list(values)}, but "
                    f"{paths[0]!r} in folders that name {keys}: all files must have the same columns."
                )
        self.kinds: dict[str, pa.DataType] = {}
        for key in keys:
            if key not in inside:
                given = [values[key] for values in folders if values[key] is not None]
                self.kinds[key] = pa.int64() if all(isinstance(v, int) for v in given) else pa.string()

    def added_to(self, schema: pa.Schema) -> pa.Schema:
        """The schema of the files with these columns."""
        for name, kind in self.kinds.items():
            schema = schema.append(pa.field(name, kind))
        return schema

    def values(self, file: int, names: Sequence[str], size: int) -> dict[str, pa.ChunkedArray]:
        """Those of `names` that are such columns, for so many rows of a file."""
        found = {}
        for name in names:
            if name in self.kinds:
                value = self._folders[file][name]
                text = self.kinds[name] == pa.string() and value is not None
                one = pa.scalar(str(value) if text else value, self.kinds[name])
                found[name] = pa.chunked_array([pa.repeat(one, size)])
        return found
