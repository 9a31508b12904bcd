"""Figures 3.1 to 3.3: the objective along eliminations by the dissertation's procedure, and change points.

python experiments/figures_3.py --out experiments/results/figures_3
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from _kept_runs import Records
from table_3_1 import LOSS, data, elimination

from rlselect.kernels import change_point

matplotlib.rcParams["font.size"] = 8
SIZES = (100, 200, 400)
# numbers of all and of true features; of how many rows the one run of Figure 3.1 has, nothing is said
FIGURES = {"3.1": (30, 7, (200,)), "3.2": (30, 7, SIZES), "3.3": (50, 3, SIZES)}
TITLES = {"SVM-RBF": "SVM, Gaussian kernel", "SVR-linear": "SVR, linear kernel"}


def one(machine, d, d0, n, seed):
    """The objective at every size, and how many features the procedure removed."""
    X, y, informative = data(machine, n, d, d0, seed)
    selector = elimination(machine).fit(X, y)
    return {
        "objective": [round(float(value), 6) for value in selector.path_["objective"]],
        "removed": int(d - selector.n_features_),
        "missed": int((informative & ~selector.support_).sum()),
        "regularization": float(selector.path_["regularization"][0]),
    }


def draw(name, records, seed, folder):
    """One figure: a panel for each machine; marks where the procedure stops and where all but the true
    features are gone."""
    d, d0, sizes = FIGURES[name]
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for axis, machine in zip(axes, LOSS, strict=True):
        for i, n in enumerate(sizes):
            record = records.known[machine, d, d0, n, seed]
            # the last set is empty: the change point is fitted before it, as the procedure does
            values = np.array(record["objective"])[:d]
            axis.plot(values, ".", color=f"C{i}", markersize=4, label=f"n = {n}")
            if name != "3.1":
                index, fitted = change_point(values)
                axis.plot(fitted, "-", color=f"C{i}", linewidth=0.9)
                axis.plot(index, fitted[index], "o", color=f"C{i}", markersize=7)
        axis.axvline(d - d0, color="0.5", linestyle=":", linewidth=0.9)
        axis.set(title=TITLES[machine], xlabel="features removed", ylabel="regularised risk")
        axis.legend(fontsize="small")
    figure.suptitle(f"Figure {name}: d = {d}, {d0} true (dotted: all others removed), seed {seed}")
    figure.savefig(folder / f"figure_{name.replace('.', '_')}.png", dpi=90)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--out", type=Path, required=True, help="folder; finished eliminations are kept")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    records = Records(args.out / "eliminations.jsonl")
    cells = dict.fromkeys((d, d0, n) for d, d0, sizes in FIGURES.values() for n in sizes)
    records.collect([(machine, *cell, args.seed) for cell in cells for machine in LOSS], one)
    for name in FIGURES:
        draw(name, records, args.seed, args.out)
    lines = [
        "Where the change point stops, one run each; drawn in `figure_3_1.png` to `figure_3_3.png`.",
        f"Made by `{__doc__.splitlines()[-1]}`, seed {args.seed}.",
        "",
        "| machine | d, d0 | n | kept | true ones missed |",
        "|---|---|---|---|---|",
    ]
    for (machine, d, d0, n, _), record in records.known.items():
        lines.append(f"| {machine} | {d}, {d0} | {n} | {d - record['removed']} | {record['missed']} |")
    (args.out / "README.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
