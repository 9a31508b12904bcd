"""Links and variance functions of generalized linear models, elementwise on arrays."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

Array = NDArray[np.float64]

LINKS = ("identity", "logit", "probit", "cloglog", "log")
VARIANCES = ("gaussian", "binomial", "poisson")
USUAL_VARIANCE = {
    "identity": "gaussian",
    "logit": "binomial",
    "probit": "binomial",
    "cloglog": "binomial",
    "log": "poisson",
}

# Beyond these the mean rounds to its limit and the weights to 0/0; a finite estimate never needs more.
_ETA_RANGE = {
    "logit": (-36.0, 36.0),
    "probit": (-8.2, 8.2),
    "cloglog": (-36.0, 3.5),
    "log": (-700.0, 700.0),
}


def mean_function(link: str, eta: Array) -> tuple[Array, Array, Array]:
    """Mean ``mu = g^-1(eta)``, its complement ``1 - mu`` without cancellation, and ``d mu / d eta``."""
    if link == "identity":
        return eta, 1.0 - eta, np.ones_like(eta)
    eta = np.clip(eta, *_ETA_RANGE[link])
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


def unit_deviance(variance: str, y: Array, mu: Array, rest: Array) -> Array:
    """Twice the negative quasi-likelihood up to a term of `y` alone; infinite outside the mean's range."""
    if variance == "gaussian":
        return (y - mu) ** 2
    if variance == "poisson":
        inside = mu > 0
        return np.where(inside, 2.0 * (mu - y * np.log(np.where(inside, mu, 1.0))), np.inf)
    inside = (mu > 0) & (rest > 0)
    ones = np.where(inside, mu, 1.0)
    zeros = np.where(inside, rest, 1.0)
    return np.where(inside, -2.0 * (y * np.log(ones) + (1.0 - y) * np.log(zeros)), np.inf)


def starting_mean(variance: str, link: str, y: Array, w: Array) -> Array:
    """A mean inside the model's range to start from, per row of the last axis."""
    if variance == "binomial" or link in ("logit", "probit", "cloglog"):
        return (y + 0.5) / 2.0
    if variance == "poisson" or link == "log":
        total = w.sum(axis=-1, keepdims=True)
        centre = (w * y).sum(axis=-1, keepdims=True) / np.where(total > 0, total, 1.0)
        # a mean pulled to the centre is positive even where the response is not
        return np.maximum((y + centre) / 2.0, np.maximum(np.abs(centre), 1e-8) / 10.0)
    return y
