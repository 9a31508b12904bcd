"""What a fitted selector says about itself, as plain values."""

from typing import Any

import numpy as np

AFTER_SELECTION = (
    "Standard errors are those of a refit that does not know the variables were selected: they are too "
    "optimistic. For honest ones, refit the selected variables on rows that took no part in the selection."
)


def report_of(selector: Any) -> dict[str, Any]:
    """Facts of a fitted REVS, as plain values."""
    names = selector.encoder_.feature_names
    column_feature = np.asarray(selector.encoder_.column_feature_)
    variables = []
    for feature in sorted(np.flatnonzero(selector.support_), key=lambda f: selector.ranking_[f]):
        columns = np.flatnonzero(column_feature == feature)
        coef, error = (
            {selector.column_names_[c]: float(values[c]) for c in columns}
            for values in (selector.coef_, selector._errors)
        )
        single = len(columns) == 1
        variables.append(
            {
                "name": names[feature],
                "inclusion": float(selector.inclusion_[feature]),
                "coef": next(iter(coef.values())) if single else coef,
                "error": next(iter(error.values())) if single else error,
                "gain": float(selector.gain_[feature]),
            }
        )
    sizes = selector.detectable_[np.isfinite(selector.detectable_)]
    effect = float(sizes.max()) if len(sizes) else None
    notes = [AFTER_SELECTION] if variables else ["No variable is worth its price: the model is a constant."]
    if effect is not None:
        unit = "standard deviations of y" if selector.family_ == "gaussian" else "units of the link"
        notes.append(
            f"Beside these variables, an effect of {effect:.2g} {unit} per standard deviation of any other "
            f"one would have been seen with probability 0.9 on {selector.n_rows_seen_:,} of "
            f"{selector._n_rows:,} rows."
        )
    return {
        "title": f"{type(selector).__name__} ({selector.family_})",
        "family": selector.family_,
        "n_rows": selector._n_rows,
        "n_rows_read": selector.n_rows_read_,
        "n_rows_seen": selector.n_rows_seen_,
        "detectable": effect,
        "n_features": selector.n_features_in_,
        "stop_reason": selector.stop_reason_,
        "seconds": selector._seconds,
        "variables": variables,
        "path": {
            "stage": list(range(1, len(selector.path_["size"]) + 1)),
            "size": selector.path_["size"].tolist(),
            "score": selector.path_["score"].tolist(),
        },
        "notes": notes,
    }
