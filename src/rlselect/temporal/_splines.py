"""Penalised splines: every effect curve a sum of B-splines in time, fitted to all rows together."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import (
    NewtonPoint,
    NewtonProblem,
    NewtonStep,
    damped_newton,
    deviance,
    information,
    small_step,
    working_quantities,
)
from rlselect.temporal._design import ProcessDesign
from rlselect.temporal._equations import Equations
from rlselect.temporal._estimate import Estimate, times_at_once, with_offset
from rlselect.temporal._influence import SplineInfluence, errors_of

Array = NDArray[np.float64]

_DEGREE = 3
# rounds of choosing penalties: each halves what is left or better, and the last digits do not matter
_ROUNDS, _CLOSE = 40, 0.02
# relative to the information of a curve: keeps directions apart that no row speaks about
_RIDGE = 1e-9
# penalties from all but none to a straight line, relative to the information: larger ones drown in rounding
_LEAST, _MOST = 1e-8, 1e5
# left-out subjects cost a system of all coefficients each; with more subjects they change nothing
_JACKKNIFE = 600


@dataclass(frozen=True)
class SplineCurves:
    """Curves ``beta_k(t) = sum_j B_j(t) c_kj``.

    Attributes
    ----------
    basis : array of shape (times, splines)
    coef : array of shape (covariates, splines)
    penalties : array of shape (covariates,), of the squared second differences of the coefficients
    edf : array of shape (covariates,), effective degrees of freedom of each curve
    """

    basis: Array
    coef: Array
    penalties: Array
    edf: Array


def spline_basis(clock: Array, n_splines: int) -> Array:
    """B-splines with evenly spaced knots at the observed times, (times, splines); they sum to one."""
    from scipy.interpolate import BSpline

    degree = min(_DEGREE, n_splines - 1)
    low, high = clock[0], clock[-1]
    gap = (high - low) / (n_splines - degree)
    knots = low + gap * np.arange(-degree, n_splines + 1)
    inside = np.clip(clock, knots[degree], np.nextafter(knots[n_splines], low))
    return np.asarray(BSpline.design_matrix(inside, knots, degree).toarray())


def fit_splines(design: ProcessDesign, equations: Equations, raw: Estimate, n_splines: int) -> SplineCurves:
    """Choose one penalty per curve by restricted likelihood over subjects, and fit.

    The update is that of Fellner and Schall for the variance of a curve's second differences. Rows of one
    subject are not independent, so the information that they claim is divided by how much larger the sandwich
    covariance of a curve is than the naive one, both seen through its penalty.
    """
    _refuse(design, equations, n_splines)
    problem = _Problem(design, equations, spline_basis(design.clock, n_splines))
    size = problem.curve_information(raw)
    lam = size.copy()
    coef = problem.start(raw)
    for _ in range(_ROUNDS):
        coef = problem.solve(coef, lam)
        hessian, scores = problem.at(coef)
        cov, spread = problem.covariance(hessian, lam), np.zeros(len(lam))
        claimed, found = cov @ hessian @ cov, cov @ (scores @ scores.T) @ cov
        new = np.empty_like(lam)
        for k, own in enumerate(problem.slices):
            penalty = problem.penalty
            spread[k] = np.trace(penalty @ found[own, own]) / np.trace(penalty @ claimed[own, own])
            used = n_splines - 2 - lam[k] * np.trace(cov[own, own] @ penalty)
            rough = coef[own] @ penalty @ coef[own]
            new[k] = np.clip(
                spread[k] * max(used, 0.0) / max(rough, 1e-300), _LEAST * size[k], _MOST * size[k]
            )
        near = np.abs(np.log(new / lam)).max() < _CLOSE
        lam = new
        if near:
            break
    coef = problem.solve(coef, lam)
    hessian, _ = problem.at(coef)
    shares = np.diag(problem.covariance(hessian, lam) @ hessian).reshape(-1, n_splines).sum(axis=1)
    return SplineCurves(problem.basis, coef.reshape(-1, n_splines), lam, shares)


def spline_estimate(
    design: ProcessDesign,
    equations: Equations,
    raw: Estimate,
    splines: SplineCurves,
    *,
    for_bands: bool = False,
) -> tuple[Estimate, SplineInfluence]:
    """Curves with standard errors, and influence functions, at all times.

    For bands they are those without a penalty, which has pulled the curves towards straight lines, with
    leave-one-subject-out influence functions: what is left of the bias is below the splines' resolution.
    """
    problem = _Problem(design, equations, splines.basis)
    coef, lam = splines.coef.ravel(), splines.penalties
    if for_bands:
        lam = np.zeros_like(lam)
        coef = problem.solve(coef, lam)
    hessian, scores = problem.at(coef)
    cov = problem.covariance(hessian, lam)
    if for_bands and scores.shape[1] <= _JACKKNIFE:
        scores = problem.left_out_scores(coef, cov, scores)
    p, n_splines = splines.coef.shape
    pull = (cov @ scores).reshape(p, n_splines, -1) * (scores.shape[1] / problem.scale[:, None, None])
    influence = SplineInfluence(splines.basis, pull)
    beta = splines.basis @ coef.reshape(p, n_splines).T / problem.scale
    se = errors_of(influence, np.arange(len(beta)))
    return replace(raw, beta=beta, se=se, psi=None), influence


class _Problem:
    """The rows, and what depends on coefficients (covariates x splines) in units of each covariate's size."""

    def __init__(self, design: ProcessDesign, equations: Equations, basis: Array) -> None:
        self.x, self.some = design.x, times_at_once(design)
        self.scale = np.sqrt(np.einsum("tki,tki->k", design.x, design.x) / (design.w > 0).sum())
        self.y, self.w, self.offset, self.basis = design.y, design.w, design.offset, basis
        self.gather, self.clusters = design.gather, design.clusters
        self.link, self.variance = equations.link, equations.variance
        p, n_splines = design.x.shape[1], basis.shape[1]
        self.slices = [slice(k * n_splines, (k + 1) * n_splines) for k in range(p)]
        difference = np.diff(np.eye(n_splines), 2, axis=0)
        self.penalty = difference.T @ difference

    def start(self, raw: Estimate) -> Array:
        """The raw curves of the sound times as splines, smooth where they say little."""
        sound = raw.sound
        out = []
        for k in range(self.x.shape[1]):
            precision = (self.scale[k] * raw.se[sound, k]) ** -2.0
            weighted = self.basis[sound].T * precision
            gram = weighted @ self.basis[sound]
            gram += np.trace(gram) * (1e-3 * self.penalty + _RIDGE * np.eye(len(gram)))
            out.append(np.linalg.solve(gram, weighted @ raw.beta[sound, k]) * self.scale[k])
        return np.concatenate(out)

    def curve_information(self, raw: Estimate) -> Array:
        """Size of the information about one coefficient of each curve."""
        hessian, _ = self.at(self.start(raw))
        return np.array([np.trace(hessian[own, own]) for own in self.slices]) / np.trace(self.penalty)

    def predictor(self, coef: Array) -> Array:
        beta = self.basis @ coef.reshape(-1, self.basis.shape[1]).T / self.scale
        return with_offset((beta[:, None, :] @ self.x)[:, 0, :], self.offset)

    def at(self, coef: Array) -> tuple[Array, Array]:
        """Information (all coefficients) and the scores of the subjects (coefficients, subjects)."""
        weight, score = working_quantities(self.link, self.variance, self.predictor(coef), self.y, self.w)
        return self._information(weight), self._scores(score)

    def _information(self, weight: Array) -> Array:
        """About all coefficients, from that about the curves at each time."""
        steps = range(0, len(weight), self.some)
        times = (slice(first, first + self.some) for first in steps)
        each = np.concatenate([information(self.x[t], weight[t]) for t in times])
        each /= self.scale[:, None] * self.scale
        size = each.shape[1] * self.basis.shape[1]
        whole = np.einsum("tj,tkl,tm->kjlm", self.basis, each, self.basis, optimize=True)
        return whole.reshape(size, size)

    def _scores(self, score: Array) -> Array:
        n = score.shape[1]
        out = np.zeros((self.x.shape[1], self.basis.shape[1], n))
        for k in range(self.x.shape[1]):
            out[k] = self.basis.T @ (self.x[:, k, :] * (score / self.scale[k]))
        return self.gather(out.reshape(-1, n))

    def penalised(self, hessian: Array, lam: Array) -> Array:
        """Information with penalties, and a ridge too small to be seen."""
        out = hessian + _RIDGE * np.diag(np.maximum(np.diag(hessian), np.diag(hessian).max() * 1e-6))
        for own, price in zip(self.slices, lam, strict=True):
            out[own, own] += price * self.penalty
        return out

    def covariance(self, hessian: Array, lam: Array) -> Array:
        """Inverse information with penalties."""
        return np.asarray(np.linalg.inv(self.penalised(hessian, lam)), dtype=np.float64)

    def solve(self, start: Array, lam: Array) -> Array:
        """Fisher scoring of half the deviance plus half the penalties."""

        def rough(coef: Array) -> Array:
            parts = (price * (self.penalty @ coef[own]) for own, price in zip(self.slices, lam, strict=True))
            return np.concatenate(list(parts))

        def evaluate(coef: Array) -> NewtonPoint:
            eta = self.predictor(coef[0])
            loss = deviance(self.link, self.variance, eta, self.y, self.w).sum() + coef[0] @ rough(coef[0])
            return NewtonPoint(np.array([0.5 * loss]), (eta[None],))

        def direction(coef: Array, here: NewtonPoint) -> NewtonStep:
            weight, score = working_quantities(self.link, self.variance, here.kept[0][0], self.y, self.w)
            gradient = self._gradient(score) - rough(coef[0])
            step = np.linalg.solve(self.penalised(self._information(weight), lam), gradient)
            return NewtonStep(np.asarray(step[None], dtype=np.float64), np.array([step @ gradient]))

        with np.errstate(all="ignore"):
            found = damped_newton(
                NewtonProblem(evaluate, direction), start[None], small_step(1e-8), most_steps=60
            )
        return found.coef[0]

    def _gradient(self, score: Array) -> Array:
        return (self.basis.T @ ((self.x @ score[:, :, None])[:, :, 0] / self.scale)).T.ravel()

    def left_out_scores(self, coef: Array, cov: Array, scores: Array) -> Array:
        """Scores as they act without their subject: ``(I - H_i cov)^-1 u_i``, H_i its information."""
        weight, _ = working_quantities(self.link, self.variance, self.predictor(coef), self.y, self.w)
        out, one = np.empty_like(scores), np.eye(len(cov))
        for i in range(scores.shape[1]):
            mine = [i] if self.clusters is None else np.flatnonzero(self.clusters == i)
            x = self.x[:, :, mine] / self.scale[:, None]
            rows = np.einsum("tj,tki->itkj", self.basis, x).reshape(-1, len(cov))
            own = rows.T @ (rows * weight[:, mine].T.reshape(-1, 1))
            out[:, i] = np.linalg.solve(one - own @ cov, scores[:, i])
        return out


def _refuse(design: ProcessDesign, equations: Equations, n_splines: int) -> None:
    if equations.constant:
        raise ValueError(
            "constant and n_splines were both given; constant effects are not splines: leave one of them out."
        )
    if design.dropout is not None:
        raise ValueError("n_splines and dropout were both given; leave one of them out.")
    if n_splines > len(design.times):
        raise ValueError(
            f"n_splines={n_splines!r} was given; it must be at most the number of times, {len(design.times)}."
        )
