"""The kernel of an infinitely wide ReLU network, and closed-form leave-one-out errors of kernel ridge.

A network with one hidden layer of ReLU units and Gaussian weights becomes, as its width grows, a Gaussian
process with the arc-cosine kernel: with ``u = BIAS + <x, z> / k`` over the k columns in use, ``v`` and ``w``
the same for ``<x, x>`` and ``<z, z>``, and ``c = u / sqrt(v w)``,

    K(x, z) = sqrt(v w) (sqrt(1 - c^2) + (pi - arccos c) c) / pi.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

# variance of the hidden units' biases relative to that of their inputs
BIAS = 1.0
# numbers of a block of rows that stays in the processor's cache from one elementwise step to the next
_CACHED = 65_536
# rows of a triangle that is inverted at once
_WHOLE = 64


def arc_cosine(inner: NDArray, left: NDArray, right: NDArray) -> NDArray:
    """Arc-cosine kernel from inner products, all of them with the bias already added; they are overwritten.

    Parameters
    ----------
    inner : array of shape (n, m)
    left, right : arrays of shape (n,) and (m,)
        Squared lengths of the rows of both sides.

    Returns
    -------
    array of shape (n, m)
    """
    a, b = np.sqrt(left), np.sqrt(right)
    pi = np.asarray(np.pi, dtype=inner.dtype)
    step = max(1, _CACHED // max(len(b), 1))
    for start in range(0, len(a), step):
        rows = slice(start, start + step)
        scale = a[rows, None] * b[None, :]
        cosine = inner[rows] / scale
        np.clip(cosine, -1.0, 1.0, out=cosine)
        angle = np.arccos(cosine, out=inner[rows])
        np.subtract(pi, angle, out=angle)
        angle *= cosine
        np.multiply(cosine, cosine, out=cosine)
        np.subtract(1.0, cosine, out=cosine)
        np.sqrt(cosine, out=cosine)
        angle += cosine
        scale /= pi
        angle *= scale
    return inner


def network_kernel(A: NDArray, B: NDArray | None = None) -> NDArray:
    """Kernel matrix between the rows of A and of B (of A itself by default).

    Parameters
    ----------
    A : array of shape (n, k)
        Standardised columns; without any column the kernel is constant.
    B : array of shape (m, k), optional

    Returns
    -------
    array of shape (n, m)
    """
    A = _with_bias(A)
    B = A if B is None else _with_bias(B)
    left = np.einsum("ij,ij->i", A, A)
    return arc_cosine(A @ B.T, left, left if B is A else np.einsum("ij,ij->i", B, B))


def _with_bias(A: NDArray) -> NDArray:
    """Columns whose inner products are the kernel's: divided by the root of their number, and the bias."""
    n, k = A.shape
    out = np.empty((n, k + 1), dtype=A.dtype)
    np.divide(A, math.sqrt(max(k, 1)), out=out[:, :k])
    out[:, k] = math.sqrt(BIAS)
    return out


def network_loo_residuals(K: NDArray, Y: NDArray, ridge: float) -> NDArray:
    """Leave-one-out residuals of kernel ridge regression without intercept; K is overwritten.

    Parameters
    ----------
    K : array of shape (n, n)
    Y : array of shape (n, q)
    ridge : float

    Returns
    -------
    array of shape (n, q)
        ``[C Y]_i / C_ii`` with ``C = (K + ridge I)^-1``.
    """
    K[np.diag_indices(len(K))] += np.asarray(ridge, dtype=K.dtype)
    single = K.dtype == np.float32
    factor, solve = (lapack.spotrf, lapack.spotrs) if single else (lapack.dpotrf, lapack.dpotrs)
    lower, info = factor(K.T, lower=1, overwrite_a=1, clean=1)
    if info != 0:
        raise np.linalg.LinAlgError(f"K + {ridge:g} I is not positive definite")
    weights = solve(lower, np.asarray(Y, dtype=K.dtype), lower=1)[0]
    # C = L'^-1 L^-1: its diagonal needs no more than the factor's inverse
    inverse = _triangle_inverse(lower)
    return np.asarray(weights / np.einsum("ij,ij->j", inverse, inverse)[:, None])


def _triangle_inverse(lower: NDArray) -> NDArray:
    """Inverse of a lower triangle, by halves: nearly all of the work is in products of matrices.

    LAPACK's takes twice the time for some hundred rows.
    """
    single, n = lower.dtype == np.float32, len(lower)
    if n <= _WHOLE:
        return np.asarray((lapack.strtri if single else lapack.dtrtri)(lower, lower=1)[0])
    half, multiply = n // 2, blas.strmm if single else blas.dtrmm
    out = np.zeros_like(lower, order="F")
    first = out[:half, :half] = _triangle_inverse(lower[:half, :half])
    last = out[half:, half:] = _triangle_inverse(lower[half:, half:])
    corner = multiply(-1.0, first, np.asfortranarray(lower[half:, :half]), side=1, lower=1, overwrite_b=1)
    out[half:, :half] = multiply(1.0, last, corner, lower=1, overwrite_b=1)
    return out
