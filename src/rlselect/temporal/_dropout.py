"""Informative drop-out: inverse probabilities of still being there, and what their estimation adds."""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import batched_irls, mean_function, separating_direction, whiten

Array = NDArray[np.float64]
Places = NDArray[np.intp]
Shape: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Dropout:
    """A fitted model of staying, as the influence functions of the curves need it.

    Attributes
    ----------
    names : of its coefficients
    coef : array of shape (coefficients,)
    weights : array of shape (times, units), inverse probabilities of still being there; 0 afterwards
    change : array of shape (times, units, coefficients), derivatives of the logarithm of the weights
    cut : array of shape (times, units), where weights were larger than the quantile to which they are cut
    psi : array of shape (coefficients, independent units), influence functions of `coef`
    expected : array of shape (periods,), see `expected_share`
    by_rows : whether periods are numbers of a subject's rows instead of times
    """

    names: list[str]
    coef: Array
    weights: Array
    change: Array
    cut: NDArray[np.bool_]
    psi: Array
    expected: Array
    by_rows: bool = False

    def added(self, psi: Array) -> Array:
        """What the estimation of the weights adds to influence functions `psi` (times, covariates, units).

        The answer has independent units in place of units.
        """
        return (psi @ self.change / psi.shape[2]) @ self.psi

    def at_places(self, time: Places, unit: Places, period: Places, who: Places, shape: Shape) -> "Dropout":
        """Where periods are not times: each place has the weight of its own period and subject."""
        weights, change = np.zeros(shape), np.zeros((*shape, len(self.coef)))
        weights[time, unit], change[time, unit] = self.weights[period, who], self.change[period, who]
        cut = np.zeros(shape, dtype=bool)
        cut[time, unit] = self.cut[period, who]
        return replace(self, weights=weights, change=change, cut=cut, by_rows=True)

    def told(self) -> str:
        """How large weights are, in words."""
        largest = f"weights up to {self.weights.max():.3g}"
        return f"{largest}, {self.cut.sum()} larger ones cut" if self.cut.any() else largest

    def of_clusters(self, clusters: Places, n_clusters: int) -> "Dropout":
        """With influence functions of the clusters that subjects belong to."""
        out = np.zeros((len(self.psi), n_clusters))
        np.add.at(out.T, clusters, self.psi.T)
        return replace(self, psi=out * (n_clusters / self.psi.shape[1]))


def fit_dropout(
    history: Array,
    live: NDArray[np.bool_],
    seen: NDArray[np.bool_],
    clock: Array,
    names: list[str],
    told: NDArray[np.bool_] | None = None,
    quantile: float = 1.0,
) -> Dropout:
    """Pooled logistic regression of being there at the next period or later, on what was last seen.

    Parameters
    ----------
    history : array of shape (times, subjects, columns), NaN where nothing was seen
    live, seen : arrays of shape (times, subjects), where rows count, and where there are any; a row may be
        seen without being live where rows are carried forward
    clock : array of shape (times,) or (times, subjects), when it is asked whether a subject is still there
    names : of the columns
    told : array of shape (times, subjects), after which of them it tells that a subject has left if there is
        no other; the model is made of these, and all have weights by it
    quantile : of the weights of a time, to which larger ones are cut
    """
    n_times, n = live.shape
    there = live | seen
    known = there.any(axis=0)
    first = np.where(known, there.argmax(axis=0), n_times)
    last = np.where(known, n_times - 1 - there[::-1].argmax(axis=0), -1)
    clock = clock[:, None] if clock.ndim == 1 else clock
    known_clock = clock[np.isfinite(clock)]
    pace = (clock - known_clock.mean()) / max(float(np.ptp(known_clock)), 1e-300)
    features = np.zeros((n_times, n, history.shape[2] + 2))
    at_risk = np.zeros((n_times, n), dtype=bool)
    so_far = np.full(history.shape[1:], np.nan)
    for k in range(1, n_times):
        so_far = np.where(np.isnan(history[k - 1]), so_far, history[k - 1])
        at_risk[k] = (first < k) & (last >= k - 1)
        features[k, :, 0], features[k, :, 1], features[k, :, 2:] = 1.0, pace[k], so_far
    stays = at_risk & (last >= np.arange(n_times)[:, None])
    asked = at_risk.copy()
    if told is not None:
        asked[1:] &= told[:-1]
    alpha, inverse = _logistic(features[asked], stays[asked].astype(float), ["Intercept", "time", *names])
    probability = np.ones((n_times, n))
    probability[at_risk] = mean_function("logit", features[at_risk] @ alpha)[0]
    steps = np.where(stays, -np.log(probability), 0.0)
    weights = np.where(live, np.exp(np.cumsum(steps, axis=0)), 0.0)
    safe = np.where(at_risk[:, :, None], features, 0.0)
    left = np.where(stays, 1.0 - probability, 0.0)
    change = -np.cumsum(left[:, :, None] * safe, axis=0)
    cut = _cut(weights, quantile)
    change[cut] = 0.0
    score = np.einsum("tn,tnk->kn", np.where(asked, stays - probability, 0.0), safe)
    expected = expected_share(np.where(at_risk, probability, np.nan), there)
    psi = n * inverse @ score
    return Dropout(["Intercept", "time", *names], alpha, weights, change, cut, psi, expected)


def expected_share(probability: Array, there: NDArray[np.bool_]) -> Array:
    """Information that weights leave of those still there, with neither good luck nor bad, (times,).

    `probability` (times, subjects) of staying is NaN where nobody was asked; who has left would have gone on
    as likely to stay as when last seen. With the chance q of being there, a subject has the weight 1/q with
    probability q, so that of n subjects the information of ``n^2 / sum(1/q)`` is left, and ``sum(q)`` are
    there. Weights of those who happened to stay tell less: the unlikely ones are missing when it matters. 1
    where fewer than a tenth are left of those at the fullest time, as after more rows than most have.
    """
    begun, last, chance = (
        np.zeros(there.shape[1], dtype=bool),
        np.ones(there.shape[1]),
        np.ones(there.shape[1]),
    )
    out, count = np.ones(len(there)), there.sum(axis=1)
    for k, (asked, here) in enumerate(zip(probability, there, strict=True)):
        last = np.where(np.isnan(asked), last, asked)
        chance[begun] *= last[begun]
        begun |= here
        if 10 * count[k] >= count.max() > 0:
            q = np.maximum(chance[begun], np.finfo(float).tiny)
            out[k] = len(q) ** 2 / ((1.0 / q).sum() * q.sum())
    return out


def _cut(weights: Array, quantile: float) -> NDArray[np.bool_]:
    """Cut the weights of each time to a quantile of those that count, in place; which ones were larger."""
    cut = np.zeros(weights.shape, dtype=bool)
    for own, mine in zip(weights, cut, strict=True):
        if (own > 0).any():
            most = np.quantile(own[own > 0], quantile)
            mine[:] = own > most * (1.0 + 1e-12)
            own[mine] = most
    return cut


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


def history_block(values: Array, time: Places, unit: Places, shape: Shape) -> Array:
    """Long rows (rows, columns) to (times, subjects, columns), NaN where there is none."""
    out = np.full((*shape, values.shape[1]), np.nan)
    out[time, unit] = values
    return out


def is_names(given: Any) -> bool:
    """Whether a role is a sequence of names of columns."""
    return isinstance(given, list | tuple) and len(given) > 0 and all(isinstance(n, str) for n in given)
