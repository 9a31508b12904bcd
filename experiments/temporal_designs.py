"""Default tests, bands and intervals on designs that nothing was tuned on.

python experiments/temporal_designs.py --replicates 100 --seed 19721 --subjects 60

The effect of x is zero, or a curve with a kink; the other covariate has an effect of .4 throughout. A broken
run goes on after the cells it has done, which a temporary file keeps until the table is written.
"""

import argparse
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
from temporal_common import write_table

from rlselect import TemporalProcessRegression
from rlselect.temporal import FlaggedTimeWarning, SmallSampleWarning

N_TIMES = 12


def errors(rng, n, rho=0.8):
    out = np.empty((n, N_TIMES))
    out[:, 0] = rng.normal(size=n)
    for t in range(1, N_TIMES):
        out[:, t] = rho * out[:, t - 1] + np.sqrt(1 - rho**2) * rng.normal(size=n)
    return out


def covariates(rng, n):
    return 0.6 * rng.normal(size=(n, 1)) + 0.8 * rng.normal(size=(n, N_TIMES)), rng.normal(size=(n, 1))


def gaussian(rng, n, effect, noise=errors, arm=None, spread=1.0):
    x, z = covariates(rng, n)
    if arm is not None:
        x = np.repeat((rng.permutation(n) < arm)[:, None].astype(float), N_TIMES, axis=1)
    return x, z, effect * x + 0.4 * z + np.where(x == 1.0, spread, 1.0) * noise(rng, n), "identity"


def student(df):
    return lambda rng, n: errors(rng, n) / np.sqrt(rng.chisquare(df, size=(n, 1)) / df)


def counts(rng, n, effect, zeros=0.0):
    x, z = covariates(rng, n)
    rate = np.exp(0.3 + effect * x + 0.4 * z) * rng.gamma(0.7, 1 / 0.7, size=(n, 1))
    return x, z, rng.poisson(rate) * (rng.random(x.shape) >= zeros), "log"


def feedback(rng, n, effect):
    """The covariate follows what the response was a time before, as a dose does."""
    x, z = covariates(rng, n)
    e = errors(rng, n)
    y = np.empty_like(x)
    for t in range(N_TIMES):
        if t:
            x[:, t] += 0.5 * (y[:, t - 1] > 0)
        y[:, t] = effect[t] * x[:, t] + 0.4 * z[:, 0] + e[:, t]
    return x, z, y, "identity"


def rare(rng, n, effect):
    x, z = covariates(rng, n)
    eta = -2.2 + effect * x + 0.4 * z + errors(rng, n)
    return x, z, (rng.random(x.shape) < 1 / (1 + np.exp(-eta))).astype(float), "logit"


def far_out(rng, n, effect):
    """One subject whose covariate is far from all others, with responses of its own."""
    x, z, y, link = gaussian(rng, n, effect)
    x[0] += 8.0
    y[0] = effect * x[0] + 0.4 * z[0] + 3.0 * errors(rng, 1)[0]
    return x, z, y, link


def doses(rng, n, effect):
    """A covariate that is 0 for most and large for some, as a dose is; events for a fifth."""
    x, z = covariates(rng, n)
    x = rng.exponential(size=x.shape) * (rng.random((n, 1)) < 0.4)
    eta = -1.2 + effect * x + 0.4 * z + errors(rng, n)
    return x, z, (rng.random(x.shape) < 1 / (1 + np.exp(-eta))).astype(float), "logit"


def two_far_counts(rng, n, effect):
    """Two subjects with ten times the rate of the others."""
    x, z, y, link = counts(rng, n, effect)
    y[:2] = rng.poisson(10 * np.exp(0.3 + effect * x[:2] + 0.4 * z[:2]))
    return x, z, y, link


