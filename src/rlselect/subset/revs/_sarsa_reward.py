"""Actions and rewards of the paper's search: two fits on a training batch, compared on a validation batch."""

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from rlselect.kernels import (
    CANONICAL_LINK,
    damped_newton,
    glm_problem,
    log_likelihood,
    null_intercept,
    small_decrement,
    solve_shortest,
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]
Take = Callable[[Ints], tuple[NDArray, NDArray, NDArray | None, NDArray | None]]

FAMILIES = ("gaussian", "binomial", "poisson")

# Share of the rows a batch may take when there are few: the paper's 150 of 200.
_MAX_SHARE = 0.75
# Stands in for a reward that overflowed: worse than anything, and still a number for the quantiles.
_WORST = -1e100
_NOT_FINITE = "a batch holds NaN or infinite values; every row handed to the search must be finite"

# Ridge penalties per row on columns of unit variance. They only matter where the unpenalised fit does not
# exist (aliased columns, more columns than rows, separation): elsewhere they move a coefficient by about 1e-8
# (Gaussian) and 1e-3 (others) of its value.
RIDGE_GAUSSIAN = 1e-8
RIDGE_LIKELIHOOD = 1e-4

_MAX_NEWTON = 30
_MAX_RIDGES = 40
_TOLERANCE = 1e-10


class StageRows(NamedTuple):
    """Rows of the design with their response, weights (or None) and offset (or None)."""

    X: Floats
    y: Floats
    weight: Floats | None
    offset: Floats | None

    def part(self, rows: slice) -> "StageRows":
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        offset = None if self.offset is None else self.offset[rows]
        return StageRows(self.X[rows], self.y[rows], weight, offset)

    def columns(self, columns: NDArray[np.intp]) -> "StageRows":
        """Some of the columns, in double precision."""
        return self._replace(X=np.asarray(self.X[:, columns], dtype=float))

    def shares(self) -> Floats:
        """Weights that add up to one."""
        if self.weight is None:
            return np.full(len(self.y), 1.0 / len(self.y))
        total = float(self.weight.sum())
        # A batch of zero-weight rows says nothing: its zero shares make every score zero.
        return self.weight / total if total > 0 else np.zeros(len(self.y))


def paired_scores(family: str, train: StageRows, valid: StageRows, n_base: int) -> tuple[float, float]:
    """Validation performance of the first ``n_base`` columns and of all columns, each with an intercept.

    Parameters
    ----------
    family : {"gaussian", "binomial", "poisson"}
        Minus the mean squared error for "gaussian"; for the others the mean log-likelihood without the terms
        that depend on the response alone.
    train, valid : StageRows
        Rows to fit on and rows to value on, with the same columns.
    n_base : int
        Number of leading columns of the smaller model.

    Returns
    -------
    without, with : float
        The two scores; larger is better.
    """
    if family == "gaussian":
        return _gaussian_scores(train, valid, n_base)
    return _likelihood_scores(family, train, valid, n_base)


class RewardSet:
    """The growing set of rewards whose quantile decides about a transition.

    Kept sorted, so that a quantile is a look-up. Quantiles interpolate linearly between order statistics.

    Parameters
    ----------
    window : int or None
        Only the last so many rewards count; None is all of them.
    """

    def __init__(self, window: int | None = None) -> None:
        self._sorted: list[float] = []
        self._latest: deque[float] | None = None if window is None else deque(maxlen=window)

    def __len__(self) -> int:
        """Number of rewards."""
        return len(self._sorted)

    def add(self, reward: float) -> None:
        """Put one reward in, and the oldest out where the window is full."""
        if self._latest is not None:
            if len(self._latest) == self._latest.maxlen:
                del self._sorted[bisect_left(self._sorted, self._latest[0])]
            self._latest.append(reward)
        insort(self._sorted, reward)

    def quantile(self, tau: float) -> float:
        """The ``tau``-quantile; minus infinity while the set is empty."""
        if not self._sorted:
            return -math.inf
        place = min(max(tau, 0.0), 1.0) * (len(self._sorted) - 1)
        low = math.floor(place)
        high = min(low + 1, len(self._sorted) - 1)
        return self._sorted[low] + (place - low) * (self._sorted[high] - self._sorted[low])


class Step(NamedTuple):
    """What a proposed action brings: its reward, and the scores of the states before and after it."""

    reward: float
    before: float
    after: float


