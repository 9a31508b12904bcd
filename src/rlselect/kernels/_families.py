"""Families of generalised linear models, elementwise on arrays: means, variances, likelihoods, starts.

A family is a link and a variance; "gaussian", "binomial" and "poisson" alone mean their canonical links. Its
users: the regressions of `_glm` (one dense fit, or one per time), `_subset_logistic` (one fit per mask),
`_heldout` (prices of moves), `subset.revs` (fits summed over blocks of rows, the paper's search),
`subset.acp` (log losses of masks), `machines` (kernel logistic regression) and `temporal` (influence
functions, predictions).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, ndtr

Array = NDArray[np.float64]

LINKS = ("identity", "logit", "probit", "cloglog", "log")
VARIANCES = ("gaussian", "binomial", "poisson")
BOUNDED_LINKS = ("logit", "probit", "cloglog")
USUAL_VARIANCE = {
    "identity": "gaussian",
    "logit": "binomial",
    "probit": "binomial",
    "cloglog": "binomial",
    "log": "poisson",
}
CANONICAL_LINK = {"gaussian": "identity", "binomial": "logit", "poisson": "log"}

# The one clip of linear predictors. Beyond these a probability rounds to 0 or 1 and its weight to 0/0; a
# finite estimate never needs more. exp(200) is 1e87, no count nor rate, and sums of its square still fit.
_ETA_RANGE = {
    "logit": (-36.0, 36.0),
    "probit": (-8.2, 8.2),
    "cloglog": (-36.0, 3.5),
    "log": (-200.0, 200.0),
}


def clip_predictor(link: str, eta: Array) -> Array:
    """The linear predictor, kept where its mean and weight are numbers."""
    if link == "identity":
        return eta
    low, high = _ETA_RANGE[link]
    # what np.clip does, without what it asks first: fits of few rows call this often
    return np.minimum(np.maximum(eta, low), high)


def is_canonical(link: str, variance: str) -> bool:
    """Whether the derivative of the mean equals the variance."""
    return CANONICAL_LINK[variance] == link


def mean_function(link: str, eta: Array) -> tuple[Array, Array, Array]:
    """Mean ``mu = g^-1(eta)``, its complement ``1 - mu`` without cancellation, and ``d mu / d eta``."""
    eta = clip_predictor(link, eta)
    if link == "identity":
        return eta, 1.0 - eta, np.ones_like(eta)
    if link == "logit":
        mu = expit(eta)
        rest = expit(-eta)
        return mu, rest, mu * rest
    if link == "probit":
        return ndtr(eta), ndtr(-eta), np.exp(-0.5 * eta**2) / np.sqrt(2.0 * np.pi)
    if link == "cloglog":
        hazard = np.exp(eta)
        rest = np.exp(-hazard)
        return -np.expm1(-hazard), rest, hazard * rest
    mu = np.exp(eta)
    return mu, 1.0 - mu, mu


def mean_and_curvature(family: str, eta: Array) -> tuple[Array, Array]:
    """Mean and its derivative by the linear predictor, for the canonical link.

    Parameters
    ----------
    family : {"gaussian", "binomial", "poisson"}
        The distribution.
    eta : array
        Linear predictor.

    Returns
    -------
    mean, curvature : array
        The curvature is positive.
    """
    if family == "gaussian":
        return eta, np.ones_like(eta)
    eta = clip_predictor(CANONICAL_LINK[family], eta)
    if family == "binomial":
        mean = expit(eta)
        return mean, mean * (1.0 - mean)
    mean = np.exp(eta)
    return mean, mean


def score_and_curvature(family: str, y: Array, eta: Array, dispersion: float = 0.0) -> tuple[Array, Array]:
    """Derivative of the log likelihood of each row by the linear predictor, and minus the second one.

    Parameters
    ----------
    family : {"gaussian", "binomial", "poisson"}
        The distribution, with its canonical link.
    y, eta : array of shape (n,)
        Response and linear predictor.
    dispersion : float, default=0
        Of counts, a: their variance is the mean plus a times its square (negative binomial).

    Returns
    -------
    score, curvature : array
        The curvature is positive.
    """
    mean, curvature = mean_and_curvature(family, eta)
    if not dispersion:
        return y - mean, curvature
    spread = 1.0 + dispersion * mean
    return (y - mean) / spread, mean / spread * ((1.0 + dispersion * y) / spread)


def link_function(link: str, mu: Array) -> Array:
    """``eta = g(mu)``, used for starting values only."""
    if link == "logit":
        return np.log(mu) - np.log1p(-mu)
    if link == "probit":
        # a logistic curve with this slope is within .01 of the normal one: enough for a start
        return (np.log(mu) - np.log1p(-mu)) / 1.702
    if link == "cloglog":
        return np.log(-np.log1p(-mu))
    if link == "log":
        return np.log(mu)
    return mu


def variance_function(variance: str, mu: Array, rest: Array) -> Array:
    """``V(mu)``; `rest` is ``1 - mu``."""
    if variance == "binomial":
        return mu * rest
    if variance == "poisson":
        return mu
    return np.ones_like(mu)


def softplus(eta: Array) -> Array:
    """``log(1 + exp(eta))``, at half the price of ``logaddexp`` and for any number."""
    return np.maximum(eta, 0.0) + np.log1p(np.exp(-np.abs(eta)))


def log_likelihood(
    family: str, y: Array, eta: Array, *, constant: bool = True, dispersion: float = 0.0
) -> Array:
    """Log likelihood of each row for the canonical link (gaussian: minus half the squared error).

    Parameters
    ----------
    family : {"gaussian", "binomial", "poisson"}
        The distribution.
    y, eta : array of shape (n,)
        Response and linear predictor.
    constant : bool, default=True
        Whether the term of `y` alone counts.
    dispersion : float, default=0
        Of counts, as in `score_and_curvature`.

    Returns
    -------
    array of shape (n,)
    """
    if family == "gaussian":
        return -0.5 * (y - eta) ** 2
    if family == "binomial":
        return y * eta - softplus(eta)
    eta = clip_predictor("log", eta)
    if dispersion:
        size = 1.0 / dispersion
        terms = y * (eta + np.log(dispersion)) - (y + size) * np.log1p(dispersion * np.exp(eta))
        terms += gammaln(y + size) - gammaln(size)
    else:
        terms = y * eta - np.exp(eta)
    return terms - gammaln(y + 1.0) if constant else terms


# of counts: none, and from hardly any to more than a mean could be seen in
_DISPERSIONS = np.concatenate([[0.0], np.geomspace(1e-3, 100.0, 14)])
# by which a dispersion has to be more likely than none, in units of log likelihood
DISPERSION_PROOF = 0.5


def dispersion_likelihoods(y: Array, eta: Array, weight: Array | None, grid: Array) -> Array:
    """Log likelihood of counts, summed over the rows, for every dispersion of a grid."""
    w = np.ones(len(y)) if weight is None else weight
    rows = (log_likelihood("poisson", y, eta, constant=False, dispersion=float(a)) for a in grid)
    return np.array([float(w @ row) for row in rows])


def likeliest_dispersion(likelihoods: Callable[[Array], Array], proof: float = DISPERSION_PROOF) -> float:
    """Dispersion of counts at the maximum of the likelihood; zero unless that is better than none by `proof`.

    Parameters
    ----------
    likelihoods : callable
        Log likelihoods of a grid of dispersions, as `dispersion_likelihoods` gives them; asked twice.
    proof : float
        In units of log likelihood.

    Returns
    -------
    float
    """
    values = likelihoods(_DISPERSIONS)
    best = int(np.argmax(values[1:])) + 1
    if values[best] <= values[0] + proof:
        return 0.0
    grid = _DISPERSIONS[best] * np.geomspace(0.4, 2.5, 11)
    values = likelihoods(grid)
    best = min(max(int(np.argmax(values)), 1), len(grid) - 2)
    # the top of a parabola over the log of the dispersion
    left, top, right = values[best - 1 : best + 2]
    bend = left - 2.0 * top + right
    shift = float(np.clip(0.5 * (left - right) / bend, -1.0, 1.0)) if bend < 0.0 else 0.0
    return float(grid[best] * (grid[best + 1] / grid[best]) ** shift)


def log_probabilities(eta: Array) -> Array:
    """Log of the softmax over the last axis, the first class having the predictor zero.

    Parameters
    ----------
    eta : array of shape (..., C - 1)

    Returns
    -------
    array of shape (..., C)
    """
    full = np.concatenate([np.zeros((*eta.shape[:-1], 1)), eta], axis=-1)
    full -= full.max(axis=-1, keepdims=True)
    return np.asarray(full - np.log(np.exp(full).sum(axis=-1, keepdims=True)))


def unit_deviance(variance: str, y: Array, mu: Array, rest: Array) -> Array:
    """Twice the negative quasi-likelihood up to a term of `y` alone; infinite outside the mean's range."""
    if variance == "gaussian":
        return (y - mu) ** 2
    inside = mu > 0 if variance == "poisson" else (mu > 0) & (rest > 0)
    if not inside.all():
        mu, rest = np.where(inside, mu, 1.0), np.where(inside, rest, 1.0)
    if variance == "poisson":
        terms = 2.0 * (mu - y * np.log(mu))
    else:
        terms = -2.0 * (y * np.log(mu) + (1.0 - y) * np.log(rest))
    return np.where(inside, terms, np.inf)


