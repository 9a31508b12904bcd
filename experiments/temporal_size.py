"""Size and power of the tests of effect curves at the 5 % level, from few subjects to many.

python experiments/temporal_size.py --replicates 600 --seed 901 --draws 199 --subjects 20 40 60 --default-only
python experiments/temporal_size.py --replicates 100 --seed 902 --draws 199 --subjects 10 20 100 \
    --name temporal_size_range
python experiments/temporal_size.py --power --subjects 100 150 300 --links identity logit --times 24 \
    --seed 102 --name temporal_power
"""

import argparse
import warnings

import numpy as np
from temporal_common import LINKS, curves, simulate, simulate_arms, write_table

from rlselect import TemporalProcessRegression
from rlselect.temporal import FlaggedTimeWarning, SmallSampleWarning

KINDS = ("ids", "sds", "squared")
TESTS = ["ids", "sds", "squared", "ids, 1/se", "constant? sds", "constant? squared", "two effects, ids"]


def truths(n_times, power):
    base = curves(n_times)
    null = base.copy()
    null[1] = 0.0
    if not power:
        return {"none": null}
    early, sign, small = base.copy(), base.copy(), base.copy()
    early[1] = np.where(np.arange(n_times) < n_times // 8, 0.5, 0.0)
    sign[1] = 0.25 * np.sin(2 * np.pi * np.arange(n_times) / n_times)
    small[1] = 0.12
    return {"small and constant": small, "early only": early, "changing sign": sign}


def rejections(model, truth, small_sample, draws, seed):
    options = {"n_draws": draws, "random_state": seed, "small_sample": small_sample}
    values = [model.test("x0", kind=kind, **options).pvalue for kind in KINDS]
    values += [model.test("x0", time_weight="inverse-se", **options).pvalue]
    values += [model.test_constant("x0", kind=kind, **options).pvalue for kind in ("sds", "squared")]
    both = np.column_stack([np.zeros(len(truth[1])), truth[2]])[: len(model.times_)]
    values += [model.test(["x0", "x1"], value=both, **options).pvalue if len(both) == len(truth[1]) else 1.0]
    return np.array(values) <= 0.05


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--times", type=int, default=12)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--subjects", type=int, nargs="+", default=[10, 20, 40, 60, 100, 150, 400])
    parser.add_argument("--links", nargs="+", default=list(LINKS))
    parser.add_argument("--default-only", action="store_true", help="without the first-order references")
    parser.add_argument("--power", action="store_true")
    parser.add_argument("--name", default="temporal_size")
    args = parser.parse_args()
    warnings.simplefilter("ignore", FlaggedTimeWarning)
    warnings.simplefilter("ignore", SmallSampleWarning)
    rows = []
    designs = (
        {"autoregressive": simulate} if args.power else {"autoregressive": simulate, "arms": simulate_arms}
    )
    for link in args.links:
        for n in args.subjects:
            for d, (design, make) in enumerate(designs.items()):
                for k, (name, truth) in enumerate(truths(args.times, args.power).items()):
                    rng = np.random.default_rng([args.seed, LINKS.index(link), n, d, k])
                    hits = {True: []} if args.default_only else {True: [], False: []}
                    for _ in range(args.replicates):
                        x, y, ids, times = make(rng, n, args.times, link, truth)
                        try:
                            model = TemporalProcessRegression(link=link).fit(x, y, id=ids, time=times)
                        except ValueError:
                            continue  # no time could be estimated
                        if sum(flag is None for flag in model.flags_) < 3:
                            continue
                        for small in hits:
                            seed = int(rng.integers(2**31))
                            hits[small].append(rejections(model, truth, small, args.draws, seed))
                    for small, found in hits.items():
                        shares = (float(v) for v in np.mean(found, axis=0))
                        rows.append([link, n, design, name, "default" if small else "plain", *shares])
                        print(rows[-1], flush=True)
    write_table(
        args.name,
        f"Share of rejections at 5 % ({args.times} times, {args.replicates} replicates, {args.draws} draws)",
        ["link", "n", "design", "effect of x", "small_sample", *TESTS],
        rows,
        [
            "`plain` is `small_sample=False`, first-order references. `autoregressive`: a covariate that "
            "varies in time and a fixed one. `arms`: 30 % of the subjects in one arm, a skewed covariate; "
            "errors share a subject effect. The last column: both effects against their true curves. The "
            f"standard error of an entry near .05 is {np.sqrt(0.0475 / args.replicates):.3f}."
        ],
    )


if __name__ == "__main__":
    main()
