"""What every predictor of masked columns shares: the response, the interface, the cost of noise."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from rlselect.kernels import unit_power

Array = NDArray[np.float64]
Masks = NDArray[np.bool_]

# a share of the variance that is as good as nothing: below it errors are those of rounding
LEAST_RISK = 1e-12
_LINK = {"C": 10.0, "max_iter": 2000}
_LEARNT = ("coef_", "intercept_", "classes_", "n_features_in_")


@dataclass(frozen=True)
class Target:
    """A response as numbers: standardised, or one column of centred indicators for each class.

    Attributes
    ----------
    Y : array of shape (n, q)
        Regression: one standardised column, or one per response. Two classes: one column. More: one column
        per class. The mean over rows of the sum of squares is 1, so that the risk of a constant is 1.
    codes : int array of shape (n,) or None
        Classes by number; None for regression.
    center, scale : array of shape (q,), float
        ``Y = (raw - center) / scale``.
    """

    Y: Array
    codes: NDArray[np.intp] | None
    center: Array
    scale: float

    @property
    def classifies(self) -> bool:
        """Whether the response is a class."""
        return self.codes is not None

    @property
    def n_classes(self) -> int:
        """Number of classes, 0 for regression."""
        return 0 if self.codes is None else int(self.codes.max()) + 1

    @property
    def telling_rows(self) -> float:
        """Rows that classes of one size would need to tell as much: four for each row of a very rare one."""
        if self.codes is None:
            return float(len(self.Y))
        share = np.bincount(self.codes) / len(self.codes)
        return float(len(self.codes) * (1.0 - np.square(share).sum()) / (1.0 - 1.0 / len(share)))

    def rows(self, rows: NDArray) -> "Target":
        """The same response of some rows."""
        return Target(self.Y[rows], None if self.codes is None else self.codes[rows], self.center, self.scale)


def make_target(y: NDArray, classifies: bool) -> Target:
    """Standardise numbers, (n,) or of several responses (n, q), or spread class numbers into indicators."""
    codes = np.asarray(y, dtype=np.intp) if classifies else None
    if codes is None:
        raw = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    elif codes.max() <= 1:
        raw = codes[:, None].astype(np.float64)
    else:
        raw = (codes[:, None] == np.arange(codes.max() + 1)).astype(np.float64)
    power = unit_power(raw).max()
    raw = np.ldexp(raw, -power)
    center = raw.mean(axis=0)
    scale = float(np.sqrt(np.square(raw - center).sum(axis=1).mean()))
    scale = scale if scale > 1e-12 * np.abs(raw).max(initial=1e-300) else 1.0
    Y = (raw - center) / scale
    return Target(Y, codes, np.ldexp(center, power), float(np.ldexp(scale, power)))


class MaskedPredictor:
    """Held-out criterion of a model on any subset of the columns of X.

    The criterion is smaller for better subsets and scaled so that n times a difference compares with a
    chi-squared variable: the log of the held-out mean squared error, or twice the held-out log loss.

    A predictor has to say what it loses on each row (`losses`); the rest follows from it, unless there is a
    faster way.

    Parameters
    ----------
    X : array of shape (n, p)
        Standardised columns.
    target : Target
    n_folds : int
    """

    name = "?"
    # whether the losses are log losses rather than squared errors
    log_loss = False
    # whether one subset may take as long as thousands of another predictor
    slow = False
    # whether a variable is worth the same beside any others, so that none has to wait for a partner
    additive = False

    def __init__(self, X: Array, target: Target, n_folds: int = 5) -> None:
        self.X = X
        self.target = target
        # rows behind one value of the criterion
        self.n_rows = len(X)
        self.n_folds = min(n_folds, len(X))
        self.folds = np.arange(len(X)) % self.n_folds

    def losses(self, masks: Masks, train: NDArray[np.bool_]) -> Array:
        """Losses of all rows for models that learn from some.

        Parameters
        ----------
        masks : bool array of shape (m, p)
        train : bool array of shape (m, n)
            Rows that each model learns from.

        Returns
        -------
        array of shape (m, n)
        """
        raise NotImplementedError

    def redraw(self, rng: np.random.Generator) -> bool:
        """Draw folds or rows anew, the same for all masks; whether earlier values are void."""
        self.folds = balanced_folds(self.target, self.n_folds, rng)
        return True

    def tune(self, mask: NDArray[np.bool_]) -> bool:
        """Adapt smoothing to the present subset; whether earlier values are void."""
        return False

    def fold_losses(self, masks: Masks) -> Array:
        """Loss of each row, held out, for each mask."""
        out = np.empty((len(masks), len(self.X)))
        for k in range(self.n_folds):
            held = self.folds == k
            train = np.broadcast_to(~held, (len(masks), len(held)))
            out[:, held] = self.losses(masks, train)[:, held]
        return out

    def criterion(self, masks: Masks) -> Array:
        """Criterion of each mask, a row of `masks`."""
        mean = self.fold_losses(np.asarray(masks, dtype=bool)).mean(axis=1)
        return 2.0 * mean if self.log_loss else np.log(np.maximum(mean, LEAST_RISK))

    def tuned_criterion(self, masks: Masks) -> Array:
        """Criterion with the smoothing that suits each mask best, near the present one."""
        return self.criterion(masks)

    def row_losses(self, mask: NDArray[np.bool_]) -> Array:
        """Held-out loss of each row, for paired comparisons."""
        return self.fold_losses(mask[None])[0]

    def on_columns(self, X: Array) -> "MaskedPredictor":
        """The same predictor, tuned and split alike, with other columns."""
        raise NotImplementedError

    def noise_gains(self, mask: NDArray[np.bool_], count: int, rng: np.random.Generator) -> Array:
        """How much of the criterion columns without any meaning save beside a subset.

        Parameters
        ----------
        mask : bool array of shape (p,)
            The subset.
        count : int
            Columns to try: real ones, their rows permuted.
        rng : Generator

        Returns
        -------
        array of shape (count,)
        """
        base = self.X[:, mask]
        picked = rng.integers(self.X.shape[1], size=count)
        order = np.argsort(rng.random((len(self.X), count)), axis=0)
        noise = self.X[order, picked]
        k = base.shape[1]
        masks = np.zeros((count + 1, k + count), dtype=bool)
        masks[:, :k] = True
        masks[np.arange(count), k + np.arange(count)] = True
        values = self.on_columns(np.concatenate([base, noise], axis=1)).tuned_criterion(masks)
        return np.asarray(values[-1] - values[:-1])

    def fit(self, mask: NDArray[np.bool_]) -> Any:
        """Model on the subset and all rows, for new rows of the columns of the subset.

        For numbers it has ``decision(X)``, in the units of the target; for classes ``log_odds(X)`` and
        ``proba(X)``.
        """
        raise NotImplementedError


class ClassModel:
    """Class probabilities by a logistic model of scores.

    Parameters
    ----------
    scores : array of shape (n, q)
        Of the rows to learn from, held out where they could have been learnt by heart.
    codes : int array of shape (n,)
    decision : callable, optional
        Scores of new rows from their columns; the columns themselves by default.
    """

    def __init__(
        self, scores: Array, codes: NDArray[np.intp], decision: Callable[[Array], Array] | None = None
    ) -> None:
        self._decision = decision
        self.link = LogisticRegression(**_LINK).fit(scores, codes)

    def __getstate__(self) -> dict[str, Any]:
        # what the link has learnt, as arrays: files hold no objects of others
        return self.__dict__ | {"link": {name: getattr(self.link, name) for name in _LEARNT}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        link = LogisticRegression(**_LINK)
        for name in _LEARNT:
            setattr(link, name, state["link"][name])
        self.__dict__.update(state | {"link": link})

    def _scores(self, X: Array) -> Array:
        return X if self._decision is None else self._decision(X)

    def log_odds(self, X: Array) -> Array:
        """One value per row for two classes, one per class otherwise."""
        return np.asarray(self.link.decision_function(self._scores(X)))

    def proba(self, X: Array) -> Array:
        """Probabilities of the classes."""
        return np.asarray(self.link.predict_proba(self._scores(X)))


def balanced_folds(target: Target, n_folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Random folds of nearly equal size; classes are spread evenly."""
    n = len(target.Y)
    n_folds = min(n_folds, n)
    if target.codes is None:
        return np.asarray(rng.permutation(np.arange(n) % n_folds))
    order = rng.permutation(n)
    order = order[np.argsort(target.codes[order], kind="stable")]
    folds = np.empty(n, dtype=np.intp)
    folds[order] = np.arange(n) % n_folds
    return folds
