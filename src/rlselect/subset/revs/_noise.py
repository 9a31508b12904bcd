"""Rows on which the noise of a linear model is even and normal, made where it is neither."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Batch, DataSource, common_value
from rlselect.kernels import noise_kind, shorten, student_gain
from rlselect.subset.revs.evidence import Fit, fit_glm

Floats = NDArray[np.float64]

# beyond the log of their number, in units of log likelihood: what a column has to say about the noise
_TERM_PROOF = 2.0
_TAIL_PROOF = 3.0
# numbers of a table whose columns are all asked about the noise, and not the selected ones only
_MOST_NUMBERS = 4_000_000
# refits on the rows that the last one has made, until no response moves by this share of its own scale, nor
# the log variance of any row by more than this
_MOST_FITS = 20
# of which so many take whole steps: where tails are heavy these may lead to and fro for ever
_WHOLE_STEPS = 8
_SETTLED = 0.01
_SETTLED_LOGS = 0.1


@dataclass(frozen=True)
class Noise:
    """What the residuals of a first selection say about the noise, and the rows that follow from it.

    Attributes
    ----------
    table : DataSource
        The rows as they are.
    degrees : float
        Of Student's t, infinite for normal tails.
    unevenness : float
        Standard deviation of the log variance over the rows, zero where all have the same.
    y, weight : array of shape (n_rows,)
        Response whose residuals are as long as normal ones, and weight by the inverse variance.
    """

    table: DataSource
    degrees: float
    unevenness: float
    y: Floats
    weight: Floats

    def take(self, where: Any, *columns: Any) -> Batch:
        """Rows of the table, with the response and the weight that suit the noise."""
        batch = self.table.take(where, *columns)
        return batch._replace(y=self.y[where], sample_weight=self.weight[where])


def kind_of_noise(noise: Noise | None) -> dict[str, float]:
    """Degrees of the tails and unevenness, as plain numbers."""
    if noise is None:
        return {"degrees": float("inf"), "unevenness": 0.0}
    return {"degrees": float(noise.degrees), "unevenness": noise.unevenness}


class Explained(NamedTuple):
    """Noise that is neither even nor normal (None where it is), and the log likelihood of the response."""

    noise: Noise | None
    value: float


def above_the_model(noise: Noise | None, columns: NDArray[np.intp], fit: Fit) -> tuple[float, float]:
    """How far the rows as they are lie above a model on average, and the standard error of that.

    Both are zero where the noise is even and normal, and the model goes through the middle.
    """
    if noise is None:
        return 0.0, 0.0
    batch = noise.table.take(slice(0, noise.table.n_rows), columns)
    y = np.asarray(batch.y, dtype=np.float64)
    w = np.ones(len(y)) if batch.sample_weight is None else batch.sample_weight
    above = y - (0.0 if batch.offset is None else batch.offset) - fit.intercept - batch.X @ fit.coef
    mean = float(np.average(above, weights=w))
    return mean, float(np.sqrt(w @ (above - mean) ** 2) / w.sum())


def learn_noise(table: DataSource, columns: NDArray[np.intp]) -> Explained:
    """Read the noise off the residuals of some columns.

    Parameters
    ----------
    table : DataSource
        Rows in memory.
    columns : array of int
        The design columns selected so far.

    Returns
    -------
    Explained
    """
    batch = table.take(slice(0, table.n_rows))
    given = np.asarray(batch.y, dtype=np.float64)
    known = np.zeros(len(given)) if batch.offset is None else batch.offset
    few = table.n_rows * table.n_columns > _MOST_NUMBERS
    X = batch.X[:, columns] if few else batch.X
    X = np.asarray(X.toarray() if table.is_sparse else X, dtype=np.float64)
    inside = X if few else X[:, columns]
    w = np.ones(len(X)) if batch.sample_weight is None else batch.sample_weight
    proof = _tail_proof(given, w)
    # rows that share a number and the others differ by more than noise, uneven or not
    price = np.log(2 * X.shape[1] + 2) + _TERM_PROOF if np.isfinite(proof) else np.inf
    away = np.abs(X - np.average(X, axis=0, weights=w))
    y, weight, logs = given, w, np.zeros(len(given))
    for done in range(_MOST_FITS):
        fit = fit_glm(inside, y, "gaussian", weight, batch.offset)
        fitted = fit.intercept + inside @ fit.coef + known
        residual = given - fitted
        if not w @ residual**2 > 1e-12 * (w @ (given - np.average(given, weights=w)) ** 2):
            return Explained(None, np.inf)
        candidates = np.column_stack([X, away, fitted, np.abs(fitted - np.average(fitted, weights=w))])
        kind = noise_kind(residual, w, candidates, price, proof)
        if kind.plain:
            return Explained(None, kind.value)
        before, size = y, np.exp(0.5 * kind.logs)
        y = fitted + size * shorten(residual / size, kind.degrees, kind.scale)
        weight = w / size**2
        weight *= w.sum() / weight.sum()
        moved, logs = np.abs(kind.logs - logs).max(), kind.logs
        apart = np.abs(y - before) / np.maximum(size, 1.0)
        if moved <= _SETTLED_LOGS and apart.max() <= _SETTLED * kind.scale:
            noise = Noise(table, kind.degrees, float(np.std(kind.logs)), y, weight)
            return Explained(noise, kind.value)
        if done >= _WHOLE_STEPS:
            y = 0.5 * (before + y)
    # few rows can be told in ever other ways: what does not settle is no kind of noise
    return Explained(None, -np.inf)


def tail_gain(table: DataSource, columns: NDArray[np.intp]) -> float:
    """What heavy tails add to the log likelihood of the residuals of some columns, zero if little."""
    batch = table.take(slice(0, table.n_rows), columns)
    X = np.asarray(batch.X.toarray() if table.is_sparse else batch.X, dtype=np.float64)
    w = np.ones(len(X)) if batch.sample_weight is None else batch.sample_weight
    y = np.asarray(batch.y, dtype=np.float64)
    fit = fit_glm(X, y, "gaussian", batch.sample_weight, batch.offset)
    residual = y - fit.intercept - X @ fit.coef - (0.0 if batch.offset is None else batch.offset)
    if not w @ residual**2 > 1e-12 * (w @ (y - np.average(y, weights=w)) ** 2):
        return 0.0
    return student_gain(residual, w, _tail_proof(y, w))


def _tail_proof(y: Floats, weight: Floats) -> float:
    """What heavy tails have to add to the log likelihood.

    Nothing will do where most rows share a number: Student's t has no most likely scale there, and would
    explain these rows and take the others for outliers.
    """
    return _TAIL_PROOF if common_value(y, weight) is None else np.inf
