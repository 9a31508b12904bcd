"""What a search hands back, and the rows it was found on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Batch, DataSource
from rlselect.learn import Trajectory
from rlselect.subset.revs._choices import Choices
from rlselect.subset.revs._dependence import Dependence
from rlselect.subset.revs._noise import Noise
from rlselect.subset.revs._problem import Problem
from rlselect.subset.revs._visited import FreshFolds, Visited
from rlselect.subset.revs.evidence import Moments

Gather = Callable[[NDArray[np.intp]], tuple]
GatherBlocks = Callable[..., Iterator[Any]]


@dataclass
class Found:
    """What a search found, in units.

    Attributes
    ----------
    inclusion : array
        Probability or frequency that each unit belongs in.
    support : bool array
        The selected units.
    trajectories : list of Trajectory
        The visited subsets.
    n_stages, n_rows_read, stop_reason
        The effort.
    gather : callable
        ``gather(columns)`` returns these columns, y, weight and offset of the rows that were used.
    gather_blocks : callable, optional
        The same, a block at a time; with a second argument, what that function makes of each.
    first : callable, optional
        The same of the first block only.
    moments : callable, optional
        ``moments(columns)`` returns the sums of products of these columns, where the search has made them.
    numbers : callable, optional
        ``numbers(places)`` returns which rows of the table stand at these places of those that were used.
    n_rows_seen : int
        Rows that were used or looked at.
    detectable : array over columns, optional
        Size of effect that would have been seen with probability 0.9, NaN where there was none to be seen.
    labels : list of array of int or None
        Units that each trajectory speaks of; None where it speaks of all.
    dispersion : float
        Of counts that are more spread than Poisson's, zero otherwise.
    noise : Noise, optional
        Of linear models, where it is uneven or has heavy tails.
    visited : Visited, optional
        The subsets that were counted; None where one subset stands for all.
    predicting : Visited, optional
        The subsets that predictions are averaged over, where these are others.
    fresh : FreshFolds, optional
        Beside these, what rows say of selections that were made without them.
    dependence : Dependence, optional
        What rows share, where they belong together.
    """

    inclusion: NDArray[np.float64]
    support: NDArray[np.bool_]
    trajectories: list[Trajectory]
    n_stages: int
    n_rows_read: int
    stop_reason: str
    gather: Gather
    gather_blocks: GatherBlocks | None = None
    first: Gather | None = None
    numbers: Callable[[NDArray[np.intp]], NDArray[np.intp]] | None = None
    moments: Callable[[NDArray[np.intp]], Moments | None] | None = None
    n_rows_seen: int = 0
    detectable: NDArray[np.float64] | None = None
    labels: list[NDArray[np.intp] | None] | None = None
    dispersion: float = 0.0
    noise: Noise | None = None
    visited: Visited | None = None
    predicting: Visited | None = None
    fresh: FreshFolds | None = None
    dependence: Dependence | None = None

    @property
    def likeliest(self) -> NDArray[np.bool_]:
        """The subset that was counted most, or the one that stands for all."""
        if self.visited is None:
            return self.support.copy()
        mask = np.zeros(len(self.support), dtype=bool)
        mask[self.visited.subsets[0]] = True
        return mask


def choices_of(problem: Problem, found: Found) -> Choices:
    """What may be selected, and how probable each of it is."""
    return Choices(
        problem.groups,
        found.inclusion,
        problem.allowed,
        problem.always,
        problem.structure,
        found.likeliest if problem.is_limited else None,
        None if found.visited is None else found.visited.share_without(problem.allowed),
        problem.cut,
    )


def rows_of(table: DataSource, rows: Any) -> Gather:
    """What gathers columns of some rows, as in `Found`."""
    return lambda columns: as_floats(table, table.take(rows, columns))


def as_floats(table: DataSource, batch: Batch) -> tuple:
    """Dense columns in double precision, with response, weight and offset."""
    X = batch.X.toarray() if table.is_sparse else batch.X
    return X.astype(np.float64), *batch[1:]
