"""Tests of H0: C(t) beta(t) = c(t), integrated, supremum and integrated squared."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta, chi2, f

from rlselect._compat import user_level
from rlselect._options import check_value, one_of, whole
from rlselect.data import to_clock
from rlselect.temporal._curves import FittedCurves, contrasted
from rlselect.temporal._design import ProcessDesign
from rlselect.temporal._estimate import standard_errors
from rlselect.temporal._few import warn_of_few
from rlselect.temporal._resample import multiplier_blocks, stretch, variance_df
from rlselect.temporal._small import WildDraws
from rlselect.temporal._visits import name_times

Array = NDArray[np.float64]

Statistic: TypeAlias = Literal["ids", "sds", "squared"]
Convention: TypeAlias = Literal["n", "n-1"]
Integral: TypeAlias = Literal["left", "trapezoid"]
# a covariate or term, several of them, or contrasts of all coefficients
Contrast: TypeAlias = str | Sequence[str] | ArrayLike
STATISTICS = get_args(Statistic)
# a correlation matrix with a smaller eigenvalue is singular up to rounding
_SINGULAR = 1e-12


class FlaggedTimeWarning(UserWarning):
    """Some time points could not be estimated and take no part in a test."""


@dataclass(frozen=True)
class ProcessTest:
    """Outcome of a test about effect curves.

    Attributes
    ----------
    statistic : float
    df : int
        Number of contrasts; the degrees of freedom of the chi-square reference when ``kind="ids"``.
    pvalue : float
    kind : {"ids", "sds", "squared"}
    contrast : the hypothesis in words
    estimate, se : arrays of shape (contrasts,), time averages of the difference and their standard errors,
        over times with an estimate
    times : the time points used
    excluded : time points left out because they are flagged
    denominator_df : float
        Of the F reference (Student's t for one contrast) in small samples; infinite with others.
    """

    statistic: float
    df: int
    pvalue: float
    kind: str
    contrast: str
    estimate: Array = field(repr=False)
    se: Array = field(repr=False)
    times: NDArray[Any] = field(repr=False)
    excluded: NDArray[Any] = field(repr=False)
    denominator_df: float = field(default=np.inf, repr=False)


@dataclass(frozen=True)
class Process:
    """The tested difference on the times used: `value` (times, r), `psi` (times, r, subjects).

    `drawn` are `psi`, or their leave-one-out version; `wild` gives draws with standard errors of their own,
    None with many subjects; `at_null` where they lie around the curves that the hypothesis allows. Some of
    their times may not be `seen` (times,), that is, have no estimate: `value`, `psi` and `drawn` are of the
    others. With `average` (times,), the difference is from the average with these weights. `binary`:
    responses are 0 and 1, so that the means of the hypothesis tell their variance.
    """

    value: Array
    psi: Array
    drawn: Array
    wild: WildDraws | None
    clock: Array
    where: NDArray[np.intp]
    seen: NDArray[np.bool_]
    excluded: NDArray[Any]
    label: str
    at_null: bool = False
    average: Array | None = None
    binary: bool = False

    @property
    def judged(self) -> tuple[Array, Array]:
        """The difference that is compared with draws, and its influence functions.

        Around curves that the hypothesis allows it is one step away from them: that of the estimate in linear
        models, and to first order in others.
        """
        if self.wild is None or not self.at_null:
            return self.value, self.psi
        change, psi = self.wild.observed()
        if self.average is not None:
            change = change - self.average @ change
        return change, self._from_average(psi)

    @property
    def modelled(self) -> Array:
        """Influence functions of what is judged, with the covariance that means of the hypothesis give."""
        assert self.wild is not None
        psi = self.wild.observed()[1]
        values, vectors = np.linalg.eigh(self.wild.model_covariance())
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        return self._from_average(root @ (_inverse_roots(psi) @ psi))

    def _from_average(self, psi: Array) -> Array:
        return psi if self.average is None else psi - np.einsum("t,tri->ri", self.average, psi)

    def wild_blocks(self, n_draws: int, rng: np.random.Generator) -> Iterator[tuple[Array, Array]]:
        """Draws of the difference (draws, times, r), and their influence functions."""
        assert self.wild is not None
        for change, psi in self.wild.blocks(n_draws, rng, power=0.5):
            if self.average is None:
                yield change, psi
            else:
                mean = np.einsum("t,btr->br", self.average, change)[:, None]
                yield change - mean, psi - np.einsum("t,btri->bri", self.average, psi)[:, None]

    @property
    def se(self) -> Array:
        """Standard errors for weights, HC0; around a hypothesis those that it gives.

        There they do not depend on the step to the estimate, with which weights would favour large steps.
        """
        if self.wild is None or not self.at_null:
            return standard_errors(self.psi)
        return standard_errors(self._from_average(self.wild.psi))


def contrast_matrix(contrast: Contrast, design: ProcessDesign) -> tuple[Array, str]:
    """Matrix of shape (r, p) or (times, r, p), and what it says in words."""
    names, p, n_times = design.names, len(design.names), len(design.times)
    if isinstance(contrast, str):
        contrast = [contrast]
    if isinstance(contrast, list | tuple) and contrast and all(isinstance(c, str) for c in contrast):
        return np.eye(p)[design.positions(contrast, "contrast")], ", ".join(contrast)
    matrix = np.asarray(contrast, dtype=float)
    matrix = matrix[None, :] if matrix.ndim == 1 else matrix
    if matrix.ndim not in (2, 3) or matrix.shape[-1] != p or (matrix.ndim == 3 and len(matrix) != n_times):
        raise ValueError(
            f"contrast must name a covariate or be a matrix of shape (r, {p}) or ({n_times}, r, {p}), "
            f"given shape {np.shape(contrast)}; the columns are {', '.join(names)}"
        )
    if not np.isfinite(matrix).all():
        raise ValueError("contrast holds missing or infinite entries")
    if (np.linalg.matrix_rank(matrix) < matrix.shape[-2]).any():
        raise ValueError("the rows of contrast are linearly dependent (or zero); drop the redundant ones")
    return matrix, f"{matrix.shape[-2]} contrast(s)"


def _value_array(value: ArrayLike, n_times: int, r: int) -> Array:
    v = np.asarray(value, dtype=float)
    if v.shape == (n_times,) and v.shape != (r,):
        v = v[:, None]
    try:
        return np.broadcast_to(v, (n_times, r))
    except ValueError:
        raise ValueError(
            f"value must be a number, or have shape ({r},), ({n_times},) or ({n_times}, {r}), given {v.shape}"
        ) from None


def _inside(design: ProcessDesign, interval: Any) -> NDArray[np.bool_]:
    """Times inside an interval."""
    inside = np.ones(len(design.clock), dtype=bool)
    if interval is not None:
        low, high = interval
        bounds = np.array([low, high])
        if design.times.dtype.kind in "mM":
            bounds = bounds.astype(design.times.dtype)
        ends = to_clock(bounds)
        inside = (design.clock >= ends[0]) & (design.clock <= ends[1])
        if not inside.any():
            raise ValueError(
                f"no time lies in interval=({low}, {high}); times run from "
                f"{design.times[0]} to {design.times[-1]}"
            )
    return inside


def _warn_of_lost(lost: NDArray[Any]) -> None:
    if len(lost):
        warnings.warn(
            f"{len(lost)} flagged time point(s) excluded from the test: {name_times(lost)}; flags_ says why",
            FlaggedTimeWarning,
            stacklevel=user_level(),
        )


def build_process(
    fitted: FittedCurves,
    contrast: tuple[Array, str],
    value: ArrayLike,
    interval: Any,
    *,
    small_sample: bool,
    few: bool,
    constant: bool = False,
) -> Process:
    """Difference ``C(t) beta(t) - c(t)`` and its influence functions on the usable times.

    `few`: with draws for few subjects. `constant`: the hypothesis is that the difference does not change over
    time.
    """
    raw, design = fitted.raw, fitted.design
    matrix, label = contrast
    target = _value_array(value, len(design.times), matrix.shape[-2])
    inside = np.flatnonzero(_inside(design, interval))
    where = shown = inside[raw.sound[inside]]
    if len(shown) == 0:
        _warn_of_lost(design.times[inside])
        raise ValueError("every time point asked for is flagged, nothing is left to test; flags_ says why")
    c = matrix if matrix.ndim == 2 else matrix[shown]
    difference = (c @ raw.beta[shown][:, :, None])[:, :, 0] - target[shown]
    psi = drawn = fitted.influence(smoothed=False).contrast(c, shown)
    wild, found = None, None
    if small_sample:
        drawn = fitted.leave_one_out(few=few).contrast(c, shown)
    if few:
        if constant:
            # where an estimate is far out, so is its standard error
            precision = 1.0 / np.maximum(standard_errors(psi), np.finfo(float).tiny) ** 2
            target = target + (precision * difference).sum(axis=0) / precision.sum(axis=0)
        every = np.broadcast_to(matrix, (len(design.times), *matrix.shape[-2:]))
        found = fitted.null_draws(every, target, inside)
        wild, where = found or (WildDraws(None, psi, psi), shown)
    lost = design.times[np.setdiff1d(inside, where)]
    _warn_of_lost(lost)
    seen, clock, at_null = raw.sound[where], design.clock[where], found is not None
    binary = at_null and fitted.is_binary
    return Process(
        difference, psi, drawn, wild, clock, where, seen, lost, label, at_null=at_null, binary=binary
    )


def integral_weights(clock: Array, integral: Integral) -> Array:
    """Quadrature weights; a single time point counts as one."""
    if len(clock) == 1:
        return np.ones(1)
    gaps = np.diff(clock)
    weights = np.zeros(len(clock))
    if integral == "left":
        weights[:-1] = gaps
    else:
        weights[:-1] += gaps / 2.0
        weights[1:] += gaps / 2.0
    return weights


def _weight_array(given: Any, process: Process, n_times: int, kind: Statistic) -> Array:
    shape = (len(process.where), process.value.shape[1])
    if given is None:
        return np.ones(shape)
    if isinstance(given, str):
        if given != "inverse-se":
            raise ValueError(
                f"time_weight={given!r} was given; it must be 'inverse-se', an array with one entry per time "
                "or None."
            )
        if kind == "sds":
            return np.ones(shape)  # already in units of the standard error
        return process.se ** (-2.0 if kind == "squared" else -1.0)
    w = np.asarray(given, dtype=float)
    w = w[:, None] if w.ndim == 1 else w
    if w.shape not in ((n_times, 1), (n_times, shape[1])) or not np.isfinite(w).all() or (w < 0).any():
        raise ValueError(
            f"time_weight must have one entry per time ({n_times}), or shape ({n_times}, {shape[1]}), finite "
            f"and not negative; given shape {np.shape(given)}"
        )
    return np.broadcast_to(w[process.where], shape)


def run_test(
    fitted: FittedCurves,
    contrast: Contrast,
    value: ArrayLike = 0,
    *,
    kind: Statistic = "ids",
    against_average: bool = False,
    time_weight: Any = None,
    interval: Any = None,
    convention: Convention = "n",
    integral: Integral = "left",
    n_draws: int,
    rng: np.random.Generator,
    small_sample: bool = True,
) -> ProcessTest:
    """Statistic, reference and p-value of `TemporalProcessRegression.test`, and of `test_constant` where a
    curve is held `against_average`, its own over time.
    """
    check_value("kind", kind, one_of(*STATISTICS[1:] if against_average else STATISTICS))
    check_value("convention", convention, one_of(*get_args(Convention)))
    check_value("integral", integral, one_of(*get_args(Integral)))
    check_value("n_draws", n_draws, whole(1))
    matrix, label = contrast_matrix(contrast, fitted.design)
    few = small_sample and fitted.few(matrix)
    if small_sample:
        warn_of_few(fitted.design, contrasted(matrix))
    # with many subjects only the supremum is drawn with small samples in mind
    small_sample = small_sample and (kind == "sds" or few)
    process = build_process(
        fitted,
        (matrix, label),
        value,
        interval,
        small_sample=small_sample,
        few=few,
        constant=against_average,
    )
    if against_average:
        process = centred(process, integral)
    n, r = process.psi.shape[2], process.value.shape[1]
    if convention == "n-1" and n < 2:
        raise ValueError("convention='n-1' needs at least two subjects")
    inflate = 1.0 if convention == "n" else n / (n - 1)
    w = _weight_array(time_weight, process, len(fitted.design.times), kind)
    step = integral_weights(process.clock, integral)
    shown = (w * step[:, None])[process.seen]
    total, cov = _integrated(process.value, process.drawn if few else process.psi, shown, inflate)
    if kind == "ids":
        if process.at_null:
            statistic, pvalue = _score_test(process, w, step, inflate)
        else:
            statistic = float(total @ _solve(cov, total))
            pvalue = _hotelling(statistic, r, n) if few else float(chi2.sf(statistic, r))
    else:
        bounded = fitted.equations.bounded
        if few:
            statistic, draws = _wild_draws(process, w, step, inflate, kind, n_draws, rng, bounded)
        else:
            student = small_sample and fitted.equations.heavy_tails
            statistic, draws = _resampled(process, w, step, inflate, kind, n_draws, rng, student)
        pvalue = float((1 + (draws >= statistic).sum()) / (n_draws + 1))
    size = np.abs(shown.sum(axis=0))
    size = np.where(size > 0, size, 1.0)
    times, se = fitted.design.times[process.where], np.sqrt(np.diag(cov)) / size
    return ProcessTest(
        statistic,
        r,
        pvalue,
        kind,
        process.label,
        total / size,
        se,
        times,
        process.excluded,
        float(n - r) if few and kind == "ids" else np.inf,
    )


def _integrated(value: Array, psi: Array, weight: Array, inflate: float) -> tuple[Array, Array]:
    """Weighted sum over time of a difference (times, r), and its covariance."""
    total = (weight * value).sum(axis=0)
    each = np.einsum("tr,tri->ri", weight, psi) / psi.shape[2]
    return total, each @ each.T * inflate


def _score_test(process: Process, w: Array, step: Array, inflate: float) -> tuple[float, float]:
    """Hotelling's statistic of the integrated scores of the subjects, at the curves of the hypothesis.

    For normal scores the share of the squares that lie along their mean has a beta distribution, which is
    Hotelling's. Its second moment depends on how unequal the subjects are: the p-value is that of the beta
    distribution with the two moments that the share has when the signs of whole subjects are random.
    """
    assert process.wild is not None
    psi, density = process.wild.enlarged(0.5), w * step[:, None]
    r, n = psi.shape[1:]
    _refuse_few(r, n)
    total, cov = _integrated(process.judged[0], psi, density, inflate)
    length = float(total @ _solve(cov, total))
    each = np.einsum("tr,tri->ri", density, psi) / n
    shares = np.einsum("ri,ri->i", each, _solve(cov, each)) * inflate
    variance = max(2.0 * (r - float(shares @ shares)), np.finfo(float).eps)
    size = max(r * (n - r) / variance - 1.0, 0.5)
    pvalue = float(beta.sf(min(length / n, 1.0), size * r / n, size * (n - r) / n))
    # from squares about zero to squares about the mean
    return length * (n - 1) / max(n - length, np.finfo(float).tiny), pvalue


def _refuse_few(r: int, n: int) -> None:
    if n <= r:
        raise ValueError(
            f"{r} contrasts cannot be tested with {n} subjects; test fewer, or small_sample=False"
        )


def _hotelling(statistic: float, r: int, n: int) -> float:
    """P-value of a Wald statistic whose covariance is that of `n` leave-one-out influence functions."""
    _refuse_few(r, n)
    return float(f.sf(statistic * (n - r) / (r * (n - 1)), r, n - r))


def _solve(cov: Array, b: Array) -> Array:
    """Solve with a covariance, refusing one that is singular in the correlation scale."""
    size = np.sqrt(np.diag(cov))
    if not (size > 0).all():
        raise ValueError(
            "the tested contrast has no variance: either it does not vary between subjects or the weights "
            "are 0 everywhere in the interval"
        )
    corr = cov / np.outer(size, size)
    if np.linalg.eigvalsh(corr)[0] < _SINGULAR:
        raise ValueError(
            f"the covariance of the {len(size)} contrasts is singular: fewer independent differences "
            "than rows; test fewer contrasts or a longer interval"
        )
    scale = size if b.ndim == 1 else size[:, None]
    return np.linalg.solve(corr, b / scale) / scale


def _wild_draws(
    process: Process,
    w: Array,
    step: Array,
    inflate: float,
    kind: Statistic,
    n_draws: int,
    rng: np.random.Generator,
    bounded: bool,
) -> tuple[float, Array]:
    """The observed statistic, and its draws, each relative to standard errors of its own."""
    n, (value, own) = process.psi.shape[2], process.judged
    if kind == "squared":
        density = w * step[:, None]
        observed, spread = (density * value**2).sum(), (density * standard_errors(own) ** 2).sum()
        draws = [
            np.einsum("tr,btr->b", density, change**2)
            / np.einsum("tr,btr->b", density, np.vecdot(psi, psi) / n**2)
            for change, psi in process.wild_blocks(n_draws, rng)
        ]
        return float(observed), np.concatenate(draws) * spread
    # standard errors of few events are small by chance, so that draws with their own would miss how far out
    # the sup is: those of the means of the hypothesis are the same in all draws (Rao's score statistic)
    root, weight = _inverse_roots(process.modelled if process.binary else own), _one_weight(w)
    value = (root @ value[:, :, None])[:, :, 0]
    observed = (weight * (value**2).sum(axis=1)).max() / inflate
    draws = []
    for change, psi in process.wild_blocks(n_draws, rng):
        change = (root @ change[..., None])[..., 0]
        length = (change**2).sum(axis=2)
        if not process.binary and (process.at_null or not bounded):
            psi = root @ psi
            length = _wald(change, psi @ psi.swapaxes(2, 3) / n**2)
        draws.append((weight * length).max(axis=1) / inflate)
    return float(observed), np.concatenate(draws)


def _wald(value: Array, cov: Array) -> Array:
    """``value' cov^-1 value`` of many, (..., r) and (..., r, r); infinite where a covariance is singular."""
    if value.shape[-1] == 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(value[..., 0] ** 2 / cov[..., 0, 0], nan=np.inf)
    values, vectors = np.linalg.eigh(cov)
    along = (value[..., None, :] @ vectors)[..., 0, :] ** 2
    return np.where(values > _SINGULAR, along / np.maximum(values, _SINGULAR), np.inf).sum(axis=-1)


def _one_weight(w: Array) -> Array:
    if not (w == w[:, :1]).all():
        raise ValueError("kind='sds' takes one weight per time: the differences are standardised jointly")
    return w[:, 0]


def _resampled(
    process: Process,
    w: Array,
    step: Array,
    inflate: float,
    kind: Statistic,
    n_draws: int,
    rng: np.random.Generator,
    student: bool,
) -> tuple[float, Array]:
    """The observed statistic, and its draws under the hypothesis."""
    if kind == "squared":
        density = w * step[:, None]
        observed = float((density * process.value**2).sum())
        blocks = multiplier_blocks(process.psi, n_draws, rng)
        draws = [np.einsum("tr,btr->b", density, block**2) * inflate for block in blocks]
        return observed, np.concatenate(draws)
    root, weight = _inverse_roots(process.psi), _one_weight(w)
    value = (root @ process.value[:, :, None])[:, :, 0]
    observed = float((weight * (value**2).sum(axis=1)).max() / inflate)
    standard = root @ process.psi
    n, r = standard.shape[2], standard.shape[1]
    lengths = (standard**2).sum(axis=1) / n**2
    df = variance_df(lengths, r) if student else np.full(len(lengths), np.inf)
    blocks = multiplier_blocks(root @ process.drawn, n_draws, rng)
    draws = [(weight * stretch((block**2).sum(axis=2), df, r)).max(axis=1) / inflate for block in blocks]
    return observed, np.concatenate(draws)


def _inverse_roots(psi: Array) -> Array:
    """Per time, a matrix ``L`` with ``L cov L' = I``."""
    cov = psi @ psi.swapaxes(1, 2) / psi.shape[2] ** 2
    size = np.sqrt(np.einsum("trr->tr", cov))
    if not (size > 0).all():
        raise ValueError("a tested contrast has no variance at some time; test it on a shorter interval")
    corr = cov / (size[:, :, None] * size[:, None, :])
    values, vectors = np.linalg.eigh(corr)
    if (values[:, 0] < _SINGULAR).any():
        raise ValueError("the covariance of the contrasts is singular at some time; test fewer contrasts")
    return vectors.swapaxes(1, 2) / np.sqrt(values)[:, :, None] / size[:, None, :]


def centred(process: Process, integral: Integral) -> Process:
    """Difference between a curve and its own time average, for the test of a constant effect."""
    if len(process.clock) < 2:
        raise ValueError("a constant effect can only be tested on two or more usable time points")
    step, own = (integral_weights(clock, integral) for clock in (process.clock, process.clock[process.seen]))
    step, own = step / step.sum(), own / own.sum()
    value = process.value - own @ process.value
    psi = process.psi - np.einsum("t,tri->ri", own, process.psi)
    drawn = process.drawn - np.einsum("t,tri->ri", own, process.drawn)
    label = f"constant effect of {process.label}"
    return replace(process, value=value, psi=psi, drawn=drawn, label=label, average=step)