def deviance(link: str, variance: str, eta: Array, y: Array, w: Array) -> Array:
    """Weighted deviance of each regression (up to a term of `y` alone), rows last."""
    if is_canonical(link, variance):
        return -2.0 * np.vecdot(w, log_likelihood(variance, y, eta, constant=False))
    mu, rest, _ = mean_function(link, eta)
    terms = unit_deviance(variance, y, mu, rest)
    losses: Array = w * np.where(w > 0, terms, 0.0)
    return losses.sum(axis=-1)


def working_quantities(link: str, variance: str, eta: Array, y: Array, w: Array) -> tuple[Array, Array]:
    """Information weight ``w mu'^2 / V`` and score residual ``w mu' (y - mu) / V`` of every row."""
    if is_canonical(link, variance):
        # mu' equals V, and dividing one by the other would only lose digits
        mean, curvature = mean_and_curvature(variance, eta)
        return w * curvature, w * (y - mean)
    mu, rest, slope = mean_function(link, eta)
    v = variance_function(variance, mu, rest)
    if not (v > 0).all():
        # rows without weight stand anywhere; others have left the range of the mean
        v = np.where(v > 0, v, np.where(w > 0, np.nan, 1.0))
    ratio = w * slope / v
    return ratio * slope, ratio * (y - mu)


