"""One number for each feature: categories as the numbers of their levels, gaps as NaN."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect._compat import user_level
from rlselect.data._checks import all_finite, infinity_error
from rlselect.data._design import Design, learn_design, match
from rlselect.data._open import load_source
from rlselect.data._read import is_gap, read_table
from rlselect.data._source import Batch
from rlselect.data._store import ColumnStore, DenseStore, Store
from rlselect.data._table import check_weight, read_with_vectors, refuse_missing_target


class CodedFeatures:
    """Reads tables like the one of fit with one column per feature, for learners that take gaps as they are.

    Numbers and truth values stay, a text or categorical value becomes the number of its level, in the order
    that `TableEncoder` gives the levels. Missing values are NaN, and so, with a warning, are levels that were
    not there in fit.

    Made by `open_coded`.

    Attributes
    ----------
    n_features : int
        Number of features.
    names : ndarray of str or None
        Their names, if they have some.
    feature_names : list of str
        Names of the features, x0, x1, ... when they have none.
    levels : dict
        Feature -> its levels as text, for categories.
    truths : frozenset of int
        Features whose values are False and True.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from rlselect.data import open_coded
    >>> frame = pa.table({"age": [31.0, None, 27.0], "city": ["Rome", "Paris", None]})
    >>> features, batch = open_coded(frame)
    >>> batch.X
    array([[31.,  1.],
           [nan,  0.],
           [27., nan]])
    >>> features.levels
    {1: ['Paris', 'Rome']}
    >>> features.encode_value(1, "Rome")
    1.0
    """

    def __init__(self, design: Design, ignored: tuple[str, ...], truths: frozenset[int]) -> None:
        self._design = design
        self._ignored = ignored
        self.n_features: int = design.n_features
        self.names: NDArray | None = design.names
        self.feature_names: list[str] = design.feature_names()
        self.levels: dict[int, list[str]] = design.levels
        self.truths = truths

    def answers(self, feature: int) -> list[str] | None:
        """What a feature can be, as text in the order of its numbers; None for a number."""
        if feature in self.truths:
            return ["False", "True"]
        return self.levels.get(feature)

    def encode(self, X: Any) -> Any:
        """Numbers of a table.

        Parameters
        ----------
        X : array, sparse matrix, list of rows or data frame of shape (n_samples, n_features)
            The features of fit, in the same order; a frame may still hold the target of fit.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_features)
            float64, possibly the user's own memory.
        """
        X = load_source(X, self._design.owner)
        return self.encode_store(read_table(X, self._ignored))

    def encode_store(self, store: Store) -> Any:
        """Numbers of a table that is read already, see `encode`."""
        store, unseen = match(store, self._design)
        if unseen:
            warnings.warn(
                f"X has levels that were not there in fit ({unseen}); as nothing is known about them, they "
                "are taken as missing.",
                UserWarning,
                stacklevel=user_level(),
            )
        out = store.block(slice(None))
        out = (
            sparse.csr_array(out, dtype=np.float64) if store.is_sparse else out.astype(np.float64, copy=False)
        )
        if isinstance(store, ColumnStore):
            for j in self.levels:
                codes = np.asarray(store.cols[j].codes)
                out[:, j] = np.where(codes < 0, np.nan, codes)
            out[:, sorted(self._design.left_out)] = np.nan
        self._refuse_infinity(out)
        return out

    def _refuse_infinity(self, X: Any) -> None:
        values = X.data if sparse.issparse(X) else X
        if all_finite(values) or not np.isinf(values).any():
            return
        at = X.indices[np.isinf(X.data)] if sparse.issparse(X) else np.nonzero(np.isinf(X))[1]
        counts = np.bincount(at, minlength=X.shape[1])
        bad = np.flatnonzero(counts)
        raise infinity_error([self.feature_names[j] for j in bad], counts[bad], X.shape[0], X.dtype)

    def encode_value(self, feature: int, value: Any) -> float:
        """Number of a single value.

        Parameters
        ----------
        feature : int
            Which feature.
        value : object
            A number, or the level of a category (compared as text); None or NaN for a gap.

        Returns
        -------
        float
            NaN for a gap, and with a warning for a level that fit has not seen.
        """
        if np.ndim(value) == 0 and not isinstance(value, str) and is_gap(value):
            return np.nan
        if feature in self._design.left_out:
            return np.nan
        name, levels = self.feature_names[feature], self.levels.get(feature)
        if levels is None:
            return _number(value, name)
        if np.ndim(value) != 0:
            raise ValueError(f"{name!r} takes one of its levels, but {value!r} was given")
        text = str(value)
        if text in levels:
            return float(levels.index(text))
        warnings.warn(
            f"{name!r} had no level {text!r} in fit, so it is taken as missing; its levels are "
            f"{', '.join(levels[:10])}{', ...' if len(levels) > 10 else ''}.",
            UserWarning,
            stacklevel=user_level(),
        )
        return np.nan


def open_coded(
    X: Any, y: Any = None, *, sample_weight: Any = None, owner: str = "CodedFeatures"
) -> tuple[CodedFeatures, Batch]:
    """Read a table with gaps, one number per feature.

    Parameters
    ----------
    X, y, sample_weight : table and vectors
        As for `open_table`; y and the weights may be names of columns.
    owner : str
        Name of the estimator that asks, for messages.

    Returns
    -------
    features : CodedFeatures
        Reads further tables in the same way.
    batch : Batch
        Numbers (NaN for a gap), y and weights of the rows.
    """
    X = load_source(X, owner)
    store, vectors, named = read_with_vectors(X, {"y": y, "sample_weight": sample_weight})
    # "indicator" is the way of treating gaps that lets them pass
    design = learn_design(store, "indicator", owner=owner)
    design.gaps = None  # as long as the table, and not needed: gaps are NaN
    features = CodedFeatures(design, named, frozenset(_truths(store)))
    refuse_missing_target(vectors["y"])
    weight = check_weight(vectors["sample_weight"], store.n_rows)
    return features, Batch(features.encode_store(store), vectors["y"], weight, None)


def _number(value: Any, name: str) -> float:
    if isinstance(value, str | bytes) or np.ndim(value) != 0:
        raise ValueError(f"{name!r} is a number, but {value!r} was given")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name!r} is a number, but {value!r} was given") from None
    if np.isinf(number):
        raise ValueError(f"the value of {name!r} is infinite; give a finite number, or None for a gap")
    return number


def _truths(store: Store) -> list[int]:
    if isinstance(store, DenseStore):
        return list(range(store.n_features)) if store.X.dtype.kind == "b" else []
    if isinstance(store, ColumnStore):
        return [j for j, c in enumerate(store.cols) if c.truth]
    return []
