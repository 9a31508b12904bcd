"""CPU seconds of a fit and of a band at n=1000, 168 times, 10 covariates; one thread, first fit included.

OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python experiments/temporal_timing.py --repeats 7
"""

import argparse
import time

import numpy as np
import pandas as pd
from scipy.special import expit
from temporal_common import write_table

from rlselect import TemporalProcessRegression


def study(n=1000, n_times=168, p=10, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n * n_times, p))
    eta = x @ rng.normal(scale=0.3, size=p)
    data = pd.DataFrame(x, columns=[f"x{k}" for k in range(p)])
    data["id"], data["t"] = np.repeat(np.arange(n), n_times), np.tile(np.arange(n_times), n)
    data["y"] = (rng.random(len(eta)) < expit(eta)).astype(float)
    data["v"] = eta + rng.normal(size=len(eta))
    return data


def seconds(call):
    start = time.process_time()
    out = call()
    return time.process_time() - start, out


def loop_seconds(data, names):
    """One GLM after the other with statsmodels, on every eighth time, scaled up."""
    try:
        import statsmodels.api as sm
    except ImportError:
        return float("nan")
    some = data[data["t"] % 8 == 0]

    def loop():
        for _, part in some.groupby("t"):
            design = sm.add_constant(part[names])
            sm.GLM(part["y"], design, family=sm.families.Binomial()).fit(cov_type="HC0")

    return seconds(loop)[0] * data["t"].nunique() / some["t"].nunique()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    data = study()
    names = [f"x{k}" for k in range(10)]
    rows = []
    for link, response in (("logit", "y"), ("identity", "v")):
        model = TemporalProcessRegression(f"{response} ~ {' + '.join(names)}", link=link)
        fits = [seconds(lambda m=model: m.fit(data, id="id", time="t"))[0] for _ in range(args.repeats)]
        bands = [
            seconds(lambda m=model: m.bands(n_draws=1000, random_state=0))[0] for _ in range(args.repeats)
        ]
        loop = loop_seconds(data, names) if link == "logit" else float("nan")
        rows.append([link, fits[0], float(np.median(fits)), float(np.median(bands)), loop])
    write_table(
        "temporal_timing",
        "CPU seconds, n=1000, 168 times, 10 covariates, one thread",
        [
            "link",
            "first fit (imports the formula library)",
            "fit, median",
            "band of 1,000 draws, median",
            "loop of statsmodels GLM",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
