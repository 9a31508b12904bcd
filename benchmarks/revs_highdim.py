"""REVS and its peers where rows are few: nine linear cells (n = 200) and nine logistic ones (n = 500)."""

from functools import partial

import _runner
from _tables import Column, first_fit, mean, median
from peers import HIGHDIM
from rlselect.simulate import make_revs

STRUCTURES = ("block", "banded", "sparse")
SIZES = (200, 400, 800)
ROWS = {"linear": 200, "logistic": 500}
FAMILY = {"linear": "gaussian", "logistic": "binomial"}

# REVS in Tables 2 (linear) and 3 (logistic) of the paper, p = 200, 400, 800: number selected, PPV %, TNR %.
PAPER = {
    "linear-block": ((26.1, 96.0, 99.4), (26.4, 94.6, 99.4), (28.5, 86.5, 99.5)),
    "linear-banded": ((25.0, 100.0, 100.0), (25.0, 100.0, 100.0), (25.0, 100.0, 100.0)),
    "linear-sparse": ((25.6, 97.7, 99.6), (26.1, 97.2, 99.7), (26.5, 95.8, 99.8)),
    "logistic-block": ((16.26, 89.73, 99.04), (16.62, 81.16, 99.16), (18.96, 61.29, 99.03)),
    "logistic-banded": ((16.33, 91.73, 99.02), (16.86, 80.72, 99.13), (18.47, 61.34, 99.12)),
    "logistic-sparse": ((16.29, 91.75, 99.02), (18.97, 80.47, 99.12), (19.96, 59.83, 98.79)),
}


def cells(noise):
    """The nine linear and nine logistic cells, or the same designs with a response of pure noise."""
    out = []
    for model, family in FAMILY.items():
        for structure in STRUCTURES:
            for p in SIZES:
                make = partial(_data, ROWS[model], p, structure, family, 0 if noise else None)
                out.append(_runner.Cell(f"{model}-{structure}-{p}", family, make))
    return out


def _data(n, p, structure, family, n_nonzero, seed):
    return make_revs(n, p, structure=structure, family=family, n_nonzero=n_nonzero, random_state=seed)


def paper(cell):
    """The line of published REVS figures: means of 50 replicates of the paper's own data."""
    design, _, p = cell.rpartition("-")
    number, ppv, tnr = PAPER[design][SIZES.index(int(p))]
    figures = {"#": f"{number:.1f}", "PPV %": f"{ppv:.1f}", "TNR %": f"{tnr:.2f}"}
    return {"REVS in the paper": figures}


SECONDS = [
    Column("s", lambda fits, _: median(fits, "seconds")),
    Column("cpu s", lambda fits, _: median(fits, "cpu_seconds")),
    Column("first fit s", first_fit),
]
COLUMNS = [
    Column("#", lambda fits, _: mean(fits, "n_selected")),
    Column("TPR %", lambda fits, _: mean(fits, "tpr", 100)),
    Column("PPV %", lambda fits, _: mean(fits, "ppv", 100)),
    Column("TNR %", lambda fits, _: mean(fits, "tnr", 100, 2)),
    Column("F1", lambda fits, _: mean(fits, "f1", 1, 3)),
    Column("exact %", lambda fits, _: mean(fits, "exact", 100, 0)),
    *SECONDS,
]
NOISE_COLUMNS = [
    Column("runs", lambda fits, _: str(len(fits))),
    Column("empty %", lambda fits, _: mean(fits, "exact", 100, 1)),
    Column("#", lambda fits, _: mean(fits, "n_selected", 1, 2)),
    *SECONDS,
]


def over_cells(summary):
    """Mean and worst F1 of each method over the cells of each model that all have fits."""
    lines = []
    for model in FAMILY:
        names = [c for c in summary.cells if c.startswith(model) and summary.of(c)]
        if not names:
            continue
        lines += [f"F1 over the {len(names)} {model} cells:", "", "| method | mean | worst | worst cell |"]
        lines += ["|---|---:|---:|---|"]
        for method in summary.methods():
            means = {c: mean(summary.of(c, method), "f1", 1, 3) for c in names}
            if "-" in means.values():
                continue
            worst = min(means, key=lambda c: float(means[c]))
            average = sum(map(float, means.values())) / len(means)
            lines.append(f"| {method} | {average:.3f} | {means[worst]} | {worst} |")
        lines.append("")
    return lines


def main():
    parser = _runner.parser(__doc__, replicates=20)
    parser.add_argument(
        "--noise", action="store_true", help="a response without signal: how often is nothing kept?"
    )
    args = parser.parse_args()
    if args.noise:
        _runner.run(args, "Pure noise: how often nothing is selected", cells(True), HIGHDIM, NOISE_COLUMNS)
    else:
        title = "REVS and peers, n = 200 (linear, 25 true) and n = 500 (logistic, 15 true)"
        _runner.run(args, title, cells(False), HIGHDIM, COLUMNS, reference=paper, footer=over_cells)


if __name__ == "__main__":
    main()
