"""A fitted model as plain values: the effect of each covariate over time, and the times left out."""

import re
import warnings
from typing import Any

import numpy as np

from rlselect._random import RandomState, as_generator
from rlselect.report import Marked, Marks, name_some, spell
from rlselect.temporal._bands import Band, simultaneous_band
from rlselect.temporal._curves import FittedCurves
from rlselect.temporal._estimate import hardly_shared
from rlselect.temporal._few import SmallSampleWarning, thin_spots
from rlselect.temporal._hypotheses import FlaggedTimeWarning, run_test
from rlselect.temporal._visits import time_label

_COLUMNS = [
    "Covariate",
    "Mean effect",
    "Std. error",
    "Lowest",
    "Lowest at",
    "Highest",
    "Highest at",
    "p (mean)",
    "p (curve)",
    "Times band excludes 0",
]
# times of a cell of a table
_SHOWN = 6
# what effects are counted in, by link
_SCALES = {"identity": "", "logit": " in log odds", "log": " in the logarithm"}


def report_of(
    fitted: FittedCurves,
    formula: str | None,
    visits: str = "",
    *,
    level: float = 0.95,
    n_draws: int = 1000,
    random_state: RandomState = 0,
) -> dict[str, Any]:
    """Facts, a table with one row per covariate, and curves, as `rlselect.report.to_html` takes them."""
    design, equations, counts = fitted.design, fitted.equations, fitted.raw.n_available
    first, last = (time_label(design.times[k]) for k in (0, -1))
    counted = "visits" if design.distance is not None else "available"
    facts: dict[str, Any] = {
        "Model": formula or f"{design.response} ~ {' + '.join(design.names)}",
        "Link": f"{equations.link}, variance {equations.variance}",
        "Subjects": f"{len(design.subjects)}, {counts.min()} to {counts.max()} {counted} per time",
        "Times": f"{len(design.times)} from {first} to {last}",
    }
    if visits:
        facts["Visits"] = visits
    if design.is_grouped:
        facts["Clusters"] = design.n_independent
    if design.dropout is not None:
        facts["Weighted for drop-out"] = design.dropout.told()
        facts["Effective subjects"] = f"{design.n_effective().min():.3g} at the least, by time"
    if equations.constant:
        facts["Constant in time"] = list(equations.constant)
    if fitted.window is not None:
        facts["Smoothed"] = f"{fitted.window.kernel} kernel, bandwidth {fitted.window.width:.4g}"
    if fitted.splines is not None:
        facts["Smoothed"] = f"{fitted.splines.basis.shape[1]} penalised splines per curve"
    thin = thin_spots(design, np.arange(len(design.names)))
    if thin:
        facts["Levels are not known for so few"] = thin
    band = simultaneous_band(
        fitted, level, smoothed=fitted.is_smoothed, n_draws=n_draws, rng=as_generator(random_state)
    )
    effects = _effects(fitted, band, n_draws, random_state)
    advice = "" if visits else hardly_shared(fitted.raw)
    return {
        "title": f"Effects on {design.response} over time",
        "answer": f"{_answer(fitted, effects['rows'], level)} {advice}".rstrip(),
        "facts": facts,
        "sections": [effects, *_flagged(fitted)],
    }


def _answer(fitted: FittedCurves, rows: list[list[Any]], level: float) -> str:
    """Which covariates have an effect, by either test, and at which times nothing is known."""
    design = fitted.design
    covariates = [row for row in rows if row[0] != "Intercept"]
    seen = [row for row in covariates if _smaller_pvalue(row) < 1.0 - level]
    hidden = [spell(row[0]) for row in covariates if row not in seen]
    parts = []
    if not covariates:
        parts.append(f"The model has no covariate: it follows {design.response} over time.")
    elif seen:
        scale = _SCALES.get(fitted.equations.link, " on the scale of the link")
        told = name_some([f"{spell(row[0])} (on average {row[1]:.3g}{scale})" for row in seen])
        noun = "covariate" if len(covariates) == 1 else "covariates"
        verb = f"{noun} {'has' if len(seen) == 1 else 'have'}"
        parts.append(f"{len(seen)} of {len(covariates)} {verb} an effect on {design.response}: {told}.")
    if hidden:
        parts.append(
            f"The data show no effect of {name_some(hidden)}, which does not prove that there is none."
        )
    if covariates:
        tested = "It was tested" if len(covariates) == 1 else "Each was tested on its own,"
        parts.append(f"{tested} at {100 * (1.0 - level):.3g} %.")
    flagged = sum(map(bool, fitted.raw.flags))
    if flagged:
        parts.append(f"There is no estimate at {flagged} of {len(design.times)} times.")
    return " ".join(parts)


