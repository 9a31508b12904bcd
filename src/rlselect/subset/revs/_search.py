"""Which search runs on which data, and what it hands back."""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rlselect._clock import Clock
from rlselect.data import DataSource, Units
from rlselect.kernels import Levels
from rlselect.learn import UCB, Policy, Trajectory
from rlselect.subset.revs._checkpoint import Checkpoint
from rlselect.subset.revs._effort import EffortPlan, SearchState, begin, run_effort
from rlselect.subset.revs._found import Found, as_floats, rows_of
from rlselect.subset.revs._noise import Explained, Noise, learn_noise, tail_gain
from rlselect.subset.revs._outcome_effort import OutcomeRows, run_outcome_effort
from rlselect.subset.revs._problem import COUNTS, Problem
from rlselect.subset.revs._sarsa import Sarsa, run_sarsa
from rlselect.subset.revs._size_prior import SizePrior
from rlselect.subset.revs._structure import Structure
from rlselect.subset.revs._subset_state import SubsetState
from rlselect.subset.revs._two_priors import run_walk
from rlselect.subset.revs._unit_order import marks_of_units
from rlselect.subset.revs._walk import Walker, WalkResult, tune_prior
from rlselect.subset.revs._walk_plan import GLM_PLAN, LONG_TABLE_PLAN, OUTCOME_PLAN, WalkPlan
from rlselect.subset.revs.evidence import (
    Block,
    DependentGlm,
    DependentOutcome,
    DependentRidge,
    DependentRows,
    GlmSubset,
    LazyGram,
    OutcomeSubset,
    OverflowedColumns,
    RidgeSubset,
    Rows,
)

# up to here all rows are used at once and the walk averages over subsets; beyond, one subset stands out and
# the question is how many rows it takes to see it
WALK_ROWS = 5000
# more units than this are screened before the walk, down to those that may matter
WIDE = 2000
_KEPT = 750
# a first selection under the wrong noise may be a poor one: the noise is looked at once more after the second
_NOISE_ROUNDS = 2
# and before that, as often as a greedy climb under the noise that was learnt finds another subset
_NOISE_CLIMBS = 8
# a whole Gram matrix is computed at once when that takes about a second
_WHOLE_GRAM = 2e10
# a Newton step over rows with workers takes a round trip: it pays when a pass takes longer than that
_NEARBY_BYTES = 2**25
# what a checkpoint holds
_KEPT_STATE = {"progress": SearchState, "rows": Rows}
_SARSA_REASONS = {"max_stages": "max stages", "time_budget": "time budget"}


def is_large(table: DataSource) -> bool:
    """Whether so many rows count that one subset stands out; a weight of k is the row k times."""
    weight = getattr(table, "sample_weight", None)
    return table.n_rows > WALK_ROWS or (weight is not None and float(np.sum(weight)) > WALK_ROWS)


def _grows(problem: Problem) -> bool:
    """Whether the search takes more and more rows, instead of walking on all of them."""
    # what rows share is only to be seen in all of them
    return is_large(problem.table) and problem.joint is None and problem.levels is None


def expected_steps(problem: Problem, search: Any) -> int:
    """Roughly how many steps the search takes, for progress."""
    if isinstance(search, Sarsa):
        free = int(np.count_nonzero(problem.allowed))
        return search.n_preliminary + search.for_actions(free + 1).max_stages
    if _grows(problem):
        return 100
    plan = _plan(problem)
    free = int(np.count_nonzero(problem.allowed))
    if free <= plan.enumerate_up_to:
        return int(2**free)
    return len(plan.starts) * plan.ramp + plan.settle + plan.chains * plan.steps


def _plan(problem: Problem) -> WalkPlan:
    if problem.levels is not None and is_large(problem.table):
        return LONG_TABLE_PLAN
    if problem.outcome is not None:
        return OUTCOME_PLAN
    return WalkPlan() if problem.family == "gaussian" else GLM_PLAN


