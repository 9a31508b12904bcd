"""From a table of numbers and text to the design that learners see."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rlselect.data._checks import check_missing_mode
from rlselect.data._design import Design, bind, default_names, encode, learn_design, match
from rlselect.data._gaps import scan_missing
from rlselect.data._read import as_frame, check_pointers, read_table


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a table: numbers stay, text and categories become indicators, gaps are refused or marked.

    A numeric or boolean feature is one design column under its own name (``x3`` for the fourth feature of an
    unnamed array). A text or categorical feature, or an object column of truth values, is one 0/1
    column for each of its levels but the first, the reference, named ``city=Paris``. Levels come in the order
    that a pandas categorical or a polars Enum declares (unused ones are left out), and sorted otherwise.

    Numeric arrays, memory maps and data frames stored as one block are neither copied nor scanned by `fit`
    unless `missing` asks for it. Cost of `fit`: O(n) for each text column, O(1) for each numeric one, and one
    pass in chunks with ``missing="drop"`` or ``"indicator"``.

    Parameters
    ----------
    missing : {"error", "drop", "indicator"}, default="error"
        What to do with missing values (NaN, None, null).

        - "error": refuse them, naming columns and counts, in whatever rows are taken.
        - "drop": leave rows with a missing value out when learning; `transform`, which owes an answer for
          every row, still refuses them.
        - "indicator": impute the mean of the feature (over the rows of `fit`) and add a 0/1 column
          ``age=missing`` after all others, for every feature with missing values in `fit`. The mean is one
          pass and leaves the centred column untouched; beside the indicator, the imputed value only shifts
          the indicator's coefficient. A missing category is all zeros but for its indicator. A feature that
          has gaps only in `transform` is imputed likewise (a category by its reference) with a warning.

        Infinite values are always refused.

    Attributes
    ----------
    n_features_in_ : int
        Number of input features.
    feature_names_in_ : ndarray of str or None
        Names of the input features; None when they have no names.
    column_names_ : list of str
        Names of the design columns.
    column_feature_ : ndarray of int
        Input feature that each design column comes from.
    levels_ : dict
        Levels of each text feature by feature number, the reference first.
    ignored_names_ : tuple of str
        Columns that were target, weights or offset in fit; `transform` passes over them.

    Notes
    -----
    A level that fit has not seen gives zeros in all indicators of its feature, that is the reference, with a
    warning. Text of more than 20 levels with fewer than four rows for each, or of more than 1000
    levels, names rows: it is left out with a warning, unless its type is one for categories.

    Not meant for free text, dates or identifiers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from rlselect.data import TableEncoder
    >>> frame = pa.table({"age": [31.0, 42.0, 27.0], "city": ["Rome", "Paris", "Oslo"]})
    >>> encoder = TableEncoder().fit(frame)
    >>> encoder.column_names_
    ['age', 'city=Paris', 'city=Rome']
    >>> encoder.transform(frame)
    array([[31.,  0.,  1.],
           [42.,  1.,  0.],
           [27.,  0.,  0.]])
    """

    def __init__(self, *, missing: str = "error") -> None:
        self.missing = missing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # `fit` does not look at numbers (there may be billions): NaN is refused in the rows that are used.
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Learn names, levels and, where asked, which features have missing values.

        Parameters
        ----------
        X : array, sparse matrix, list of rows or data frame of shape (n_samples, n_features)
            The table.
        y : ignored
            There for pipelines.

        Returns
        -------
        TableEncoder
            This encoder.
        """
        check_missing_mode(self.missing)
        store = read_table(X)
        rows = None
        if self.missing == "drop":
            rows = np.flatnonzero(~scan_missing(store, default_names(store)).rows)
            if len(rows) == 0:
                raise ValueError('missing="drop" leaves no row: every row of X has a missing value.')
        return self.set_design(learn_design(store, self.missing, rows))

    def set_design(self, design: Design, ignored: tuple[str, ...] = ()) -> "TableEncoder":
        """Take over a design that was learnt elsewhere; the columns `ignored` had another role there."""
        self.design_ = design
        self.n_features_in_ = design.n_features
        self.feature_names_in_ = design.names
        self.column_names_ = design.column_names
        self.column_feature_ = design.feature
        self.levels_ = design.levels
        self.ignored_names_ = ignored
        return self

    @property
    def feature_names(self) -> list[str]:
        """Names of the input features, x0, x1, ... when they have none."""
        return [str(name) for name in self.design_.feature_names()]

    def transform(self, X: Any) -> Any:
        """Return the design of X.

        Parameters
        ----------
        X : array, sparse matrix, list of rows or data frame of shape (n_samples, n_features)
            A table with the features of fit, in the same order.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_columns)
            float32 when all numbers of X are float32, float64 otherwise; a CSR array for sparse X. It may
            share memory with X.
        """
        check_is_fitted(self)
        store = bind(read_table(X, self.ignored_names_), self.design_)
        return encode(store, self.design_, slice(None))

    def features_of(self, X: Any) -> Any:
        """Return a table that can be indexed, a frame without what was target, weights or offset in fit.

        A frame is refused that has text where there were numbers in fit, or numbers where there was text.

        Parameters
        ----------
        X : table
            Anything; what is not a data frame comes back as it is, a matrix as the array of its numbers.

        Returns
        -------
        table
            Of the same kind.
        """
        check_pointers(X)
        if isinstance(X, np.matrix):
            return np.asarray(X)
        frame = as_frame(X)
        if frame is not None and self.feature_names_in_ is not None:
            match(read_table(X, self.ignored_names_), self.design_)
        if frame is None or not self.ignored_names_:
            return X
        return frame.drop([n for n in self.ignored_names_ if n in frame.columns]).to_native()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the design columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Checked against the names of fit when given.

        Returns
        -------
        ndarray of str
            `column_names_` as an array.
        """
        check_is_fitted(self)
        if input_features is not None:
            given = np.asarray(input_features, dtype=object)
            known = self.feature_names_in_
            if known is not None and not np.array_equal(known, given):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(given) != self.n_features_in_:
                raise ValueError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(given)}"
                )
            if known is None:
                return np.array(self.design_.name_columns(list(given)), dtype=object)
        return np.array(self.column_names_, dtype=object)
