"""Informative drop-out: inverse probabilities of still being there, and what their estimation adds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import batched_irls, mean_function, separating_direction, whiten

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Dropout:
    """A fitted model of staying, as the influence functions of the curves need it.

    Attributes
    ----------
    names : of its coefficients
    coef : array of shape (coefficients,)
    weights : array of shape (times, subjects), inverse probabilities of still being there; 0 afterwards
    change : array of shape (times, subjects, coefficients), derivatives of the logarithm of the weights
    psi : array of shape (coefficients, subjects), influence functions of `coef`
    """

    names: list[str]
    coef: Array
    weights: Array
    change: Array
    psi: Array

    def corrected(self, psi: Array) -> Array:
        """Influence functions (times, covariates, subjects) of curves whose weights were estimated."""
        slope = psi @ self.change / psi.shape[2]
        return psi + slope @ self.psi


def fit_dropout(history: Array, live: NDArray[np.bool_], clock: Array, names: list[str]) -> Dropout:
    """Pooled logistic regression of being there at the next time or later, on what was last seen.

    Parameters
    ----------
    history : array of shape (times, subjects, columns), NaN where nothing was seen
    live : array of shape (times, subjects)
    clock : array of shape (times,)
    names : of the columns
    """
    n_times, n = live.shape
    there = live.any(axis=0)
    first = np.where(there, live.argmax(axis=0), n_times)
    last = np.where(there, n_times - 1 - live[::-1].argmax(axis=0), -1)
    pace = (clock - clock.mean()) / max(float(np.ptp(clock)), 1e-300)
    features = np.zeros((n_times, n, history.shape[2] + 2))
    at_risk = np.zeros((n_times, n), dtype=bool)
    seen = np.full(history.shape[1:], np.nan)
    for k in range(1, n_times):
        known = live[k - 1][:, None] & ~np.isnan(history[k - 1])
        seen = np.where(known, history[k - 1], seen)
        at_risk[k] = (first < k) & (last >= k - 1)
        features[k, :, 0], features[k, :, 1], features[k, :, 2:] = 1.0, pace[k], seen
    stays = at_risk & (last >= np.arange(n_times)[:, None])
    x, y = features[at_risk], stays[at_risk].astype(float)
    alpha, inverse = _logistic(x, y, ["Intercept", "time", *names])
    probability = np.ones((n_times, n))
    probability[at_risk] = mean_function("logit", x @ alpha)[0]
    steps = np.where(stays, -np.log(probability), 0.0)
    weights = np.where(live, np.exp(np.cumsum(steps, axis=0)), 0.0)
    safe = np.where(at_risk[:, :, None], features, 0.0)
    left = np.where(stays, 1.0 - probability, 0.0)
    change = -np.cumsum(left[:, :, None] * safe, axis=0)
    score = np.einsum("tn,tnk->kn", np.where(at_risk, stays - probability, 0.0), safe)
    return Dropout(["Intercept", "time", *names], alpha, weights, change, n * inverse @ score)


def _logistic(x: Array, y: Array, names: list[str]) -> tuple[Array, Array]:
    """Coefficients and inverse information."""
    if np.isnan(x).any():
        bad = [name for name, column in zip(names, x.T, strict=True) if np.isnan(column).any()]
        raise ValueError(
            f"dropout names {', '.join(bad)}, which is missing from a subject's first row on; fill it in, or "
            "leave it out."
        )
    if y.min(initial=1.0) == 1.0:
        raise ValueError("dropout was given, but every subject stays to the last time; leave it out.")
    q, z, rank = whiten(x.T[None], np.ones((1, len(y))))
    if rank[0] < x.shape[1]:
        raise ValueError(f"dropout names columns that are linearly dependent: {', '.join(names[2:])}.")
    theta, converged = batched_irls(q, y[None], np.ones((1, len(y))), "logit", "binomial")
    if not converged[0] or separating_direction(x, y, upper=True) is not None:
        raise ValueError(
            f"dropout: {', '.join(names[2:])} predict perfectly who leaves: no weight can make up for "
            "them; leave some out."
        )
    alpha = z[0] @ theta[0]
    mu = mean_function("logit", x @ alpha)[0]
    inverse = np.linalg.inv((x * (mu * (1.0 - mu))[:, None]).T @ x)
    return alpha, np.asarray(inverse, dtype=np.float64)


def history_block(
    values: Array, time: NDArray[np.intp], unit: NDArray[np.intp], shape: tuple[int, ...]
) -> Array:
    """Long rows (rows, columns) to (times, subjects, columns), NaN where there is none."""
    out = np.full((*shape, values.shape[1]), np.nan)
    out[time, unit] = values
    return out


def is_names(given: Any) -> bool:
    """Whether a role is a sequence of names of columns."""
    return isinstance(given, list | tuple) and len(given) > 0 and all(isinstance(n, str) for n in given)
