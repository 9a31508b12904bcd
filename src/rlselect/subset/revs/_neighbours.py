"""Which units matter together: those of correlated columns may, and the rows say how far."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# how far neighbours speak for each other, in whole steps; half of the prior is for "not at all". A column all
# of whose neighbours are inside has eleven times the odds at most: more would fill blocks by itself, as the
# narrow prior of the coefficients hardly charges for a column that stands in for others
_STEP = 0.8
_STRENGTHS = _STEP * np.arange(4.0)
_LOG_SHARES = np.log([1 / 2, 1 / 6, 1 / 6, 1 / 6])
# by how much the log evidence for any strength has to be above that for none before effects keep together
_PROOF = 2.0
# what the neighbours of a column amount to, at least: four that are correlated by one half
_LEAST_DEGREE = 0.25
# sizes up to which the mean over all subsets is known, and the subsets that it is learnt from
_SIZES = 50
_DRAWN = 32


@dataclass(frozen=True)
class Neighbours:
    r"""Prior of a subset among those of its size, in which correlated columns speak for each other.

    .. math:: \pi(s) = \sum_\lambda \pi_\lambda\,e^{\lambda E(s)} / Z_{|s|}(\lambda),
        \qquad E(s) = \sum_{i < j \in s} w_{ij},

    a mixture of Markov random fields with :math:`\lambda = 0`, under which neither knows of the other, among
    them (Li and Zhang 2010, Bayesian variable selection in structured high-dimensional covariate spaces).
    Each is made to have the mean 1 over the subsets of a size, so that sizes cost what they did. Effects that
    keep together are evidence for a strength, and effects that do not are evidence against it.

    Attributes
    ----------
    links : array of shape (m, m)
        w; zero on the diagonal and for units that may not move.
    free : bool array of shape (m,)
        Units that may move.
    log_means : array of shape (n_strengths, n_sizes)
        log Z of each strength and size.
    """

    links: Floats
    free: Mask
    log_means: Floats

    def log_prior(self, mask: Mask) -> float:
        """Log of what the prior of a subset is, over that of an average one of its size."""
        size, _, energy = self._inside(mask)
        return float(np.logaddexp.reduce(self._parts(size, energy)))

    def keep_together(self, mask: Mask) -> bool:
        """Whether the units of a subset are evidence that neighbours speak for each other."""
        size, _, energy = self._inside(mask)
        parts = self._parts(size, energy)
        return bool(np.logaddexp.reduce(parts[1:]) - parts[0] > _PROOF)

    def changes(self, mask: Mask) -> Floats:
        """Change of the log prior when each unit is toggled."""
        out = np.zeros(len(mask))
        size, near, energy = self._inside(mask)
        if not size:
            return out
        here = self.log_prior(mask)
        out[:] = _log_polynomial(np.exp(self._parts(size + 1, energy) - here), np.exp(_STEP * near))
        inside = mask & self.free
        apart = np.exp(-_STEP * near[inside])
        out[inside] = _log_polynomial(np.exp(self._parts(size - 1, energy) - here), apart)
        out[~self.free] = 0.0
        return out

    def _inside(self, mask: Mask) -> tuple[int, Floats, float]:
        """Size of a subset, what links each unit to it, and its energy."""
        inside = np.flatnonzero(mask & self.free)
        near = self.links[inside].sum(axis=0)
        return len(inside), near, 0.5 * float(near[inside].sum())

    def _parts(self, size: int, energy: float) -> Floats:
        """Log of the parts of the mixture."""
        known = self.log_means.shape[1] - 1
        means = self.log_means[:, min(size, known)]
        if size > known:
            means = means + (size - known) * (means - self.log_means[:, known - 1])
        return np.asarray(_LOG_SHARES - means + _STRENGTHS * energy)


def _log_polynomial(weights: Floats, base: Floats) -> Floats:
    """Log of the sum of `weights` times rising powers of `base`: strengths are whole steps."""
    total = np.full_like(base, weights[-1])
    for weight in weights[-2::-1]:
        total *= base
        total += weight
    return np.asarray(np.log(total))


def neighbours_among(correlation: Floats, free: Mask, order: NDArray[np.intp]) -> Neighbours | None:
    """The prior of units whose columns have these correlations; None where none may move beside another.

    A link is made of the fourth power of a correlation, so that those of chance do not count, over what all
    links of the two columns amount to: the energy grows with the share of its neighbours that a subset has,
    not with their number. What a column says that its copy says, too, is no effect of its own, so that
    links of copies fade.

    Parameters
    ----------
    correlation : array of shape (m, m)
        Of the columns of the units; zeros for units of several columns.
    free : bool array of shape (m,)
        Units that may move.
    order : array of int of shape (m,)
        In which units are drawn, whatever the order of the columns is.

    Returns
    -------
    Neighbours or None
    """
    places = order[free[order]]
    if len(places) < 2:
        return None
    # of a constant column there is none
    alike = np.where(np.outer(free, free), correlation, 0.0) ** 4
    np.fill_diagonal(alike, 0.0)
    degree = np.sqrt(np.maximum(alike.sum(axis=0), _LEAST_DEGREE))
    links = alike * (1.0 - alike) / np.outer(degree, degree)
    drawn = links[np.ix_(places, places)]
    return Neighbours(links, free, np.array([log_means(drawn, s, _SIZES) for s in _STRENGTHS]))


def log_means(links: Floats, strength: float, most: int) -> Floats:
    """Log mean of exp(strength x energy) over all subsets of each size, up to `most`.

    Subsets grow unit by unit, each the likelier to enter the more it is linked to; those that had much to
    choose from are followed more often (sequential Monte Carlo). The draws are the same in every call.

    Parameters
    ----------
    links : array of shape (m, m)
        Symmetric, zero on the diagonal.
    strength : float
        Of the links.
    most : int
        Largest size.

    Returns
    -------
    array of shape (min(m, most) + 1,)
    """
    m = len(links)
    out = np.zeros(min(m, most) + 1)
    if not strength:
        return out
    rng, each = np.random.default_rng(0), np.arange(_DRAWN)
    near, outside = np.zeros((_DRAWN, m)), np.ones((_DRAWN, m))
    for size in range(len(out) - 1):
        weight = outside * np.exp(strength * near)
        total = weight.sum(axis=1)
        out[size + 1] = out[size] + np.log(total.mean() / (m - size))
        cut = (rng.random() + each) / _DRAWN
        parent = np.searchsorted(np.cumsum(total) / total.sum(), cut).clip(max=_DRAWN - 1)
        reached = np.cumsum(weight[parent], axis=1)
        unit = np.count_nonzero(reached < rng.random((_DRAWN, 1)) * reached[:, -1:], axis=1)
        near, outside = near[parent] + links[unit], outside[parent]
        outside[each, unit] = 0.0
    return out
