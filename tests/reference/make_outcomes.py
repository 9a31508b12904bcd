"""Reference values of Cox and proportional odds models from statsmodels, for tests/subset/revs.

Run with statsmodels installed (0.15.0 was used): python tests/reference/make_outcomes.py
"""

import json
from pathlib import Path

import numpy as np
import statsmodels.api as sm
from statsmodels.miscmodels.ordinal_model import OrderedModel

N, K = 90, 3
# the known effect of the first column, in one of the models
KNOWN = 0.4


def survival(rng, X):
    """Rounded times with ties, some of them censored, late entries and two strata."""
    hazard = np.exp(X @ [0.8, -0.5, 0.3])
    # between the times: a row that enters at the time of an event is at risk for statsmodels, not for others
    entry = np.round(rng.exponential(0.2, N), 1) + 0.05
    time = np.round(entry + rng.exponential(1.0 / hazard) + 0.1, 1)
    event = (rng.random(N) < 0.7).astype(int)
    return time, event, entry, rng.integers(0, 2, N)


def cox(X, time, event, **given):
    """Coefficients, standard errors and the log partial likelihood."""
    out = {}
    for ties in ("efron", "breslow"):
        fit = sm.PHReg(time, X, status=event, ties=ties, **given).fit(method="newton", disp=0)
        out[ties] = {"coef": fit.params.tolist(), "error": fit.bse.tolist(), "value": float(fit.llf)}
    return out


def hazards(X, time, event, **given):
    """Times and cumulative baseline hazards by stratum, of Breslow's likelihood."""
    fit = sm.PHReg(time, X, status=event, ties="breslow", **given).fit(method="newton", disp=0)
    return [[times.tolist(), hazard.tolist()] for times, hazard, _ in fit.baseline_cumulative_hazard]


def ordinal(X, y, **given):
    """Coefficients, cut points, standard errors, the log likelihood and the probabilities of ten rows."""
    model = OrderedModel(y, X, distr="logit", **given)
    fit = model.fit(method="newton", disp=0, maxiter=200, tol=1e-12)
    cuts = model.transform_threshold_params(fit.params)[1:-1]
    return {
        "coef": fit.params[:K].tolist(),
        "cuts": cuts.tolist(),
        "error": fit.bse[:K].tolist(),
        "value": float(fit.llf),
        "probabilities": np.asarray(fit.predict())[:10].tolist(),
    }


def main():
    """Write outcomes.json beside this file."""
    rng = np.random.default_rng(23)
    X = np.round(rng.standard_normal((N, K)), 3)
    time, event, entry, stratum = survival(rng, X)
    y = np.digitize(X @ [1.0, 0.6, -0.4] + rng.logistic(size=N), [-1.0, 0.3, 1.5])
    values = {
        "X": X.tolist(),
        "time": time.tolist(),
        "event": event.tolist(),
        "entry": entry.tolist(),
        "stratum": stratum.tolist(),
        "y": y.tolist(),
        "cox": {
            "plain": cox(X, time, event),
            "late": cox(X, time, event, entry=entry),
            "strata": cox(X, time, event, strata=stratum),
            "both": cox(X, time, event, entry=entry, strata=stratum),
            # next to no time without several events
            "tied": cox(X, np.ceil(2 * time), event, strata=stratum),
        },
        "hazards": {"plain": hazards(X, time, event), "strata": hazards(X, time, event, strata=stratum)},
        "ordinal": ordinal(X, y),
        "known": ordinal(X, y, offset=KNOWN * X[:, 0]),
    }
    path = Path(__file__).with_name("outcomes.json")
    path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
