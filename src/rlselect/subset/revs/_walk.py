"""The walk over subsets of data that fit in memory: every move is priced at every step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import expit

from rlselect._watch import tell
from rlselect.learn import UCB, Policy, Softmax, Trajectory, subset_key
from rlselect.subset.revs._neighbours import Neighbours
from rlselect.subset.revs._prior_draw import draw_prior
from rlselect.subset.revs._size_prior import SizePrior
from rlselect.subset.revs._structure import Structure
from rlselect.subset.revs._structure_moves import draw_swap, make_family, make_swap
from rlselect.subset.revs._subset_state import SubsetState, TunableState
from rlselect.subset.revs._unit_order import order_units
from rlselect.subset.revs._visited import FreshFolds, Tally, Visited, merge_visits
from rlselect.subset.revs._walk_plan import WalkPlan
from rlselect.subset.revs.evidence import (
    SHAPES,
    JointSubset,
    OutcomeSubset,
    RidgeSubset,
    Shape,
)

Floats = NDArray[Any]

# far more than any sensible climb: it ends by itself, since every move raises the posterior
_MOST_MOVES = 2000
# nor is the dispersion of counts learnt again for ever, should it go up and down with a column
_MOST_RELEARNT = 8
# a coefficient prior with a hole at zero needs several effects to be learnt from, and some proof
_SHAPE_EFFECTS = 5
_SHAPE_PROOF = 2.0
# steps between two draws of the prior of the coefficients, once it is known well enough to count
_REDRAW = 25
# posteriors that differ by a smaller share are those of the same subset
_ROUNDING = 1e-9
# least inclusion of what a search that was stopped stands in
_LIKELY = float(np.nextafter(0.5, 1.0))


@dataclass
class WalkResult:
    """What a walk found."""

    inclusion: Floats
    trajectories: list[Trajectory]
    n_stages: int
    stop_reason: str
    visited: Visited | None = None
    dispersion: float = 0.0
    n_rows_seen: int = 0
    detectable: Floats | None = None
    # what predictions are averaged over, where that is not what was counted for the selection
    predicting: Visited | None = None
    fresh: FreshFolds | None = None


@dataclass
class Walker:
    """One chain: where it stands, what it may do, and what it has seen."""

    state: SubsetState
    prior: SizePrior
    policy: Policy
    allowed: NDArray[np.bool_]
    rng: np.random.Generator
    tick: Callable[[], str | None]
    rows: int
    # in which a policy looks at the units: draws follow it, whatever the order of the columns is
    order: NDArray[np.intp] | None = None
    # which subsets may be visited, where not all may
    structure: Structure | None = None
    # what makes some subsets of a size more likely than others, beforehand
    neighbours: Neighbours | None = None
    trajectory: Trajectory = field(init=False)
    tally: Tally = field(init=False)
    stopped: str | None = None

    def __post_init__(self) -> None:
        self.trajectory = Trajectory(len(self.allowed), self.state.mask)
        self.tally = Tally(len(self.allowed))
        self._product, self._folded = np.zeros(len(self.allowed), dtype=bool), np.zeros(len(self.allowed))
        if self.structure is not None:
            self._product = self.structure.is_product
            self._folded = self.structure.folded(self.state.units)
        self._barred = np.flatnonzero(~self.allowed)
        self._always = self._barred[self.state.mask[self._barred]]
        self._tried: dict[bytes, dict[int, int]] = {}
        # moves that turned out to lead outside the structure, by the subset they were tried from
        self._refused: dict[bytes, list[int]] = {}

    @property
    def _free(self) -> int:
        """Units inside that may leave, products apart."""
        return int(np.count_nonzero(self.allowed & self.state.mask & ~self._product))

    def rewards(self) -> Floats:
        """Change of the log posterior when each unit is toggled; -inf where that is not allowed."""
        values = np.array(self.state.moves(), copy=True)
        k, mask = self._free, self.state.mask
        values += np.where(mask, -self.prior.add(k - 1) if k else 0.0, self.prior.add(k))
        if self.neighbours is not None:
            values += self.neighbours.changes(mask)
        if self._product.any():
            values += self._product_changes()
        values[self._barred] = -np.inf
        if self.structure is not None:
            values += np.where(mask, -self._folded, self._folded)
            values[self.structure.barred(self.state)] = -np.inf
            values[self._refused.get(subset_key(self.state.mask), [])] = -np.inf
        return values

    def _product_changes(self) -> Floats:
        """What the prior of products makes of each move, beyond that of a unit."""
        k, mask, prior = self._free, self.state.mask, self.prior
        j = int(np.count_nonzero(mask & self._product))
        n = int(np.count_nonzero(mask & ~self._product))
        here = prior.products(j, n)
        entering, leaving = prior.products(j, n + 1) - here, prior.products(j, max(n - 1, 0)) - here
        added, removed = prior.add_product(j, n), -prior.add_product(j - 1, n) if j else 0.0
        # a product has no price as a unit: what was charged for one is given back
        added, removed = added - prior.add(k), removed + (prior.add(k - 1) if k else 0.0)
        return np.where(self._product, np.where(mask, removed, added), np.where(mask, leaving, entering))

    @property
    def admitted(self) -> bool:
        """Whether the subset may be selected."""
        return self.structure is None or self.structure.admits(self.state)

    def attempt(self, unit: int, reward: float) -> bool:
        """Toggle a unit, unless that leads to a subset that may not be selected; whether it was done."""
        before = subset_key(self.state.mask)
        self.move(unit, reward)
        if self.admitted:
            return True
        self.move(unit, -reward)
        self._refused.setdefault(before, []).append(unit)
        return False

    def mend(self) -> None:
        """Leave units until the subset may be selected: other rows, or another prior, may turn a sign."""
        while not self.admitted:
            assert self.structure is not None
            unit = self.structure.fault(self.state, self.allowed)
            if unit is None:
                return
            self.move(unit, np.nan)

    def move(self, unit: int, reward: float) -> None:
        """Toggle a unit and record it."""
        entering = not self.state.mask[unit]
        self.state.toggle(unit)
        self.trajectory.append(
            unit + 1 if entering else -unit - 1, reward=reward, score=self.state.evidence, rows=self.rows
        )
        tell(features=self._free + len(self._always), rows=self.rows)

    def paying_z(self) -> Floats:
        """|z| from which on it pays to add the unit of each column."""
        return self.state.paying(-self.prior.add(self._free))

    def stand(self, state: SubsetState) -> None:
        """Go on from another state, and forget what was counted."""
        self.state = state
        self.trajectory.restart(state.mask)
        self.tally = Tally(len(self.allowed))

    @property
    def posterior(self) -> float:
        """Log posterior of the subset, up to a constant of the data."""
        prior = sum(self.prior.add(i) for i in range(self._free))
        if self.neighbours is not None:
            prior += self.neighbours.log_prior(self.state.mask)
        if self._product.any():
            inside = self.state.mask & self._product
            units = np.count_nonzero(self.state.mask & ~self._product)
            prior += self.prior.products(int(np.count_nonzero(inside)), int(units))
        return self.state.evidence + self.state.alike + prior + float(self._folded[self.state.mask].sum())

    def climb(self, *, learn: bool = True) -> int:
        """Let the policy choose among the moves that pay, until none does; the number of moves made.

        A reward of z^2 / 2 has the standard error z: that is what UCB and Thompson sampling explore with. The
        dispersion of counts, which falls as more of what moves them is known, is learnt before and after, and
        so is what rows share, unless it is to stay what it is.
        """
        if learn:
            self.state.learn_dispersion()
        self._refused.clear()
        self.mend()
        relearnt = 0
        for done in range(_MOST_MOVES):
            self.stopped = self.stopped or self.tick()
            values = self.rewards()
            paying = values > 0
            if self.stopped:
                return done
            if not paying.any():
                if self.structure is not None and (make_swap(self) or make_family(self)):
                    continue
                if not learn or relearnt == _MOST_RELEARNT or not self.state.learn_dispersion():
                    return done
                relearnt += 1
                continue
            worth = np.where(paying, values, -np.inf)
            errors = np.sqrt(2.0 * np.where(paying, values, 0.0))
            unit = self._pick(worth, errors=errors)
            self.state.prepare(unit, values)
            self.attempt(unit, float(values[unit]))
        return _MOST_MOVES

    def pair_up(self, doubtful: Sequence[int] | NDArray[np.intp] = ()) -> bool:
        """Make two moves that pay only together, if the best such pair does; whether it was made.

        Neighbours whose effects cancel hide each other from a climb, and one that stands in for another keeps
        it out. The second move adds a unit; the first one adds one of those that the state can try at little
        cost, or gives up one of the `doubtful` members.
        """
        values = self.rewards()
        outside = self.state.at_hand(np.where(self.state.mask, -np.inf, values))
        outside = outside[np.isfinite(values[outside])]
        best, pair = 0.0, (-1, -1)
        for unit in [*outside, *doubtful]:
            self.state.toggle(int(unit))
            after = np.where(self.state.mask, -np.inf, self.rewards())
            after[unit] = -np.inf
            self.state.toggle(int(unit))
            other = int(np.argmax(after))
            if values[unit] + after[other] > best:
                best, pair = float(values[unit] + after[other]), (int(unit), other)
        if best <= 0.0:
            return False
        for unit in pair:
            values = self.rewards()
            self.state.prepare(unit, values)
            self.move(unit, float(values[unit]))
        if not self.admitted:
            for unit in reversed(pair):
                self.move(unit, np.nan)
            return False
        return True

    def step(self) -> None:
        """Count the subset, then take one step of the policy."""
        self.mend()
        values = self.rewards()
        if self.structure is not None and not np.isfinite(values).any():
            self.tally.add(self.state.mask.astype(float), 0.0, self.state.mask)
            return
        probability = expit(np.where(self.state.mask, -values, values))
        probability[self._always] = 1.0
        if isinstance(self.policy, Softmax):
            place, normaliser = self.policy.draw(
                values[self._order], t=len(self.trajectory) + 1, rng=self.rng
            )
            unit = int(self._order[place])
            self.tally.add(probability, -normaliser, self.state.mask)
        else:
            self._count_once(probability)
            unit = self._choose(values)
        self.attempt(unit, float(values[unit]))
        if self.structure is not None and isinstance(self.policy, Softmax):
            draw_swap(self, self.policy)

    def count(self) -> float:
        """Count the subset itself by its posterior weight, without a step; that weight."""
        if not self.admitted:
            return -np.inf
        posterior = self.posterior
        self.tally.add(self.state.mask.astype(float), posterior, self.state.mask)
        return posterior

    def _count_once(self, probability: Floats) -> None:
        # without the softmax the visits follow no posterior: each subset counts once, by its own weight
        key = subset_key(self.state.mask)
        if key not in self._tried:
            self._tried[key] = {}
            self.tally.add(probability, self.posterior, self.state.mask)

    def _choose(self, values: Floats) -> int:
        tried = self._tried[subset_key(self.state.mask)]
        counts = np.ones(len(values))
        counts[list(tried)] += list(tried.values())
        unit = self._pick(values, counts=counts)
        tried[unit] = tried.get(unit, 0) + 1
        return unit

    def _pick(self, values: Floats, **known: Floats) -> int:
        known = {name: numbers[self._order] for name, numbers in known.items()}
        t = len(self.trajectory) + 1
        return int(self._order[self.policy.choose(values[self._order], **known, t=t, rng=self.rng)])

    @property
    def _order(self) -> NDArray[np.intp]:
        if self.order is None:
            self.order = np.arange(len(self.allowed))
        return self.order

    def run(self, steps: int) -> None:
        """Take so many steps, or stop when told to."""
        for _ in range(steps):
            self.stopped = self.stopped or self.tick()
            if self.stopped:
                return
            self.step()


def walk_once(
    walker: Walker,
    plan: WalkPlan,
    *,
    tune: bool,
    n_jobs: int | None = None,
    marks: Callable[[], Floats] | None = None,
) -> tuple[WalkResult, list[Walker]]:
    """Warm up, learn the prior of the coefficients, then let several chains count.

    Parameters
    ----------
    walker : Walker
        Where to start.
    plan : WalkPlan
        How long.
    tune : bool
        Whether the state's prior of the coefficients is read off the data.
    n_jobs : int, optional
        Chains at a time, see joblib. The answer does not depend on it.
    marks : callable, optional
        What tells units of equal reward apart, see `order_units`.

    Returns
    -------
    result : WalkResult
        What the chains counted.
    ways : list of Walker
        The walker and its chains.
    """
    few = is_few(walker, plan)
    known = warm_up(walker, plan, tune, marks)
    if few:
        weigh_all(walker, tune)
    chains = [] if few else run_chains(walker, plan, n_jobs, redraw=tune and known)
    return walk_result(walker, chains or [walker], [walker, *chains]), [walker, *chains]


def is_few(walker: Walker, plan: WalkPlan) -> bool:
    """Whether the units that may move are so few that every subset is visited."""
    return bool(np.count_nonzero(walker.allowed) <= plan.enumerate_up_to)


def run_chains(walker: Walker, plan: WalkPlan, n_jobs: int | None, redraw: bool) -> list[Walker]:
    """Chains that start where the walker stands, and have counted what they saw."""
    chains = [branch(walker, rng) for rng in walker.rng.spawn(plan.chains)]
    if not walker.stopped:
        # threads unless the user says otherwise: the work is in BLAS, and the Gram matrix is shared
        jobs = (delayed(_run_chain)(chain, plan.steps, redraw) for chain in chains)
        done = Parallel(n_jobs=n_jobs, prefer="threads")(jobs)
        for chain, (tally, trajectory, stopped) in zip(chains, done, strict=True):
            chain.tally, chain.trajectory, chain.stopped = tally, trajectory, stopped
    return chains


def inclusion_of(walker: Walker, values: Floats) -> Floats:
    """Inclusion of each unit beside the subset where a search ends, from the rewards of all moves."""
    mask = walker.state.mask
    inclusion = expit(np.where(mask, -values, values))
    if walker.stopped:
        # in the middle of a climb several units that exclude each other may pay: the subset is the answer
        inclusion = np.where(mask, np.maximum(inclusion, _LIKELY), np.minimum(inclusion, 0.5))
    inclusion[mask & ~walker.allowed] = 1.0
    return np.asarray(inclusion)


def walk_result(
    walker: Walker, counting: list[Walker], ways: list[Walker], inclusion: Floats | None = None
) -> WalkResult:
    """What some chains counted, or an inclusion that is known, with the ways of all that led there."""
    counted = [w.tally.mean for w in counting if w.tally.weight]
    if counted:
        inclusion = np.mean(counted, axis=0)
    elif inclusion is None:
        # stopped before anything was counted: one subset is known, and what speaks for each unit beside it
        inclusion = inclusion_of(walker, walker.rewards())
    reasons = [w.stopped for w in ways if w.stopped]
    trajectories = [w.trajectory for w in ways]
    return WalkResult(
        inclusion,
        trajectories,
        sum(map(len, trajectories)),
        reasons[0] if reasons else "converged",
        merge_visits([w.tally.seen for w in counting], len(walker.allowed)),
        walker.state.dispersion,
    )


def _run_chain(chain: Walker, steps: int, redraw: bool) -> tuple[Tally, Trajectory, str | None]:
    """Run a chain, here or in another process, and hand back what it saw."""
    if redraw and isinstance(chain.state, OutcomeSubset):
        # one fit prices moves under all priors: none has to be drawn
        chain.state.mix_priors()
        redraw = False
    for done in range(0, steps, _REDRAW):
        if redraw:
            _redraw_prior(chain)
        chain.run(min(_REDRAW, steps - done))
    return chain.tally, chain.trajectory, chain.stopped


def warm_up(walker: Walker, plan: WalkPlan, tune: bool, marks: Callable[[], Floats] | None) -> bool:
    """Stand in a likely subset under a prior that suits; whether there was anything to read the prior off."""
    few = is_few(walker, plan)
    walker.order = order_units(walker.rewards(), marks)
    if not few:
        _best_start(walker, plan, tune)
    for _ in range(3):
        walker.climb()
        if tune:
            tune_prior(walker, shapes=1 if few else len(SHAPES))
        found = walker.state.size > 0
        if not few:
            walker.run(plan.settle // 3)
    return found


def _best_start(walker: Walker, plan: WalkPlan, tune: bool) -> None:
    """Search from scratch several times, and stand where the posterior was best."""
    final, origin, policy = walker.prior, walker.state.copy(), walker.policy
    # a greedy climb at the full price: what a search that is stopped early has to show
    walker.policy = UCB(0.0)
    walker.climb()
    walker.policy = policy
    best, reached = walker.posterior, walker.state
    for lenience in plan.starts:
        walker.stand(origin.copy())
        for part in range(8):
            walker.prior = replace(final, lenience=lenience * (1.0 - part / 8.0))
            if part == 0:
                walker.climb(learn=not origin.relearns)
            walker.run(plan.ramp // 8)
            if origin.relearns and part >= 4:
                walker.state.learn_dispersion()
            if tune and part >= 4:
                tune_prior(walker, shapes=1)
        walker.prior = final
        walker.climb()
        if tune:
            tune_prior(walker, shapes=len(SHAPES))
        # searches often end in the same subset: rounding must not say whose memory of prices is kept
        if walker.posterior > best + _ROUNDING * abs(best):
            best, reached = walker.posterior, walker.state
        if walker.stopped:
            break
    walker.stand(reached)


def tune_prior(walker: Walker, shapes: int, proof: float = _SHAPE_PROOF) -> None:
    """Set the prior of the coefficients to the one the current subset speaks for, out of the first `shapes`.

    Each thing that a shape adds to the plain prior has to be better by `proof`, in units of log evidence.
    Where the widest that is compared is the best, wider ones are compared, too.
    """
    if walker.stopped or not walker.state.size:
        return
    for state, _ in _models(walker.state):
        among = state.shapes[: shapes if walker.state.size >= _SHAPE_EFFECTS else 1]
        while True:
            table = _priced_table(state, among, proof)
            slab, shape = np.unravel_index(int(np.argmax(table)), table.shape)
            if slab < len(table) - 1 or not isinstance(state, RidgeSubset) or not state.widen():
                break
        state.set_prior(state.slabs()[slab], among[shape])


def _models(state: SubsetState) -> list[tuple[TunableState, float]]:
    """The models of a subset, one per response, and what the evidence of each counts."""
    if isinstance(state, JointSubset):
        return [(cast(TunableState, part), state.weight) for part in state.parts]
    return [(cast(TunableState, state), 1.0)]


def _redraw_prior(walker: Walker) -> None:
    """Draw the prior of the coefficients given the subset, so that the walk is over both.

    The prior that suits one subset best is too sure of itself: effects that were seen are larger than those
    still to be found. Visits of the walk follow the posterior times the `log_normaliser`, hence the second
    draw. Other policies visit what they like, and keep their prior.
    """
    policy, t = walker.policy, len(walker.trajectory) + 1
    if walker.stopped or not isinstance(policy, Softmax) or not np.isfinite(walker.rewards()).any():
        return
    for state, weight in _models(walker.state):
        drawn = draw_prior(state, weight, walker.rng)
        before = state.slab, Shape(state.shape, state.share)
        old = policy.log_normaliser(walker.rewards(), t=t)
        state.set_prior(*drawn)
        if np.log(1.0 - walker.rng.random()) > policy.log_normaliser(walker.rewards(), t=t) - old:
            state.set_prior(*before)


def _priced_table(state: TunableState, shapes: Sequence[Shape], proof: float) -> Floats:
    return state.evidence_table(shapes) - [proof * shape.additions for shape in shapes]


def branch(walker: Walker, rng: np.random.Generator) -> Walker:
    """Another walker that goes on from where this one stands."""
    branch = replace(walker, state=walker.state.copy(), rng=rng)
    branch.stopped = walker.stopped
    return branch


def weigh_all(walker: Walker, tune: bool) -> None:
    """Weigh every subset exactly, and again under the prior that the best of them speaks for."""
    state = walker.state
    best = _visit_all(walker)
    counted = walker.tally
    for _ in range(2 if tune else 0):
        if walker.stopped:
            break
        # a climb may have missed the best subset: two units may pay only in company
        prior = state.slab
        state.reset(best)
        walker.stand(state)
        tune_prior(walker, shapes=1)
        if state.slab == prior:
            break
        best = _visit_all(walker)
        counted = counted if walker.stopped else walker.tally
    walker.tally = counted


def _visit_all(walker: Walker) -> NDArray[np.bool_]:
    """Count every subset once, each a single move from the last (a Gray code); the best one."""
    free = np.flatnonzero(walker.allowed)
    walker.tally = Tally(len(walker.allowed))
    top, best = -np.inf, walker.state.mask.copy()
    for i in range(1, 2 ** len(free) + 1):
        walker.stopped = walker.stopped or walker.tick()
        if walker.stopped:
            break
        posterior = walker.count()
        if posterior > top:
            top, best = posterior, walker.state.mask.copy()
        if i < 2 ** len(free):
            unit = int(free[(i & -i).bit_length() - 1])
            walker.move(unit, np.nan)
    return best
