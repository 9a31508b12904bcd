"""What is taken off the scores of purchases, so that a policy buys what pays on rows it has not seen."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import while_time
from rlselect.datumwise._folds import evaluate, left_out, mean_return
from rlselect.datumwise._plan import PLAN
from rlselect.datumwise._policy import AdditivePolicy, Margins
from rlselect.datumwise._problem import PurchaseProblem
from rlselect.datumwise._screen import unit_worth

__all__ = ["choose_margin", "taken_off", "unit_ranks"]


class _Attempt(NamedTuple):
    """Margins, to how many units the choice is narrowed, what the rows then buy, and its value."""

    value: float
    bought: NDArray
    margins: tuple[float, float]
    reach: int


def choose_margin(
    problem: PurchaseProblem, policies: list[AdditivePolicy], folds: NDArray, ranks: NDArray
) -> tuple[list[AdditivePolicy], NDArray, float]:
    """The policies with what is taken off the scores of purchases such that the value is highest.

    The best of many noisy scores is too high, so that something always seems worth buying; how much too high
    is seen on the rows that a policy has not learned from. The fewer units there are to choose from, the less
    of that there is: so it is also tried to take off more from all units but those that tell most about the
    class each alone, as far as the rows show that a policy has learned from.
    """
    losses = problem.rules.losses
    scale = float(losses.max() - losses.min())

    def attempt(margins: tuple[float, float], reach: int) -> _Attempt:
        off = taken_off(scale, margins, ranks, reach)
        bought, returns = evaluate(problem, policies, folds, off)
        return _Attempt(mean_return(problem, returns), bought, margins, reach)

    def best(tried: list[_Attempt]) -> _Attempt:
        return max(tried, key=lambda one: one.value)

    for policy in policies:
        policy.keep_table()
    n_units = ranks.shape[1]
    first = best([attempt(margins, n_units) for margins in while_time(PLAN.margins, least=2)])
    few = {first.margins, *PLAN.margins[:2]}  # the fewer to choose from, the less has to be taken off
    # Rows that a policy has learned from would praise any choice.
    useful = n_units > PLAN.many and len(policies) > 1
    reaches = [reach for reach in PLAN.reaches if reach < n_units and useful]
    some = [(margins, reach) for reach in reaches for margins in sorted(few)]
    narrow = [attempt(*one) for one in while_time(some, least=0)]
    found = best([first, *narrow])
    if found.reach < n_units:
        wide = while_time(PLAN.margins, least=0)
        found = best([found, *(attempt(margins, found.reach) for margins in wide)])
    off = taken_off(scale, found.margins, ranks, found.reach)
    chosen = [policy.with_margins(own) for policy, own in zip(policies, off, strict=True)]
    return chosen, found.bought, found.value


def taken_off(scale: float, margins: tuple[float, float], ranks: NDArray, reach: int) -> list[Margins]:
    """For each policy what is taken off the scores of all units, at the first purchase and later."""
    far = PLAN.far * (ranks >= reach)
    return [(scale * (margins[0] + own), scale * (margins[1] + own)) for own in far]


def unit_ranks(problem: PurchaseProblem, folds: NDArray) -> NDArray:
    """Ranks of the units by what each alone tells about the class, for each policy from its own rows."""
    ranks = []
    for fold in left_out(int(folds.max()) + 1):
        own = folds != fold
        worth = unit_worth(
            problem.codes[own], problem.labels[own], problem.weights[own], problem.rules.groups
        )
        ranks.append(np.argsort(np.argsort(-worth, kind="stable")))
    return np.array(ranks)
