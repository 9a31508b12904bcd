"""What a surer cut on `inclusion_` buys beside clusters, and what it costs: one fit per data set, all cuts.

Cells and methods are those of revs_clusters.py. The rule "auto" of `REVS` cuts at .75 where rows belong
together, and at .5 where each stands for itself. The second table says how often variables of a probability
were true ones: of those that differ within clusters, and of those that are the same throughout.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import revs_clusters
from _tables import command_line, environment

CUTS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95)
BINS = ((0.3, 0.5), (0.5, 0.75), (0.75, 0.9), (0.9, 0.97), (0.97, 1.01))
# what is less likely is selected by no cut, and in no bin
LEAST = 0.3


def record(cell, key, seed, data, inclusion):
    """A line to keep: of likely variables probability, whether they are true, and the same throughout."""
    first = np.unique(data.y.groups, return_index=True)[1]
    same = np.all(data.X[first][data.y.groups] == data.X, axis=0)
    likely = [
        [round(float(inclusion[j]), 4), int(data.support[j]), int(same[j])]
        for j in np.flatnonzero(inclusion > LEAST)
    ]
    return {
        "cell": cell.name,
        "method": revs_clusters.METHODS[key].NAME,
        "seed": seed,
        "true": int(data.support.sum()),
        "likely": likely,
    }


def fit(cell, key, seed, data):
    """The inclusion of one fit."""
    from rlselect import REVS

    method = revs_clusters.METHODS[key]
    model = REVS(family=cell.family, random_state=seed)
    groups = data.y.groups if method.told else None
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data.X, getattr(data.y, method.response), groups=groups).inclusion_


def scores(line, cut):
    """False ones, F1, and the share of the true ones that were found."""
    chosen = [true for p, true, _ in line["likely"] if p > cut]
    hits = sum(chosen)
    return len(chosen) - hits, 2 * hits / max(len(chosen) + line["true"], 1), hits / max(line["true"], 1)


def tables(lines):
    """Both tables."""
    kinds = list(dict.fromkeys((line["cell"], line["method"]) for line in lines))
    yield "False ones per fit / F1 / found %, by the cut:"
    yield ""
    yield "| cell | method | fits | " + " | ".join(f"{cut:g}" for cut in CUTS) + " |"
    yield "|---|---|---:|" + "---:|" * len(CUTS)
    for kind in kinds:
        mine = [line for line in lines if (line["cell"], line["method"]) == kind]
        means = [np.mean([scores(line, cut) for line in mine], axis=0) for cut in CUTS]
        cells = " | ".join(f"{false:.2f} / {f1:.3f} / {100 * found:.0f}" for false, f1, found in means)
        yield f"| {kind[0]} | {kind[1]} | {len(mine)} | {cells} |"
    yield ""
    yield "True % of the variables of a probability (how many of them):"
    yield ""
    yield "| cell | method | variables | " + " | ".join(f"{a:g} to {min(b, 1):g}" for a, b in BINS) + " |"
    yield "|---|---|---|" + "---:|" * len(BINS)
    for kind in kinds:
        every = [v for line in lines if (line["cell"], line["method"]) == kind for v in line["likely"]]
        for same, name in enumerate(("differ within", "same throughout")):
            found = [[t for p, t, s in every if s == same and a < p <= b] for a, b in BINS]
            shares = [f"{100 * np.mean(part):.0f} ({len(part)})" if part else "" for part in found]
            if any(found):
                yield f"| {kind[0]} | {kind[1]} | {name} | " + " | ".join(shares) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--replicates", type=int, default=25)
    parser.add_argument("--seed", type=int, default=5010000)
    parser.add_argument("--cells", required=True, help="comma-separated names")
    parser.add_argument("--methods", default="told,independent", help="comma-separated names")
    parser.add_argument("--out", type=Path, required=True, help="adds to PATH.jsonl and writes PATH.md")
    args = parser.parse_args()
    kept = args.out.with_suffix(".jsonl")
    cells = {cell.name: cell for cell in revs_clusters.cells()}
    with kept.open("a") as out:
        out.write(json.dumps({"command": command_line()}) + "\n")
        for name in args.cells.split(","):
            for seed in range(args.seed, args.seed + args.replicates):
                data = cells[name].make(seed)
                for key in args.methods.split(","):
                    line = record(cells[name], key, seed, data, fit(cells[name], key, seed, data))
                    out.write(json.dumps(line) + "\n")
    write(args.out)


def write(path):
    """The tables of all that is kept."""
    lines = [json.loads(line) for line in path.with_suffix(".jsonl").read_text().splitlines()]
    commands = [f"    {line['command']}" for line in lines if "command" in line]
    fits = [line for line in lines if "command" not in line]
    head = ["# Clusters: what a surer cut buys", "", f"{environment()} Made by", "", *commands, ""]
    path.with_suffix(".md").write_text("\n".join([*head, *tables(fits)]) + "\n")


if __name__ == "__main__":
    main()
