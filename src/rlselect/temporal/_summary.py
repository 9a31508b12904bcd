"""A page about a fitted model."""

import warnings
from typing import Any

import numpy as np

from rlselect.temporal._results import Summary
from rlselect.temporal._tests import FlaggedTimeWarning


def summarise(model: Any, level: float, n_draws: int, random_state: Any) -> Summary:
    """See `TemporalProcessRegression.summary`."""
    import pandas as pd

    design, raw = model._design, model._raw
    band = model.bands(level=level, n_draws=n_draws, random_state=random_state)
    outside = band.excludes(0.0)
    rows = []
    for name in design.names:
        with warnings.catch_warnings():
            # the header says which times are flagged
            warnings.simplefilter("ignore", FlaggedTimeWarning)
            ids = model.test(name)
            sds = model.test(name, kind="sds", n_draws=n_draws, random_state=random_state)
        curve = model.coef_[name]
        rows.append(
            {
                "mean effect": float(ids.estimate[0]),
                "se": float(ids.se[0]),
                "lowest": curve.min(),
                "lowest at": curve.idxmin(),
                "highest": curve.max(),
                "highest at": curve.idxmax(),
                "p (ids)": ids.pvalue,
                "p (sds)": sds.pvalue,
                "times band excludes 0": int(outside[name].sum()),
            }
        )
    flagged = [(t, reason) for t, reason in zip(design.times, raw.flags, strict=True) if reason]
    formula = model.formula or f"{design.response} ~ " + " + ".join(design.names)
    header = [
        f"Temporal process regression: {formula}",
        f"link {model.link}, variance {model._variance}; {len(design.subjects)} subjects, "
        f"{len(design.times)} times from {design.times[0]} to {design.times[-1]}, "
        f"{int(raw.n_available.min())} to {int(np.max(raw.n_available))} available per time",
    ]
    if hasattr(model, "bandwidth_"):
        header.append(f"smoothed with a {model.kernel} kernel, bandwidth {model.bandwidth_:.4g}")
    header += [f"time {t} flagged: {reason}" for t, reason in flagged]
    return Summary(header, pd.DataFrame(rows, index=design.names))