def starting_mean(variance: str, link: str, y: Array, w: Array) -> Array:
    """A mean inside the model's range to start from, per row of the last axis."""
    if variance == "binomial" or link in BOUNDED_LINKS:
        return (y + 0.5) / 2.0
    if variance == "poisson" or link == "log":
        total = w.sum(axis=-1, keepdims=True)
        centre = (w * y).sum(axis=-1, keepdims=True) / np.where(total > 0, total, 1.0)
        # a mean pulled to the centre is positive even where the response is not
        return np.maximum((y + centre) / 2.0, np.maximum(np.abs(centre), 1e-8) / 10.0)
    return y


def null_intercept(family: str, y: Array, weight: Array | None, offset: Array | None) -> float:
    """Intercept of the model without columns, where Newton's steps start (exact without an offset).

    Parameters
    ----------
    family : {"gaussian", "binomial", "poisson"}
        The distribution.
    y : array of shape (n,)
        Response.
    weight, offset : array of shape (n,), optional
        Weights, and the known part of the linear predictor.

    Returns
    -------
    float
    """
    w = np.ones(len(y)) if weight is None else weight
    known = np.zeros(len(y)) if offset is None else offset
    total, n = float(w @ y), max(float(w.sum()), 1e-300)
    if family == "gaussian":
        return float(total - w @ known) / n
    if family == "poisson":
        # counts of nothing but zeros have no finite intercept: half an event stands in
        top = float(known.max(initial=-np.inf))
        return float(np.log(max(total, 0.5) / max(float(w @ np.exp(known - top)), 1e-300)) - top)
    share = min(max(total / n, 0.5 / (n + 1.0)), 1.0 - 0.5 / (n + 1.0))
    return float(np.log(share / (1.0 - share)) - w @ known / n)
