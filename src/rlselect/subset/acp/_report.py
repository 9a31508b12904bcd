"""What a fitted ActorCriticPredictor says about itself, as plain values."""

from typing import Any

import numpy as np

from rlselect.report import SELECTION, answer_selection, stopped_early


def report_of(selector: Any) -> dict[str, Any]:
    """Facts of a fit, in the shape that the writers of reports expect."""
    names = selector.encoder_.feature_names
    order = sorted(np.flatnonzero(selector.support_), key=lambda f: selector.ranking_[f])
    variables = [
        {
            "name": names[f],
            "inclusion": float(selector.inclusion_[f]),
            "coef": None,
            "error": None,
            "gain": float(selector.gain_[f]),
        }
        for f in order
    ]
    choice = selector.predictor_
    facts: dict[str, Any] = {"Predictor": choice.name}
    if hasattr(selector, "response_names_"):
        facts["Responses"] = ", ".join(selector.response_names_)
    if choice.scores:
        shown = ", ".join(f"{name} {value:.3g}" for name, value in choice.scores.items())
        side = "smaller" if choice.t > 0 else "larger"
        facts["Held-out error of the predictors"] = (
            f"{shown} (the kernel's is {side} by {abs(choice.t):.1f} standard errors of the difference)"
        )
    for name, kept in selector.screening_.items():
        facts[f"Screening ({name})"] = f"kept {len(kept)} of {selector.n_features_in_} variables"
    if not selector.screening_:
        facts["Screening"] = "none"
    facts["Subsets judged"] = f"{selector.n_fits_:,}, and {selector.cache_hits_:,} from memory"
    if selector.search == "auto":
        facts["False alarms in pure noise"] = f"at most {100 * selector.false_alarm:g} % of data sets"
    notes = [] if variables else ["No variable is worth its price: the model is a constant."]
    if variables and selector.search != "auto":
        notes.append(
            "Inclusion is the probability with which the paper's search draws a variable, at most "
            f"{1.0 - selector.search.edge:g}: a useless one that does little harm may have it as well. The "
            "default search asks what noise would reach."
        )
    history = selector.path_
    return {
        "title": SELECTION,
        "answer": answer_selection(
            selector.n_features_in_,
            {"": [v["name"] for v in variables]},
            *stopped_early(selector.stop_reason_),
        ),
        "family": selector.task_,
        "n_rows": selector._n_rows,
        "n_features": selector.n_features_in_,
        "stop_reason": selector.stop_reason_,
        "seconds": selector._seconds,
        "facts": facts,
        "variables": variables,
        "path": {
            "stage": list(range(1, len(history["size"]) + 1)),
            "size": history["size"].tolist(),
            "score": history["reward"].tolist(),
        },
        "notes": notes,
    }
