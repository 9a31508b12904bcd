"""Write the comparison of README.md from the committed results, misses included.

``python benchmarks/readme_table.py`` rewrites what stands between the two marks; ``--check`` says whether it
is up to date. Every figure is computed here from a file of `results`; a peer that is better than rlselect in
a cell, by more than `NOISE`, is named.
"""

import argparse
import csv
import re
import sys
from fnmatch import fnmatch
from pathlib import Path
from statistics import mean, median

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
BEGIN, END = "<!-- comparison: begin", "<!-- comparison: end -->"
# differences of F1 below this are those of a few data sets
NOISE = 0.01
HEAD = """| Problem | rlselect (REVS where not said) | best peer | LassoCV | a peer is better in | results |
|---|---|---|---|---|---|"""


def fits(name):
    """Lines of a table of fits."""
    with (RESULTS / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def by_cell(rows, cells, field):
    """Mean of a field in each cell that matches, by method."""
    out = {}
    for row in rows:
        if fnmatch(row["cell"], cells) and row[field] not in ("", "nan"):
            out.setdefault(row["method"], {}).setdefault(row["cell"], []).append(float(row[field]))
    return {method: {cell: mean(v) for cell, v in found.items()} for method, found in out.items()}


def figure(value, digits=3):
    """A share without its leading zero."""
    return re.sub(r"^0\.", ".", f"{value:.{digits}f}")


def mean_and_worst(found):
    return f"{figure(mean(found.values()))} / {figure(min(found.values()))}"


def replicates(rows, method, cells):
    """How many fits a cell has."""
    counts = {}
    for row in rows:
        if row["method"] == method and fnmatch(row["cell"], cells):
            counts[row["cell"]] = counts.get(row["cell"], 0) + 1
    low, high = min(counts.values()), max(counts.values())
    return f"{low} seeds" if low == high else f"{low}-{high} seeds"


def selection(title, name, cells="*", *, own="REVS"):
    """Mean and worst F1 over cells beside the peers."""
    rows = fits(name)
    found = by_cell(rows, cells, "f1")
    mine = found[own]
    others = {m: {c: v[c] for c in mine} for m, v in found.items() if m != own and v.keys() >= mine.keys()}
    best = max(others, key=lambda m: mean(others[m].values()))
    better = {}
    for method, values in others.items():
        for cell, value in mine.items():
            if values[cell] > value + NOISE and values[cell] > better.get(cell, ("", 0.0))[1]:
                better[cell] = (method, values[cell])
    lost = "; ".join(f"{c}: {m} {figure(v)} ({figure(mine[c])})" for c, (m, v) in better.items())
    lasso = mean_and_worst(others["lasso, CV"]) if "lasso, CV" in others else "not run"
    count = len(mine)
    return (
        f"| {title}{f', {count} cells' if count > 1 else ''}: mean / worst F1 | {mean_and_worst(mine)} "
        f"({replicates(rows, own, cells)}) | {best} {mean_and_worst(others[best])} | {lasso} "
        f"| {lost or 'none'} | `{name}.csv` |"
    )


def nothing(title, name):
    """Share of empty answers where there is nothing to find."""
    rows = fits(name)
    shares = by_cell([{**r, "empty": str(float(r["n_selected"] == "0"))} for r in rows], "*", "empty")["REVS"]
    low, high = 100 * min(shares.values()), 100 * max(shares.values())
    said = f"{low:.0f} %" if low == high else f"{low:.0f}-{high:.0f} %"
    return (
        f"| {title}, {len(shares)} cells: empty answers | {said} ({replicates(rows, 'REVS', '*')}) "
        f"| not run | not run | - | `{name}.csv` |"
    )


def large(title, name, cells):
    """Exact sets and processor time on large data."""
    rows = [row for row in fits(name) if fnmatch(row["cell"], cells)]
    said = {}
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        exact = sum(float(row["exact"]) for row in mine)
        seconds = median(float(row["cpu_seconds"]) for row in mine)
        f1 = mean(float(row["f1"]) for row in mine)
        said[method] = (f1, f"{exact:.0f} of {len(mine)}, F1 {figure(f1)}, {figure(seconds, 2)} s")
    own = said.pop("REVS")
    peer = max(said, key=lambda m: said[m][0], default=None)
    other, lost = "not run", "-"
    if peer:
        other = f"{peer} {said[peer][1]}"
        lost = f"F1: {peer} {figure(said[peer][0])} ({figure(own[0])})" if said[peer][0] > own[0] else "none"
    return f"| {title}: exact sets, F1, CPU time | {own[1]} | {other} | not run | {lost} | `{name}.csv` |"


def cost(title, name):
    """Median processor time of a fit."""
    seconds = {}
    for row in fits(name):
        seconds.setdefault(row["method"], []).append(float(row["cpu_seconds"]))
    times = {method: median(values) for method, values in seconds.items()}
    quick = min(times, key=times.get)
    lasso = figure(times["lasso, CV"], 2)
    return (
        f"| {title}: CPU s of a fit | {figure(times['REVS'], 2)} | {quick} {figure(times[quick], 2)} "
        f"| {lasso} | {sum(t < times['REVS'] for t in times.values())} of {len(times) - 1} peers "
        f"| `{name}.csv` |"
    )


def grid():
    """Prediction and selection on the grid of Hastie, Tibshirani and Tibshirani."""
    rows = fits("revs_grid")
    both = {}
    for field in ("error", "f1"):
        both[field] = by_cell([{**row, "cell": "all"} for row in rows], "*", field)
    error = {m: v["all"] for m, v in both["error"].items()}
    score = {m: v["all"] for m, v in both["f1"].items()}
    sets = len({(r["size"], r["correlation"], r["ratio"], r["seed"]) for r in rows})
    for title, values, own, pick, lasso in (
        ("test error (1 is the truth)", error, "REVS, predict", min, "lasso, CV"),
        ('mean F1, `rule="f1"`', score, "REVS, f1", max, "lasso, CV"),
    ):
        others = {m: v for m, v in values.items() if not m.startswith("REVS")}
        best = pick(others, key=others.get)
        behind = (others[best] < values[own]) if pick is min else (others[best] > values[own])
        yield (
            f"| grid of Hastie et al.: {title} | {figure(values[own])} ({sets} sets) | {best} "
            f"{figure(others[best])} | {figure(others[lasso])} | {best if behind else 'none'} "
            "| `revs_grid.csv` |"
        )


def real():
    """On how many public data sets predictions are within noise of the best peer's."""
    table = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in (RESULTS / "revs_real.md").read_text().splitlines()
        if line.startswith("| ") and not line.startswith("| data")
    ]
    own = {row[0]: row for row in table if row[2] == "REVS, predict"}
    best = {row[0]: row for row in table if row[5] == "best peer"}
    loss = {name: tuple(float(r[name][3].split()[0]) for r in (own, best)) for name in own}
    lost = [
        f"{n}: {best[n][2]} {figure(b)} ({figure(a)})" for n, (a, b) in loss.items() if own[n][5] == "behind"
    ]
    lower = sum(a < b for a, b in loss.values())
    variables = [mean(float(rows[n][4]) for n in loss) for rows in (own, best)]
    return (
        f"| {len(loss)} public data sets: loss of left-out rows within noise of the best of L1, L2 and abess "
        f"| {len(loss) - len(lost)}, lower on {lower}; {variables[0]:.1f} variables "
        f"| {variables[1]:.1f} variables | - | {'; '.join(lost) or 'none'} | `revs_real.md` |"
    )


