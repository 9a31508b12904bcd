"""About how long a fit takes here, and how much memory: by sizes, and by how fast this machine is.

The constants are read off fits of `benchmarks/check_estimates.py` on one thread of the machine that
`slower_here` compares with.
"""

from typing import NamedTuple

from rlselect._limits import seconds_for, slower_here
from rlselect.preflight._target import Outcome

__all__ = ["MANY_ROWS", "Cost", "cost_of"]

# from here on REVS asks how many rows it takes, and ACP's machines are made of so many
MANY_ROWS = 5000
_MB = 2.0**20
# rows that are in memory at a time where a table is read in parts
_BATCH = 65_536
# rows of a trial from which on columns take the place of kernels
_KERNEL_ROWS = 800


class Cost(NamedTuple):
    """What a fit takes.

    Attributes
    ----------
    seconds : tuple of float
        At least and at most; most fits are in between.
    memory : float
        Bytes beside the table, the upper end.
    """

    seconds: tuple[float, float]
    memory: float


def cost_of(method: str, outcome: Outcome, n: int, p: int) -> Cost:
    """Seconds and bytes of a fit.

    Parameters
    ----------
    method : str
        Name of the estimator.
    outcome : {"number", "two classes", "classes", "count"}
        What the target is.
    n, p : int
        Rows and columns.
    """
    cells = float(n) * p
    if method == "REVS":
        return _of_revs(outcome, n, p)
    if method == "ActorCriticPredictor":
        rows = min(n, MANY_ROWS)
        classes = 1.7 if outcome in ("two classes", "classes") else 1.0
        typical = 1.6e-3 * classes * rows * p**0.5
        return Cost(_around(typical, 3.0), 4 * _MB + 48.0 * cells + 20.0 * rows**2)
    if method.startswith("Datumwise"):
        # networks of eight settings, whose training hardly depends on the rows
        return Cost(_around(45.0 + 1.2e-3 * cells, 2.0), 25 * _MB + 200.0 * cells)
    if method == "QLearning":
        typical = 0.5 + 5e-4 * min(n, _KERNEL_ROWS) * p + 2e-5 * cells
        return Cost(_around(typical, 2.5), 35 * _MB + 1e3 * min(n, _KERNEL_ROWS) * p**0.5 + 64.0 * cells)
    # one estimating equation for each time
    return Cost(_around(0.25 + 2e-6 * cells, 2.5), 40 * _MB + 60.0 * cells)


def _of_revs(outcome: Outcome, n: int, p: int) -> Cost:
    if n > MANY_ROWS:
        # strong effects are decided on a sample; faint ones take all rows, in the end all their products
        passes = 2.0 if outcome == "number" else 10.0
        high = slower_here() * (0.2 + 1e-3 * p) + passes * seconds_for(2.0 * n * p**2)
        memory = 4 * _MB + 8.0 * min(n, _BATCH) * p + 32.0 * p**2
        return Cost((slower_here() * (0.03 + 1e-4 * p), high), memory)
    start, each = {"number": (0.55, 3e-3), "classes": (0.7, 1e-2)}.get(outcome, (0.6, 5e-3))
    wide = 0.25 if outcome == "number" else 0.5
    low, high = _around(start + each * p, 2.5)
    # twice as long again where columns that stand in for each other keep the search in doubt
    return Cost((low, 2.0 * high), (8 + wide * p) * _MB + 80.0 * n * p)


def _around(seconds: float, factor: float) -> tuple[float, float]:
    here = seconds * slower_here()
    return here / factor, here * factor