def search_subset(
    problem: Problem,
    *,
    search: Any,
    policy: Policy,
    penalty: float | None,
    n_jobs: int | None,
    rng: np.random.Generator,
    clock: Clock,
    min_effect: float | None = None,
    checkpoint: Checkpoint | None = None,
) -> Found:
    """Run the search that fits the data, or the one that was asked for.

    Parameters
    ----------
    problem : Problem
        The data.
    search : "auto" or Sarsa
        The algorithm.
    policy, penalty, n_jobs, rng, clock
        How to search.
    min_effect : float, optional
        Of large data, read until an effect of this size would show.
    checkpoint : Checkpoint, optional
        Where the progress on large data is kept.

    Returns
    -------
    Found
    """
    if isinstance(search, Sarsa):
        return _search_sarsa(problem, search, policy, rng, clock)
    if not problem.allowed.any():
        return _nothing_to_do(problem)
    how = _How(policy, penalty, n_jobs, rng, clock, problem.structure)
    try:
        if _grows(problem):
            if problem.outcome is not None:
                return _search_outcome(problem, how)
            return _search_large(problem, how, EffortPlan(min_effect=min_effect), checkpoint)
        return _search_walk(problem, how)
    except OverflowedColumns as error:
        raise ValueError(_overflow_message(problem.table, error.columns)) from None


def _overflow_message(table: DataSource, columns: NDArray[np.intp]) -> str:
    name = table.columns[int(columns[0])]
    worst, where = 0.0, ""
    for k, batch in enumerate(table.scan(columns[:1])):
        values = batch.X.toarray() if table.is_sparse else batch.X
        place = int(np.argmax(np.abs(values[:, 0])))
        if abs(float(values[place, 0])) > abs(worst):
            worst = float(values[place, 0])
            where = f" ({table.where(k)})" if table.where(k) else ""
    return (
        f"Column {name!r} holds {worst:.3g}{where}, too far from its other values for sums of squares. Is "
        "the file damaged, or does that number mark missing values? Correct it, or replace it by NaN and set "
        "`missing`."
    )


class _How(NamedTuple):
    policy: Policy
    penalty: float | None
    n_jobs: int | None
    rng: np.random.Generator
    clock: Clock
    structure: Structure | None = None

    def walker(self, state: SubsetState, allowed: NDArray[np.bool_], rows: int, counted: float) -> Walker:
        """A chain on so many rows, which count as so many."""
        # the narrow prior of the coefficients in `GlmSubset` hardly charges for a unit: the price must
        least = np.log(8.0 if isinstance(state, GlmSubset) else 2.0)
        most = max(counted / 4.0, 10.0)
        # a product is paid for beside its columns
        units = allowed if self.structure is None else allowed & ~self.structure.is_product
        prior = SizePrior(int(np.count_nonzero(units)), self.penalty, least=float(least), most=most)
        return Walker(
            state, prior, self.policy, allowed, self.rng, self.clock.tick, rows, structure=self.structure
        )


