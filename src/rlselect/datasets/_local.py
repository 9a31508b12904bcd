"""Public datasets kept in a folder of the user."""

import os
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from sklearn.utils import Bunch

from rlselect.data import nearest_names, read_file
from rlselect.datasets._bunch import make_bunch

_VARIABLE = "RLSELECT_DATA"
_KINDS = (".csv.gz", ".csv", ".npz")


def load_local(name: str, folder: str | Path | None = None) -> Bunch:
    """Load a dataset from a local folder.

    Parameters
    ----------
    name : str
        File name without its ending: ``sonar`` for ``sonar.csv.gz``. A CSV has a header and its target in the
        column ``target``; an .npz holds ``X``, ``y``, ``feature_names`` and may hold ``n_train``, the number
        of leading rows that are the training part.
    folder : str or Path, optional
        The folder; by default the one that the environment variable ``RLSELECT_DATA`` names.

    Returns
    -------
    Bunch
        ``data`` (ndarray, or a pyarrow table when some features are text), ``target``, ``feature_names``,
        ``target_name``, ``frame`` (pyarrow table; None for an .npz) and ``n_train`` (None when unknown).

    Raises
    ------
    FileNotFoundError
        If the folder or the dataset is not there.
    ValueError
        If the file is not of the form above.

    Examples
    --------
    >>> from rlselect.datasets import load_local
    >>> sonar = load_local("sonar", "my_data")  # doctest: +SKIP
    """
    where = _find_folder(folder)
    for kind in _KINDS:
        path = where / f"{name}{kind}"
        if path.is_file():
            return _load_npz(path) if kind == ".npz" else _load_csv(path)
    known = sorted({p.name.removesuffix(k) for p in where.iterdir() for k in _KINDS if p.name.endswith(k)})
    if not known:
        hint = "The folder holds no .csv.gz, .csv or .npz file."
    else:
        close = nearest_names(name, known)
        hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"It holds {', '.join(known)}."
    raise FileNotFoundError(f"There is no dataset {name!r} in {str(where)!r}. {hint}")


def _find_folder(folder: str | Path | None) -> Path:
    given = folder if folder is not None else os.environ.get(_VARIABLE)
    if not given:
        raise FileNotFoundError(
            "No folder of datasets is known: pass folder=..., or set the environment variable "
            f"{_VARIABLE} to the folder that holds the .csv.gz and .npz files."
        )
    path = Path(given).expanduser()
    if not path.is_dir():
        origin = "folder" if folder is not None else _VARIABLE
        raise FileNotFoundError(f"{origin}={str(given)!r} is not a folder.")
    return path


def _load_csv(path: Path) -> Bunch:
    frame = read_file(path)
    if "target" not in frame.column_names:
        raise ValueError(
            f"{str(path)!r} has no column 'target'; its last column is {frame.column_names[-1]!r}."
        )
    return make_bunch(frame, n_train=None)


def _load_npz(path: Path) -> Bunch:
    try:
        # NumPy leaves the file open when it is no archive; an open file of ours is closed either way.
        with path.open("rb") as file, np.load(file) as arrays:
            lacking = [key for key in ("X", "y", "feature_names") if key not in arrays]
            if lacking:
                raise ValueError(f"{str(path)!r} lacks {', '.join(lacking)}; it holds {', '.join(arrays)}.")
            n_train = int(arrays["n_train"]) if "n_train" in arrays else None
            names = [str(n) for n in arrays["feature_names"]]
            return Bunch(
                frame=None,
                data=arrays["X"],
                target=arrays["y"],
                feature_names=names,
                target_name="target",
                n_train=n_train,
            )
    except (BadZipFile, EOFError, OSError) as error:
        raise ValueError(f"{str(path)!r} cannot be read as an .npz file: {error}.") from None
