"""How long a walk over subsets takes."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class WalkPlan:
    """How long a walk takes.

    Parameters
    ----------
    starts : tuple of float
        Searches from scratch, of which the best is followed: the discount on the price of a unit with which
        each begins, in units of log evidence. A unit that only pays in company gets its chance there.
    ramp : int
        Steps during which the price rises to its final value, in each start.
    settle : int
        Further steps before anything is counted.
    steps : int
        Steps of each chain that count.
    chains : int
        Chains that start where the settling ended and then go their own ways.
    enumerate_up_to : int
        With no more free units than this, every subset is visited once instead.
    """

    starts: tuple[float, ...] = (1.0, 2.0, 3.0)
    ramp: int = 320
    settle: int = 600
    steps: int = 1250
    chains: int = 2
    enumerate_up_to: int = 12


# a Newton fit per step costs more than a rank-one update
GLM_PLAN = WalkPlan(starts=(0.5, 1.5), ramp=120, settle=240, steps=400, enumerate_up_to=8)

# prices over all priors tell as much in half the steps as under one prior at a time
OUTCOME_PLAN = replace(GLM_PLAN, settle=60, steps=200)

# of so many rows one subset stands out
LONG_TABLE_PLAN = WalkPlan(starts=(0.5,), ramp=40, settle=60, steps=100, enumerate_up_to=6)
