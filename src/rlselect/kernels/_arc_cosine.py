"""The kernel of an infinitely wide ReLU network, and closed-form leave-one-out errors of kernel ridge.

A network with one hidden layer of ReLU units and Gaussian weights becomes, as its width grows, a Gaussian
process with the arc-cosine kernel: with ``u = BIAS + <x, z> / k`` over the k columns in use, ``v`` and ``w``
the same for ``<x, x>`` and ``<z, z>``, and ``c = u / sqrt(v w)``,

    K(x, z) = sqrt(v w) (sqrt(1 - c^2) + (pi - arccos c) c) / pi.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

# variance of the hidden units' biases relative to that of their inputs
BIAS = 1.0


def arc_cosine(inner: NDArray, left: NDArray, right: NDArray) -> NDArray:
    """Arc-cosine kernel from inner products, all of them with the bias already added.

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
    scale = a[:, None] * b[None, :]
    cosine = inner / scale
    np.clip(cosine, -1.0, 1.0, out=cosine)
    angle = np.arccos(cosine)
    np.subtract(np.asarray(np.pi, dtype=inner.dtype), angle, out=angle)
    angle *= cosine
    np.multiply(cosine, cosine, out=cosine)
    np.subtract(1.0, cosine, out=cosine)
    np.sqrt(cosine, out=cosine)
    angle += cosine
    angle *= scale
    angle /= np.asarray(np.pi, dtype=inner.dtype)
    return angle


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
    other = A if B is None else B
    k = max(A.shape[1], 1)
    inner = A @ other.T
    inner /= k
    inner += BIAS
    left = np.einsum("ij,ij->i", A, A) / k + BIAS
    right = left if B is None else np.einsum("ij,ij->i", other, other) / k + BIAS
    return arc_cosine(inner, left.astype(A.dtype), right.astype(A.dtype))


def ridge_inverse(K: NDArray, ridge: float) -> NDArray:
    """Lower triangle of ``(K + ridge I)^-1``; K is overwritten.

    The upper triangle of the result holds nothing of use.
    """
    K[np.diag_indices(len(K))] += np.asarray(ridge, dtype=K.dtype)
    single = K.dtype == np.float32
    factor = lapack.spotrf if single else lapack.dpotrf
    invert = lapack.spotri if single else lapack.dpotri
    lower, info = factor(K.T, lower=1, overwrite_a=1, clean=0)
    if info == 0:
        lower, info = invert(lower, lower=1, overwrite_c=1)
    if info != 0:
        raise np.linalg.LinAlgError(f"K + {ridge:g} I is not positive definite")
    return np.asarray(lower)


def loo_residuals(K: NDArray, Y: NDArray, ridge: float) -> NDArray:
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
    inverse = ridge_inverse(K, ridge)
    diagonal = np.diagonal(inverse).copy()
    multiply = blas.ssymm if inverse.dtype == np.float32 else blas.dsymm
    return np.asarray(multiply(1.0, inverse, np.asarray(Y, dtype=inverse.dtype), lower=1) / diagonal[:, None])
