"""Sequences to counts of k-mers: the mismatch and spectrum kernels as ordinary columns."""

from collections.abc import Iterable
from itertools import combinations, product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rlselect._compat import Progress, with_callbacks
from rlselect._estimator import Estimator
from rlselect._options import NONE, anything, flag, whole

__all__ = ["MismatchFeatures"]

_MOST_FEATURES = 1_000_000


class MismatchFeatures(TransformerMixin, Estimator):
    r"""Counts of k-mers with up to m mismatches, one named column per k-mer.

    Column :math:`\beta` holds :math:`\phi_\beta(x) = \#\{\text{k-mers } \alpha \text{ of } x : \alpha \text{
    differs from } \beta \text{ in at most } m \text{ places}\}`, so that the inner product of two rows is
    the (k, m)-mismatch kernel (m = 0: the spectrum kernel). Followed by ``RiskRFE(kernel="linear")`` it is
    feature elimination for sequences.

    Parameters
    ----------
    k : int, default=3
        Length of the words.
    m : int, default=0
        Mismatches allowed, smaller than k.
    normalize : bool, default=True
        Divide each row by its Euclidean length, which normalises the kernel to ``k(x, x) = 1``.
    alphabet : str or None, default=None
        Letters that count; None takes those seen in ``fit``. Words with another letter are skipped.

    Attributes
    ----------
    alphabet_ : str
        Letters, in the order of the columns.
    n_features_out_ : int
        ``len(alphabet_) ** k``.

    Notes
    -----
    Cost O(length x C(k, m) (l - 1)^m) per sequence and ``l^k`` columns for l letters, as a sparse matrix. Not
    for long words: 20 letters allow k <= 4.

    References
    ----------
    .. [1] C. Leslie et al. (2004), "Mismatch string kernels for discriminative protein classification".

    Examples
    --------
    >>> from rlselect import MismatchFeatures
    >>> features = MismatchFeatures(k=2, normalize=False).fit(["ACA", "CAC"])
    >>> features.get_feature_names_out().tolist()
    ['AA', 'AC', 'CA', 'CC']
    >>> features.transform(["ACAC"]).toarray()
    array([[0., 2., 1., 0.]])
    """

    _options: ClassVar = {
        "k": whole(1),
        "m": whole(0),
        "normalize": flag(),
        "alphabet": NONE | anything("a text of letters", lambda value: isinstance(value, str)),
    }

    def __init__(
        self, *, k: int = 3, m: int = 0, normalize: bool = True, alphabet: str | None = None
    ) -> None:
        self.k = k
        self.m = m
        self.normalize = normalize
        self.alphabet = alphabet

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the alphabet.

        Parameters
        ----------
        X : sequence of str, or (n, length) array of single letters
        y : ignored
            There for pipelines.

        Returns
        -------
        self
        """
        return self._learn_aside(X)

    def _fit(self, progress: Progress, X: Any) -> None:
        progress.begin(0)
        if self.m >= self.k:
            raise ValueError(f"m={self.m!r} was given with k={self.k!r}; m must be smaller than k.")
        given = self.alphabet is not None
        letters = self.alphabet if given else "".join(sorted(set("".join(_as_strings(X)))))
        if not letters:
            raise ValueError("alphabet='' has no letters." if given else "X has no letters: it is empty.")
        if len(letters) ** self.k > _MOST_FEATURES:
            raise ValueError(
                f"{len(letters)} letters and k={self.k} give {len(letters) ** self.k} columns, more than "
                f"{_MOST_FEATURES}; use a smaller k or a smaller alphabet."
            )
        self.alphabet_ = letters
        self.n_features_out_ = len(letters) ** self.k

    def transform(self, X: Any) -> sparse.csr_matrix:
        """Counts (or normalised counts), one row per sequence.

        Parameters
        ----------
        X : sequence of str, or (n, length) array of single letters

        Returns
        -------
        sparse matrix of shape (n_sequences, n_kmers)
        """
        check_is_fitted(self)
        sequences = _as_strings(X)
        code = {letter: i for i, letter in enumerate(self.alphabet_)}
        base = len(self.alphabet_)
        powers = base ** np.arange(self.k - 1, -1, -1)
        shifts = self._changes(base)
        rows, columns = [], []
        for row, sequence in enumerate(sequences):
            digits = np.array([code.get(letter, -1) for letter in sequence], dtype=np.int64)
            if len(digits) < self.k:
                continue
            words = np.lib.stride_tricks.sliding_window_view(digits, self.k)
            words = words[(words >= 0).all(axis=1)]
            for places, offsets in shifts:
                # Every way to replace the letters at these places by other ones.
                changed = (words[:, None, places] + offsets[None]) % base - words[:, None, places]
                found = (words @ powers)[:, None] + changed @ powers[places]
                columns.append(found.ravel())
                rows.append(np.full(found.size, row))
        shape = (len(sequences), self.n_features_out_)
        if not columns:
            return sparse.csr_matrix(shape)
        row_index, column_index = np.concatenate(rows), np.concatenate(columns)
        counts = sparse.csr_matrix((np.ones(len(row_index)), (row_index, column_index)), shape=shape)
        if self.normalize:
            length = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
            counts = sparse.diags(1.0 / np.where(length > 0, length, 1.0)) @ counts
        return sparse.csr_matrix(counts)

    def _changes(self, base: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Places that may differ with the cyclic shifts of their letters, for exactly 0, 1, ..., m
        mismatches.
        """
        changes = []
        for count in range(self.m + 1):
            shifts = list(product(range(1, base), repeat=count))
            offsets = np.array(shifts, dtype=np.int64).reshape(len(shifts), count)
            for places in combinations(range(self.k), count):
                changes.append((np.array(places, dtype=np.int64), offsets))
        return changes

    def get_feature_names_out(self, input_features: Any = None) -> NDArray:
        """The k-mers.

        Parameters
        ----------
        input_features : ignored
            There for pipelines.

        Returns
        -------
        array of str
            In the order of the columns.
        """
        check_is_fitted(self)
        return np.array(["".join(word) for word in product(self.alphabet_, repeat=self.k)], dtype=object)

    def _report(self) -> dict[str, Any]:
        facts = {
            "Alphabet": self.alphabet_,
            "Letters of a word (k)": self.k,
            "Mismatches (m)": self.m,
            "Columns": self.n_features_out_,
        }
        answer = (
            f"Each sequence becomes {self.n_features_out_:,} counts, one for each word of {self.k} letters"
            f"{f', {self.m} of which may differ' if self.m else ''}."
        )
        # it selects nothing, so that there is no table of what was selected
        return {"title": "Sequences as counts of words", "answer": answer, "facts": facts, "sections": []}


def _as_strings(X: Any) -> list[str]:
    """Strings from a sequence of strings, a frame or an array with one letter per column."""
    if isinstance(X, str):
        raise TypeError(f"X={X!r:.60} is one text; pass a list of sequences.")
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return ["".join(map(str, row)) for row in X]
    if not isinstance(X, Iterable):
        raise TypeError(f"X is a {type(X).__name__}; pass a list of sequences.")
    sequences = list(X)
    for place, sequence in enumerate(sequences):
        if not isinstance(sequence, str):
            raise TypeError(f"Sequence {place} of X is {sequence!r:.60}, but sequences must be text.")
    return sequences