def clusters(rng, n, effect, link="identity", many=12):
    """Subjects in clusters of unequal sizes, which share two fifths of the errors; clusters are arms."""
    share = rng.dirichlet(np.full(many, 2.0))
    owner = np.concatenate([np.arange(many), rng.choice(many, n - many, p=share)])
    x = np.repeat((rng.permutation(many) < many // 2)[owner][:, None].astype(float), N_TIMES, axis=1)
    z = rng.normal(size=(n, 1))
    eta = effect * x + 0.4 * z
    noise = np.sqrt(0.4) * errors(rng, many)[owner] + np.sqrt(0.6) * errors(rng, n)
    if link == "logit":
        return x, z, (rng.random(x.shape) < 1 / (1 + np.exp(-eta - noise))).astype(float), link, owner
    return x, z, eta + noise, link, owner


DESIGNS = {
    "normal": gaussian,
    "Student's t, 2 df": lambda rng, n, b: gaussian(rng, n, b, student(2)),
    "Cauchy": lambda rng, n, b: gaussian(rng, n, b, student(1)),
    "arm of 8, three times the spread": lambda rng, n, b: gaussian(rng, n, b, arm=8, spread=3.0),
    "arm of 52, three times the spread": lambda rng, n, b: gaussian(rng, n, b, arm=n - 8, spread=3.0),
    "correlation .99": lambda rng, n, b: gaussian(rng, n, b, lambda r, m: errors(r, m, 0.99)),
    "covariate follows the response": feedback,
    "overdispersed counts": counts,
    "counts, 70 % more zeros": lambda rng, n, b: counts(rng, n, b, zeros=0.7),
    "rare events": rare,
    "one subject far out": far_out,
    "doses, binary": doses,
    "counts, two subjects with ten times the rate": two_far_counts,
    "12 unequal clusters, half of them an arm": clusters,
    "12 unequal clusters, binary": lambda rng, n, b: clusters(rng, n, b, "logit"),
}
KINK = 0.6 * np.maximum(np.arange(N_TIMES) - 5, 0) / 6 - 0.2


def one(rng, n, name, effect, missing):
    x, z, y, link, *owner = DESIGNS[name](rng, n, effect)
    # visits are missed by those with a large covariate: at random, given the model
    seen = rng.random(x.shape) >= (0.6 / (1 + np.exp(2.0 - x)) if missing else 0.05)
    ids, times = np.repeat(np.arange(n), N_TIMES), np.tile(np.arange(N_TIMES), n)
    table = np.column_stack([x.ravel(), np.repeat(z[:, 0], N_TIMES)])
    rows = seen.ravel()
    data, fit = (table[rows], y.ravel()[rows]), {"id": ids[rows], "time": times[rows]}
    if owner:
        fit["cluster"] = owner[0][fit["id"]]
    model = TemporalProcessRegression(link=link).fit(*data, **fit)
    smooth = TemporalProcessRegression(link=link, n_splines=8).fit(*data, **fit)
    seed = {"random_state": int(rng.integers(2**31))}
    out = [model.test("x0", value=effect, kind=kind, n_draws=199, **seed).pvalue <= 0.05 for kind in KINDS]
    bands = [model.bands(**seed), smooth.bands(smoothed=True, **seed)]
    points = [model.conf_int(), smooth.conf_int(smoothed=True)]
    hits = [covered(found["x0"], effect) for found in (*bands, *points)]
    return [*out, *(h.all() for h in hits[:2]), *(h.mean() for h in hits[2:])]


KINDS = ("ids", "sds", "squared")


def covered(curve, truth):
    lower, upper = curve["lower"].to_numpy(), curve["upper"].to_numpy()
    return ((lower <= truth) & (truth <= upper)) | np.isnan(lower)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--seed", type=int, default=961)
    parser.add_argument("--subjects", type=int, default=60)
    args = parser.parse_args()
    warnings.simplefilter("ignore", FlaggedTimeWarning)
    warnings.simplefilter("ignore", SmallSampleWarning)
    kept = Path(tempfile.gettempdir()) / f"temporal_designs_{args.seed}_{args.replicates}.json"
    rows = json.loads(kept.read_text()) if kept.exists() else []
    cells = [(name, "none", False) for name in DESIGNS]
    cells += [("normal", "kink", False), ("overdispersed counts", "kink", False), ("normal", "kink", True)]
    cells += [("counts, 70 % more zeros", "kink", False)]
    for k, (name, effect, missing) in enumerate(cells):
        if k < len(rows):
            continue
        rng = np.random.default_rng([args.seed, k])
        truth = KINK if effect == "kink" else np.zeros(N_TIMES)
        found, refused = [], 0
        for _ in range(args.replicates):
            try:
                found.append(one(rng, args.subjects, name, truth, missing))
            except ValueError:
                refused += 1
        label = f"{name}, visits missing by x" if missing else name
        shares = np.mean(np.array(found, dtype=float), axis=0) if found else np.full(7, np.nan)
        rows.append([label, effect, refused, *map(float, shares)])
        print(rows[-1], flush=True)
        kept.write_text(json.dumps(rows))
    kept.unlink()
    write_table(
        "temporal_designs",
        f"Designs that nothing was tuned on ({args.subjects} subjects, {args.replicates} replicates)",
        [
            "design",
            "effect of x",
            "refused",
            *(f"true curve rejected, {kind}" for kind in KINDS),
            "whole curve in band",
            "splines",
            "points in intervals",
            "splines",
        ],
        rows,
        [
            "Level .95. The standard error of an entry is near "
            f"{np.sqrt(0.0475 / args.replicates):.3f} (less for points). Where the covariate follows the "
            "response, it is associated with it at the same time through the errors of the subject: the "
            "curves show that, as they should, and no effect."
        ],
    )


if __name__ == "__main__":
    main()
