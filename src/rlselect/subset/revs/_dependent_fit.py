"""The final model of rows that belong together: coefficients, and errors that know it."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import while_time
from rlselect.data import Units
from rlselect.kernels import SINGULAR, Levels, Spread, score_and_curvature
from rlselect.subset.revs._dependence import Dependence, describe
from rlselect.subset.revs._found import rows_of
from rlselect.subset.revs._problem import COUNTS, Problem
from rlselect.subset.revs._search import walk_state
from rlselect.subset.revs.evidence import DependentGlm, DependentOutcome, DependentRows, Fit, Rows

Floats = NDArray[np.float64]

# what rows share and the coefficients are learnt in turns
_MOST_TURNS = 8


def dependent_fit(problem: Problem, columns: NDArray[np.intp], fit: Fit) -> tuple[Fit, Dependence]:
    """A fit that knows what rows share, made of one that does not.

    Linear models are fitted by generalised least squares. Others keep their coefficients, those of an average
    row. Errors are the larger of the model's and of those that sums over clusters speak for (a "sandwich"),
    which hold whatever rows of a cluster have in common, but are too small where clusters are few.

    Parameters
    ----------
    problem : Problem
        The data.
    columns : array of int
        The selected design columns.
    fit : Fit
        As if the rows were independent.

    Returns
    -------
    Fit, Dependence
    """
    table, levels = problem.table, problem.levels
    assert levels is not None
    A, y, weight, offset = rows_of(table, None)(columns)
    w = np.ones(len(y)) if weight is None else weight
    known = np.zeros(len(y)) if offset is None else offset
    codes = problem.belonging.codes
    if problem.family == "gaussian":
        spread, noise = DependentRows(A, y - known, w, levels).learn(list(range(len(columns)))), 1.0
        fit = _generalised(A, y - known, w, levels, spread, codes)
    else:
        spread, noise = learn_dependence(problem, columns)
        family = "poisson" if problem.family in COUNTS else problem.family
        design = np.column_stack([np.ones(len(y)), A])
        score, _ = score_and_curvature(family, y, design @ fit.all_coef + known, fit.overdispersion)
        together = problem.together
        assert together is not None
        if not fit.separated:
            variance = _sandwich(fit.covariance, design * (w * score)[:, None], together)
            fit = replace(fit, errors=np.maximum(fit.errors, np.sqrt(np.diagonal(variance)[1:])))
    return fit, describe(spread, noise, problem.belonging, weight)


def _generalised(
    A: Floats, y: Floats, w: Floats, levels: Levels, spread: Spread, codes: NDArray[np.intp] | None
) -> Fit:
    """Generalised least squares."""
    n, k = float(w.sum()), A.shape[1] + 1
    design = np.column_stack([np.ones(len(y)), A])
    white = levels.whiten(np.column_stack([design, y]), w, spread)
    root = np.sqrt(w)[:, None] * white
    # columns of very different sizes are solved on a common scale
    size = np.maximum(np.linalg.norm(root[:, :-1], axis=0), 1e-300)
    coef = np.linalg.lstsq(root[:, :-1] / size, root[:, -1], rcond=SINGULAR)[0] / size
    bread = np.linalg.pinv((root[:, :-1] / size).T @ (root[:, :-1] / size), rcond=SINGULAR, hermitian=True)
    bread /= np.outer(size, size)
    left = root[:, -1] - root[:, :-1] @ coef
    variance = float(left @ left) / max(n - k, 1.0) * bread
    if codes is not None:
        robust = _sandwich(bread, root[:, :-1] * left[:, None], codes)
        errors = np.sqrt(np.maximum(np.diagonal(variance), np.diagonal(robust)))
    else:
        errors = np.sqrt(np.maximum(np.diagonal(variance), 0.0))
    residual = y - design @ coef
    dispersion = float(w @ residual**2) / max(n - k, 1.0)
    return Fit(
        float(coef[0]), coef[1:], errors[1:], variance / max(dispersion, 1e-300), dispersion, separated=False
    )


def _sandwich(bread: Floats, scores: Floats, codes: NDArray[np.intp]) -> Floats:
    """Covariance by the sums of the scores over clusters, with the usual factor for few of them (CR1)."""
    n, k = scores.shape
    sums = np.zeros((int(codes.max(initial=0)) + 1, k))
    np.add.at(sums, codes, scores)
    count = np.count_nonzero(np.abs(sums).max(axis=1))
    factor = count / max(count - 1.0, 1.0) * (n - 1.0) / max(n - k, 1.0)
    half = sums @ bread
    return factor * half.T @ half


def learn_dependence(problem: Problem, columns: NDArray[np.intp]) -> tuple[Spread, float]:
    """What rows share beside these columns, and the variance of a row's own noise; not of linear models."""
    # a state has columns; where none is selected, one stays outside
    some = columns if len(columns) else np.arange(1)
    rows = Rows(lambda where, *_: problem.table.take(where, some))
    state = walk_state(problem, Units(np.arange(len(some))), rows)
    assert isinstance(state, DependentGlm | DependentOutcome)
    state.reset(np.full(len(some), len(columns) > 0))
    for _ in while_time(range(_MOST_TURNS)):
        if not state.learn_dispersion():
            break
    return state.spread, state.row_noise
