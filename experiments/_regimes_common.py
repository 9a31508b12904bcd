"""What Tables 4.1 to 4.3 share: one replicate, records that grow, and Markdown tables.

Every replicate is a line of a JSON-lines file, written as soon as it is done; a run that was interrupted goes
on where it stopped, and tables are made from whatever lines there are.
"""

import argparse
import json
import shlex
import sys
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

# records that grow are those of the benchmarks too
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from _records import collect, deliver, make_parser, seeds_of
from rlselect import QLearning, TrialData
from rlselect.simulate import make_regime_trial

__all__ = [
    "RESULTS",
    "Records",
    "collect",
    "covered",
    "deliver",
    "gain",
    "make_parser",
    "make_table",
    "run",
    "seeds_of",
    "with_error",
]

METHODS = {
    "ours": {},
    "all columns": {"selection": None},
    "rfe": {"selection": "rfe"},
    "rfe-test": {"selection": "rfe-test"},
    "rfe-vpred": {"selection": "rfe-vpred"},
}
# methods that compute elsewhere where a device is given
ON_DEVICE = ("rfe", "rfe-test", "rfe-vpred")
HEAD = (
    "| n | p | method | replicates | stage | no miss | one | more | no direct miss | exact | "
    "decision no miss | decision exact | paper no errors |"
)
RESULTS = Path(__file__).parent / "results"


def make_table(description, about, cells, one, columns, line, *, replicates, seed):
    """Replicates of some cells, and the table of all that there are, with the command that makes it.

    Parameters
    ----------
    description : str
        Of the script.
    about : str
        What stands above the table; ``{seeds}`` in it are the seeds.
    cells, one
        As `collect` takes them.
    columns : sequence of str
    line : callable
        From the records of a cell to its row, or rows.
    replicates, seed : int
        Unless the command line says others.
    """
    args = make_parser(description, replicates, seed).parse_args()
    records, rows = collect(args, cells, one), []
    for cell in cells:
        mine = [record for record in records if cell.items() <= record.items()]
        found = line(mine) if mine else []
        rows += [found] if isinstance(found, str) else found
    head = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    command = shlex.join(["python", *sys.argv])
    deliver([about.format(seeds=seeds_of(records)), "", f"`{command}`", "", *head, *rows], args.out)


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1000, help="seed of the first replicate")
    parser.add_argument("--sizes", type=int, nargs="*", default=[200, 400])
    parser.add_argument("--covariates", type=int, nargs="+", default=[10, 30, 50])
    parser.add_argument("--methods", nargs="+", default=["ours", "all columns", "rfe", "rfe-test"])
    parser.add_argument(
        "--jobs", type=int, default=1, help="replicates at a time, see joblib; the records are the same"
    )
    parser.add_argument("--device", default="cpu", help="where rfe, rfe-test and rfe-vpred compute")
    parser.add_argument(
        "--records", type=Path, default=None, help="JSON lines that grow with every replicate"
    )
    parser.add_argument("--out", type=Path, default=None, help="Markdown file to write as well")
    return parser


@threadpool_limits.wrap(limits=1)
def one(setting, n, p, seed, method, device="cpu"):
    """A fit, on one thread, and what became of it."""
    simulated = make_regime_trial(setting, n, p, random_state=seed)
    stages = [stage | {"propensity": {-1: 0.5, 1: 0.5}} for stage in simulated.stages]
    trial = TrialData.from_wide(simulated.columns, stages)
    start = time.process_time()
    device = device if method in ON_DEVICE else "cpu"
    learner = QLearning(**METHODS[method], device=device, random_state=seed)
    if method == "all columns":
        # Only its decisions are of interest; decision features among all columns take longer than the fit.
        learner._fit_rows(trial, np.ones(n, dtype=bool))
    else:
        learner.fit(trial)
    seconds = time.process_time() - start
    fresh = make_regime_trial(setting, 10_000, p, policy=learner.predict, random_state=10_000 + seed)
    interval = learner.value_.interval if method != "all columns" else ()
    return {
        "setting": setting,
        "n": n,
        "p": p,
        "seed": seed,
        "method": method,
        "selected": learner.selected_ if method != "all columns" else None,
        "tailoring": learner.tailoring_ if method != "all columns" else None,
        "model": [str(model) for model in learner.model_],
        "value": round(float(sum(fresh.columns[stage["reward"]] for stage in fresh.stages).mean()), 4),
        "interval": [round(end, 4) for end in interval],
        "seconds": round(seconds / trial.n_stages, 2),
        "device": device,
    }


class Records:
    """Finished replicates of a setting.

    Parameters
    ----------
    setting : str
    path : Path
    seed : int
        Of the first replicate; older lines do not count.
    """

    def __init__(self, setting, path, seed):
        self.setting, self.path = setting, path
        lines = path.read_text().splitlines() if path.exists() else []
        self.found = [r for r in map(json.loads, lines) if r["setting"] == setting and r["seed"] >= seed]

    def of(self, n, p, method):
        """Replicates of a cell, by seed."""
        mine = [r for r in self.found if (r["n"], r["p"], r["method"]) == (n, p, method)]
        return sorted(mine, key=lambda r: r["seed"])

    def complete(self, n, p, method, seeds, jobs=1, device="cpu"):
        """Run what is missing of a cell, several replicates at a time where asked to."""
        done = {r["seed"] for r in self.of(n, p, method)}
        tasks = (delayed(one)(self.setting, n, p, seed, method, device) for seed in seeds if seed not in done)
        for record in Parallel(n_jobs=jobs, return_as="generator")(tasks):
            self.found.append(record)
            with self.path.open("a") as file:
                file.write(json.dumps(record) + "\n")

    def cells(self):
        """Sample sizes and numbers of covariates there are replicates of."""
        return sorted({(r["n"], r["p"]) for r in self.found})


