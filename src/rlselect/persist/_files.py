"""Fitted estimators in files: saved whole, loaded without running anything that a file says."""

import sys
import warnings
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from rlselect._compat import user_level
from rlselect._estimator import Estimator
from rlselect._options import check_value, whole
from rlselect.persist._container import Unreadable, digest_of, read_container, write_container
from rlselect.persist._pack import Unsavable, pack
from rlselect.persist._unpack import unpack
from rlselect.report import unwritable

__all__ = ["content_digest", "load", "load_object", "save", "save_object"]

_ESTIMATOR = "fitted estimator"
_MOST = 2**34
_ADVICE = (
    "A file of rlselect.save runs no code when it is loaded, and what is not of this library could not be "
    "built again without its own. Use skops.io.dump, which asks at loading which types you trust, or "
    "joblib.dump, whose files may only be loaded by those who trust all of them."
)


class Loaded(NamedTuple):
    """What a file held, and the version of the library that wrote it."""

    thing: Any
    version: str


def save(estimator: Any, path: str | PathLike[str]) -> Path:
    """Save an estimator of this library, fitted or not.

    The file holds numbers, text and the names of classes of this library, under a checksum, and the version
    that wrote it. It is written whole or not at all. What `fit` keeps of the data is saved with it (rows for
    kernel machines, names and levels always).

    Parameters
    ----------
    estimator : estimator of this library
        One that holds objects of others, such as a scikit-learn estimator given as `predictor`, `model` or
        `estimator`, or a function as `kernel`, is refused: those need skops or joblib.
    path : str or Path
        The file; one that is there is replaced.

    Returns
    -------
    Path
        The file.

    See Also
    --------
    load : The way back.

    Examples
    --------
    >>> import os, tempfile
    >>> import rlselect
    >>> from rlselect.simulate import make_revs
    >>> data = make_revs(200, 60, random_state=0)
    >>> fitted = rlselect.REVS(random_state=0).fit(data.X, data.y)
    >>> path = rlselect.save(fitted, os.path.join(tempfile.mkdtemp(), "fit.rls"))
    >>> bool((rlselect.load(path).predict(data.X) == fitted.predict(data.X)).all())
    True
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(
            f"{type(estimator).__name__} was given; rlselect.save takes estimators of this library. Use "
            "skops.io.dump or joblib.dump for others, such as a pipeline."
        )
    file = Path(path)
    try:
        save_object(file, _ESTIMATOR, estimator, {}, None, type(estimator).__name__)
    except Unsavable as error:
        raise TypeError(f"{error} {_ADVICE}") from None
    except OSError as error:
        raise unwritable(file, error) from None
    return file


def load(path: str | PathLike[str], *, max_bytes: int = _MOST) -> Any:
    """Load an estimator that `save` has written.

    Loading runs no code that a file could choose: it may only name classes of this library that hold what
    `fit` has learnt, and its numbers and texts are checked before they are used. A file that was changed by a
    single byte, cut short or made by something else is refused.

    Parameters
    ----------
    path : str or Path
        The file.
    max_bytes : int, default=2**34
        Refuse larger files; what is loaded takes about as much memory as the file has bytes, twice that
        while it is read.

    Returns
    -------
    estimator
        It predicts as the one that was saved does, to the last bit. A file of another version of this library
        is loaded with a warning.

    Examples
    --------
    >>> import os, tempfile
    >>> import rlselect
    >>> path = rlselect.save(rlselect.REVS(penalty=3.0), os.path.join(tempfile.mkdtemp(), "new.rls"))
    >>> rlselect.load(path)
    REVS(penalty=3.0)
    """
    check_value("max_bytes", max_bytes, whole(1))
    file = Path(path)
    try:
        loaded = load_object(file, _ESTIMATOR, {}, max_bytes)
        assert loaded is not None
        estimator, version = loaded
        if not isinstance(estimator, Estimator):
            raise Unreadable(f"holds {type(estimator).__name__!r}, which is no estimator")
    except Unreadable as error:
        raise ValueError(
            f"path={str(path)!r} {error}. Nothing of it was used; rlselect.load takes files of rlselect.save "
            "as they were written."
        ) from None
    if version != library_version():
        warnings.warn(
            f"path={str(path)!r} was saved by rlselect {version[:40]!r}, this is {library_version()!r}: "
            "check that it answers as before, or fit again and save anew.",
            UserWarning,
            stacklevel=user_level(),
        )
    return estimator


def save_object(path: Path, kind: str, thing: Any, outside: dict[str, Any], about: Any, where: str) -> None:
    """Write an object of plain values, arrays and this library's classes.

    Parameters
    ----------
    path : Path
        The file.
    kind : str
        What it is, for `load_object` to ask for.
    thing : object
        What to write.
    outside : dict
        Name -> object that is only referred to.
    about : plain value
        What `load_object` compares before it builds anything.
    where : str
        How a message calls the object.
    """
    nodes, arrays = pack(thing, outside, where)
    write_container(path, kind, {"library": library_version(), "about": about, "nodes": nodes}, arrays)


def load_object(
    path: Path, kind: str, outside: dict[str, Any], max_bytes: int = _MOST, wanted: Any = None
) -> Loaded | None:
    """What `save_object` wrote; `Unreadable` if it is not that, None if it is not about what is `wanted`."""
    head, arrays = read_container(path, kind, max_bytes)
    if wanted is not None and head["about"] != wanted:
        return None
    return Loaded(unpack(head["nodes"], arrays, outside, path.stat().st_size), head["library"])


def content_digest(thing: Any, where: str) -> str:
    """SHA-256 of what this version of the library would write of an object."""
    nodes, arrays = pack(thing, {}, where)
    return digest_of({"library": library_version(), "about": None, "nodes": nodes}, arrays)


def library_version() -> str:
    """Version of the library, which its front page says."""
    return str(sys.modules["rlselect"].__version__)
