"""Where a curve stops being a straight line: the reverse scree graph."""

import numpy as np

__all__ = ["change_point"]


def change_point(values, degree=2):
    """Fit a line that turns into a polynomial at an unknown point, by least squares over all points.

    The curve is continuous: ``b0 + b1 t`` up to the change point ``c`` and
    ``b0 + b1 t + sum_q g_q (t - c)^q`` (q = 1 .. degree) after it.

    Parameters
    ----------
    values : (m,) array
        The curve at t = 0, 1, ..., m - 1.
    degree : int
        Degree of the right-hand part: 1, 2 or 3.

    Returns
    -------
    index : int
        The change point (m - 1 when there are too few points for a fit).
    fitted : (m,) array
        The fitted curve.
    """
    values = np.asarray(values, dtype=float)
    m = len(values)
    t = np.arange(m, dtype=float) / max(m - 1, 1)
    best = (np.inf, m - 1, values.copy())
    if m < degree + 3:
        return best[1], best[2]
    for index in range(1, m - 1):
        past = np.maximum(t - t[index], 0.0)
        design = np.column_stack([np.ones(m), t, *[past**q for q in range(1, degree + 1)]])
        solution = np.linalg.lstsq(design, values, rcond=None)[0]
        fitted = design @ solution
        error = float(np.sum(np.square(values - fitted)))
        if error < best[0] * (1.0 - 1e-12):
            best = (error, index, fitted)
    return best[1], best[2]
