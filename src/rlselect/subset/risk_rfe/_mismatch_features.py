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
    O(C(k, m) (l - 1)^m) for each word that occurs, once, and for each non-zero count of words without
    mismatches; ``l^k`` columns for l letters, as a sparse matrix. Not for long words: 20 letters allow
    k <= 4.

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
        rows, words = self._words(_as_strings(X))
        # each word that occurs is looked around from once, however often it does
        seen, number = np.unique(words, return_inverse=True)
        shape = (len(rows) - 1, len(seen))
        counts = sparse.csr_matrix((np.ones(len(words)), number, rows), shape=shape)
        near = self._neighbours(seen)
        ends = near.shape[1] * np.arange(len(seen) + 1)
        neighbours = sparse.csr_matrix(
            (np.ones(near.size), near.ravel(), ends), shape=(len(seen), self.n_features_out_)
        )
        counts = counts @ neighbours
        if self.normalize:
            length = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
            counts = sparse.diags(1.0 / np.where(length > 0, length, 1.0)) @ counts
        found = sparse.csr_matrix(counts)
        found.sort_indices()
        return found

    def _words(self, sequences: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Columns of the words of all sequences, one after the other, and where those of each begin."""
        known = np.full(1 + max(map(ord, self.alphabet_)), -1)
        known[[ord(letter) for letter in self.alphabet_]] = range(len(self.alphabet_))
        text = np.frombuffer(
            "\0".join([*sequences, ""]).encode("utf-32-le", "surrogatepass"), dtype=np.uint32
        )
        digits = np.where(text < len(known), known[np.minimum(text, len(known) - 1)], -1)
        # what joins the texts is no letter, whatever the alphabet says: words end with their sequence
        ends = np.cumsum([len(sequence) + 1 for sequence in sequences], dtype=np.int64)
        digits[ends - 1] = -1
        if len(digits) < self.k:
            return np.zeros(len(sequences) + 1, dtype=np.int64), np.empty(0, dtype=np.int64)
        windows = np.lib.stride_tricks.sliding_window_view(digits, self.k)
        begins = np.flatnonzero((windows >= 0).all(axis=1))
        powers = len(self.alphabet_) ** np.arange(self.k - 1, -1, -1)
        return np.searchsorted(begins, np.append(0, ends)), windows[begins] @ powers

    def _neighbours(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """Columns of the words that differ from each of some in at most m places, (words, neighbours)."""
        base = len(self.alphabet_)
        near = [words[:, None]]
        for count in range(1, self.m + 1):
            for places in combinations(range(self.k), count):
                some = words[:, None]
                for place in places:
                    power = base ** (self.k - 1 - place)
                    # every other letter at this place
                    letter = words[:, None] // power % base
                    change = ((letter + np.arange(1, base)) % base - letter) * power
                    both = some[:, :, None] + change[:, None]
                    some = both.reshape(len(words), both.shape[1] * both.shape[2])
                near.append(some)
        return np.concatenate(near, axis=1)

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
