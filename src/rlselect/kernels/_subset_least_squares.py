"""Ridge regressions on many subsets of columns at once, from Gram matrices only.

A design is ``Z = [1, X]``: column 0 is the constant, always in and never penalised. The Gram matrices of its
folds, ``Z_k'Z_k``, ``Z_k'Y_k`` and the sums of squares of ``Y_k``, are all that the held-out errors of any
subset need: training on the other folds is a subtraction. Fitting m subsets of k columns costs O(m K k^3),
whatever the number of rows.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# relative to n: keeps exact copies and more columns than rows from being singular, moves nothing else
JITTER = 1e-9


def padded_columns(masks: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Design columns of each mask, the constant first, filled up to one length with the number ``p + 1``.

    Parameters
    ----------
    masks : bool array of shape (m, p)

    Returns
    -------
    int array of shape (m, 1 + largest subset)

    Examples
    --------
    >>> padded_columns(np.array([[True, False, True], [False, True, False]]))
    array([[0, 1, 3],
           [0, 2, 4]])
    """
    masks = np.asarray(masks, dtype=bool)
    m, p = masks.shape
    sizes = masks.sum(axis=1)
    columns = np.full((m, 1 + sizes.max(initial=0)), p + 1, dtype=np.intp)
    columns[:, 0] = 0
    row, column = np.nonzero(masks)
    place = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    columns[row, 1 + place] = column + 1
    return columns


def fold_products(X: Array, Y: Array, folds: NDArray[np.intp], n_folds: int) -> tuple[Array, Array, Array]:
    """Gram matrices ``[1, X]'[1, X]``, products ``[1, X]'Y`` and sums of ``Y^2`` of each fold.

    One more row and column of zeros stands for the padding of `padded_columns`.

    Parameters
    ----------
    X : array of shape (n, p)
    Y : array of shape (n, q)
    folds : int array of shape (n,)
        Fold of each row, 0 to n_folds - 1.
    n_folds : int

    Returns
    -------
    gram : array of shape (n_folds, p + 2, p + 2)
    cross : array of shape (n_folds, p + 2, q)
    square : array of shape (n_folds,)
    """
    p, q = X.shape[1], Y.shape[1]
    gram = np.zeros((n_folds, p + 2, p + 2))
    cross = np.zeros((n_folds, p + 2, q))
    square = np.empty(n_folds)
    for k in range(n_folds):
        rows = folds == k
        x, y = X[rows], Y[rows]
        gram[k, 0, 0] = len(x)
        gram[k, 0, 1:-1] = gram[k, 1:-1, 0] = x.sum(axis=0)
        gram[k, 1:-1, 1:-1] = x.T @ x
        cross[k, 0] = y.sum(axis=0)
        cross[k, 1:-1] = x.T @ y
        square[k] = np.vdot(y, y)
    return gram, cross, square


def subset_ridge(gram: Array, cross: Array, columns: NDArray[np.intp], ridge: float) -> Array:
    """Coefficients of ridge regressions on many subsets.

    Parameters
    ----------
    gram : array of shape (p + 2, p + 2)
        Of the rows to learn from, with the padding of `fold_products`.
    cross : array of shape (p + 2, q)
    columns : int array of shape (m, s)
        See `padded_columns`.
    ridge : float
        Added to the diagonal, but not for the constant.

    Returns
    -------
    array of shape (m, s, q)
        Zero at the padding.
    """
    s = columns.shape[1]
    padding = gram.shape[0] - 1
    diagonal = np.where(columns == padding, 1.0, ridge + JITTER * gram[0, 0])
    diagonal[:, 0] = 0.0
    system = gram[columns[:, :, None], columns[:, None, :]]
    system[:, np.arange(s), np.arange(s)] += diagonal
    return np.asarray(np.linalg.solve(system, cross[columns]))


def subset_heldout(
    gram: Array, cross: Array, square: Array, columns: NDArray[np.intp], ridge: float = 0.0
) -> Array:
    """Held-out sums of squared errors of ridge regressions on many subsets, one for each fold.

    Parameters
    ----------
    gram, cross, square
        Of each fold, see `fold_products`.
    columns : int array of shape (m, s)
        See `padded_columns`.
    ridge : float

    Returns
    -------
    array of shape (m, n_folds)
        Summed over the q responses.
    """
    whole, whole_cross = gram.sum(axis=0), cross.sum(axis=0)
    out = np.empty((len(columns), len(gram)))
    for k in range(len(gram)):
        coef = subset_ridge(whole - gram[k], whole_cross - cross[k], columns, ridge)
        seen = gram[k][columns[:, :, None], columns[:, None, :]]
        fitted = np.einsum("msq,msq->m", coef, seen @ coef)
        out[:, k] = square[k] - 2.0 * np.einsum("msq,msq->m", coef, cross[k][columns]) + fitted
    return np.maximum(out, 0.0)
