"""One subset for several responses: rows whose noise is made independent, and the search on them."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import Clock
from rlselect.data import Batch, DataSource, Units
from rlselect.kernels import mean_and_curvature
from rlselect.learn import UCB, Policy
from rlselect.subset.revs._found import Found, rows_of
from rlselect.subset.revs._noise import Noise, learn_noise
from rlselect.subset.revs._problem import COUNTS, Problem
from rlselect.subset.revs._search import is_large, search_subset, walk_state
from rlselect.subset.revs._size_prior import SizePrior
from rlselect.subset.revs._subset_state import SubsetState
from rlselect.subset.revs._walk import Walker, inclusion_of, tune_prior
from rlselect.subset.revs.evidence import JointSubset, RidgeSubset, Rows, SeparationWarning, fit_glm

Floats = NDArray[np.float64]

# greedy climbs after each of which the noise of the responses is looked at again
_CLIMBS = 6
# walks after each of which the same is done
_ROUNDS = 2
# directions in which responses vary by less, in units of a response, repeat what the others say
_LEAST_VARIANCE = 1e-6


@dataclass(frozen=True)
class ResponseRows:
    """Rows of a table with another response and weight.

    Attributes
    ----------
    table : DataSource
        The rows; what is known of the response, its offset, is taken off already.
    y : array of shape (n_rows,)
        The response.
    weight : array of shape (n_rows,), optional
        What each row counts.
    """

    table: DataSource
    y: Floats
    weight: Floats | None

    def take(self, where: Any, *columns: Any) -> Batch:
        """Some rows."""
        batch = self.table.take(where, *columns)
        weight = None if self.weight is None else self.weight[where]
        return batch._replace(y=self.y[where], sample_weight=weight, offset=None)


@dataclass(frozen=True)
class JointResponses:
    """Several responses made ready to be explained by one subset.

    Attributes
    ----------
    others : list of Problem
        Those of responses that are no numbers.
    linear : Problem, optional
        That of the numbers.
    turned : array of shape (n_rows, k)
        The numbers, with independent noise.
    row_weight : array of shape (n_rows,), optional
        What each row counts for them.
    weight : float
        What the sum of the evidences counts.
    noises : dict
        Noise of a response by its number, where it is uneven or has heavy tails.
    known : dict
        Products of columns that were made before, by their columns and weights.
    """

    others: list[Problem]
    linear: Problem | None
    turned: Floats
    row_weight: Floats | None
    weight: float
    noises: dict[int, Noise]
    known: dict[tuple[bytes, bytes], RidgeSubset]

    def state(self, units: Units, columns: NDArray[np.intp] | None = None) -> JointSubset:
        """The empty subset of all responses together; of some design columns only, where these are given."""
        parts: list[Any] = []
        for problem in self.others:
            parts.append(walk_state(problem, units, Rows(partial(_take, problem.table.take, columns))))
        if self.linear is not None:
            weight = self.row_weight
            key = b"" if columns is None else columns.tobytes(), b"" if weight is None else weight.tobytes()
            if key not in self.known:
                rows = ResponseRows(self.linear.table, self.turned[:, 0], weight)
                first = walk_state(self.linear, units, Rows(partial(_take, rows.take, columns), as_is=True))
                self.known[key] = cast(RidgeSubset, first)
            parts += [self.known[key].with_response(y) for y in self.turned.T]
        return JointSubset(parts, self.weight)


def _take(take: Callable[..., Batch], columns: NDArray[np.intp] | None, where: Any) -> Batch:
    return take(where) if columns is None else take(where, columns)


def search_shared(
    problems: Sequence[Problem],
    *,
    policy: Policy,
    penalty: float | None,
    n_jobs: int | None,
    rng: np.random.Generator,
    clock: Clock,
) -> tuple[Found, list[Found]]:
    """Find one subset for several responses.

    The log evidence of a subset is the sum of those of its models, one per response. That is right for
    responses whose noise is independent: numbers are turned so that it is, by the correlations of the
    residuals of what is selected so far; what is left of dependence between classes or counts makes the sum
    count less, by the share of its variance under independence (Satterthwaite's correction).

    Parameters
    ----------
    problems : sequence of Problem
        The same rows and units, one response each.
    policy, penalty, n_jobs, rng, clock
        As in `search_subset`.

    Returns
    -------
    found : Found
        Of all together.
    each : list of Found
        The same for each response: with its own rows, dispersion and noise.
    """
    first = problems[0]
    informed = [i for i, problem in enumerate(problems) if _varies(problem)]
    whole = replace(first, family=_common_family([problems[i] for i in informed]), outcome=None)
    search = partial(
        search_subset, search="auto", policy=policy, penalty=penalty, n_jobs=n_jobs, rng=rng, clock=clock
    )
    if not informed or not first.allowed.any():
        # nothing to learn from: as if there were nothing to choose
        found = search(replace(whole, allowed=np.zeros_like(first.allowed)))
        return found, [_of_response(problems, i, found, None) for i in range(len(problems))]
    joint, walker = _settled(problems, informed, first.always, penalty, rng, clock)
    if walker.stopped:
        found = _so_far(first, walker)
        return found, [_of_response(problems, i, found, joint) for i in range(len(problems))]
    reached = walker.state.mask
    for _ in range(_ROUNDS):
        found = search(replace(whole, joint=joint))
        if found.stop_reason != "converged" or np.array_equal(found.support, reached):
            break
        reached = found.support
        joint = _joint(problems, informed, reached, joint.known, noisy=True)
    return found, [_of_response(problems, i, found, joint) for i in range(len(problems))]


def _so_far(problem: Problem, walker: Walker) -> Found:
    """Where a climb stands when there is no time for a walk."""
    mask, way = walker.state.mask.copy(), walker.trajectory
    rows, state = problem.table.n_rows, walker.state
    inclusion = inclusion_of(walker, walker.rewards())[problem.twin_of]
    gather = rows_of(problem.table, None)
    return Found(
        inclusion, mask, [way], len(way), rows, walker.stopped or "", gather, dispersion=state.dispersion
    )


def _common_family(problems: Sequence[Problem]) -> str:
    return "gaussian" if all(p.family == "gaussian" for p in problems) else "mixed"


def _varies(problem: Problem) -> bool:
    """Whether a response says anything: its rows that count differ."""
    _, y, weight, offset = rows_of(problem.table, None)(np.empty(0, dtype=np.intp))
    if problem.family == "gaussian" and offset is not None:
        y = y - offset
    y = y if weight is None else y[weight > 0]
    return bool(np.ptp(y) > 1e-12 * np.abs(y).max())


def _settled(
    problems: Sequence[Problem],
    informed: list[int],
    always: NDArray[np.bool_],
    penalty: float | None,
    rng: np.random.Generator,
    clock: Clock,
) -> tuple[JointResponses, Walker]:
    """Responses under the noise of the subset that a greedy climb reaches, each learnt from the other."""
    first, likely, seen = problems[0], always, set[bytes]()
    joint = _joint(problems, informed, likely, {}, noisy=False)
    while True:
        seen.add(likely.tobytes())
        state = joint.state(first.units)
        varying = np.bincount(first.units.unit_of, state.varies(), minlength=first.units.n_units) > 0
        allowed = first.allowed & varying
        state.reset(always)
        walker = _walker(state, allowed, penalty, rng, clock, first.table.n_rows)
        for _ in range(2):
            walker.climb()
            tune_prior(walker, shapes=1)
        likely = walker.state.mask.copy()
        if walker.stopped or likely.tobytes() in seen or len(seen) == _CLIMBS:
            return joint, walker
        joint = _joint(problems, informed, likely, joint.known, noisy=True)


def _walker(
    state: Any,
    allowed: NDArray[np.bool_],
    penalty: float | None,
    rng: np.random.Generator,
    clock: Clock,
    n_rows: int,
) -> Walker:
    prior = SizePrior(int(np.count_nonzero(allowed)), penalty, most=max(state.counted / 4.0, 10.0))
    joint: SubsetState = state
    return Walker(joint, prior, UCB(0.0), allowed, rng, clock.tick, n_rows)


def _joint(
    problems: Sequence[Problem],
    informed: list[int],
    likely: NDArray[np.bool_],
    known: dict[tuple[bytes, bytes], RidgeSubset],
    *,
    noisy: bool,
) -> JointResponses:
    """Responses turned by the noise that some units leave; `noisy` looks at its tails and evenness too."""
    table, columns = problems[0].table, problems[0].columns_of(likely)
    linear = [i for i in informed if problems[i].family == "gaussian"]
    others = [i for i in informed if problems[i].family != "gaussian"]
    noises = {}
    for i in linear if noisy and not is_large(table) else ():
        noise = learn_noise(problems[i].table, columns).noise
        if noise is not None:
            noises[i] = noise
    turned, weight, residuals = np.empty((table.n_rows, 0)), None, []
    if linear:
        turned, weight, left = _independent(problems, linear, noises, columns)
        residuals += list(left.T[:, None])
    residuals += [_pearson(problems[i], columns) for i in others]
    return JointResponses(
        [problems[i] for i in others],
        problems[linear[0]] if linear else None,
        turned,
        weight,
        _counts(residuals, table),
        noises,
        known,
    )


def _independent(
    problems: Sequence[Problem], linear: list[int], noises: dict[int, Noise], columns: NDArray[np.intp]
) -> tuple[Floats, Floats | None, Floats]:
    """Numbers (n, k) whose noise is independent, the weight of the rows, and the noise (n, k) itself."""
    A, _, weight, offset = rows_of(problems[0].table, None)(columns)
    known = 0.0 if offset is None else offset
    Y = np.column_stack(
        [noises[i].y if i in noises else np.asarray(problems[i].table.targets(), float) for i in linear]
    )
    Y = Y - np.reshape(known, (-1, 1)) if offset is not None else Y
    if noises:
        # rows that are noisy in one response are so in others: their common precision
        plain = np.ones(len(Y)) if weight is None else weight
        logs = [np.log(np.maximum(n.weight, 1e-300)) for n in noises.values()]
        base = np.log(np.maximum(plain, 1e-300))
        weight = np.exp((np.sum(logs, axis=0) + (len(linear) - len(noises)) * base) / len(linear))
        weight = np.where(plain > 0, weight * plain.sum() / weight[plain > 0].sum(), 0.0)
    w = np.ones(len(Y)) if weight is None else weight
    Y = (Y - np.average(Y, axis=0, weights=w)) / np.abs(Y).max(axis=0)
    left = _left_over(A, Y, w)
    scale = np.sqrt(np.average(left**2, axis=0, weights=w))
    Y, left = Y / scale, left / scale
    values, vectors = np.linalg.eigh(_shrunk_covariance(left, w))
    kept = np.average((left @ vectors) ** 2, axis=0, weights=w) > _LEAST_VARIANCE
    turn = vectors[:, kept] / np.sqrt(values[kept])
    if kept.all():
        # each stays as near as can be to the response it was
        turn = turn @ vectors.T
    return Y @ turn, weight, left @ turn


def _shrunk_covariance(left: Floats, w: Floats) -> Floats:
    """Ledoit and Wolf's covariance (k, k) of centred rows (n, k); a row counts as often as it weighs."""
    total, k = float(w.sum()), left.shape[1]
    covariance = (left.T * w) @ left / total
    mean = float(np.trace(covariance)) / k
    size = float(np.sum(covariance**2))
    apart = size / k - mean**2
    chance = (float(w @ np.sum(left**2, axis=1) ** 2) / total - size) / (k * total)
    share = min(max(chance, 0.0) / apart, 1.0) if apart > 0.0 else 0.0
    return np.asarray((1.0 - share) * covariance + share * mean * np.eye(k))


def _left_over(A: Floats, Y: Floats, w: Floats) -> Floats:
    """Residuals of least squares; the responses themselves where the rows are too few."""
    roots = np.sqrt(w)[:, None]
    design = np.column_stack([np.ones(len(A)), A])
    if w.sum() < 2 * design.shape[1] + 2:
        return Y
    left = Y - design @ np.linalg.lstsq(roots * design, roots * Y, rcond=None)[0]
    gone = np.average(left**2, axis=0, weights=w) <= 1e-12 * np.average(Y**2, axis=0, weights=w)
    return np.where(gone, Y, left)


def _pearson(problem: Problem, columns: NDArray[np.intp]) -> Floats:
    """Residuals (1, n) of two classes or counts in standard deviations; (q, n) codes of other outcomes."""
    A, y, weight, offset = rows_of(problem.table, None)(columns)
    if problem.outcome is not None and problem.family == "multinomial":
        return np.asarray(np.arange(problem.outcome.n_classes)[:, None] == y, dtype=np.float64)
    if problem.outcome is not None:
        return np.asarray(y, dtype=np.float64)[None]
    family = "poisson" if problem.family in COUNTS else problem.family
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        fit = fit_glm(A, y, family, weight, offset)
    known = 0.0 if offset is None else offset
    mean, variance = mean_and_curvature(family, fit.intercept + A @ fit.coef + known)
    return np.asarray((y - mean) / np.sqrt(np.maximum(variance, 1e-12)))[None]


def _counts(residuals: list[Floats], table: DataSource) -> float:
    """What the sum of evidences counts: its variance under independence over that under what is seen."""
    if len(residuals) < 2:
        return 1.0
    weight = getattr(table, "sample_weight", None)
    E = np.concatenate(residuals)
    w = np.ones(E.shape[1]) if weight is None else weight
    E = E - np.average(E, axis=1, weights=w)[:, None]
    covariance = (E * w) @ E.T
    scale = np.sqrt(np.maximum(np.diagonal(covariance), 1e-300))
    # less what chance alone makes
    squares = (covariance / np.outer(scale, scale)) ** 2 - 1.0 / max(float(w.sum()), 2.0)
    starts = np.cumsum([0, *(len(r) for r in residuals[:-1])])
    largest = np.maximum.reduceat(np.maximum.reduceat(squares, starts, axis=0), starts, axis=1)
    np.fill_diagonal(largest, 1.0)
    return len(residuals) / float(np.maximum(largest, 0.0).sum())


def _of_response(problems: Sequence[Problem], i: int, found: Found, joint: JointResponses | None) -> Found:
    """What was found, for one response: its own rows, noise and dispersion."""
    problem = problems[i]
    noise = None if joint is None else joint.noises.get(i)
    dispersion = 0.0
    places = [] if joint is None else [k for k, other in enumerate(joint.others) if other is problem]
    if problem.family in COUNTS and places:
        # the models of all that are no numbers come first
        dispersion = float(np.atleast_1d(found.dispersion)[places[0]])
    gather = rows_of(problem.table, None)
    if noise is not None:
        gather = partial(_suited, noise)
    visited = None if is_large(problem.table) else found.visited
    return replace(
        found,
        gather=gather,
        gather_blocks=None,
        first=None,
        n_rows_read=problem.table.n_rows,
        noise=noise,
        dispersion=dispersion,
        visited=visited,
    )


def _suited(noise: Noise, columns: NDArray[np.intp]) -> tuple:
    batch = noise.take(slice(0, noise.table.n_rows), columns)
    X = batch.X.toarray() if noise.table.is_sparse else batch.X
    return X.astype(np.float64), *batch[1:]
