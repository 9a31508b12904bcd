"""Forward selection from cross-products: the whole path for the price of one QR factorisation."""

import numpy as np

from peers._criteria import ebic, gaussian_deviance


def forward_path(cross, diagonal, xty, yty, max_size):
    """Order of entry and residual sums of squares of exact forward selection.

    ``cross(j)`` gives X'x_j for centred columns, so that the caller decides whether a Gram matrix is kept or
    each entering column costs one pass. Every step takes the variable with the largest drop in the residual
    sum of squares, O(k p) each.
    """
    p = len(diagonal)
    rows = np.empty((max_size, p))
    left, score = diagonal.copy(), xty.copy()
    # A column whose variance is all but explained by the chosen ones is as good as constant.
    floor = 1e-8 * np.maximum(diagonal, np.finfo(float).tiny)
    free = left > floor
    order, rss = [], [yty]
    for k in range(max_size):
        gain = np.where(free & (left > floor), score**2 / np.maximum(left, floor), -1.0)
        j = int(np.argmax(gain))
        if gain[j] <= 0.0:
            break
        root = np.sqrt(left[j])
        row = (cross(j) - rows[:k, j] @ rows[:k]) / root
        weight = score[j] / root
        rows[k] = row
        left -= row**2
        score -= weight * row
        free[j] = False
        order.append(j)
        rss.append(rss[-1] - weight**2)
    return np.array(order, dtype=int), np.array(rss)


def forward_ebic(cross, diagonal, xty, yty, n, max_size):
    """The prefix of the forward path with the smallest EBIC, as a support."""
    p = len(diagonal)
    order, rss = forward_path(cross, diagonal, xty, yty, min(max_size, n - 2, p))
    size = np.arange(len(rss))
    best = int(np.argmin(ebic(gaussian_deviance(rss, n), size, n, p)))
    support = np.zeros(p, dtype=bool)
    support[order[:best]] = True
    return support
