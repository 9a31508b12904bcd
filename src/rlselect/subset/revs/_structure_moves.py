"""Two moves in one, for walks that rules of structure keep from making them one after the other."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rlselect.learn import Softmax, Trajectory
from rlselect.subset.revs._structure import Structure
from rlselect.subset.revs._subset_state import SubsetState

# of the steps of a walk, the share after which a swap is drawn: it costs as much as three steps
_SWAPS = 0.25
# products that are tried with the columns they need: the most promising ones
_FAMILIES = 6
# what counts as better, and not as rounding, in units of log evidence
_BETTER = 1e-6


class StructuredWalk(Protocol):
    """A chain whose subsets follow rules."""

    state: SubsetState
    structure: Structure | None
    allowed: NDArray[np.bool_]
    order: NDArray[np.intp] | None
    rng: np.random.Generator
    trajectory: Trajectory
    stopped: str | None

    @property
    def tick(self) -> Callable[[], str | None]: ...
    @property
    def posterior(self) -> float: ...
    @property
    def admitted(self) -> bool: ...
    def rewards(self) -> NDArray[Any]: ...
    def move(self, unit: int, reward: float) -> None: ...


def _inside(walk: StructuredWalk) -> NDArray[np.intp]:
    return np.flatnonzero(walk.state.mask & walk.allowed & np.isfinite(walk.rewards()))


def make_swap(walk: StructuredWalk) -> bool:
    """Put one unit into the place of another where a limit is reached, if the best such swap pays.

    Parameters
    ----------
    walk : StructuredWalk
        At the end of a climb.

    Returns
    -------
    bool
        Whether it was made.
    """
    assert walk.structure is not None
    if not walk.structure.is_full(walk.state.mask):
        return False
    before, values = walk.posterior, walk.rewards()
    best, pair = 0.0, None
    for unit in _inside(walk):
        walk.stopped = walk.stopped or walk.tick()
        if walk.stopped:
            return False
        walk.move(int(unit), float(values[unit]))
        after = np.where(walk.state.mask, -np.inf, walk.rewards())
        after[unit] = -np.inf
        other = int(np.argmax(after))
        if values[unit] + after[other] > best:
            best, pair = float(values[unit] + after[other]), (int(unit), other)
        walk.move(int(unit), -float(values[unit]))
    if pair is None:
        return False
    for unit in pair:
        walk.state.prepare(unit, walk.rewards())
        walk.move(unit, np.nan)
    # prices of moves may be those of one Newton step, and the other unit may have turned a sign
    if walk.admitted and walk.posterior > before + _BETTER:
        return True
    for unit in reversed(pair):
        walk.move(unit, np.nan)
    return False


def make_family(walk: StructuredWalk) -> bool:
    """Add a product together with those of its two columns that are missing, if the best such move pays.

    Columns that matter through their product alone would not come in one by one.
    """
    assert walk.structure is not None
    structure, mask = walk.structure, walk.state.mask
    values = np.where(structure.is_product & ~mask & walk.allowed, walk.state.moves(), -np.inf)
    orphans = structure.is_product & ~mask[structure.parents].all(axis=1)
    values[~orphans] = -np.inf
    before, best, chosen = walk.posterior, _BETTER, None
    for unit in np.argsort(-values, kind="stable")[:_FAMILIES]:
        walk.stopped = walk.stopped or walk.tick()
        if walk.stopped or not values[unit] > 0:
            break
        family = [int(u) for u in (*np.unique(structure.parents[unit]), unit) if not walk.state.mask[u]]
        whole = walk.state.mask.copy()
        whole[family] = True
        if not walk.allowed[family].all() or not structure.fits(whole):
            continue
        gain = _tried(walk, family) - before
        if gain > best:
            best, chosen = gain, family
        for member in reversed(family):
            walk.move(member, np.nan)
    if chosen is None:
        return False
    _tried(walk, chosen)
    return True


def _tried(walk: StructuredWalk, units: list[int]) -> float:
    """Log posterior after some moves, -inf where they break a rule."""
    for unit in units:
        walk.state.prepare(unit, walk.rewards())
        walk.move(unit, np.nan)
    return walk.posterior if walk.admitted else -np.inf


def draw_swap(walk: StructuredWalk, policy: Softmax) -> None:
    """Draw what stands in the place of one unit, where a limit is reached, given the others.

    A unit at random leaves, and one of those that may enter takes its place, itself among them, by their
    posterior odds. Visits of the walk follow the posterior times the normaliser of its policy: hence the
    second draw.
    """
    assert walk.structure is not None
    if not walk.structure.is_full(walk.state.mask) or walk.rng.random() >= _SWAPS:
        return
    inside, t = _inside(walk), len(walk.trajectory) + 1
    if not len(inside):
        return
    # draws follow the order of the walk, whatever the order of the columns is
    order = np.arange(len(walk.allowed)) if walk.order is None else walk.order
    unit = int(walk.rng.choice(order[np.isin(order, inside)]))
    old = policy.log_normaliser(walk.rewards(), t=t) - np.log(len(inside))
    reward = float(walk.rewards()[unit])
    walk.move(unit, reward)
    after = np.where(walk.state.mask, -np.inf, walk.rewards())
    after[unit] = -reward
    share = np.exp(after - after.max())[order]
    other = int(walk.rng.choice(order, p=share / share.sum()))
    walk.move(other, float(after[other]))
    if other == unit:
        return
    new = -np.inf
    if walk.admitted:
        new = policy.log_normaliser(walk.rewards(), t=t) - np.log(len(_inside(walk)))
    if np.log(1.0 - walk.rng.random()) > new - old:
        walk.move(other, -float(after[other]))
        walk.move(unit, -reward)