def _search_walk(problem: Problem, how: _How) -> Found:
    """All rows at once: several subsets may explain them, and the walk averages over these."""
    table, linear = problem.table, problem.family == "gaussian"
    plain = problem.outcome is None and problem.levels is None
    rows, state, allowed = _at_the_beginning(problem)
    if not allowed.any() or (problem.family in COUNTS and not _has_events(rows)):
        return _nothing_to_do(problem)
    state.reset(problem.always)
    walker = how.walker(state, allowed, table.n_rows, state.counted)
    plan = _plan(problem)
    tune = linear or problem.outcome is not None or problem.joint is not None
    if np.count_nonzero(allowed) <= WIDE:
        marks = partial(marks_of_units, table, problem.units)
        result = run_walk(walker, plan, tune=tune, n_jobs=how.n_jobs, marks=marks)
        if linear and plain and problem.joint is None:
            return _under_its_noise(problem, how, allowed, result, rows)
        return _found(problem, result, rows)
    inclusion, kept = _screen(walker)
    labels = np.flatnonzero(kept)
    columns = problem.columns_of(kept)
    units = Units(np.searchsorted(labels, problem.units.unit_of[columns]))
    narrow_rows = Rows(lambda where: table.take(where, columns), as_is=linear and plain)
    narrow = walk_state(problem, units, narrow_rows, columns)
    narrow.reset(walker.state.mask[labels])
    if how.structure is not None:
        how = how._replace(structure=how.structure.narrowed(labels, columns))
    narrow_walker = how.walker(narrow, allowed[labels], table.n_rows, state.counted)
    narrow_walker.prior, narrow_walker.stopped = walker.prior, walker.stopped
    marks = partial(marks_of_units, table, units, columns)
    result = run_walk(narrow_walker, plan, tune=tune, n_jobs=how.n_jobs, marks=marks)
    inclusion[labels] = result.inclusion
    result.inclusion = inclusion
    result.visited = result.visited and result.visited.relabelled(labels)
    result.predicting = result.predicting and result.predicting.relabelled(labels)
    narrow_labels = [labels] * len(result.trajectories)
    result.trajectories.insert(0, walker.trajectory)
    result.n_stages += len(walker.trajectory)
    found = _found(problem, result, rows)
    found.labels = [None, *narrow_labels]
    return found


def _at_the_beginning(problem: Problem) -> tuple[Rows, SubsetState, NDArray[np.bool_]]:
    """All rows, the empty subset of them, and which units may move."""
    plain = problem.outcome is None and problem.levels is None
    rows = _rows(problem.table, problem.family == "gaussian") if plain else Rows(problem.table.take)
    state = walk_state(problem, problem.units, rows)
    return rows, state, problem.allowed & _varying(state, problem)


def climb_once(
    problem: Problem, penalty: float | None, rng: np.random.Generator, clock: Clock
) -> NDArray[np.bool_]:
    """Units that a greedy climb on all rows comes to, for a first idea of what matters."""
    _, state, allowed = _at_the_beginning(problem)
    state.reset(problem.always)
    how = _How(UCB(0.0), penalty, None, rng, clock, problem.structure)
    walker = how.walker(state, allowed, problem.table.n_rows, state.counted)
    walker.climb()
    for _ in range(2 if problem.family == "gaussian" else 0):
        tune_prior(walker, shapes=1)
        walker.climb()
    return state.mask


def _under_its_noise(
    problem: Problem, how: _How, allowed: NDArray[np.bool_], result: WalkResult, rows: Rows
) -> Found:
    """Walk again on rows that suit the noise, where residuals show it uneven or heavy in its tails."""
    ways, noise = list(result.trajectories), None
    for _ in range(_NOISE_ROUNDS):
        likely = (result.inclusion > 0.5) | problem.always
        suited = None
        if result.stop_reason == "converged":
            suited = _suited(problem, how, allowed, likely) or _hidden(problem, how, allowed, likely)
        if suited is None:
            break
        noise, walker = suited
        reached, rows = walker.state.mask.copy(), walker.state.rows
        walker.state.reset(problem.always)
        walker.stand(walker.state)
        marks = partial(marks_of_units, problem.table, problem.units)
        result = run_walk(walker, _plan(problem), tune=True, n_jobs=how.n_jobs, marks=marks)
        ways += result.trajectories
        if np.array_equal(reached, (result.inclusion > 0.5) | problem.always):
            break
    result.trajectories, result.n_stages = ways, sum(map(len, ways))
    found = _found(problem, result, rows)
    found.noise = noise
    return found


