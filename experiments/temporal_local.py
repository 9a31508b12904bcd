"""Do bands of local estimation (`visits="local"`) hold whole true curves at times that nobody shares?

python experiments/temporal_local.py --replicates 40 --seed 19811

Six visits per subject at times of their own between 0 and 10; curves at 11 times, both ends among them.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr
from temporal_common import write_table

from rlselect import TemporalProcessRegression
from rlselect.temporal import FlaggedTimeWarning, SmallSampleWarning

GRID = np.linspace(0.0, 10.0, 11)
EFFECTS = {
    "line": lambda t: 0.1 * t,
    "bump, 2 wide": lambda t: np.exp(-((t - 5) ** 2) / 2),
    "waves, period 6": lambda t: 0.7 * np.sin(2 * np.pi * t / 6),
}


def study(rng, n, effect, link):
    t, x = rng.uniform(0, 10, (n, 6)), 0.6 * rng.normal(size=(n, 1)) + 0.8 * rng.normal(size=(n, 6))
    eta = 0.5 * np.cos(t / 3) + effect(t) * x
    noise = np.sqrt(0.5) * (rng.normal(size=(n, 1)) + rng.normal(size=(n, 6)))
    y = eta + noise if link == "identity" else (ndtr(noise) < expit(eta)).astype(float)
    return pd.DataFrame({"id": np.repeat(np.arange(n), 6), "t": t.ravel(), "x": x.ravel(), "y": y.ravel()})


def one(rng, n, effect, link, width):
    """Whole curves of intercept and x held, by default and by first-order bands around the estimate."""
    model = TemporalProcessRegression("y ~ x", visits="local", grid=GRID, bandwidth=width, link=link)
    model.fit(study(rng, n, effect, link), id="id", time="t")
    truth = np.column_stack([0.5 * np.cos(GRID / 3), effect(GRID)])
    seed, out = int(rng.integers(2**31)), []
    for small_sample in (True, False):
        lower, upper = model.bands(n_draws=300, random_state=seed, small_sample=small_sample)
        inside = ((lower <= truth) & (upper >= truth)).to_numpy() | lower.isna().to_numpy()
        out += [*inside.all(axis=0), float(np.nanmedian((upper - lower)["x"])) / 2]
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=60)
    parser.add_argument("--seed", type=int, default=981)
    args = parser.parse_args()
    warnings.simplefilter("ignore", FlaggedTimeWarning)
    warnings.simplefilter("ignore", SmallSampleWarning)
    rows = []
    for link in ("identity", "logit"):
        for n in (60, 200):
            for k, (name, effect) in enumerate(EFFECTS.items()):
                for width in (1.0, 2.0):
                    rng = np.random.default_rng([args.seed, len(link), n, k, int(10 * width)])
                    found = [one(rng, n, effect, link, width) for _ in range(args.replicates)]
                    rows.append([link, n, name, width, *map(float, np.mean(found, axis=0))])
                    print(rows[-1], flush=True)
    write_table(
        "temporal_local",
        f"Whole true curves inside bands of local estimation, level .95 ({args.replicates} replicates)",
        [
            "link",
            "n",
            "effect of x",
            "bandwidth",
            "intercept",
            "x",
            "half width for x",
            "intercept, small_sample=False",
            "x, small_sample=False",
            "half width for x, small_sample=False",
        ],
        rows,
        [
            "By default bands are about effects that are quadratic in time within the window; "
            "small_sample=False: around the estimate. The standard error of an entry near .95 is "
            f"{np.sqrt(0.0475 / args.replicates):.3f}."
        ],
    )


if __name__ == "__main__":
    main()