def _smaller_pvalue(row: list[Any]) -> float:
    """Two looks at each covariate: the smaller p counts twice."""
    return min(1.0, 2.0 * min(row[_COLUMNS.index(name)] for name in ("p (mean)", "p (curve)")))


def marks_of(report: dict[str, Any], size: float = 0.05) -> Marks:
    """Which covariates of a report have an effect, the smallest p-value first."""
    rows = [row for row in report["sections"][0]["rows"] if row[0] != "Intercept"]
    found = {str(row[0]): _smaller_pvalue(row) for row in sorted(rows, key=_smaller_pvalue)}
    marked = {name: Marked(pvalue < size, pvalue) for name, pvalue in found.items()}
    return Marks(marked, f"twice the smaller p-value of its two tests, yes below {size:g}")


def _effects(fitted: FittedCurves, band: Band, n_draws: int, random_state: RandomState) -> dict[str, Any]:
    outside = band.excludes(0.0).to_numpy().sum(axis=0)
    rows, curves = [], []
    for k, name in enumerate(fitted.design.names):
        with warnings.catch_warnings():
            # the flagged times have a section of their own, and the band has said that subjects are few
            warnings.simplefilter("ignore", FlaggedTimeWarning)
            warnings.simplefilter("ignore", SmallSampleWarning)
            ids, sds = (
                run_test(fitted, name, kind=kind, n_draws=n_draws, rng=as_generator(random_state))
                for kind in ("ids", "sds")
            )
        curve = fitted.curves(fitted.is_smoothed).beta[:, k]
        ends: list[Any] = []
        for at in (np.nanargmin(curve), np.nanargmax(curve)):
            ends += [float(curve[at]), time_label(fitted.design.times[at])]
        mean, se = float(ids.estimate[0]), float(ids.se[0])
        rows.append([plain_name(name), mean, se, *ends, ids.pvalue, sds.pvalue, int(outside[k])])
        curves.append(_curve(fitted, band, name))
    return {
        "title": "Effects over time",
        "columns": _COLUMNS,
        "rows": rows,
        "curves": curves,
        "note": "Effects are on the scale of the link. p (mean): the average over time is zero; p (curve): "
        f"the effect is zero at every time. The band covers a whole curve with probability {band.level:g}."
        + _smoothing_note(fitted),
    }


def plain_name(name: str) -> str:
    """A column of the design as a reader says it: arm[T.placebo] is arm: placebo."""
    return re.sub(r"\[(?:T\.)?([^\[\]]*)\]", r": \1", name)


def _smoothing_note(fitted: FittedCurves) -> str:
    if fitted.design.distance is not None:
        return " Bands lie around what local estimation has not flattened."
    if not fitted.is_smoothed:
        return ""
    shown = " Range, band and pictures are of the smoothed curves, mean effects and tests of the raw ones"
    return f"{shown}; bands lie around what smoothing has not flattened."


def _curve(fitted: FittedCurves, band: Band, name: str) -> dict[str, Any]:
    """What a picture of one effect shows; flagged times are gaps."""
    sides = {"y": band.estimate, "lower": band.lower, "upper": band.upper}
    values = {side: frame[name].to_numpy() for side, frame in sides.items()}
    if fitted.design.times.dtype.kind in "mM":
        values["labels"] = [str(time_label(t)) for t in fitted.design.times]
    title = f"Effect of {plain_name(name)}" if name != "Intercept" else "Level where all covariates are 0"
    return {"title": title, "x": fitted.design.clock, "reference": 0.0, **values}


def _first_of(times: list[Any]) -> list[Any]:
    """Some times of many: subjects with dates of their own may have hundreds; `flags_` has all of them."""
    return times if len(times) <= _SHOWN else [*times[:_SHOWN], f"{len(times) - _SHOWN} more"]


def _flagged(fitted: FittedCurves) -> list[dict[str, Any]]:
    times: dict[str, list[Any]] = {}
    for time, reason in zip(fitted.design.times, fitted.raw.flags, strict=True):
        if reason:
            times.setdefault(reason, []).append(time_label(time))
    if not times:
        return []
    return [
        {
            "title": "Flagged times",
            "columns": ["Why nothing could be estimated", "Times"],
            "rows": [[reason, _first_of(at)] for reason, at in times.items()],
            "note": "They are missing in all curves and take no part in tests, but for separated times of "
            "small samples.",
        }
    ]
