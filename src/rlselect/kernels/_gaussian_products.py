"""Products of many one-feature-removed Gaussian kernels with vectors, without building any of them.

Removing a column ``u`` (in units of the bandwidth) multiplies a Gaussian kernel entry by
``exp((u_i - u_j)^2) = e(u_i) e(u_j) exp(-2 u_i u_j)`` with ``e(u) = exp(u^2)``. Where ``2 max|u|^2`` is
small, a few Taylor terms of the last factor are exact to rounding and turn all removals into matrix products.
"""

import numpy as np

__all__ = ["expansion_terms", "removal_products"]

_LOG_FACTORIAL = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 64)))])


def expansion_terms(columns, tolerance):
    """Number of Taylor terms each column needs for a relative error below ``tolerance`` (64 = too many)."""
    reach = 2.0 * np.square(np.abs(columns).max(axis=0))
    orders = np.arange(1, 64)
    with np.errstate(divide="ignore"):
        log_error = orders[None, :] * np.log(reach)[:, None] - _LOG_FACTORIAL[None, 1:] + 2.0 * reach[:, None]
    enough = log_error <= np.log(tolerance)
    return np.where(enough.any(axis=1), enough.argmax(axis=1) + 1, 64)


def removal_products(gram, columns, vectors, terms):
    """Column ``j`` of the result is (kernel with column ``j`` of ``columns`` removed) @ ``vectors[:, j]``.

    Parameters
    ----------
    gram : (n, n) array
        The present Gaussian kernel matrix.
    columns : (n, m) array
        Columns that leave, one at a time, divided by the bandwidth.
    vectors : (n, m) or (n, 1) array
        What each reduced kernel is applied to.
    terms : (m,) int array
        Taylor terms of each column, from :func:`expansion_terms`, longest first. Cost O(n^2) a term, all of
        it matrix products.
    """
    vectors = np.broadcast_to(vectors, columns.shape)
    factor = np.exp(np.square(columns))
    result = np.zeros((len(gram), columns.shape[1]), dtype=gram.dtype)
    for order in range(int(terms.max(initial=0))):
        some = int(np.searchsorted(-terms, -order))
        if order:
            # The series is split evenly between the two sides: sqrt(2^k / k!) u^k on each.
            factor = factor[:, :some] * columns[:, :some]
            factor *= columns.dtype.type(np.sqrt(2.0 / order))
        contribution = gram @ (factor * vectors[:, :some])
        contribution *= factor
        if order % 2:
            result[:, :some] -= contribution
        else:
            result[:, :some] += contribution
    return result
