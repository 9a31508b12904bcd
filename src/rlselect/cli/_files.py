"""What commands read and where they write."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["check_outputs", "name_targets", "read_columns"]


def check_outputs(data: Path, *paths: Path | None) -> None:
    """Refuse outputs that cannot be written, or would replace the data, before the search, not after it."""
    given = [path for path in paths if path is not None]
    for k, path in enumerate(given):
        if _same_file(path, data):
            raise ValueError(f"{str(path)!r} is the file of the data; give another name for what is written.")
        if any(_same_file(path, other) for other in given[:k]):
            raise ValueError(f"{str(path)!r} is named for two outputs; give each a name of its own.")
        if path.is_dir():
            raise ValueError(f"{str(path)!r} is a folder; give the name of a file to write.")
        if not path.absolute().parent.is_dir():
            raise ValueError(f"The folder of {str(path)!r} does not exist; make it first.")
        if not os.access(os.path.dirname(os.path.realpath(path)), os.W_OK):
            raise ValueError(f"The folder of {str(path)!r} may not be written to: permission denied.")


def _same_file(one: Path, other: Path) -> bool:
    """Whether two names, with links of either kind followed, lead to one file."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and os.path.samefile(one, other)


def name_targets(target: str, weight: str | None) -> dict[str, str]:
    return {"--target": target} if weight is None else {"--target": target, "--weight": weight}


def read_columns(path: Path, named: Mapping[str, str], drop: tuple[str, ...], na: tuple[str, ...]) -> Any:
    """A file without the columns to drop, given the options that name columns of it."""
    from rlselect.data import nearest_names, read_file

    frame = read_file(path, missing_marks=na)
    for option, name in [*named.items(), *(("--drop", d) for d in drop)]:
        if name not in frame.column_names:
            close = nearest_names(name, frame.column_names)
            hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            raise ValueError(f"{option} {name!r} is not a column of {path.name}.{hint}")
    for option, name in named.items():
        if name in drop:
            raise ValueError(
                f"{name!r} is both {option} and --drop; it is never a variable: leave out --drop."
            )
    return frame.drop_columns(list(drop)) if drop else frame
