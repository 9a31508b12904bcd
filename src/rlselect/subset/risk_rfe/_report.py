"""What a fitted RiskRFE says about itself, as plain values."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rlselect._estimator import PredictingSelector
from rlselect.report import (
    SELECTION,
    PerformanceDisplay,
    SelectionDisplay,
    Sureness,
    answer_selection,
    short,
    stopped_early,
)
from rlselect.subset.risk_rfe._display import ReverseScreeDisplay

__all__ = ["ReportedElimination"]


class ReportedElimination(PredictingSelector):
    """A selector that eliminates, with its pictures and its account; it sets ``path_`` and ``ranking_``."""

    path_: dict[str, NDArray]
    ranking_: NDArray[np.intp]
    displays: ClassVar = (SelectionDisplay, ReverseScreeDisplay, PerformanceDisplay)

    def _sureness(self) -> Sureness:
        return sureness_of(self.path_, self.ranking_)

    def _report(self) -> dict[str, Any]:
        return report_of(self)


def sureness_of(path: dict[str, NDArray], ranking: NDArray[np.intp]) -> Sureness:
    """How much worse than the best set the first one without each feature is; NaN for those that stayed."""
    gone = [np.flatnonzero(path["n_features"] < rank)[:1] for rank in ranking]
    values, errors = (
        np.array([path[key][at[0]] if len(at) else np.nan for at in gone])
        for key in ("difference", "difference_standard_error")
    )
    return Sureness(values, "risk above the best, once it has left", errors)


def report_of(selector: Any) -> dict[str, Any]:
    """Facts of a fit, the selected features and the elimination, as `rlselect.report.to_html` takes them."""
    path, names = selector.path_, selector.encoder_.feature_names
    sizes = path["n_features"]
    what = f"{selector.loss_} loss"
    what += f", {type(selector.estimator).__name__}" if selector.estimator is not None else ""
    facts: dict[str, Any] = {
        "Selected": f"{selector.n_features_} of {len(selector.support_):,} variables",
        "Judged by": what,
    }
    if hasattr(selector, "response_names_"):
        facts["Responses"] = ", ".join(selector.response_names_)
    facts["Loss"] = selector.loss_
    for label, name in (("Regularization", "regularization_"), ("Bandwidth", "bandwidth_")):
        value = getattr(selector, name, None)
        if value is not None and np.isfinite(value):
            facts[label] = float(value)
    if getattr(selector, "kernel_error_", 0.0) > 0.0:
        facts["Landmarks"] = f"{selector.n_landmarks_} rows, kernel error {selector.kernel_error_:.2g}"
    risk = path["risk"][np.flatnonzero(sizes >= selector.n_features_)[-1]]
    error, of_all = short(risk), short(path["risk"][0])
    facts["Error on left-out rows"] = f"{error} with the selected variables, {of_all} with all"
    word = "with" if selector.n_features_ else "without"
    return {
        "title": SELECTION,
        "answer": answer_selection(
            len(selector.support_),
            {
                "": [
                    names[j]
                    for j in sorted(np.flatnonzero(selector.support_), key=selector.ranking_.__getitem__)
                ]
            },
            f"The error on left-out rows is {error} {word} them, {of_all} with all.",
            *stopped_early(selector.stop_reason_),
        ),
        "stop_reason": selector.stop_reason_,
        "facts": facts,
        "sections": [_selected(selector, path), _elimination(path)],
        "path": {
            "stage": list(range(1, len(sizes) + 1)),
            "size": sizes.tolist(),
            "score": path["risk"].tolist(),
            "titles": ["variables left", "error on left-out rows"],
        },
    }


def _selected(selector: Any, path: dict[str, NDArray]) -> dict[str, Any]:
    names = selector.encoder_.feature_names
    chosen = np.flatnonzero(selector.support_)
    effect = _effects(selector)
    single = bool(effect) and set(chosen.tolist()) <= set(effect)
    rows = []
    for j in sorted(chosen.tolist(), key=lambda j: selector.ranking_[j]):
        rank = selector.ranking_[j]
        # sets shrink along the path: the last that holds the feature, and the first that does not
        last = np.flatnonzero(path["n_features"] >= rank)[-1]
        rise = float(np.append(np.diff(path["risk"]), np.nan)[last])
        rows.append([str(names[j]), int(rank), rise, *([effect[j]] if single else [])])
    return {
        "title": "Selected variables",
        "columns": ["Variable", "Rank", "Rise of error", *(["Coefficient"] if single else [])],
        "rows": rows,
        "note": "Rank: the last to be eliminated is first. Rise of error: on left-out rows, when the "
        "variable left the set of those with a better or equal rank."
        if rows
        else "No variable is needed.",
    }


def _effects(selector: Any) -> dict[int, float]:
    """Coefficients of the features that are one column of a linear machine with one output."""
    coef = np.atleast_2d(getattr(selector, "coef_", np.empty((0, 0))))
    feature_of = selector.encoder_.column_feature_
    if len(coef) != 1:
        return {}
    alone = np.flatnonzero(np.bincount(feature_of)[feature_of] == 1)
    return {int(feature_of[c]): float(coef[0, c]) for c in alone}


def _elimination(path: dict[str, NDArray]) -> dict[str, Any]:
    keys = ("n_features", "objective", "risk", "difference", "difference_standard_error")
    rows = zip(*(path[key][::-1].tolist() for key in keys), strict=True)
    return {
        "title": "The elimination, from its end",
        "columns": [
            "Variables left",
            "Objective",
            "Error on left-out rows",
            "Above the best",
            "Std. error",
        ],
        "rows": [list(row) for row in rows],
    }