def _suited(
    problem: Problem, how: _How, allowed: NDArray[np.bool_], likely: NDArray[np.bool_]
) -> tuple[Noise, Walker] | None:
    """Noise and the subset that a greedy climb reaches under it, each learnt from the other until they agree.

    None where the noise of the likely units is even and normal.
    """
    table, suited, seen = problem.table, None, set[bytes]()
    while likely.tobytes() not in seen and len(seen) < _NOISE_CLIMBS:
        seen.add(likely.tobytes())
        noise = learn_noise(table, problem.columns_of(likely)).noise
        if noise is None:
            break
        state = _state("gaussian", problem.units, Rows(noise.take, as_is=True), [slice(0, table.n_rows)])
        state.reset(likely)
        walker = how.walker(state, allowed, table.n_rows, state.counted)
        walker.policy = UCB(0.0)
        for _ in range(2):
            tune_prior(walker, shapes=1)
            walker.climb()
        walker.policy = how.policy
        likely, suited = state.mask.copy(), (noise, walker)
        if walker.stopped:
            break
    return suited


def _worth(problem: Problem, walker: Walker, units: NDArray[np.bool_]) -> Explained:
    """The noise that these units leave, and the log likelihood beside it, less what the units cost."""
    columns = problem.columns_of(units)
    free = int(np.count_nonzero(units & walker.allowed))
    price = 0.5 * len(columns) * np.log(walker.state.counted) - sum(map(walker.prior.add, range(free)))
    explained = learn_noise(problem.table, columns)
    return explained._replace(value=explained.value - price)


def _hidden(
    problem: Problem, how: _How, allowed: NDArray[np.bool_], likely: NDArray[np.bool_]
) -> tuple[Noise, Walker] | None:
    """Noise with heavy tails that the likely units hide: some were found for its largest values.

    Tails are heaviest on the way to the likely units, before any of these are found for them. None where they
    are heavy nowhere, or the likely units and even, normal noise explain the response better than fewer units
    beside that noise.
    """
    tails, heaviest = 0.0, likely
    for units in _way_to(problem, likely):
        gain = tail_gain(problem.table, problem.columns_of(units))
        if gain > tails:
            tails, heaviest = gain, units.copy()
    suited = _suited(problem, how, allowed, heaviest) if tails else None
    if suited is None:
        return None
    walker = suited[1]
    noise, value = _worth(problem, walker, walker.state.mask)
    return suited if noise is not None and value > _worth(problem, walker, likely).value else None


def _way_to(problem: Problem, likely: NDArray[np.bool_]) -> Iterator[NDArray[np.bool_]]:
    """Subsets of the likely units, each with the one more that adds most to the evidence."""
    _, state, _ = _at_the_beginning(problem)
    state.reset(problem.always)
    yield state.mask
    for _ in range(int(np.count_nonzero(likely & ~problem.always))):
        state.toggle(int(np.argmax(np.where(likely & ~state.mask, state.moves(), -np.inf))))
        yield state.mask


