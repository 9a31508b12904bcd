"""Whom the subjects of a trial stand for: how much each counts, and which of them belong together."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Sample", "everyone_alike"]


@dataclass(frozen=True)
class Sample:
    """Weights and clusters of the subjects.

    Attributes
    ----------
    weights : (n,) array
        How much each subject counts; their mean is 1.
    clusters : (n,) int array or None
        Numbers of the clusters, from 0 on; None where subjects are independent of each other.
    """

    weights: np.ndarray
    clusters: np.ndarray | None

    @property
    def weighted(self) -> bool:
        """Whether some count more than others."""
        return bool(np.ptp(self.weights) > 0.0)

    @property
    def n_units(self) -> int:
        """Number of independent units: clusters, or subjects."""
        return len(self.weights) if self.clusters is None else int(self.clusters.max()) + 1

    def deal(self, rng: np.random.Generator, ranks: np.ndarray) -> np.ndarray:
        """A random number below `n_units` for each subject, the same one within a cluster and no other.

        ``ranks`` (n,) say which number goes to which subject where there are no clusters.
        """
        return rng.permutation(self.n_units)[ranks if self.clusters is None else self.clusters]

    def units(self, scores: np.ndarray) -> np.ndarray:
        """Scores (..., n) as those of independent units (..., g), whose plain mean is the weighted one.

        The spread of the units' scores is that of the influence functions of the weighted mean, added up
        within clusters: their standard error is the robust one.
        """
        if not self.weighted and self.clusters is None:
            return scores
        mean = np.average(scores, axis=-1, weights=self.weights)[..., None]
        return mean + self.influences(scores - mean)

    def influences(self, parts: np.ndarray) -> np.ndarray:
        """What subjects (..., n) contribute to a weighted mean, as contributions of units (..., g)."""
        return self.totals(self.weights * parts) * (self.n_units / len(self.weights))

    def totals(self, values: np.ndarray) -> np.ndarray:
        """Values (..., n) added up within clusters (..., g)."""
        return values if self.clusters is None else values @ np.eye(self.n_units)[self.clusters]

    def is_whole(self, actions: np.ndarray) -> bool:
        """Whether clusters of several subjects have one of the actions (n,) each."""
        if self.clusters is None or self.n_units == len(actions):
            return False
        return len(np.unique(np.column_stack([self.clusters, actions]), axis=0)) == self.n_units

    def part(self, rows: np.ndarray) -> "Sample":
        """The sample of some subjects."""
        clusters = None if self.clusters is None else np.unique(self.clusters[rows], return_inverse=True)[1]
        return Sample(self.weights[rows], clusters)


def everyone_alike(n: int) -> Sample:
    """Subjects that count alike and are independent."""
    return Sample(np.ones(n), None)
