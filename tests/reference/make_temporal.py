"""Write temporal.json: estimates and HC0 standard errors of statsmodels for a small long data set.

Run with statsmodels installed: python tests/reference/make_temporal.py
"""

import json
from pathlib import Path

import numpy as np
import statsmodels
import statsmodels.api as sm

HERE = Path(__file__).parent
FAMILIES = {
    "identity": sm.families.Gaussian(),
    "logit": sm.families.Binomial(),
    "log": sm.families.Poisson(),
}


def make_data(seed=20):
    rng = np.random.default_rng(seed)
    n, times = 80, [0.0, 1.0, 2.5, 4.0, 7.0]
    who = np.repeat(np.arange(n), len(times))
    when = np.tile(times, n)
    trait = rng.normal(size=n)[who]
    x = 0.6 * trait + rng.normal(size=len(who))
    z = np.round(rng.normal(50, 10, size=n))[who]
    eta = 0.3 + 0.5 * np.sin(when) * x + 0.02 * (z - 50) + 0.4 * trait
    data = {
        "id": who.tolist(),
        "time": when.tolist(),
        "x": np.round(x, 6).tolist(),
        "z": z.tolist(),
        "w": rng.integers(1, 5, size=len(who)).astype(float).tolist(),
        "y_identity": np.round(eta + rng.normal(size=len(who)), 6).tolist(),
        "y_logit": (rng.random(len(who)) < 1 / (1 + np.exp(-eta))).astype(int).tolist(),
        "y_log": rng.poisson(np.exp(0.5 * eta)).tolist(),
    }
    keep = np.flatnonzero(rng.random(len(who)) > 0.1)
    return {key: [values[k] for k in keep] for key, values in data.items()}


def per_time(data, link, weighted):
    arrays = {key: np.asarray(values, dtype=float) for key, values in data.items()}
    out = {"coef": [], "se": []}
    for t in np.unique(arrays["time"]):
        at = arrays["time"] == t
        design = np.column_stack([np.ones(at.sum()), arrays["x"][at], arrays["z"][at]])
        weights = arrays["w"][at] if weighted else None
        model = sm.GLM(arrays[f"y_{link}"][at], design, family=FAMILIES[link], var_weights=weights)
        fit = model.fit(cov_type="HC0", tol=1e-14, maxiter=200)
        out["coef"].append(fit.params.tolist())
        out["se"].append(fit.bse.tolist())
    return out


def constant(data, link):
    """Intercept and x free at each time, z constant: one GLM, standard errors clustered by subject."""
    arrays = {key: np.asarray(values, dtype=float) for key, values in data.items()}
    times = np.unique(arrays["time"])
    dummies = (arrays["time"][:, None] == times).astype(float)
    design = np.column_stack([dummies, dummies * arrays["x"][:, None], arrays["z"]])
    model = sm.GLM(arrays[f"y_{link}"], design, family=FAMILIES[link])
    groups = {"groups": np.asarray(data["id"]), "use_correction": False}
    fit = model.fit(cov_type="cluster", cov_kwds=groups, tol=1e-14, maxiter=200)
    k = len(times)

    def table(v):
        return [[v[j], v[k + j], v[2 * k]] for j in range(k)]

    return {"coef": table(fit.params.tolist()), "se": table(fit.bse.tolist())}


def main():
    data = make_data()
    out = {"made_with": f"statsmodels {statsmodels.__version__}", "data": data}
    for link in FAMILIES:
        out[link] = per_time(data, link, weighted=False)
        out[f"{link}_weighted"] = per_time(data, link, weighted=True)
        out[f"{link}_constant"] = constant(data, link)
    (HERE / "temporal.json").write_text(json.dumps(out) + "\n")


if __name__ == "__main__":
    main()
