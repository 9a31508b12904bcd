"""What a fitted RiskRFE says about itself, as plain values."""

from typing import Any

import numpy as np

__all__ = ["report_of"]


def report_of(selector: Any) -> dict[str, Any]:
    """Facts of a fit, the selected features and the elimination, as `rlselect.report.to_html` takes them."""
    path = selector.objective_path_
    sizes = path["n_features"]
    what = f"{selector._loss.name} loss"
    what += f", {type(selector.estimator).__name__}" if selector.estimator is not None else ""
    facts: dict[str, Any] = {"Selected": f"{selector.n_features_} of {len(selector.support_)} features"}
    for label, name in (("Regularization", "regularization_"), ("Bandwidth", "bandwidth_")):
        value = getattr(selector, name, None)
        if value is not None and np.isfinite(value):
            facts[label] = float(value)
    risk = path["risk"][np.flatnonzero(sizes >= selector.n_features_)[-1]]
    facts["Out-of-sample risk"] = f"{risk:.4g} with the selected features, {path['risk'][0]:.4g} with all"
    return {
        "title": f"{type(selector).__name__} ({what})",
        "stop_reason": selector.stop_reason_,
        "facts": facts,
        "sections": [_selected(selector, path), _elimination(path)],
        "path": {
            "stage": list(range(1, len(sizes) + 1)),
            "size": sizes.tolist(),
            "score": path["risk"].tolist(),
            "titles": ["features left", "out-of-sample risk"],
        },
    }


def _selected(selector: Any, path: dict[str, np.ndarray]) -> dict[str, Any]:
    given = getattr(selector, "feature_names_in_", None)
    names = [f"x{j}" for j in range(len(selector.support_))] if given is None else given
    chosen = np.flatnonzero(selector.support_)
    coef = getattr(selector, "coef_", None)
    single = coef is not None and np.size(coef) == len(chosen)
    effect = dict(zip(chosen.tolist(), np.ravel(np.asarray(coef)), strict=True)) if single else {}
    rows = []
    for j in sorted(chosen.tolist(), key=lambda j: selector.ranking_[j]):
        rank = selector.ranking_[j]
        inside, outside = path["n_features"] >= rank, path["n_features"] < rank
        # sets shrink along the path: the last that holds the feature, and the first that does not
        rise = path["risk"][np.flatnonzero(outside)[0]] - path["risk"][np.flatnonzero(inside)[-1]]
        rows.append([str(names[j]), int(rank), float(rise), *([float(effect[j])] if single else [])])
    return {
        "title": "Selected features",
        "columns": ["Feature", "Rank", "Rise of risk", *(["Coefficient"] if single else [])],
        "rows": rows,
        "note": "Rank: the last to be eliminated is first. Rise of risk: of the out-of-sample risk, when the "
        "feature left the set of those with a better or equal rank."
        if rows
        else "No feature is needed.",
    }


def _elimination(path: dict[str, np.ndarray]) -> dict[str, Any]:
    keys = ("n_features", "objective", "risk", "difference", "difference_standard_error")
    rows = zip(*(path[key][::-1].tolist() for key in keys), strict=True)
    return {
        "title": "The elimination, from its end",
        "columns": [
            "Features left",
            "Objective",
            "Out-of-sample risk",
            "Above the best",
            "Std. error",
        ],
        "rows": [list(row) for row in rows],
    }
