"""Posterior of the coefficients in many subsets of the same columns, and what each says of left-out rows."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from rlselect._clock import while_time
from rlselect.kernels import (
    NewtonPoint,
    NewtonProblem,
    NewtonStep,
    damped_newton,
    information,
    log_likelihood,
    null_intercept,
    ridge_evidence_grid,
    score_and_curvature,
    small_decrement,
    solve_each,
)
from rlselect.subset.revs.evidence._prior_width import widened

Floats = NDArray[np.float64]
Subsets = list[NDArray[np.intp]]

# of the log posterior: a hundredth of a standard error, as in the walk
_DECREMENT = 1e-4
_NEWTON_STEPS = 30
# numbers of a batch of designs
_BATCH = 2**22
# subsets that are looked at before time is asked for more, and how much more then
_FIRST, _MORE = 8, 4
# sums of rows that hold so little beside their cluster are solved with care
_ILL = 1e6


class StandardRows(NamedTuple):
    """Standardised columns (n, u), response, weights and the known part of the linear predictor.

    `single` is what one copy of a row weighs: it is one copy that is left out, the others stay. Rows of the
    same number in `together` are left out together, with all their copies.
    """

    columns: Floats
    y: Floats
    weight: Floats
    offset: Floats
    single: Floats
    together: NDArray[np.intp] | None = None


class RowLikelihood(NamedTuple):
    """A family ("gaussian", "binomial" or "poisson"), and the dispersion of negative binomial counts."""

    family: str
    dispersion: float = 0.0

    def of(self, y: Floats, eta: Floats) -> Floats:
        """Log likelihood of each row."""
        return log_likelihood(self.family, y, eta, dispersion=self.dispersion)


class LeftOut(NamedTuple):
    """What subsets say of rows that are left out one by one.

    `predictor` is the linear predictor without the row's own say, and `density` the log density of its
    response there, both of shape (subsets, rows).
    """

    predictor: Floats
    density: Floats


class Posteriors(NamedTuple):
    """Coefficients of m subsets on u standardised columns, zero where a column is not in.

    `coef` is (m, u), `intercept` (m,), `noise` (m,) the variance of a response about its mean, `variances`
    the covariance of the coefficients inside each subset.
    """

    coef: Floats
    intercept: Floats
    noise: Floats
    variances: list[Floats]
    left_out: LeftOut


class _Sums(NamedTuple):
    """What ridges need of the rows: their response about its centre, and sums with it."""

    centre: float
    response: Floats
    gram: Floats
    cross: Floats
    total: float


def _sums(rows: StandardRows) -> _Sums:
    Z, w = rows.columns, rows.weight
    known = rows.y - rows.offset
    centre = float(w @ known) / float(w.sum())
    response = known - centre
    return _Sums(centre, response, (Z.T * w) @ Z, Z.T @ (w * response), float(w @ response**2))


def _parcels(subsets: Subsets) -> Iterator[slice]:
    """More and more of the subsets at a time, as long as there is time: the heaviest come first."""
    ends = [0, _FIRST]
    while ends[-1] < len(subsets):
        ends.append(_MORE * ends[-1])
    return while_time(slice(start, stop) for start, stop in pairwise(ends))


def _joined(parts: list[Posteriors]) -> Posteriors:
    """One after the other."""
    coef, intercept, noise = (np.concatenate([part[i] for part in parts]) for i in range(3))
    left_out = LeftOut(*(np.concatenate([part.left_out[i] for part in parts]) for i in range(2)))
    return Posteriors(coef, intercept, noise, [v for part in parts for v in part.variances], left_out)


def linear_posteriors(rows: StandardRows, subsets: Subsets, slabs: Floats, judged: int) -> Posteriors:
    r"""Ridge posteriors :math:`\beta_s \sim N(0, g \sigma^2)`, each under the g that its evidence speaks for.

    Parameters
    ----------
    rows : StandardRows
        Columns of weighted mean zero and variance one.
    subsets : list of arrays of int
        Places of their columns.
    slabs : array
        The g to choose from, and larger ones where the first subset speaks for the largest.
    judged : int
        How many of the subsets, from the first on, predict rows that are left out.

    Returns
    -------
    Posteriors
        Of the first subsets only, where time is up.
    """
    sums, found = _sums(rows), []
    slabs = _with_room(sums, subsets[0], slabs, float(rows.weight.sum()))
    for part in _parcels(subsets):
        found.append(_some_linear(rows, sums, subsets[part], slabs, max(judged - part.start, 0)))
    return _joined(found)


def _with_room(sums: _Sums, places: NDArray[np.intp], slabs: Floats, n: float) -> Floats:
    """The g to choose from, and larger ones as long as a subset speaks for the largest."""
    gram, cross = sums.gram[np.ix_(places, places)], sums.cross[places]
    while len(places) and len(slabs) > 1:
        evidence = ridge_evidence_grid(gram, cross, sums.total, max(n - 1.0, 1.0), slabs, None)[0]
        widest = widened(slabs[-1], len(places), n)
        if np.argmax(evidence) < len(slabs) - 1 or widest == slabs[-1]:
            break
        slabs = np.geomspace(slabs[0], widest, len(slabs))
    return slabs


def _some_linear(rows: StandardRows, sums: _Sums, subsets: Subsets, slabs: Floats, judged: int) -> Posteriors:
    Z, n = rows.columns, float(rows.weight.sum())
    centre, response, gram, cross, total = sums
    degrees = max(n - 1.0, 1.0)
    coef, quads = np.zeros((len(subsets), Z.shape[1])), np.full(len(subsets), total)
    variances: list[Floats] = [np.zeros((0, 0))] * len(subsets)
    judged = min(judged, len(subsets))
    leverage = np.full((judged, len(response)), 1.0 / n)
    for which, places in _alike(subsets):
        values, vectors = np.linalg.eigh(gram[places[:, :, None], places[:, None, :]])
        values = np.maximum(values, 0.0)
        turned = _times(vectors.swapaxes(1, 2), cross[places])
        inverse = 1.0 / (values[:, None] + 1.0 / slabs[:, None])
        quad = np.maximum(total - _times(inverse, turned**2), 1e-12 * total)
        evidence = -0.5 * degrees * np.log(np.maximum(quad, 1e-300))
        evidence -= 0.5 * np.log1p(slabs[:, None] * values[:, None]).sum(axis=2)
        best = np.arange(len(which)), np.argmax(evidence, axis=1)
        quads[which] = quad[best]
        coef[which[:, None], places] = _times(vectors, inverse[best] * turned)
        shrunk = vectors * np.sqrt(inverse[best])[:, None, :]
        scaled = quad[best][:, None, None] / degrees * (shrunk @ shrunk.swapaxes(1, 2))
        for i, place, variance, root in zip(which, places, scaled, shrunk, strict=True):
            variances[i] = variance
            if i < judged:
                leverage[i] += ((Z[:, place] @ root) ** 2).sum(axis=1)
    quads = np.maximum(quads, 1e-300)
    noise = quads / degrees
    if rows.together is not None:
        left_out = _left_out_together(rows, subsets[:judged], coef, centre, noise, variances)
        return Posteriors(coef, np.full(len(subsets), centre), noise, variances, left_out)
    fitted = coef[:judged] @ Z.T
    left = np.maximum(1.0 - rows.single * leverage, 1e-6)
    residual = (response - fitted) / left
    rest = np.maximum(
        quads[:judged, None] - rows.single * residual**2 * left,
        np.maximum(1e-12 * quads[:judged, None], 1e-300),
    )
    density = 0.5 * (degrees - 1.0) * np.log(rest) - 0.5 * degrees * np.log(quads[:judged, None])
    density += 0.5 * np.log(left) + gammaln(degrees / 2.0) - gammaln(max(degrees - 1.0, 0.5) / 2.0)
    return Posteriors(
        coef,
        np.full(len(subsets), centre),
        noise,
        variances,
        LeftOut(rows.y - residual, density - 0.5 * np.log(np.pi)),
    )


def _left_out_together(
    rows: StandardRows,
    subsets: Subsets,
    coef: Floats,
    centre: float,
    noise: Floats,
    variances: list[Floats],
) -> LeftOut:
    """What ridge posteriors say of rows that are left out together."""
    normal, ones = RowLikelihood("gaussian"), np.ones(len(rows.y))
    predictor = np.empty((len(subsets), len(rows.y)))
    for i, places in enumerate(subsets):
        covariance = np.zeros((len(places) + 1, len(places) + 1))
        covariance[0, 0] = 1.0 / float(rows.weight.sum())
        covariance[1:, 1:] = variances[i] / max(float(noise[i]), 1e-300)
        A = np.column_stack([ones, rows.columns[:, places]])
        predictor[i] = left_out_predictor(A, rows, normal, np.append(centre, coef[i, places]), covariance)
    spread = noise[: len(subsets), None]
    return LeftOut(predictor, -0.5 * (rows.y - predictor) ** 2 / spread - 0.5 * np.log(2.0 * np.pi * spread))


def glm_posteriors(
    rows: StandardRows, subsets: Subsets, likelihood: RowLikelihood, slabs: Floats, judged: int
) -> Posteriors:
    """Modes of posteriors of classes or counts, all under the slab that the first subsets speak for.

    Rows are left out by one Newton step from the mode; parameters as in `linear_posteriors`.
    """
    # the heaviest tenth says it as well as all of them
    few = subsets[: max(len(subsets) // 10, 1)]
    tried = while_time(slabs)
    evidence = [sum(value for _, _, value in _modes(rows, few, likelihood, slab)) for slab in tried]
    slab, found = float(slabs[int(np.argmax(evidence))]), []
    for part in _parcels(subsets):
        found.append(_some_modes(rows, subsets[part], likelihood, slab, max(judged - part.start, 0)))
    return _joined(found)


def _some_modes(
    rows: StandardRows, subsets: Subsets, likelihood: RowLikelihood, slab: float, judged: int
) -> Posteriors:
    m, judged = len(subsets), min(judged, len(subsets))
    coef, intercept = np.zeros((m, rows.columns.shape[1])), np.zeros(m)
    variances: list[Floats] = [np.zeros((0, 0))] * m
    predictor, density = np.zeros((2, judged, len(rows.y)))
    done = 0
    for found, hessians, _ in _modes(rows, subsets, likelihood, slab):
        for point, hessian in zip(found, hessians, strict=True):
            places = subsets[done]
            k = len(places) + 1
            covariance = np.linalg.inv(hessian[:k, :k])
            intercept[done], coef[done, places] = point[0], point[1:k]
            variances[done] = covariance[1:, 1:]
            if done < judged:
                A = np.column_stack([np.ones(len(rows.y)), rows.columns[:, places]])
                predictor[done] = left_out_predictor(A, rows, likelihood, point[:k], covariance)
                density[done] = likelihood.of(rows.y, predictor[done])
            done += 1
    return Posteriors(coef, intercept, np.ones(m), variances, LeftOut(predictor, density))


def left_out_predictor(
    A: Floats, rows: StandardRows, likelihood: RowLikelihood, coef: Floats, covariance: Floats
) -> Floats:
    """Linear predictor of each row after one Newton step without one copy of it, or without its cluster.

    `A` is the design with its intercept, `coef` the maximum and `covariance` the inverse of its curvature.
    """
    eta = A @ coef + rows.offset
    score, curvature = score_and_curvature(likelihood.family, rows.y, eta, likelihood.dispersion)
    if rows.together is not None:
        return eta - _without_cluster(
            A, rows.weight * score, rows.weight * curvature, rows.together, covariance
        )
    leverage = np.einsum("ij,ij->i", A @ covariance, A) * rows.single
    left = np.maximum(1.0 - leverage * curvature, 1e-6)
    return np.asarray(eta - leverage * score / left)


def _without_cluster(
    A: Floats, score: Floats, curvature: Floats, together: NDArray[np.intp], covariance: Floats
) -> Floats:
    """What a Newton step without a cluster takes off the linear predictor of its rows."""
    order = np.argsort(together, kind="stable")
    starts = np.flatnonzero(np.diff(together[order], prepend=-1))
    sums = np.add.reduceat(A[order] * score[order, None], starts)
    sizes, off, k = np.diff(starts, append=len(A)), np.empty(len(A)), A.shape[1]
    for size in np.unique(sizes):
        same = np.flatnonzero(sizes == size)
        for which in np.array_split(same, -(-len(same) * max(int(size), k) * k // _BATCH)):
            part = order[starts[which, None] + np.arange(size)]
            inside = A[part]
            # (C^-1 - H)^-1 = (I - C H)^-1 C
            rest = np.eye(k) - covariance @ ((inside * curvature[part, None]).swapaxes(1, 2) @ inside)
            off[part] = _times(inside, _solve_rest(rest, sums[which] @ covariance))
    return off


def _solve_rest(rest: Floats, right: Floats) -> Floats:
    """Solve systems (m, k, k), with the least norm where nothing is left without the cluster."""
    with np.errstate(all="ignore"):
        try:
            inverse = np.linalg.inv(rest)
        except np.linalg.LinAlgError:
            inverse = np.full(rest.shape, np.nan)
        ill = ~(np.abs(rest).sum(axis=2).max(axis=1) * np.abs(inverse).sum(axis=2).max(axis=1) < _ILL)
    found = _times(np.where(ill[:, None, None], 0.0, inverse), right)
    for i in np.flatnonzero(ill):
        found[i] = np.linalg.lstsq(rest[i], right[i], rcond=1e-8)[0]
    return found


def _times(matrices: Floats, vectors: Floats) -> Floats:
    return np.asarray((matrices @ vectors[..., None])[..., 0])


def _alike(subsets: Subsets) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Numbers of the subsets of each size above zero, and their places as rows of an array."""
    sizes = np.array([len(s) for s in subsets], dtype=np.intp)
    for size in np.unique(sizes[sizes > 0]):
        every = np.flatnonzero(sizes == size)
        for which in np.array_split(every, -(-len(every) * int(size) ** 2 // _BATCH)):
            yield which, np.array([subsets[i] for i in which])


def _modes(
    rows: StandardRows, subsets: Subsets, likelihood: RowLikelihood, slab: float
) -> Iterator[tuple[Floats, Floats, float]]:
    """Modes, curvatures and the summed Laplace evidence of some subsets at a time, in their order.

    Shorter ones are filled up with columns of zeros, which change nothing.
    """
    n, width = len(rows.y), 1 + max(len(s) for s in subsets)
    start = null_intercept(likelihood.family, rows.y, rows.weight, rows.offset)
    each = max(_BATCH // (n * width), 1)
    for first in range(0, len(subsets), each):
        part = subsets[first : first + each]
        design = np.zeros((len(part), width, n))
        design[:, 0] = 1.0
        for i, places in enumerate(part):
            design[i, 1 : len(places) + 1] = rows.columns[:, places].T
        problem = _problem(design, rows, likelihood, slab)
        guess = np.zeros((len(part), width))
        guess[:, 0] = start
        coef = damped_newton(problem, guess, small_decrement(_DECREMENT), most_steps=_NEWTON_STEPS).coef
        point = problem.evaluate(coef)
        hessian = problem.direction(coef, point).hessian
        logdet = np.linalg.slogdet(hessian)[1] + (width - 1) * np.log(slab)
        yield coef, hessian, float(-(point.loss + 0.5 * logdet).sum())


def _problem(design: Floats, rows: StandardRows, likelihood: RowLikelihood, slab: float) -> NewtonProblem:
    """Minus the log posteriors of several designs (m, k, n) of the same rows."""
    ridge = np.full(design.shape[1], 1.0 / slab)
    ridge[0] = 0.0

    def evaluate(coef: Floats) -> NewtonPoint:
        eta = (coef[:, None, :] @ design)[:, 0] + rows.offset
        return NewtonPoint(0.5 * (coef * coef) @ ridge - likelihood.of(rows.y, eta) @ rows.weight, (eta,))

    def direction(coef: Floats, here: NewtonPoint) -> NewtonStep:
        score, curvature = score_and_curvature(likelihood.family, rows.y, here.kept[0], likelihood.dispersion)
        gradient = _times(design, score * rows.weight) - ridge * coef
        hessian = information(design, curvature * rows.weight) + np.diag(ridge)
        step = solve_each(hessian, gradient[:, :, None])[:, :, 0]
        return NewtonStep(step, np.vecdot(step, gradient), hessian)

    return NewtonProblem(evaluate, direction, lambda which: _problem(design[which], rows, likelihood, slab))