def _screen(walker: Walker) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Conditional inclusion after a first climb, and the units that may matter alone or beside its subset."""
    alone = walker.rewards()
    walker.order = np.argsort(-alone, kind="stable")
    walker.climb()
    beside = walker.rewards()
    mask = walker.state.mask
    kept = mask.copy()
    for values, share in ((alone, _KEPT // 3), (beside, _KEPT)):
        order = np.argsort(-np.where(mask, -np.inf, values), kind="stable")
        kept[order[:share]] |= walker.allowed[order[:share]]
    return expit(np.where(mask, -beside, beside)), kept


def _search_large(problem: Problem, how: _How, plan: EffortPlan, checkpoint: Checkpoint | None) -> Found:
    """Adaptive effort: one subset stands out, and the question is how many rows it takes to see it."""
    table, linear = problem.table, problem.family == "gaussian"

    def tick() -> str | None:
        if checkpoint is not None and checkpoint.due():
            save()
        return how.clock.tick()

    def save() -> None:
        if checkpoint is not None:
            checkpoint.save({"progress": progress, "rows": rows}, outside)

    outside = {"rng": how.rng, "tick": tick}
    if table.workers is not None:
        outside["workers"] = table.workers
    saved = None if checkpoint is None else checkpoint.load(outside, _KEPT_STATE)
    if saved is None:
        rows = _rows(table, linear)
        sampler = table.sampler
        # of very wide rows no more than stay in memory: the first climb asks for many columns one by one
        first = sampler.draw(min(plan.first, table.batch_rows), plan.block_rows(table.n_columns))
        state = _state(problem.family, problem.units, rows, first, parts=2)
        state.reset(problem.always)
        walker = how.walker(state, problem.allowed, sampler.n_used, state.counted)
        walker.tick = tick
        progress = begin(walker, sampler, how.rng)
    else:
        progress, rows = saved["progress"], saved["rows"]
    with nullcontext() if checkpoint is None or saved is None else checkpoint.resumed():
        if saved is not None:
            progress.walker.stopped = None
            table.resume(progress.sampler)
        result = run_effort(progress, plan, tune=linear, save=save)
        result.inclusion[problem.allowed & ~_varying(progress.walker.state, problem)] = 0.0
        found = _found(problem, result, rows)
    # the walker would hold on to the rows through what was to be saved, until the next collection of garbage
    progress.walker.tick = how.clock.tick
    outside.clear()
    found.numbers = rows.numbers
    found.n_rows_seen, found.detectable = result.n_rows_seen, result.detectable
    end = progress.walker.state
    found.moments = end.moments if isinstance(end, RidgeSubset) else None
    return found


def _search_outcome(problem: Problem, how: _How) -> Found:
    """As `_search_large`, for likelihoods that are none of a linear predictor and a row alone."""
    table, kind = problem.table, problem.outcome
    assert kind is not None
    rows = Rows(table.take)
    sample = OutcomeRows(table, kind, problem.units, rows)
    sample.begin()
    state = cast(SubsetState, sample.state())
    state.reset(problem.always)
    allowed = problem.allowed & _varying(state, problem)
    walker = how.walker(state, allowed, table.sampler.n_used, state.counted)
    result = run_outcome_effort(walker, sample)
    found = _found(problem, result, rows)
    found.numbers, found.n_rows_seen = rows.numbers, result.n_rows_seen
    return found


def _rows(table: DataSource, linear: bool) -> Rows:
    large = is_large(table)
    # a Newton step passes over all rows; sums of squares and products are made once
    keeping = table.keeping(many_passes=not linear, large=large)
    return Rows(
        **keeping._asdict(),
        single=large,
        as_is=linear,
        workers=table.workers,
        nearby=0 if linear else _NEARBY_BYTES,
    )


def walk_state(
    problem: Problem, units: Units, rows: Rows, columns: NDArray[np.intp] | None = None
) -> SubsetState:
    """A subset of all rows at once; the rows have these columns, or all."""
    if problem.joint is not None:
        return cast(SubsetState, problem.joint.state(units, columns))
    everything = [slice(0, problem.table.n_rows)]
    if problem.outcome is None and problem.levels is None:
        return _state(problem.family, units, rows, everything)
    block = rows.append(everything[0])
    assert isinstance(block, Block)
    if problem.outcome is None:
        assert problem.levels is not None
        return _dependent_state(problem.family, units, rows, problem.levels)
    outcome = problem.outcome.make(block.y, block.weight, block.offset)
    values = block.columns(np.arange(units.n_columns)).astype(np.float64, copy=False)
    if problem.levels is None:
        state = OutcomeSubset(values, units, outcome, rows.counted)
    else:
        state = DependentOutcome(values, units, outcome, rows.counted, problem.levels)
    # the walk asks for no more than it offers: what is missing is about samples of rows
    return cast(SubsetState, state)


def _dependent_state(family: str, units: Units, rows: Rows, levels: Levels) -> DependentRidge | DependentGlm:
    """A subset of rows that share levels."""
    if family != "gaussian":
        return DependentGlm(rows, units, family, levels)
    X, y, weight, offset = rows.gather(np.arange(units.n_columns))
    w = np.ones(len(y)) if weight is None else weight
    return DependentRidge(DependentRows(X, y if offset is None else y - offset, w, levels), units)


def _state(family: str, units: Units, rows: Rows, first: Iterable, parts: int = 1) -> RidgeSubset | GlmSubset:
    if family != "gaussian":
        for block in first:
            rows.append(block)
        return GlmSubset(rows, units, family, revisits=parts == 1)
    p = units.n_columns
    gram = LazyGram(rows, p, parts)
    gram.grow(first)
    if parts == 1 and rows.n_rows * float(p) ** 2 <= _WHOLE_GRAM and p <= WIDE:
        gram.fetch(range(p))
    return RidgeSubset(gram, units, revisits=parts == 1)


def _varying(state: SubsetState, problem: Problem) -> NDArray[np.bool_]:
    return np.bincount(problem.units.unit_of, state.varies(), minlength=problem.units.n_units) > 0


def _has_events(rows: Rows) -> bool:
    """Whether any count that counts is not zero: without one the intercept has no end to fall to."""
    _, y, weight, _ = rows.gather(np.empty(0, dtype=np.intp))
    return bool(np.any(y if weight is None else y[weight > 0]))


def _found(problem: Problem, result: WalkResult, rows: Rows) -> Found:
    inclusion = result.inclusion[problem.twin_of]
    inclusion[problem.always] = 1.0
    support = (result.inclusion > 0.5) & problem.allowed | problem.always
    return Found(
        inclusion,
        support,
        result.trajectories,
        result.n_stages,
        rows.n_rows,
        result.stop_reason,
        rows.gather,
        rows.gather_blocks,
        rows.first,
        dispersion=result.dispersion,
        visited=result.visited,
        predicting=result.predicting,
        fresh=result.fresh,
    )


def _nothing_to_do(problem: Problem) -> Found:
    """There is nothing to find: the rows at hand, all of them in memory, serve for the coefficients."""
    table = problem.table
    used = table.glance(table.n_rows, np.empty(0, dtype=np.intp)).X.shape[0]

    def gather(columns: NDArray[np.intp]) -> tuple:
        return as_floats(table, table.glance(table.n_rows, columns))

    return Found(
        problem.always.astype(float),
        problem.always.copy(),
        [Trajectory(problem.units.n_units, problem.always)],
        0,
        used,
        "nothing to choose from",
        gather,
    )


def _search_sarsa(
    problem: Problem, settings: Sarsa, policy: Policy, rng: np.random.Generator, clock: Clock
) -> Found:
    table = problem.table
    if not table.in_memory:
        raise ValueError(
            "The paper's search takes single rows at random at every stage, which a source that is read in "
            "parts cannot give: use search='auto', or load a sample of the rows."
        )
    seen = np.zeros(table.n_rows, dtype=bool)

    def take(rows: NDArray) -> tuple:
        seen[rows] = True
        batch = table.take(rows)
        return batch.X.toarray() if table.is_sparse else batch.X, *batch[1:]

    def watch(done: int, total: int) -> None:
        if clock.tick():
            raise KeyboardInterrupt

    result = run_sarsa(
        take,
        table.n_rows,
        problem.units.n_columns,
        family=problem.family,
        settings=settings,
        units=problem.units.columns,
        allowed=problem.allowed,
        always=problem.always,
        rng=rng,
        policy=policy,
        deadline=clock.deadline,
        callback=watch,
    )
    reason = clock.reason or _SARSA_REASONS.get(result.stop_reason, result.stop_reason)
    inclusion = result.inclusion[problem.twin_of]
    inclusion[problem.always] = 1.0
    return Found(
        inclusion,
        result.support_units,
        [result.trajectory],
        result.n_stages,
        result.n_rows_read,
        reason,
        rows_of(table, np.flatnonzero(seen) if seen.any() else slice(0, table.n_rows)),
    )
