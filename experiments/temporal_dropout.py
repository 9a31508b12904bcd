"""What weights for drop-out mend, by the way in which visits meet times.

python experiments/temporal_dropout.py --replicates 40 --seed 19511 --subjects 300

Responses have no trend; who has a high one tends to leave afterwards, so that the mean of those who are still
there falls. The last visits of the study are at 6; curves are looked at from 4 on. The log odds of leaving
rise by 1 per unit of the response, or by half as much.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from temporal_common import write_table

from rlselect import TemporalProcessRegression
from rlselect.temporal import SmallSampleWarning

GRID = np.arange(1.0, 5.6, 0.5)
MODES = {
    "exact": {},
    "bin, mean of several": {"visits": "bin", "grid": 6},
    "bin, first of several": {"visits": "bin", "grid": 6, "several": "first"},
    "carry": {"visits": "carry", "grid": GRID},
    "carry, coarse grid": {"visits": "carry", "grid": GRID[1::4]},
    "local": {"visits": "local", "grid": GRID, "bandwidth": 0.8},
    "local, coarse grid": {"visits": "local", "grid": GRID[1::4], "bandwidth": 0.8},
}


def study(rng, n, shared, strength):
    """Long data: visits at whole times where `shared`, else at times of everyone's own."""
    rows = []
    for i in range(n):
        trait, t = rng.normal(), 0.0 if shared else rng.uniform()
        while t <= 6:
            x, y = rng.normal(), trait + 0.7 * rng.normal()
            rows.append((i, t, x, y))
            if rng.random() < 1 / (1 + np.exp(2.5 - strength * y)):
                break
            t += 1.0 if shared else rng.uniform(0.5, 1.5)
    return pd.DataFrame(rows, columns=["id", "t", "x", "y"])


def one(rng, n, name, strength):
    """Mean and share held without weights and with them, and whether a warning was given of the latter."""
    data, out = study(rng, n, name == "exact", strength), []
    for weights in ({}, {"dropout": ["y"]}):
        model = TemporalProcessRegression("y ~ x", **MODES[name]).fit(data, id="id", time="t", **weights)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SmallSampleWarning)
            lower, upper = (side["Intercept"].loc[4.0:] for side in model.conf_int())
        out += [model.coef_["Intercept"].loc[4.0:].mean(), ((lower < 0) & (upper > 0)).mean()]
    return [*out, bool(caught)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=60)
    parser.add_argument("--seed", type=int, default=951)
    parser.add_argument("--subjects", type=int, default=300)
    args = parser.parse_args()
    rows = []
    for k, (name, strength) in enumerate((name, strength) for strength in (1.0, 0.5) for name in MODES):
        rng = np.random.default_rng([args.seed, k])
        found = [one(rng, args.subjects, name, strength) for _ in range(args.replicates)]
        mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
        error = spread[2] / np.sqrt(args.replicates)
        rows.append([name, strength, mean[0], mean[2], error, mean[1], mean[3], mean[4]])
        print(rows[-1], flush=True)
    write_table(
        "temporal_dropout",
        f"Intercepts that are 0, from time 4 on ({args.subjects} subjects, {args.replicates} replicates)",
        [
            "visits",
            "log odds per unit",
            "mean, no weights",
            "weighted",
            "its standard error",
            "in intervals, no weights",
            "weighted",
            "warned",
        ],
        [[row[0], *map(float, row[1:])] for row in rows],
        [
            "Intervals are those of `conf_int`, level .95. Weights: `dropout=['y']`. Warned: a "
            "`SmallSampleWarning` says that levels are not known with such weights."
        ],
    )


if __name__ == "__main__":
    main()
