"""The unpenalised model of the selected columns under any `Outcome`, and what each of them is worth."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import while_time
from rlselect._compat import user_level
from rlselect.kernels import Outcome
from rlselect.subset.revs.evidence._outcome_mode import OutcomeMode, outcome_hessian, outcome_mode
from rlselect.subset.revs.evidence._refit import MOST_STEPS, SeparationWarning, standardise

Floats = NDArray[np.float64]
# an outcome of some rows: their codes, weights and offsets
MakeOutcome = Callable[[Floats, Floats | None, Floats | None], Outcome]

# without a maximum the likelihood is flat in some direction where Newton's steps end: next to nothing is left
# there of the curvature that it has without the columns' effects
_FLAT = 1e-7
# directions in which columns repeat each other have no curvature from the start
_REPEATED = 1e-9
# of the decrement: a coefficient is right to a millionth of its standard error
_TOLERANCE = 1e-12
# clusters that are left out one by one: of more, some at a time
_MOST_LEFT_OUT = 100


@dataclass
class OutcomeFit:
    """Own parameters (f,) and coefficients (k, q) on the scale of the data, and their covariance."""

    own: Floats
    coef: Floats
    covariance: Floats
    separated: bool
    value: float

    def mixed(self, other: "OutcomeFit", share: float) -> "OutcomeFit":
        """Both models, the other one with this share."""
        own, coef = (
            (1.0 - share) * a + share * b for a, b in ((self.own, other.own), (self.coef, other.coef))
        )
        return replace(self, own=own, coef=coef)


def fit_outcome(
    A: Floats, y: Floats, make: MakeOutcome, weight: Floats | None, offset: Floats | None
) -> OutcomeFit:
    """Maximum likelihood on the columns of A.

    Where there is no maximum (classes or risks that the columns separate), a ridge penalty of one on the
    standardised scale answers, with a `SeparationWarning`. Columns that repeat each other share their effect.

    Parameters
    ----------
    A : array of shape (n, k)
        The columns.
    y, weight, offset : array of shape (n,)
        What `make` makes an outcome of.

    Returns
    -------
    OutcomeFit
    """
    outcome = make(y, weight, offset)
    w = np.ones(len(y)) if weight is None else weight
    standard, shift, scale = standardise(np.asarray(A, dtype=np.float64), w)
    columns = standard.T if outcome.order is None else standard.T[:, outcome.order]
    mode, separated = _maximum(outcome, np.ascontiguousarray(columns))
    if separated:
        warnings.warn(
            "separation: a combination of the selected variables predicts the response perfectly for some of "
            f"the {len(y)} rows, so that the likelihood has no maximum; coefficients are those of a "
            "ridge-penalised fit and their standard errors mean little.",
            SeparationWarning,
            stacklevel=user_level(),
        )
    f, q, k = outcome.n_own, outcome.n_predictors, len(scale)
    coef = mode.coef[f:].reshape(k, q) / scale[:, None]
    own = outcome.absorb(mode.coef[:f], -shift @ coef)
    turn = np.repeat(1.0 / scale, q)
    covariance = mode.inverse[f:, f:] * np.multiply.outer(turn, turn)
    return OutcomeFit(own, coef, covariance, separated, mode.point.value)


def _maximum(outcome: Outcome, columns: Floats) -> tuple[OutcomeMode, bool]:
    k = len(columns)
    start = np.concatenate([outcome.start(), np.zeros(k * outcome.n_predictors)])
    mode = outcome_mode(outcome, columns, np.inf, start, tolerance=_TOLERANCE, most_steps=MOST_STEPS)
    if not k or (mode.converged and not _is_flat(mode, outcome, columns, start)):
        return mode, False
    return outcome_mode(outcome, columns, 1.0, start, tolerance=_TOLERANCE, most_steps=MOST_STEPS), True


def _is_flat(mode: OutcomeMode, outcome: Outcome, columns: Floats, start: Floats) -> bool:
    """Whether the curvature has gone in a direction that had some at the start."""
    values, vectors = np.linalg.eigh(outcome_hessian(outcome, columns, start))
    kept = values > _REPEATED * values[-1]
    root = vectors[:, kept] / np.sqrt(values[kept])
    left = np.linalg.eigvalsh(root.T @ outcome_hessian(outcome, columns, mode.coef) @ root)
    # columns that do not vary have none to lose
    return bool(np.any(left < _FLAT))


def jackknife(
    A: Floats,
    y: Floats,
    make: MakeOutcome,
    weight: Floats | None,
    offset: Floats | None,
    fit: OutcomeFit,
    together: NDArray[np.intp],
) -> Floats:
    """Covariance of the coefficients by leaving out rows that belong together, one Newton step each.

    Parameters
    ----------
    A, y, make, weight, offset
        As in `fit_outcome`.
    fit : OutcomeFit
        Of all rows.
    together : array of int of shape (n,)
        Cluster of each row, numbered from zero on without gaps.

    Returns
    -------
    array of shape (kq, kq)
    """
    w = np.ones(len(y)) if weight is None else weight
    standard, shift, scale = standardise(np.asarray(A, dtype=np.float64), w)
    coef, size = fit.coef * scale[:, None], fit.coef.size
    count = min(int(together.max(initial=0)) + 1, _MOST_LEFT_OUT)
    steps = []
    for i in while_time(range(count if size else 0)):
        kept = together % count != i
        outcome = make(y[kept], w[kept], None if offset is None else offset[kept])
        columns = standard[kept].T if outcome.order is None else standard[kept].T[:, outcome.order]
        point = outcome.at(outcome.absorb(fit.own, shift @ fit.coef), coef.T @ columns)
        gradient = np.concatenate([point.own_score, (columns @ point.score.T).ravel()])
        inverse = np.linalg.pinv(point.hessian(columns), hermitian=True)
        steps.append((inverse @ gradient)[len(point.own_score) :])
    # some of the steps stand for all, where time was up
    away = np.reshape(steps, (len(steps), size)) * np.repeat(1.0 / scale, fit.coef.shape[1])
    return np.asarray((count - 1.0) / max(len(away), 1) * (away.T @ away))


def outcome_gains(
    A: Floats,
    y: Floats,
    make: MakeOutcome,
    members: list[NDArray[np.intp]],
    weight: Floats | None,
    offset: Floats | None,
    folds: NDArray[np.intp],
) -> Floats:
    """Minus mean log likelihood of held-out rows that each group of columns saves, averaged over folds.

    Parameters
    ----------
    A, y, make, weight, offset
        As in `fit_outcome`.
    members : list of arrays of int
        Columns of A that belong together.
    folds : array of int of shape (n,)
        Fold in which each row is held out.

    Returns
    -------
    array of shape (len(members),)
        NaN where no fold could tell, or time was up before.
    """
    gains = np.full((int(folds.max(initial=0)) + 1, len(members)), np.nan)
    w = np.ones(len(y)) if weight is None else weight

    def part(vector: Floats | None, rows: NDArray[np.bool_]) -> Floats | None:
        return None if vector is None else vector[rows]

    for fold in while_time(range(len(gains)), least=0):
        inside = folds != fold
        outside = ~inside

        def loss(columns: NDArray[np.intp], inside: NDArray = inside, outside: NDArray = outside) -> float:
            fit = fit_outcome(
                A[inside][:, columns], y[inside], make, part(weight, inside), part(offset, inside)
            )
            judge = make(y[outside], part(weight, outside), part(offset, outside))
            eta = (A[outside][:, columns] @ fit.coef).T
            eta = eta if judge.order is None else eta[:, judge.order]
            return -judge.at(fit.own, eta).value / float(w[outside].sum())

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)
            every = np.arange(A.shape[1])
            whole = loss(every)
            for i, mine in enumerate(while_time(members, least=0)):
                gains[fold, i] = loss(np.setdiff1d(every, mine)) - whole
    counted = np.isfinite(gains).sum(axis=0)
    return np.where(counted > 0, np.nansum(gains, axis=0) / np.maximum(counted, 1), np.nan)
