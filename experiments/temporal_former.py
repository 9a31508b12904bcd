"""Do default tests of 150 subjects and more find what those of an earlier version found, on the same data?

mkdir -p build/former && git archive e52cf99 src | tar -x -C build/former
python experiments/temporal_former.py --former build/former/src --replicates 12 --seed 1951 --draws 199

The version before references for few subjects were made. Each version runs in a process of its own.
"""

import argparse
import json
import os
import subprocess
import sys

import numpy as np
from temporal_common import KINDS, LINKS, hidden, simulate, write_table

TESTS = ["ids", "sds", "squared", "constant? sds", "constant? squared"]


def pvalues(args):
    """Of every cell: replicates x tests."""
    from rlselect import TemporalProcessRegression

    out = {}
    for link in args.links:
        for n in args.subjects:
            for k, (name, truth) in enumerate(hidden(24).items()):
                rng = np.random.default_rng([args.seed, LINKS.index(link), n, k])
                found = []
                for _ in range(args.replicates):
                    x, y, ids, times = simulate(rng, n, 24, link, truth)
                    model = TemporalProcessRegression(link=link).fit(x, y, id=ids, time=times)
                    draws = {"n_draws": args.draws, "random_state": int(rng.integers(2**31))}
                    tests = [model.test("x0", kind=kind, **draws) for kind in KINDS]
                    tests += [model.test_constant("x0", kind=kind, **draws) for kind in KINDS[1:]]
                    found.append([test.pvalue for test in tests])
                out[f"{link}|{n}|{name}"] = found
    return out


def run(source):
    """The p-values by the version whose packages lie in `source`."""
    environment = os.environ | {"PYTHONPATH": source}
    command = [sys.executable, *sys.argv, "--one"]
    return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--former", required=True, help="folder of the former version's packages")
    parser.add_argument("--replicates", type=int, default=40)
    parser.add_argument("--seed", type=int, default=195)
    parser.add_argument("--draws", type=int, default=199)
    parser.add_argument("--subjects", type=int, nargs="+", default=[150, 300])
    parser.add_argument("--links", nargs="+", default=["identity", "logit"])
    parser.add_argument("--one", action="store_true", help="print the p-values of the version at hand")
    args = parser.parse_args()
    if args.one:
        print(json.dumps(pvalues(args)))
        return
    ours, former = (run(os.path.abspath(source)) for source in ("src", args.former))
    rows = []
    for cell, found in ours.items():
        now, then = np.array(found), np.array(former[cell])
        link, n, name = cell.split("|")
        pairs = np.column_stack([(p <= 0.05).mean(axis=0) for p in (now, then)])
        shares = [f"{a:.3f} / {b:.3f}" for a, b in pairs]
        rows.append([link, n, name, *shares, float(np.abs(now - then).max())])
    write_table(
        "temporal_former",
        f"Share of rejections at 5 %, now / former version ({args.replicates} replicates)",
        ["link", "n", "effect of x", *TESTS, "largest difference of p-values"],
        rows,
        [
            "24 times and autoregressive errors, as in temporal_power.md; both versions have the same data "
            "and seeds."
        ],
    )


if __name__ == "__main__":
    main()
