r"""Kinds of noise, read off residuals: how uneven its size is over the rows, and how heavy its tails are.

The variance of row i is taken to be :math:`e^{z_i'\gamma}` for a few of many candidates z, which enter one by
one as long as the next one pays: the score test says which, and the likelihood whether it does, since one row
that is far out in a column can make any score. Tails are those of Student's t, whose degrees are the most
likely ones.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]

_MOST_TERMS = 5
_DEGREES = (30.0, 15.0, 8.0, 5.0, 4.0, 3.0, 2.5, 2.0, 1.5, 1.0)
# candidates that made a score and not the likelihood it promised, before the others are taken to be alike
_MOST_REFUSED = 10
_STEPS = 12
# tails are lighter once uneven rows are known, and these better known beside the right tails
_TURNS = 2
# log variances about the middle: no row may count for a hundred, while one may be so noisy that it counts
# for nothing. Were it held to a smaller variance, it would speak for heavy tails of all rows
_LEAST, _MOST = -4.0, 12.0


class NoiseKind(NamedTuple):
    """Log variance of each row about zero, and degrees and scale of the tails that are left beside it.

    `value` is the log likelihood of the residuals under it.
    """

    logs: Floats
    degrees: float
    scale: float
    value: float

    @property
    def plain(self) -> bool:
        """Whether the noise is even and normal."""
        return not self.logs.any() and not np.isfinite(self.degrees)


def noise_kind(
    residual: Floats, weight: Floats, candidates: Floats, price: float, proof: float = np.inf
) -> NoiseKind:
    """How uneven noise is over the rows, and how heavy its tails are.

    Uneven rows look like heavy tails, which hide what rules them: each is looked at beside the other.

    Parameters
    ----------
    residual, weight : array of shape (n,)
        Residuals, and how often each row counts.
    candidates : array of shape (n, m)
        What the size of the noise may depend on.
    price, proof : float
        What a candidate, and heavy tails, have to add to the log likelihood.

    Returns
    -------
    NoiseKind
    """
    total = weight.sum()
    Z = candidates - weight @ candidates / total
    spread = np.sqrt(weight @ Z**2 / total)
    Z /= np.where(spread > 0, spread, 1.0)
    terms: list[int] = []
    refused: list[int] = []
    logs = np.zeros(len(residual))
    degrees, scale = student_degrees(residual, weight, proof)
    value = _log_likelihood(residual, weight, degrees, scale)
    while len(terms) < _MOST_TERMS and len(refused) < _MOST_REFUSED:
        excess = _excess(residual, weight, logs, degrees)
        variance = float(weight @ excess**2) / total
        gains = 0.5 * ((weight * excess) @ Z) ** 2 / (total * max(variance, 1e-12))
        gains[terms + refused] = 0.0
        best = int(np.argmax(gains))
        if gains[best] <= price:
            break
        new, tails = logs, (degrees, scale)
        for _ in range(_TURNS):
            new = _fit_terms(residual, weight, Z[:, [*terms, best]], tails[0])
            tails = student_degrees(residual * np.exp(-0.5 * new), weight, proof)
        reached = _log_likelihood(residual * np.exp(-0.5 * new), weight, *tails) - 0.5 * float(weight @ new)
        if reached - value <= price:
            refused.append(best)
            continue
        terms.append(best)
        logs, (degrees, scale), value = new, tails, reached
    return NoiseKind(logs, degrees, scale, value)


def _excess(residual: Floats, weight: Floats, logs: Floats, degrees: float) -> Floats:
    """Score of each row's log variance, times two; the scale of all rows is the most likely one."""
    r = residual * np.exp(-0.5 * logs)
    size = _scale(r, weight, degrees)
    return _pull(r / size, degrees) * (r / size) ** 2 - 1.0


def _pull(ratio: Floats, degrees: float) -> Floats:
    """What a row counts in the most likely scale of Student's t; one under normal noise."""
    return (degrees + 1.0) / (degrees + ratio**2) if np.isfinite(degrees) else np.ones(len(ratio))


def _scale(residual: Floats, weight: Floats, degrees: float) -> float:
    """The most likely scale of Student's t."""
    total = weight.sum()
    size = float(np.sqrt(weight @ residual**2 / total))
    for _ in range(_STEPS if np.isfinite(degrees) else 0):
        size = float(np.sqrt(weight @ (_pull(residual / size, degrees) * residual**2) / total))
    return size


def _fit_terms(residual: Floats, weight: Floats, Z: Floats, degrees: float) -> Floats:
    coef, logs = np.zeros(Z.shape[1]), np.zeros(len(residual))
    # the information about a log variance is 1/2 under normal noise
    information = degrees / (degrees + 3.0) if np.isfinite(degrees) else 1.0
    hessian = information * (Z * weight[:, None]).T @ Z + 1e-6 * weight.sum() * np.eye(Z.shape[1])
    for _ in range(_STEPS):
        excess = _excess(residual, weight, logs, degrees)
        # rows at an end say nothing for going beyond it
        excess[(logs == _LEAST) & (excess < 0) | (logs == _MOST) & (excess > 0)] = 0.0
        # the expected curvature, and a step that is short while the variances are far off
        step = np.linalg.solve(hessian, Z.T @ (weight * excess))
        coef += step * min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-12))
        logs = np.clip(Z @ coef, _LEAST, _MOST)
    return logs


def student_degrees(residual: Floats, weight: Floats, proof: float) -> tuple[float, float]:
    """Degrees and scale of the most likely Student's t; infinite degrees unless better by `proof` nats."""
    scale = float(np.sqrt(weight @ residual**2 / weight.sum()))
    best, found = _log_likelihood(residual, weight, np.inf, scale) + proof, (np.inf, scale)
    for degrees in _DEGREES:
        size = _scale(residual, weight, degrees)
        value = _log_likelihood(residual, weight, degrees, size)
        if value > best:
            best, found = value, (degrees, size)
    return found


def student_gain(residual: Floats, weight: Floats, proof: float) -> float:
    """By how much Student's t is more likely than normal noise in nats, zero unless by `proof`."""
    degrees, scale = student_degrees(residual, weight, proof)
    normal = float(np.sqrt(weight @ residual**2 / weight.sum()))
    plain = _log_likelihood(residual, weight, np.inf, normal)
    return _log_likelihood(residual, weight, degrees, scale) - plain


def _log_likelihood(residual: Floats, weight: Floats, degrees: float, scale: float) -> float:
    """Of residuals under Student's t, or normal noise where the degrees are infinite."""
    squares = (residual / scale) ** 2
    if np.isfinite(degrees):
        constant = gammaln(0.5 * (degrees + 1.0)) - gammaln(0.5 * degrees) - 0.5 * np.log(degrees * np.pi)
        rows = -0.5 * (degrees + 1.0) * np.log1p(squares / degrees)
    else:
        constant, rows = -0.5 * np.log(2.0 * np.pi), -0.5 * squares
    return float(weight.sum() * (constant - np.log(scale)) + weight @ rows)


def shorten(residual: Floats, degrees: float, scale: float) -> Floats:
    """Residuals of Student's t as those of normal noise with the same information about the mean."""
    if not np.isfinite(degrees):
        return residual
    return residual * (degrees + 3.0) / (degrees + (residual / scale) ** 2)