class Environment:
    """Actions, transitions and rewards. The state is a mask over the free units; the last action stays."""

    def __init__(
        self,
        take: Take,
        n_rows: int,
        n_columns: int,
        *,
        family: str,
        units: Sequence[NDArray[np.integer]],
        allowed: Bools,
        always: Bools,
        price: float,
        batch_sizes: tuple[int, int],
        rng: np.random.Generator,
    ) -> None:
        if family not in FAMILIES:
            raise ValueError(f"family must be one of {', '.join(FAMILIES)}, got {family!r}")
        if n_rows < 2:
            raise ValueError(f"the search needs at least 2 rows, one to fit and one to value, got {n_rows}")
        self.units = [np.asarray(unit, dtype=np.intp) for unit in units]
        self.always = np.asarray(always, dtype=bool)
        allowed = np.asarray(allowed, dtype=bool)
        if not len(self.units) == len(allowed) == len(self.always):
            raise ValueError(
                f"units, allowed and always must have one entry per unit, got {len(self.units)}, "
                f"{len(allowed)} and {len(self.always)}"
            )
        self.free = np.flatnonzero(allowed & ~self.always)
        self.columns = np.concatenate([np.zeros(0, dtype=np.intp), *(self.units[unit] for unit in self.free)])
        self.owner = np.repeat(np.arange(len(self.free)), [len(self.units[unit]) for unit in self.free])
        fixed = [self.units[unit] for unit in np.flatnonzero(self.always)]
        self.fixed = np.concatenate([np.zeros(0, dtype=np.intp), *fixed])
        if any(unit.size and not 0 <= unit.min() <= unit.max() < n_columns for unit in self.units):
            raise ValueError(f"units hold column numbers outside 0 to {n_columns - 1}")
        self.take, self.n_rows, self.family, self.rng = take, n_rows, family, rng
        self.price = price
        most = max(1, int(_MAX_SHARE * n_rows))
        self.n_train, self.n_valid = (min(size, most) for size in batch_sizes)
        self.seen = np.zeros(n_rows, dtype=bool)
        self.n_read = 0

    @property
    def n_actions(self) -> int:
        """``p + 1``: a flip of each free unit, and staying."""
        return len(self.free) + 1

    def after(self, state: Bools, action: int) -> Bools:
        """Equation (2): the state an action leads to."""
        following = state.copy()
        if action < len(self.free):
            following[action] = not state[action]
        return following

    def signed(self, state: Bools, action: int) -> int:
        """The action as the paper writes it: ``+j`` adds unit ``j - 1``, ``-j`` removes it, 0 stays."""
        if action == len(self.free):
            return 0
        number = int(self.free[action]) + 1
        return -number if state[action] else number

    def draw_rows(self) -> tuple[Ints, Ints]:
        """Rows of a training and a validation batch, disjoint where there are enough rows."""
        if self.n_train + self.n_valid <= self.n_rows:
            both = self.rng.choice(self.n_rows, self.n_train + self.n_valid, replace=False)
            train, valid = both[: self.n_train], both[self.n_train :]
        else:
            train = self.rng.choice(self.n_rows, self.n_train, replace=False)
            valid = self.rng.choice(self.n_rows, self.n_valid, replace=False)
        # In file order: batches are sets, and readers like to go forward.
        return np.sort(train), np.sort(valid)

    def step(self, state: Bools, action: int) -> Step:
        """Equation (3): the reward of an action on a fresh batch."""
        if action == len(self.free):
            return Step(0.0, math.nan, math.nan)
        train, valid = self._batch()
        base = state.copy()
        base[action] = False
        columns = np.concatenate([self.fixed, self.columns[base[self.owner]]])
        n_base = len(columns)
        columns = np.concatenate([columns, self.units[self.free[action]]])
        # What over- or underflows here shows in the reward, which is checked below.
        with np.errstate(over="ignore", invalid="ignore"):
            without, with_it = paired_scores(
                self.family, train.columns(columns), valid.columns(columns), n_base
            )
        if state[action]:
            before, after, sign = with_it, without, -1.0
        else:
            before, after, sign = without, with_it, 1.0
        reward = after - before - self.price * sign
        if not math.isfinite(reward):
            _require_finite(train, valid, columns)
            reward = _WORST
        return Step(reward, before, after)

    def _batch(self) -> tuple[StageRows, StageRows]:
        train_rows, valid_rows = self.draw_rows()
        for rows in (train_rows, valid_rows):
            self.n_read += len(rows) - int(np.count_nonzero(self.seen[rows]))
            self.seen[rows] = True
        X, y, weight, offset = self.take(np.concatenate([train_rows, valid_rows]))
        whole = StageRows(X, np.asarray(y, dtype=float), _floats(weight), _floats(offset))
        return whole.part(slice(None, len(train_rows))), whole.part(slice(len(train_rows), None))