def block():
    """What stands between the marks."""
    lines = [
        selection("n = 200, linear, 25 true", "revs_highdim_linear"),
        selection("n = 500, logistic, 15 true", "revs_highdim_logistic"),
        selection("n = 200, linear, ten true, kinds of noise", "revs_priors", "noise-*"),
        cost("n = 200, linear", "revs_highdim_linear"),
        nothing("no signal at all", "revs_noise"),
        *grid(),
        real(),
        large("500,000 x 800, 3 structures", "revs_bigdata_800", "linear-*-800"),
        large("500,000 x 400, weak effects", "revs_bigdata_looks", "weak-400"),
        large("500,000 x 800, weak effects", "revs_bigdata_looks", "weak-800"),
        large("500,000 x 400, strong and faint effects", "revs_bigdata_looks", "gap-400"),
        large("500,000 x 200, logistic, 3 structures", "revs_bigdata_looks", "logistic-*"),
        selection("n = 200, p = 50, regression: ActorCriticPredictor", "acp", "f[1-4]-*", own="ACP"),
        selection("n = 200, p = 50, classes: ActorCriticPredictor", "acp", "f[56]-*", own="ACP"),
    ]
    return "\n".join([HEAD, *lines])


def written(text):
    """README with the block of today."""
    start, end = text.index(BEGIN), text.index(END)
    first = text.index("-->", start) + len("-->")
    return f"{text[:first]}\n\n{block()}\n\n{text[end:]}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 where README is old")
    args = parser.parse_args()
    path = ROOT / "README.md"
    old = path.read_text()
    new = written(old)
    if args.check:
        sys.exit(int(new != old))
    path.write_text(new)


if __name__ == "__main__":
    main()
