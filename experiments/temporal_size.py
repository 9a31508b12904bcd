"""Size and power of the tests of effect curves at the 5 % level.

python experiments/temporal_size.py --replicates 400 --seed 101
"""

import argparse

import numpy as np
from temporal_common import curves, simulate, write_table

from rlselect import TemporalProcessRegression

LINKS = ("identity", "logit")
KINDS = ("ids", "sds", "squared")


def truths(n_times):
    base = curves(n_times)
    null, early, sign = base.copy(), base.copy(), base.copy()
    null[1] = 0.0
    early[1] = np.where(np.arange(n_times) < n_times // 8, 0.5, 0.0)
    sign[1] = 0.25 * np.sin(2 * np.pi * np.arange(n_times) / n_times)
    small = base.copy()
    small[1] = 0.12
    return {"none": null, "small and constant": small, "early only": early, "changing sign": sign}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--times", type=int, default=24)
    parser.add_argument("--draws", type=int, default=500)
    args = parser.parse_args()
    rows = []
    for link in LINKS:
        for n in (100, 300):
            for k, (name, truth) in enumerate(truths(args.times).items()):
                rng = np.random.default_rng([args.seed, LINKS.index(link), n, k])
                hits = np.zeros(6)
                for _ in range(args.replicates):
                    x, y, ids, times = simulate(rng, n, args.times, link, truth)
                    model = TemporalProcessRegression(link=link).fit(x, y, id=ids, time=times)
                    options = {"n_draws": args.draws, "random_state": int(rng.integers(2**31))}
                    values = [model.test("x0", kind=kind, **options).pvalue for kind in KINDS]
                    values += [model.test("x0", time_weight="inverse-se").pvalue]
                    values += [
                        model.test_constant("x0", kind=kind, **options).pvalue for kind in ("sds", "squared")
                    ]
                    hits += np.array(values) < 0.05
                rows.append([link, n, name, *(float(v) for v in hits / args.replicates)])
    write_table(
        "temporal_size",
        f"Share of rejections at 5 % ({args.times} times, {args.replicates} replicates, {args.draws} draws)",
        [
            "link",
            "n",
            "effect of x",
            "ids",
            "sds",
            "squared",
            "ids, 1/se",
            "constant? sds",
            "constant? squared",
        ],
        rows,
        [
            "Rows with no effect show the size of all six tests; `small and constant` shows the size of the "
            f"last two. The standard error of an entry near .05 is {np.sqrt(0.0475 / args.replicates):.3f}."
        ],
    )


if __name__ == "__main__":
    main()