def _require_finite(train: StageRows, valid: StageRows, columns: Ints) -> None:
    """Tell data that are no numbers from scores that are beyond them."""
    for batch in (train, valid):
        if not all(part is None or np.isfinite(part).all() for part in batch.columns(columns)):
            raise ValueError(_NOT_FINITE)


def _floats(values: NDArray | None) -> NDArray[np.float64] | None:
    return None if values is None else np.asarray(values, dtype=float)


def _standardise(train: StageRows, valid: StageRows, share: Floats) -> tuple[Floats, Floats]:
    """Both batches centred and scaled by the training rows; columns constant there become zero."""
    mean = share @ train.X
    Z = train.X - mean
    # Divided by the largest entry before squaring, so that no scale of a column over- or underflows.
    largest = np.abs(Z).max(axis=0)
    Z_unit = np.divide(Z, largest, out=np.zeros_like(Z), where=largest > 0)
    deviation = largest * np.sqrt(share @ (Z_unit * Z_unit))
    # A spread that is rounding noise beside the mean is no spread.
    usable = deviation > 1e-12 * np.abs(mean)
    scale = np.where(usable, deviation, np.inf)
    return Z / scale, (valid.X - mean) / scale


def _cholesky(gram: Floats, ridge: float) -> Floats:
    """Lower factor of ``gram + ridge I``, with a larger ridge where rounding asks for one."""
    diagonal = np.einsum("ii->i", gram)
    diagonal += ridge
    for _ in range(_MAX_RIDGES):
        try:
            return np.asarray(np.linalg.cholesky(gram), dtype=float)
        except np.linalg.LinAlgError:
            diagonal += ridge
            ridge *= 10.0
    raise ValueError(_NOT_FINITE)


def _gaussian_scores(train: StageRows, valid: StageRows, n_base: int) -> tuple[float, float]:
    share = train.shares()
    target = train.y if train.offset is None else train.y - train.offset
    centre = float(share @ target)
    Z, Zv = _standardise(train, valid, share)
    residual = (valid.y if valid.offset is None else valid.y - valid.offset) - centre
    valid_share = valid.shares()
    Zw = Z * share[:, None]
    # The base columns lead, so the factor of the smaller model is a block of the larger one's: one
    # factorisation serves both fits.
    lower = _cholesky(Zw.T @ Z, RIDGE_GAUSSIAN)
    half = solve_triangular(lower, Zw.T @ (target - centre), lower=True, check_finite=False)
    scores = []
    for k in (n_base, Z.shape[1]):
        coef = (
            solve_triangular(lower[:k, :k], half[:k], lower=True, trans=1, check_finite=False)
            if k
            else half[:0]
        )
        scores.append(-float(valid_share @ np.square(residual - Zv[:, :k] @ coef)))
    return scores[0], scores[1]


def _likelihood_scores(family: str, train: StageRows, valid: StageRows, n_base: int) -> tuple[float, float]:
    share, valid_share = train.shares(), valid.shares()
    Z, Zv = (np.vstack([np.ones(len(block)), block.T]) for block in _standardise(train, valid, share))
    known = None if train.offset is None else train.offset[None]
    link, rule = CANONICAL_LINK[family], small_decrement(_TOLERANCE)
    coef = np.array([null_intercept(family, train.y, train.weight, train.offset)])
    ridge = np.full(len(Z), RIDGE_LIKELIHOOD)
    ridge[0] = 0.0
    scores = []
    for k in (n_base + 1, len(Z)):
        start = np.concatenate([coef, np.zeros(k - len(coef))])
        problem = glm_problem(
            Z[None, :k],
            train.y[None],
            share[None],
            link,
            family,
            offset=known,
            ridge=ridge[:k],
            solve=solve_shortest,
        )
        coef = damped_newton(problem, start[None], rule, most_steps=_MAX_NEWTON, floor=0.0).coef[0]
        eta = coef @ Zv[:k] if valid.offset is None else coef @ Zv[:k] + valid.offset
        scores.append(float(valid_share @ log_likelihood(family, valid.y, eta, constant=False)))
    return scores[0], scores[1]
