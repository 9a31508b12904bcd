"""Regularisation and bandwidth by out-of-sample risk on the dissertation's grids."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import OutOfTime, present_clock, time_is_up, while_time
from rlselect.machines._elimination import TunableProblem

__all__ = ["Tuner"]

Array = NDArray[np.float64]
_PAPER_BANDWIDTHS = (4.0, 3.0, 2.0, 1.0)
# of sqrt(2 d), the typical distance of standardised rows, widest first
_BANDWIDTH_MULTIPLES = (4.0, 2.0, 1.0, 0.5)
# of the risk of a constant: a machine with strong regularisation that gains less hardly moves
_LEAST_GAIN = 0.01


def _regularization_grid(total_weight: float, n_values: int) -> Array:
    """Lambda from ``2 / (n lambda) = 0.01 x 10^i``, i = 0, 1, ...: strongest first (i <= 4 in the
    dissertation).
    """
    return np.asarray(2.0 / (total_weight * 0.01 * 10.0 ** np.arange(n_values)), dtype=np.float64)


class Tuner:
    """Chooses lambda and bandwidth of a problem; what the user fixed stays fixed.

    Parameters
    ----------
    regularization, bandwidth : float, "auto" or "paper"
        "auto": a grid, searched in full first and around the last choice later. "paper": the grid of
        equation (3.12), searched once.
    total_weight : float
    uses_bandwidth : bool
        Whether the kernel has a width at all.
    n_columns : callable
        Number of columns of the problem's present set.
    squared : bool
        Whether the loss is a squared one, which is cheap for weak regularisation.
    every_lambda : bool
        Later searches try every lambda at the last bandwidth before they look around. Among very many columns
        the risk often has a second minimum at almost no regularisation, and a search that only looks around
        does not come back from it once the columns are few.
    narrow_first : bool
        With ``bandwidth="auto"``, the first search keeps to the narrowest width; later ones look around.
    constant_risk : float, optional
        Risk of the best constant. Where nothing beats it, risk asks for the strongest lambda, and a machine
        that hardly moves cannot tell which columns to keep: the last choice, or the middle of the grids, goes
        before it.
    """

    def __init__(
        self,
        regularization: float | str,
        bandwidth: float | str,
        total_weight: float,
        uses_bandwidth: bool,
        n_columns: Callable[[Any], int],
        squared: bool,
        every_lambda: bool = False,
        narrow_first: bool = False,
        constant_risk: float | None = None,
    ) -> None:
        self.every_lambda = every_lambda
        self.free_lam = isinstance(regularization, str)
        self.free_bandwidth = isinstance(bandwidth, str) and uses_bandwidth
        self.relative = self.free_bandwidth and bandwidth == "auto"
        self.once = "paper" in (regularization, bandwidth)
        self.n_columns = n_columns
        # The iterative solvers slow down without end where hardly anything is regularised.
        n_values = 7 if squared and regularization == "auto" else 5
        self.lams = (
            _regularization_grid(total_weight, n_values)
            if self.free_lam
            else np.array([float(regularization)])
        )
        if self.relative:
            self.widths = np.array(_BANDWIDTH_MULTIPLES)
        elif self.free_bandwidth:
            self.widths = np.array(_PAPER_BANDWIDTHS)
        else:
            self.widths = np.array([1.0 if isinstance(bandwidth, str) else float(bandwidth)])
        self.place: tuple[int, int] | None = None
        self.narrow_first = narrow_first
        self.still = np.inf
        if constant_risk is not None and self.free_lam and not self.once:
            self.still = (1.0 - _LEAST_GAIN) * constant_risk

    @property
    def free(self) -> bool:
        """Whether there is anything to choose."""
        return self.free_lam or self.free_bandwidth

    def _width(self, index: int, problem: TunableProblem) -> float:
        scale = np.sqrt(2.0 * max(self.n_columns(problem), 1)) if self.relative else 1.0
        return float(self.widths[index] * scale)

    def start_width(self, n_columns: int) -> float:
        """A width to build the first kernel with."""
        return float(self.widths[0] * (np.sqrt(2.0 * max(n_columns, 1)) if self.relative else 1.0))

    def tune(self, problem: TunableProblem) -> None:
        """Set the problem's parameters to the best of the grid; ties go to the stronger regularisation."""
        every = range(len(self.lams)), range(len(self.widths))
        known: dict[int, list[float]] = {}
        last, risk = self.place, -np.inf
        if self.place is not None and time_is_up():
            # the last choice has to do
            pass
        elif self.place is None or not self.free:
            # widths may have been replaced since the tuner was made
            first = len(self.widths) - 1 if self.narrow_first and self.relative else 0
            risk = self._search(problem, every[0], range(first, len(self.widths)), known)
        else:
            if self.every_lambda:
                risk = self._search(problem, every[0], range(self.place[1], self.place[1] + 1), known)
            if not self.every_lambda or self.free_bandwidth:
                rows, columns = (
                    range(max(0, at - 1), min(len(whole), at + 2))
                    for at, whole in zip(self.place, every, strict=True)
                )
                risk = self._search(problem, rows, columns, known)
        assert self.place is not None
        if self.place[0] == 0 and risk > self.still:
            width = self.place[1] if self.narrow_first else len(self.widths) // 2
            self.place = last or (len(self.lams) // 2, width)
        problem.lam = float(self.lams[self.place[0]])
        problem.bandwidth = self._width(self.place[1], problem)

    def _search(
        self, problem: TunableProblem, rows: range, columns: range, known: dict[int, list[float]]
    ) -> float:
        """Move to the best of some lambdas and bandwidths, and give its risk, where there is a choice.

        ``known`` holds risks of all lambdas.
        """
        if len(rows) * len(columns) == 1:
            self.place = (rows[0], columns[0])
            return -np.inf
        found: dict[tuple[int, int], float] = {}
        near, nearest = self._in_order(rows, 0), self._in_order(columns, 1)
        for column in while_time(nearest):
            if column in known:
                risks, asked = known[column], list(range(len(self.lams)))
            else:
                asked = near
                try:
                    risks = problem.risk_at(self.lams[asked], self._width(column, problem))
                except OutOfTime:  # what is known by now has to do
                    break
            if len(risks) == len(self.lams):
                known[column] = [risk for _, risk in sorted(zip(asked, risks, strict=True))]
            # out of time, the last ones are not known
            found |= {(row, column): risk for row, risk in zip(asked, risks, strict=False)}
        best = (np.inf, *(self.place or (rows[len(rows) // 2], columns[0])))
        for column in columns:
            for row in rows:
                if found.get((row, column), np.inf) < best[0] * (1.0 - 1e-9):
                    best = (found[row, column], row, column)
        self.place = (best[1], best[2])
        return best[0]

    def _in_order(self, places: range, axis: int) -> list[int]:
        """Places of a grid as they are tried: with a time budget the last choice comes first.

        A search that is cut off would choose among its beginning alone otherwise.
        """
        if self.place is None or present_clock().left is None:
            return list(places)
        last = self.place[axis]
        return sorted(places, key=lambda place: abs(place - last))

    def again(self, problem: TunableProblem) -> None:
        """Choose anew near the last choice."""
        if self.free and not self.once:
            self.tune(problem)
