"""A fitted learner as plain values: which history matters, for what, and what the regime is worth."""

from typing import Any

from rlselect.regimes._value import from_scores

__all__ = ["report_of"]


def report_of(learner: Any) -> dict[str, Any]:
    """Facts of a fit, tables and rules, as `rlselect.report.to_html` takes them."""
    value, before = learner.value_, learner.observed_
    gain = from_scores(value.scores - before.scores, value.method, value.confidence)
    return {
        "title": f"{type(learner).__name__} ({learner.n_stages_} stages)",
        "seconds": learner._seconds,
        "facts": {
            "Subjects": len(value.scores),
            "Value of the regime": str(value),
            "Value of what was done": str(before),
            "Difference": str(gain),
        },
        "sections": [_history(learner), _rules(learner), _stages(learner)],
        "notes": [
            "Values are means of the discounted sum of rewards; that of the regime is a cross-fitted doubly "
            "robust estimate. From observational data it can be trusted only if what moved both actions and "
            "rewards is among the history columns, and every action was taken often enough: see "
            "TrialData.overlap."
        ],
    }


def _history(learner: Any) -> dict[str, Any]:
    rows = []
    for t, names in enumerate(learner.selected_):
        for name in sorted(names, key=lambda name: name not in learner.tailoring_[t]):
            decides = name in learner.tailoring_[t]
            rows.append([name, t + 1, "the decision" if decides else "the outcome only"])
    return {
        "title": "Which history matters",
        "columns": ["History column", "Stage", "Needed for"],
        "rows": rows,
        "note": "The action of a stage itself is always part of its model and not listed."
        if rows
        else "No history column is needed at any stage.",
    }


def _rules(learner: Any) -> dict[str, Any]:
    return {
        "title": "What to do",
        "text": str(learner.regime_),
        "note": "Short rules that imitate the regime; predict gives the regime itself.",
    }


def _stages(learner: Any) -> dict[str, Any]:
    rows = [
        [
            f"stage {t + 1}",
            ", ".join(map(str, frame.labels)),
            str(learner.model_[t]),
            len(learner.selected_[t]),
            len(frame.columns),
        ]
        for t, frame in enumerate(learner._stages)
    ]
    reasons = [f"stage {t + 1}: {reason}" for t, reason in enumerate(learner.stop_reason_)]
    return {
        "title": "The stages",
        "columns": ["Stage", "Actions", "Model", "Columns kept", "of"],
        "rows": rows,
        "text": "\n".join(reasons),
    }
