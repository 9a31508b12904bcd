"""Kernels that are a function of a sum over features, so that a feature leaves by subtraction.

Each *part* returns the contribution of some columns to the sum; each *link* turns the sum into a kernel.
Sums are kept and subtracted, never the kernel values themselves: dividing a Gaussian by a factor overflows
for small widths.
"""

import numpy as np

# From so many columns on a product beats differences; up to this squared length it is exact to 1e-11. Of more
# columns than that some are taken at a time.
_MANY_COLUMNS, _LONGEST, _AT_ONCE = 4, 1e4, 1024

__all__ = ["chi_squared_part", "exponential_link", "inner_part", "polynomial_link", "squared_distance_part"]


def squared_distance_part(a, b, out=None):
    """Squared Euclidean distances between the rows of ``a`` (n, g) and ``b`` (m, g).

    Of few columns by differences: the result is exactly zero on equal rows. Of many columns by one product,
    many times as fast, unless values are so large that it would cost digits.
    """
    out = np.empty((len(a), len(b)), dtype=a.dtype) if out is None else out
    if a.shape[1] == 0:
        out[...] = 0.0
        return out
    if a.shape[1] > _AT_ONCE:
        squared_distance_part(a[:, :_AT_ONCE], b[:, :_AT_ONCE], out=out)
        buffer = np.empty_like(out)
        for j in range(_AT_ONCE, a.shape[1], _AT_ONCE):
            out += squared_distance_part(a[:, j : j + _AT_ONCE], b[:, j : j + _AT_ONCE], out=buffer)
        return out
    if a.shape[1] >= _MANY_COLUMNS and a.dtype == np.float64:
        lengths = np.einsum("ij,ij->i", a, a), np.einsum("ij,ij->i", b, b)
        if max(lengths[0].max(initial=0.0), lengths[1].max(initial=0.0)) <= _LONGEST:
            np.matmul(a, -2.0 * b.T, out=out)
            out += lengths[0][:, None]
            out += lengths[1]
            return np.maximum(out, 0.0, out=out)
    np.subtract(a[:, 0, None], b[None, :, 0], out=out)
    np.multiply(out, out, out=out)
    if a.shape[1] > 1:
        buffer = np.empty_like(out)
        for j in range(1, a.shape[1]):
            np.subtract(a[:, j, None], b[None, :, j], out=buffer)
            np.multiply(buffer, buffer, out=buffer)
            out += buffer
    return out


def chi_squared_part(a, b, out=None):
    """Sum over columns of ``(x - z)^2 / (x + z)`` for non-negative data; an empty bin in both rows adds
    nothing.
    """
    out = np.empty((len(a), len(b)), dtype=a.dtype) if out is None else out
    out[...] = 0.0
    for j in range(a.shape[1]):
        difference = a[:, j, None] - b[None, :, j]
        total = a[:, j, None] + b[None, :, j]
        total[total == 0] = 1.0
        np.multiply(difference, difference, out=difference)
        np.divide(difference, total, out=difference)
        out += difference
    return out


def inner_part(a, b, out=None):
    """Inner products of the rows of ``a`` and ``b``."""
    if a.shape[1] == 1:
        return np.multiply(a[:, 0, None], b[None, :, 0], out=out)
    return np.matmul(a, b.T, out=out)


def exponential_link(total, bandwidth, out=None):
    """``exp(-total / bandwidth^2)``."""
    out = np.multiply(total, total.dtype.type(-1.0 / bandwidth**2), out=out)
    # a distance that is left after a subtraction may be below zero by rounding, and far below for huge ones
    np.minimum(out, 0.0, out=out)
    return np.exp(out, out=out)


def polynomial_link(total, bandwidth, degree, coef0, out=None):
    """``(coef0 + total / bandwidth^2) ** degree`` for an integer degree, by repeated products."""
    out = np.multiply(total, total.dtype.type(1.0 / bandwidth**2), out=out)
    out += out.dtype.type(coef0)
    base = out.copy() if degree > 1 else out
    for _ in range(degree - 1):
        np.multiply(out, base, out=out)
    return out
