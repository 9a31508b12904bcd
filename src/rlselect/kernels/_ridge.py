r"""All moves of a subset priced at once by the marginal likelihood of ridge regression.

The model is :math:`y \sim N(X_s \beta, \sigma^2 I)` with :math:`\beta \sim N(0, g \sigma^2 I)` and a flat
prior on :math:`\log \sigma`. With :math:`G = X'X`, :math:`b = X'y` and :math:`M = G_{ss} + I/g`, a subset has
the log evidence

.. math:: -\tfrac{n}{2} \log Q - \tfrac12 \log |g M|, \qquad Q = y'y - b_s' M^{-1} b_s .

Everything here works on these sums, never on rows: weights enter through ``G``, ``b`` and ``n`` (their sum),
so that a weight of k is the same as a row repeated k times. Columns are given as the rows of ``gram`` (the
rows of G that belong to the subset, in the order of ``subset``).
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def ridge_state(
    gram: Floats, subset: list[int], cross: Floats, diagonal: Floats, total: float, slab: float
) -> tuple[Floats, Floats, float, Floats, Floats, float]:
    r"""Solve a subset from scratch. Cost O(k^3 + p k^2).

    Parameters
    ----------
    gram : array of shape (k, p)
        Rows of X'X that belong to the subset.
    subset : list of int
        The k columns.
    cross, diagonal : array of shape (p,)
        X'y and the diagonal of X'X.
    total : float
        y'y.
    slab : float
        g, the prior variance of a coefficient in units of the noise variance.

    Returns
    -------
    inverse : array of shape (k, k)
        :math:`M^{-1}`.
    coef : array of shape (k,)
        Posterior mean :math:`M^{-1} b_s`.
    quad : float
        :math:`Q`.
    residual : array of shape (p,)
        :math:`x_j'(y - X_s \hat\beta)`; meaningful outside the subset.
    schur : array of shape (p,)
        :math:`x_j'x_j + 1/g - G_{js} M^{-1} G_{sj}`; meaningful outside the subset.
    logdet : float
        :math:`\log |g M|`.
    """
    k = len(subset)
    lower = np.linalg.cholesky(gram[:, subset] + np.eye(k) / slab)
    half = np.linalg.solve(lower, np.concatenate([gram, cross[subset, None], np.eye(k)], axis=1))
    white, target, root = half[:, : gram.shape[1]], half[:, gram.shape[1]], half[:, gram.shape[1] + 1 :]
    inverse = root.T @ root
    coef = root.T @ target
    # what rounding leaves of a column that the subset explains may be nothing, or less
    schur = np.maximum(diagonal + 1.0 / slab - np.einsum("ij,ij->j", white, white), 1e-9 / slab)
    logdet = 2.0 * float(np.log(np.diag(lower)).sum()) + k * np.log(slab)
    return inverse, coef, float(total - target @ target), cross - coef @ gram, schur, logdet


def ridge_add(
    gram: Floats, column: Floats, subset: list[int], j: int, inverse: Floats, schur: Floats
) -> tuple[Floats, Floats]:
    """Inverse after adding column j, and the direction along which all p moves change. Cost O(p k).

    Parameters
    ----------
    gram : array of shape (k, p)
        Rows of X'X of the subset without j.
    column : array of shape (p,)
        Row j of X'X.
    subset : list of int
        The subset without j.
    j : int
        The column that enters.
    inverse, schur : arrays
        State of the subset without j, as from `ridge_state`.

    Returns
    -------
    inverse : array of shape (k + 1, k + 1)
        With j last.
    direction : array of shape (p,)
        c with ``residual -= c * residual[j] / schur[j]`` and ``schur -= c**2 / schur[j]``.
    """
    k = len(subset)
    pull = inverse @ column[subset]
    direction = column - pull @ gram
    grown = np.empty((k + 1, k + 1))
    grown[:k, :k] = inverse + np.multiply.outer(pull, pull / schur[j])
    grown[k, :k] = grown[:k, k] = -pull / schur[j]
    grown[k, k] = 1.0 / schur[j]
    return grown, direction


def ridge_remove(gram: Floats, place: int, inverse: Floats) -> tuple[Floats, Floats, float]:
    """Inverse after removing the column at `place`, and the direction of change. Cost O(p k).

    Parameters
    ----------
    gram : array of shape (k, p)
        Rows of X'X of the subset that still holds the column.
    place : int
        Its place in the subset.
    inverse : array of shape (k, k)
        State of the subset that still holds the column.

    Returns
    -------
    inverse : array of shape (k - 1, k - 1)
    direction : array of shape (p,)
        v with ``residual += v * coef * d`` and ``schur += v**2 * d`` for all columns outside.
    d : float
        Schur complement of the column that leaves.
    """
    row = inverse[place]
    d = 1.0 / row[place]
    keep = np.arange(len(row)) != place
    shrunk = inverse - np.multiply.outer(row, row * d)
    return shrunk[np.ix_(keep, keep)], row @ gram, float(d)


def ridge_moves(
    residual: Floats,
    schur: Floats,
    quad: float,
    n: float,
    slab: float,
    subset: list[int],
    inverse: Floats,
    coef: Floats,
) -> Floats:
    """Change of the log evidence when each column is toggled. Cost O(p).

    Parameters
    ----------
    residual, schur, quad, inverse, coef
        State of the subset, as from `ridge_state`.
    n : float
        Degrees of freedom of the noise (rows, or the sum of the weights, less one for the intercept).
    slab : float
        g.
    subset : list of int
        The columns in the subset.

    Returns
    -------
    array of shape (p,)
        Added when outside, removed when inside.
    """
    share = residual * residual
    share /= schur
    share /= quad
    np.minimum(share, 1.0 - 1e-15, out=share)
    moves = np.log1p(-share, out=share)
    moves *= -0.5 * n
    moves -= 0.5 * np.log(slab * np.maximum(schur, 1e-300))
    if subset:
        d = 1.0 / np.diagonal(inverse)
        moves[subset] = 0.5 * np.log(slab * d) - 0.5 * n * np.log1p(coef * coef * d / quad)
    return moves


def ridge_block_add(block: Floats, residual: Floats, quad: float, n: float, slab: float) -> Floats:
    """Change of the log evidence when several columns enter together, for many such blocks at once.

    Parameters
    ----------
    block : array of shape (..., m, m)
        Schur complement of the columns given the subset, 1/g on the diagonal included.
    residual : array of shape (..., m)
        Their products with the residual.
    quad, n, slab : float
        As in `ridge_moves`.

    Returns
    -------
    array of shape (...)
        The changes.
    """
    lower = np.linalg.cholesky(block)
    white = np.linalg.solve(lower, residual[..., None])[..., 0]
    share = np.minimum((white * white).sum(axis=-1) / quad, 1.0 - 1e-15)
    logdet = 2.0 * np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
    return -0.5 * n * np.log1p(-share) - 0.5 * (logdet + residual.shape[-1] * np.log(slab))


def ridge_block_remove(block: Floats, coef: Floats, quad: float, n: float, slab: float) -> float:
    """Change of the log evidence when several columns leave together.

    Parameters
    ----------
    block : array of shape (m, m)
        Their block of the inverse.
    coef : array of shape (m,)
        Their coefficients.
    quad, n, slab : float
        As in `ridge_moves`.

    Returns
    -------
    float
        The change.
    """
    logdet = float(np.linalg.slogdet(block)[1])
    rise = float(coef @ np.linalg.solve(block, coef))
    return 0.5 * (len(coef) * float(np.log(slab)) - logdet) - 0.5 * n * float(np.log1p(rise / quad))


def ridge_evidence_grid(
    gram: Floats, cross: Floats, total: float, n: float, slabs: Floats, root: Floats | None = None
) -> tuple[Floats, Floats, Floats, Floats]:
    """Log evidence of one subset for many prior variances at once. Cost O(k^3 + k^2 per prior).

    Parameters
    ----------
    gram : array of shape (k, k)
        Block of X'X.
    cross : array of shape (k,)
        Block of X'y.
    total : float
        y'y.
    n : float
        As in `ridge_moves`.
    slabs : array of shape (m,)
        The prior variances g.
    root : array of shape (k, k), optional
        Of the prior correlation of the coefficients, ``root @ root.T``; independent without.

    Returns
    -------
    evidence : array of shape (m,)
    coef, variance : array of shape (m, k)
        Posterior means, and posterior variances with the noise variance at Q / n.
    noise : array of shape (m,)
        Q / n.
    """
    values, vectors = np.linalg.eigh(gram if root is None else root.T @ gram @ root)
    values = np.maximum(values, 0.0)
    vectors = vectors if root is None else root @ vectors
    turned = vectors.T @ cross
    inverse = 1.0 / (values + 1.0 / slabs[:, None])
    quad = np.maximum(total - inverse @ (turned * turned), max(1e-12 * total, 1e-290))
    evidence = -0.5 * n * np.log(quad) - 0.5 * np.log1p(slabs[:, None] * values).sum(axis=1)
    coef = (inverse * turned) @ vectors.T
    noise = quad / n
    return evidence, coef, noise[:, None] * (inverse @ (vectors * vectors).T), noise
