"""What Tables 4.1 to 4.3 share: one replicate, the dissertation's figures and a Markdown table."""

import argparse
import time
from pathlib import Path

import numpy as np

from rlselect import QLearning, TrialData
from rlselect.simulate import make_regime_trial

METHODS = {
    "ours": {},
    "all columns": {"selection": None},
    "rfe": {"selection": "rfe"},
    "rfe-test": {"selection": "rfe-test"},
    "rfe-vpred": {"selection": "rfe-vpred"},
}


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1000, help="seed of the first replicate")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 400])
    parser.add_argument("--covariates", type=int, nargs="+", default=[10, 30, 50])
    parser.add_argument("--methods", nargs="+", default=["ours", "all columns", "rfe", "rfe-test"])
    parser.add_argument("--out", type=Path, default=None, help="Markdown file to write as well")
    return parser


def one(setting, n, p, seed, method):
    """A fit, and what became of it."""
    simulated = make_regime_trial(setting, n, p, random_state=seed)
    stages = [stage | {"propensity": {-1: 0.5, 1: 0.5}} for stage in simulated.stages]
    trial = TrialData.from_wide(simulated.columns, stages)
    start = time.process_time()
    learner = QLearning(**METHODS[method], random_state=seed).fit(trial)
    seconds = time.process_time() - start
    fresh = make_regime_trial(setting, 10_000, p, policy=learner.predict, random_state=10_000 + seed)
    value = float(sum(fresh.columns[stage["reward"]] for stage in fresh.stages).mean())
    missed = [simulated.missed(names, t) for t, names in enumerate(learner.selected_, start=1)]
    extra = [simulated.extra(names, t) for t, names in enumerate(learner.selected_, start=1)]
    decide = [
        simulated.missed(names, t, kind="decision") for t, names in enumerate(learner.tailoring_, start=1)
    ]
    direct = [simulated.missed(names, t, kind="direct") for t, names in enumerate(learner.selected_, start=1)]
    low, high = learner.value_.interval
    return {
        "missed": missed,
        "exact": [m == 0 and e == 0 for m, e in zip(missed, extra, strict=True)],
        "decide": decide,
        "direct": direct,
        "value": value,
        "seconds": seconds / len(missed),
        "covered": low <= value <= high,
        "optimal": simulated.optimal_value,
    }


def run(setting, paper, description):
    """Fill the table of a setting.

    ``paper`` maps a method to its printed "no errors" by n and stage: {method: {n: [[p = 10, 30, 50], ...]}}.
    """
    args = arguments(description).parse_args()
    head = (
        "| n | p | method | stage | no miss | one | more | no direct miss | exact | decision no miss | "
        "paper no errors |"
    )
    rows, values = [], []
    for n in args.sizes:
        for p in args.covariates:
            results = {}
            for method in args.methods:
                seeds = range(args.seed, args.seed + args.replicates)
                runs = results[method] = [one(setting, n, p, seed, method) for seed in seeds]
                rows += stage_rows(n, p, method, runs, paper) if method != "all columns" else []
            values.append(value_row(n, p, results))
            write(setting, args, head, rows, values)
    return rows


def stage_rows(n, p, method, runs, paper):
    lines = []
    for t in range(len(runs[0]["missed"])):
        missed = np.array([r["missed"][t] for r in runs])
        exact = np.mean([r["exact"][t] for r in runs])
        direct = np.mean([r["direct"][t] == 0 for r in runs])
        decide = np.mean([r["decide"][t] == 0 for r in runs])
        printed = paper.get(method, {}).get(n)
        printed = printed[t][[10, 30, 50].index(p)] if printed and p in (10, 30, 50) else ""
        lines.append(
            f"| {n} | {p} | {method} | {t + 1} | {np.mean(missed == 0):.2f} | {np.mean(missed == 1):.2f} | "
            f"{np.mean(missed > 1):.2f} | {direct:.2f} | {exact:.2f} | {decide:.2f} | {printed} |"
        )
    return lines


def value_row(n, p, results):
    cells = []
    for method, runs in results.items():
        seconds = np.mean([r["seconds"] for r in runs])
        covered = np.mean([r["covered"] for r in runs])
        mean = np.mean([r["value"] for r in runs])
        cells.append(f"{method}: {mean:.2f} (intervals cover {covered:.2f}, {seconds:.1f} s a stage)")
    gap = ""
    if {"ours", "all columns"} <= set(results):
        with_it, without = ([r["value"] for r in results[m]] for m in ("ours", "all columns"))
        difference = np.subtract(with_it, without)
        error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else float("nan")
        gap = f"{difference.mean():+.3f} ({error:.3f})"
    optimal = next(iter(results.values()))[0]["optimal"]
    return f"| {n} | {p} | {optimal:.2f} | {'; '.join(cells)} | {gap} |"


def write(setting, args, head, rows, values):
    text = "\n".join([
        f"Setting {setting}, {args.replicates} replicates from seed {args.seed} (the dissertation: "
        "20). A miss is "
        "a history column of the optimal Q-function that was not selected, proxies counted once; a "
        "direct miss leaves out columns that act through later stages only. "
        "ours and the "
        "decision columns are without safeguard, rfe and rfe-test are with the 5 % safeguard.",
        "",
        head,
        "|" + "---|" * 11,
        *rows,
        "",
        "Value of the learnt regime on 10,000 fresh subjects, coverage of that value by the 95 % "
        "intervals, and "
        "the gain from selection with its paired standard error:",
        "",
        "| n | p | optimal | by method | ours less all columns |",
        "|---|---|---|---|---|",
        *values,
        "",
    ])  # fmt: skip
    if args.out is not None:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(text)
    else:
        print(text)
