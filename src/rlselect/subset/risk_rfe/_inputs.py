"""From an open table and options to what an elimination works on."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import is_classifier

from rlselect.data import (
    NumberResponses,
    Table,
    Units,
    as_numbers,
    doubtful_classes,
    find_task,
    lone_number,
    number_responses,
    open_responses,
    open_table,
    read_classes,
    read_responses,
    require_rows,
    spread_rows,
)
from rlselect.machines import (
    HingeLoss,
    LogisticLoss,
    Loss,
    SquaredLabelLoss,
    SquaredLoss,
    fold_numbers,
    make_loss,
)

__all__ = [
    "RiskData",
    "choose_loss",
    "column_scale",
    "make_cycle",
    "open_data",
    "read_data",
    "read_design",
    "rows_that_count",
]

Array = NDArray[np.float64]

# of a mean of equal numbers, as a share of them
_ROUNDING = 1e-14


@dataclass(frozen=True)
class RiskData:
    """Rows of positive weight.

    Attributes
    ----------
    X : (n, p) array or sparse matrix
        Design columns.
    y : (n,) array
        What an estimator is given: numbers or class labels. Of several responses the number of each distinct
        row of them.
    targets : (n, c) array
        What the loss is given: numbers, of several responses a column each, or a column of -1 and 1 per
        class (one column for two classes).
    weights : (n,) array
    loss : Loss
    groups : list of int arrays
        Design columns of each group.
    classes : array or None
        Labels.
    """

    X: Any
    y: NDArray
    targets: Array
    weights: Array
    loss: Loss
    groups: list[NDArray[np.intp]]
    classes: NDArray | None = None

    @property
    def dense(self) -> Array:
        """The design as a plain array."""
        return self.X.toarray() if sparse.issparse(self.X) else self.X

    @property
    def lone(self) -> tuple[float, float] | None:
        """The number of a row that has most of all squares, and its share; of one response of numbers."""
        several = self.loss.classifies or self.targets.shape[1] > 1
        return None if several else lone_number(self.targets[:, 0])

    def on_columns(self, columns: NDArray[np.intp]) -> "RiskData":
        """Some columns alone, each a group of its own."""
        X = np.ascontiguousarray(self.X[:, columns])
        return replace(self, X=X, groups=[np.array([j]) for j in range(len(columns))])

    def on_rows(self, rows: NDArray[np.intp]) -> "RiskData":
        """Some rows alone."""
        some = self.X[rows], self.y[rows], self.targets[rows], self.weights[rows]
        return RiskData(*some, self.loss, self.groups, self.classes)

    def spread_rows(self, count: int) -> NDArray[np.intp]:
        """About so many rows, spread evenly over the values of y; two of every class at least."""
        return spread_rows(self.y, count, self.classes is not None)

    def folds(self, n_folds: int = 5) -> NDArray[np.intp]:
        """Fold of each row, balanced in y; copies of a row share one."""
        _, codes = np.unique(self.y, return_inverse=True)
        return fold_numbers(self.dense, codes.astype(float), n_folds)

    def halves(self, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Half of the distinct rows to fit, half to judge: copies of a row are on one side."""
        number = self.folds(n_folds=len(self.y))
        n_rows = int(number.max()) + 1
        judge = np.isin(number, rng.permutation(n_rows)[: n_rows // 2])
        return np.flatnonzero(~judge), np.flatnonzero(judge)


def open_data(
    X: Any, y: Any, sample_weight: Any, missing: str, owner: str
) -> tuple[Table, NumberResponses | None]:
    """The table, and several responses in units of their standard deviations, where there are such."""
    given = read_responses(X, y)
    if given is None:
        return open_table(X, y, sample_weight=sample_weight, missing=missing, owner=owner), None
    table, targets = open_responses(given, sample_weight=sample_weight, missing=missing, owner=owner)
    return table, number_responses(given.names, targets, table.sample_weight, owner)


def rows_that_count(table: Table, owner: str) -> NDArray[np.intp]:
    """Rows of positive weight: a row of none says nothing, not even which classes there are."""
    require_rows(table.n_rows, 2, owner)
    if table.sample_weight is None:
        return np.arange(table.n_rows)
    rows, n = np.flatnonzero(table.sample_weight > 0), table.n_rows
    if len(rows) < 2:
        raise ValueError(
            f"sample_weight is positive in {len(rows)} of {n} rows; at least 2 such rows are needed."
        )
    return rows


def read_data(
    table: Table,
    rows: NDArray[np.intp],
    loss: Loss,
    units: Units,
    takes_sparse: bool,
    responses: NumberResponses | None = None,
) -> RiskData:
    """Rows of a table, and the targets of a loss; `responses` take the place of y."""
    assert table.y is not None
    X = read_design(table, takes_sparse)
    X = X if len(rows) == table.n_rows else X[rows]
    weights = np.ones(len(rows)) if table.sample_weight is None else table.sample_weight[rows]
    if responses is None:
        y, targets, classes = _read_targets(table.y[rows], loss)
    else:
        targets, classes = responses.values[rows], None
        y = np.unique(targets, axis=0, return_inverse=True)[1].ravel().astype(np.float64)
    return RiskData(X, y, targets, weights, loss, units.columns, classes)


def read_design(table: Table, takes_sparse: bool) -> Any:
    """All design columns in double precision; sparse ones where they are taken."""
    if table.is_sparse and not takes_sparse:
        raise TypeError(
            "X is sparse, which kernel='linear' and estimators that take it can use, but no other kernel; "
            "pass X.toarray()."
        )
    X = table.take().X
    return X.astype(np.float64) if table.is_sparse else np.asarray(X, dtype=np.float64)


def choose_loss(loss: str | Loss, y: NDArray, estimator: Any, several: bool = False) -> Loss:
    """The loss that was asked for; "auto" goes by the estimator, or by what y looks like."""
    if several:
        return _loss_of_several(loss, estimator)
    if loss != "auto":
        made = make_loss(loss)
        if estimator is not None:
            _check_suits(estimator, made)
        return made
    if estimator is not None:
        if not is_classifier(estimator):
            return SquaredLoss()
        return LogisticLoss() if hasattr(estimator, "predict_proba") else HingeLoss()
    if find_task(y, labels="whole numbers") == "regression":
        return SquaredLoss()
    doubt = doubtful_classes(y)
    if doubt is not None:
        raise ValueError(
            f"{doubt}, which may be quantities or labels of classes: set loss='squared' for quantities, or "
            "loss='squared_label' for labels."
        )
    return SquaredLabelLoss()


def _loss_of_several(loss: str | Loss, estimator: Any) -> Loss:
    made = SquaredLoss() if loss == "auto" else make_loss(loss)
    if made.classifies:
        raise ValueError(
            f"loss={made.name!r} was given with several responses, which have to be numbers here; use "
            "'squared' or 'epsilon_insensitive', or REVS for classes."
        )
    if estimator is not None:
        raise ValueError(
            f"estimator={type(estimator).__name__}() was given with several responses, which kernel machines "
            "take; leave it out."
        )
    return made


def _check_suits(estimator: Any, loss: Loss) -> None:
    """Refuse a classifier under a regression loss and the other way round."""
    if is_classifier(estimator) != loss.classifies:
        kind, losses = "regressor", "'squared' or 'epsilon_insensitive'"
        if is_classifier(estimator):
            kind, losses = "classifier", "'hinge' or 'logistic'"
        raise ValueError(
            f"loss={loss.name!r} was given with {type(estimator).__name__}, which is a {kind}; use loss="
            f"{losses}, or loss='auto'."
        )


def _read_targets(y: NDArray, loss: Loss) -> tuple[NDArray, Array, NDArray | None]:
    """What an estimator is given, what the loss is given, and the labels."""
    if not loss.classifies:
        if y.dtype.kind in "OUS":
            raise ValueError(
                f"y holds text ({str(y[0])!r}), but loss={loss.name!r} needs numbers; use loss='auto' for "
                "classes."
            )
        numbers = as_numbers(y, "y")
        return numbers, numbers[:, None], None
    classes, codes = read_classes(y, given=f"loss={loss.name!r}", instead="loss='squared'")
    # of two classes the second is the one that counts
    columns = np.arange(len(classes)) if len(classes) > 2 else np.array([1])
    return y, np.where(codes[:, None] == columns, 1.0, -1.0), classes


def make_cycle(step: float | Callable[[int], int]) -> Callable[[int], int]:
    """Number of groups to remove, as a function of how many are left."""
    if not callable(step):
        return lambda left: max(1, int(step * left)) if step < 1 else int(step)

    def adaptive(left: int) -> int:
        count = step(left)
        if not isinstance(count, int | np.integer) or count < 1:
            raise ValueError(f"step({left}) returned {count!r}; it must return an integer of at least 1.")
        return int(count)

    return adaptive


def column_scale(X: Array, weights: Array) -> tuple[Array, Array]:
    """Weighted mean and standard deviation of the columns; the size of a column that is constant."""
    total = weights.sum()
    centre = weights @ X / total
    scale = np.sqrt(weights @ np.square(X - centre) / total)
    # A column that is constant up to rounding is not blown up, whatever its unit.
    size = np.maximum(np.abs(centre), 1e-280)
    flat = scale <= _ROUNDING * size
    scale[flat] = np.where(size > 1e-280, size, 1.0)[flat]
    return centre, scale
