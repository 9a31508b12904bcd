"""Few subjects: leave-one-out influence functions, and draws whose standard errors are estimated anew."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlselect.temporal._design import ProcessDesign
from rlselect.temporal._estimate import ScoreParts

Array = NDArray[np.float64]

# Units from which on signs alone give thousands of patterns.
_MANY_SIGNS = 12
# numbers of a block of draws: it stays within the cache of a small machine
_BLOCK = 2_000_000


def webb(size: int, n: int, rng: np.random.Generator) -> Array:
    """Multipliers of mean 0 and variance 1 on six points, (size, n): signs alone repeat in few subjects."""
    return rng.choice(np.sqrt([0.5, 1.0, 1.5]), size=(size, n)) * rng.choice([-1.0, 1.0], size=(size, n))


def signs(size: int, n: int, rng: np.random.Generator) -> Array:
    """Random signs, (size, n), which keep all even moments of scores; `webb` where they would repeat."""
    return rng.choice([-1.0, 1.0], size=(size, n)) if n >= _MANY_SIGNS else webb(size, n, rng)


@dataclass(frozen=True)
class WildDraws:
    """Draws of a process that is linear in the scores, each with influence functions of its own.

    Scores are those of the curves that a hypothesis allows: there the tested effects take no part, so that
    neither their estimate nor standard errors that grow with it distort the level.

    The scores of a subject, at all times, are multiplied by one random number; the estimate moves by one
    step, and what is left of the scores there gives new influence functions. So a draw has standard errors
    that err as those of the data do, which normal multipliers on fixed standard errors miss.

    Attributes
    ----------
    parts : ScoreParts or None
        Of what is estimated in every draw, at the curves around which is drawn: all covariates, or what a
        hypothesis leaves free. None when leverage is not known (constant effects): influence functions are
        then taken as a sample.
    psi : array of shape (times, rows, independent units)
        Influence functions of the process.
    pull : array of shape (times, rows, units)
        Scores to influence functions of the process; `psi` without `parts`.
    design : ProcessDesign, optional
        Says which units are one cluster.
    free : ScoreParts, optional
        Of what a hypothesis leaves free, at the curves that it allows.
    """

    parts: ScoreParts | None
    psi: Array
    pull: Array
    design: ProcessDesign | None = None
    free: ScoreParts | None = None

    def observed(self) -> tuple[Array, Array]:
        """The step away from curves of a hypothesis (times, rows), and its influence functions.

        In linear models it is the step to the estimate. It is finite also where the estimate is not, as when
        the response is the same in a whole group.
        """
        assert self.parts is not None
        score = self.parts.score
        change = (self.pull * score[:, None, :]).mean(axis=2)
        return change, self._left(np.ones((1, score.shape[1])), score, change[None])[0]

    def blocks(
        self, n_draws: int, rng: np.random.Generator, *, power: float = 1.0
    ) -> Iterator[tuple[Array, Array]]:
        """Changes (draws, times, rows) and influence functions (draws, times, rows, subjects), in blocks."""
        n_times, r, n = self.pull.shape
        scores, multipliers = (self.parts, webb) if self.free is None else (self.free, signs)
        score = np.ones((n_times, n)) if scores is None else scores.enlarged(power)
        some = max(1, _BLOCK // (n_times * r * n))
        for first in range(0, n_draws, some):
            g = multipliers(min(some, n_draws - first), self.psi.shape[2], rng)
            if self.design is not None and self.design.clusters is not None:
                g = g[:, self.design.clusters]
            change = (self.pull * score[:, None, :]) @ g.T / n
            change = change.transpose(2, 0, 1)
            yield change, self._left(g, score, change)

    def enlarged(self, power: float) -> Array:
        """Influence functions at a hypothesis, from enlarged scores, (times, rows, independent units)."""
        assert self.free is not None
        assert self.design is not None
        return self.design.gather_psi(self.pull * self.free.enlarged(power)[:, None, :])

    def model_covariance(self) -> Array:
        """Of the step away from curves of a hypothesis if units had the working variance there."""
        assert self.free is not None
        return (self.pull * self.free.weight[:, None, :]) @ self.pull.swapaxes(1, 2) / self.pull.shape[2] ** 2

    def _left(self, g: Array, score: Array, change: Array) -> Array:
        if self.parts is None:
            return g[:, None, None, :] * self.psi - change[..., None]
        p = self.parts
        moved = (p.back * score[:, None, :]) @ g.T
        left = g[None] * score[:, None, :] - p.weight[:, None, :] * (moved.swapaxes(1, 2) @ p.q)
        psi = left.swapaxes(0, 1)[:, :, None, :] * self.pull
        return psi if self.design is None else self.design.gather_psi(psi)