def run(setting, paper, description):
    """Fill the table of a setting.

    ``paper`` maps a method to its printed "no errors" by n and stage: {method: {n: [[p = 10, 30, 50], ...]}}.
    For "rfe-vpred" these count decision features.
    """
    args = arguments(description).parse_args()
    records = Records(setting, args.records or RESULTS / "table_4_replicates.jsonl", args.seed)
    for n in args.sizes:
        for p in args.covariates:
            for method in args.methods:
                seeds = range(args.seed, args.seed + args.replicates)
                records.complete(n, p, method, seeds, args.jobs, args.device)
            write(records, paper, args)
    write(records, paper, args)


def stage_rows(records, n, p, method, paper):
    runs = records.of(n, p, method)
    lines = []
    truth = make_regime_trial(records.setting, 1, p, random_state=0)
    for t in range(len(truth.stages)):
        chosen, deciding = ([set(r[key][t]) for r in runs] for key in ("selected", "tailoring"))
        missed = np.array([truth.missed(s, t + 1) for s in chosen])
        extra = np.array([truth.extra(s, t + 1) for s in chosen])
        direct = np.mean([truth.missed(s, t + 1, kind="direct") == 0 for s in chosen])
        # Algorithm 28 is judged by the decision features in what it selected, as in the dissertation.
        judged = chosen if method == "rfe-vpred" else deciding
        decide = np.array([truth.missed(s, t + 1, kind="decision") for s in judged])
        surplus = np.array([truth.extra(s, t + 1, kind="decision") for s in judged])
        printed = paper.get(method, {}).get(n)
        printed = printed[t][[10, 30, 50].index(p)] if printed and p in (10, 30, 50) else ""
        lines.append(
            f"| {n} | {p} | {method} | {len(runs)} | {t + 1} | {np.mean(missed == 0):.2f} | "
            f"{np.mean(missed == 1):.2f} | {np.mean(missed > 1):.2f} | {direct:.2f} | "
            f"{np.mean((missed == 0) & (extra == 0)):.2f} | {np.mean(decide == 0):.2f} | "
            f"{np.mean((decide == 0) & (surplus == 0)):.2f} | {printed} |"
        )
    return lines


def gain(records, n, p):
    """Value with selection less value without it, by seed."""
    ours, without = ({r["seed"]: r["value"] for r in records.of(n, p, m)} for m in ("ours", "all columns"))
    return np.array([ours[seed] - without[seed] for seed in sorted(ours.keys() & without.keys())])


def with_error(difference):
    if len(difference) < 2:
        return ""
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return f"{difference.mean():+.3f} ({error:.3f}, {len(difference)} pairs)"


def value_row(records, n, p):
    cells = []
    optimal = make_regime_trial(records.setting, 1, p, random_state=0).optimal_value
    for method in METHODS:
        runs = records.of(n, p, method)
        if runs:
            mean, seconds = (np.mean([r[key] for r in runs]) for key in ("value", "seconds"))
            cover = "" if method == "all columns" else f"intervals cover {covered(runs) / len(runs):.2f}, "
            there = sum(r.get("device", "cpu") != "cpu" for r in runs)
            where = f", {there} with a GPU" if there else ""
            cells.append(f"{method}: {mean:.2f} ({cover}{seconds:.1f} s per stage{where})")
    return f"| {n} | {p} | {optimal:.2f} | {'; '.join(cells)} | {with_error(gain(records, n, p))} |"


def covered(runs):
    """In how many replicates the interval holds the value of the regime."""
    return sum(r["interval"][0] <= r["value"] <= r["interval"][1] for r in runs)


def pooled_lines(records):
    """Gain from selection over all cells with many covariates, and coverage over all replicates."""
    wide = [gain(records, n, p) for n, p in records.cells() if p >= 30]
    text = with_error(np.concatenate([*wide, np.empty(0)]))
    ours = [r for r in records.found if r["method"] == "ours"]
    return [
        f"Gain from selection pooled over p >= 30: {text or 'not run'}. The 95 % intervals of `value_` cover "
        f"the value of the learnt regime in {covered(ours)} of {len(ours)} replicates of ours."
    ]


def write(records, paper, args):
    sizes = [(n, p) for n, p in records.cells()]
    rows = [
        line
        for n, p in sizes
        for method in METHODS
        if method != "all columns" and records.of(n, p, method)
        for line in stage_rows(records, n, p, method, paper)
    ]
    deliver([
        f"Setting {records.setting}, seeds from {args.seed} on (the dissertation: 20 replicates). A miss is "
        "a history column of the optimal Q-function that was not selected, proxies counted once; a direct "
        "miss leaves out columns that act through later stages only. Ours is without safeguard, rfe, "
        "rfe-test and rfe-vpred are with the 5 % safeguard. Decision columns: of `tailoring_`, for "
        "rfe-vpred of what it selected. The dissertation counts misses for rfe and rfe-test, missed "
        "decision features for rfe-vpred.",
        "",
        HEAD,
        "|" + "---|" * 13,
        *rows,
        "",
        "Value of the learnt regime on 10,000 fresh subjects, coverage of that value by the 95 % intervals, "
        "CPU time, and the gain from selection with its paired standard error:",
        "",
        "| n | p | optimal | by method | ours less all columns |",
        "|---|---|---|---|---|",
        *[value_row(records, n, p) for n, p in sizes],
        "",
        *pooled_lines(records),
    ], args.out)  # fmt: skip
