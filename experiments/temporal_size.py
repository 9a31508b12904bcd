"""Size and power of the tests of effect curves at the 5 % level, from few subjects to many.

python experiments/temporal_size.py --replicates 400 --again 1600 --seed 1931 --draws 199 \
    --subjects 20 40 60 --default-only
python experiments/temporal_size.py --replicates 240 --seed 932 --draws 199 --subjects 10 100 150 400 \
    --name temporal_size_range
python experiments/temporal_size.py --replicates 100 --seed 1913 --draws 199 --subjects 40 200 --times 8 \
    --arms 3 4 5 6 8 12 25 --default-only --name temporal_size_arms
python experiments/temporal_size.py --replicates 100 --seed 914 --draws 199 --subjects 40 --times 8 \
    --links logit log --intercepts -3 -2.5 -2 -1.5 --default-only --name temporal_size_events
python experiments/temporal_size.py --power --replicates 80 --seed 915 --draws 199 --subjects 60 150 300 \
    --times 24 --links identity logit --name temporal_power

With --again, a row with a share outside .03 to .07 goes on to so many replicates, all of which count, so that
nothing is chosen among looks.

A broken run goes on after the cells it has done, which a temporary file keeps until the table is written.
"""

import argparse
import json
import tempfile
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from temporal_common import KINDS, LINKS, curves, hidden, simulate, simulate_arms, write_table

from rlselect import TemporalProcessRegression
from rlselect.temporal import FlaggedTimeWarning, SmallSampleWarning

TESTS = ["ids", "sds", "squared", "ids, 1/se", "constant? sds", "constant? squared", "two effects, ids"]


def truths(n_times, power):
    if power:
        return hidden(n_times)
    null = curves(n_times)
    null[1] = 0.0
    return {"none": null}


def rejections(model, truth, small_sample, draws, seed):
    options = {"n_draws": draws, "random_state": seed, "small_sample": small_sample}
    values = [model.test("x0", kind=kind, **options).pvalue for kind in KINDS]
    values += [model.test("x0", time_weight="inverse-se", **options).pvalue]
    values += [model.test_constant("x0", kind=kind, **options).pvalue for kind in ("sds", "squared")]
    both = np.column_stack([np.zeros(len(truth[1])), truth[2]])[: len(model.times_)]
    values += [model.test(["x0", "x1"], value=both, **options).pvalue if len(both) == len(truth[1]) else 1.0]
    return np.array(values) <= 0.05


def designs(args):
    """Name, how data are made, and what is added to the intercept."""
    if args.power:
        return [("autoregressive", simulate, 0.0)]
    if args.intercepts:
        return [
            (f"{name}, intercept {add:g}", make, add)
            for add in args.intercepts
            for name, make in (("autoregressive", simulate), ("arms", simulate_arms))
        ]
    if args.arms:
        return [(f"arm of {size}", partial(simulate_arms, size=size), 0.0) for size in args.arms]
    return [("autoregressive", simulate, 0.0), ("arms", simulate_arms, 0.0)]


def one_trial(args, rng, n, link, make, truth):
    """A warning or none, and rejections, by default and by first-order references; None if refused."""
    x, y, ids, times = make(rng, n, args.times, link, truth)
    try:
        model = TemporalProcessRegression(link=link).fit(x, y, id=ids, time=times)
    except ValueError:
        return None  # no time could be estimated
    if sum(flag is None for flag in model.flags_) < 3:
        return None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SmallSampleWarning)
        model.test("x0")
    warned = any(issubclass(w.category, SmallSampleWarning) for w in caught)
    kinds = (True,) if args.default_only else (True, False)
    return [
        [warned, *rejections(model, truth, small, args.draws, int(rng.integers(2**31)))] for small in kinds
    ]


def shares(found):
    """Of warnings and rejections, a row for each kind of reference."""
    return np.mean([one for one in found if one is not None], axis=0)


def one_cell(args, *cell):
    """How many replicates there are, and shares by kind of reference."""
    found = [one_trial(args, *cell) for _ in range(args.replicates)]
    sizes = shares(found)[0, 1:]
    if args.again and ((sizes < 0.03) | (sizes > 0.07)).any():
        found += [one_trial(args, *cell) for _ in range(args.again - args.replicates)]
    rows = zip(("default", "plain"), shares(found), strict=False)
    return [[len(found), kind, *map(float, row)] for kind, row in rows]


def all_cells(args):
    kept = Path(tempfile.gettempdir()) / f"{args.name}_{args.seed}_{args.replicates}.json"
    done = json.loads(kept.read_text()) if kept.exists() else {}
    rows = []
    for link in args.links:
        for n in args.subjects:
            for d, (design, make, add) in enumerate(designs(args)):
                for k, (name, truth) in enumerate(truths(args.times, args.power).items()):
                    if args.cells and f"{link} {n} {design}" not in args.cells:
                        continue
                    key = f"{link} {n} {design} {name}"
                    if key not in done:
                        rng = np.random.default_rng([args.seed, LINKS.index(link), n, d, k])
                        truth[0] += add
                        done[key] = one_cell(args, rng, n, link, make, truth)
                        print(key, done[key], flush=True)
                        kept.write_text(json.dumps(done))
                    rows += [[link, n, design, name, *row] for row in done[key]]
    kept.unlink()
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--again", type=int, default=0, help="replicates of rows outside .03 to .07")
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--times", type=int, default=12)
    parser.add_argument("--draws", type=int, default=199)
    parser.add_argument("--subjects", type=int, nargs="+", default=[10, 20, 40, 60, 100, 150, 400])
    parser.add_argument("--links", nargs="+", default=list(LINKS))
    parser.add_argument("--arms", type=int, nargs="+", help="sizes of the small arm instead of 30 %%")
    parser.add_argument("--intercepts", type=float, nargs="+", help="added to that of the response")
    parser.add_argument("--default-only", action="store_true", help="without the first-order references")
    parser.add_argument("--power", action="store_true")
    parser.add_argument("--cells", nargs="+", help="these alone, such as 'logit 20 arms'")
    parser.add_argument("--name", default="temporal_size")
    args = parser.parse_args()
    warnings.simplefilter("ignore", FlaggedTimeWarning)
    warnings.simplefilter("ignore", SmallSampleWarning)
    rows = all_cells(args)
    write_table(
        args.name,
        f"Share of rejections at 5 % ({args.times} times, {args.replicates} replicates, {args.draws} draws)",
        ["link", "n", "design", "effect of x", "replicates", "small_sample", "warned", *TESTS],
        rows,
        [
            "`plain` is `small_sample=False`, first-order references. `warned`: share of the trials in which "
            "the default test of x says that levels are not known for so few. `autoregressive`: a covariate "
            "that varies in time and a fixed one. `arms`: 30 % of the subjects in one arm (or the number "
            "given), a skewed covariate; errors share a subject effect. The last column: both effects "
            "against their true curves. The standard error of an entry near .05 is "
            f"{np.sqrt(0.0475 / args.replicates):.3f}."
        ],
    )


if __name__ == "__main__":
    main()
