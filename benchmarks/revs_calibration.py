"""Are inclusion probabilities of REVS what they say, and what do rules on them find beside knockoffs?

Designs: normal columns with correlation rho^|i - j|, effects at random places, of random sign and of sizes
drawn from a normal distribution, noise of variance one. For every data set the probabilities are kept with
the truth; the table holds, by bins of the probability, how many variables there are and how many of them are
true. The same fits give the share of wrong ones and the power of expected false discovery rates; model-X
knockoffs are given the true covariance of the columns.
"""

import argparse
import sys
import warnings
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter
from threadpoolctl import threadpool_limits

from _tables import environment
from peers import knockoffs
from rlselect import REVS

EDGES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.97, 1.0)
CORRELATIONS = (0.0, 0.35, 0.7)
LEVELS = (0.05, 0.1, 0.2)


class Kind(NamedTuple):
    """Rows, columns, effects and the size of an effect."""

    n: int
    p: int
    effects: int
    size: float


KINDS = {
    "n 50, p 200, 5 effects": Kind(50, 200, 5, 1.0),
    "n 100, p 500, 10 effects": Kind(100, 500, 10, 0.7),
    "n 200, p 200, 25 effects": Kind(200, 200, 25, 0.5),
}


def make(kind, correlation, seed):
    """Rows, response and coefficients."""
    rng = np.random.default_rng([seed, kind.n, kind.p, round(100 * correlation)])
    fresh = rng.standard_normal((kind.n, kind.p))
    fresh[:, 1:] *= np.sqrt(1.0 - correlation**2)
    X = lfilter([1.0], [1.0, -correlation], fresh, axis=1)
    coef = np.zeros(kind.p)
    coef[rng.choice(kind.p, size=kind.effects, replace=False)] = kind.size * rng.standard_normal(kind.effects)
    return X, X @ coef + rng.standard_normal(kind.n), coef


def run(args):
    """All fits: probabilities with the truth, and what rules find."""
    chances, found = {name: [] for name in KINDS}, {}
    seeds = range(args.seed, args.seed + args.replicates)
    for (name, kind), correlation, seed in product(KINDS.items(), CORRELATIONS, seeds):
        X, y, coef = make(kind, correlation, seed)
        truth = coef != 0
        model = REVS(random_state=seed).fit(X, y)
        chances[name].append(np.column_stack([model.inclusion_, truth]))
        places = np.arange(kind.p)
        covariance = correlation ** np.abs(np.subtract.outer(places, places))
        statistic = knockoffs.statistics(X, y, covariance, seed=seed)
        masks = {("REVS", q): model.select(fdr=q) for q in LEVELS}
        masks |= {("knockoffs", q): knockoffs.choose(statistic, q) for q in LEVELS}
        for rule, mask in masks.items():
            hits = int((mask & truth).sum())
            wrong = 1.0 - hits / mask.sum() if mask.any() else 0.0
            found.setdefault((name, *rule), []).append((wrong, hits / truth.sum()))
        print(name, correlation, seed, flush=True)
    return {name: np.concatenate(parts) for name, parts in chances.items()}, found


def bins(pairs):
    """Number, mean probability and true share of each bin."""
    which = np.clip(np.digitize(pairs[:, 0], EDGES) - 1, 0, len(EDGES) - 2)
    for k in range(len(EDGES) - 1):
        mine = pairs[which == k]
        yield (len(mine), *(mine.mean(axis=0) if len(mine) else (np.nan, np.nan)))


def table(args, chances, found):
    command = "python " + " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
    last = args.seed + args.replicates - 1
    every = {**chances, "all": np.concatenate(list(chances.values()))}
    lines = [
        "# Calibration of inclusion probabilities",
        "",
        f"`{command}`; seeds {args.seed}-{last}, correlations {CORRELATIONS}. Sizes of effects: "
        + "; ".join(f"{name}: N(0, {kind.size:g}^2)" for name, kind in KINDS.items())
        + f". Noise variance one. {environment()}",
        "",
        "| probability | " + " | ".join(f"{name}: number | mean | true" for name in every) + " |",
        "|---|" + "---:|" * 3 * len(every),
    ]
    rows = [list(bins(pairs)) for pairs in every.values()]
    for k in range(len(EDGES) - 1):
        cells = " | ".join(
            f"{number} | {mean:.4f} | {true:.4f}" if number else "0 | - | -"
            for number, mean, true in (r[k] for r in rows)
        )
        lines.append(f"| {EDGES[k]:g}-{EDGES[k + 1]:g} | {cells} |")
    lines += ["", "## Expected false discoveries", ""]
    lines += ["| design | rule | q | share wrong | power |", "|---|---|---:|---:|---:|"]
    for (name, rule, q), values in found.items():
        wrong, power = np.mean(values, axis=0)
        lines.append(f"| {name} | {rule} | {q:g} | {wrong:.3f} | {power:.3f} |")
    for rule, q in product(("REVS", "knockoffs"), LEVELS):
        pairs = [v for (_, r, level), values in found.items() if (r, level) == (rule, q) for v in values]
        wrong, power = np.mean(pairs, axis=0)
        lines.append(f"| all | {rule} | {q:g} | {wrong:.3f} | {power:.3f} |")
    return "\n".join(lines) + "\n"


def picture(chances, path):
    """Share of true variables against the probability, with two standard errors."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(5.5, 5.0), layout="constrained")
    ax.plot([0, 1], [0, 1], color="0.7", lw=1)
    for name, pairs in chances.items():
        number, mean, true = np.array([b for b in bins(pairs) if b[0] >= 5]).T
        error = 2.0 * np.sqrt(mean * (1.0 - mean) / number)
        ax.errorbar(mean, true, yerr=error, fmt="o-", capsize=2, label=name)
    ax.set_xlabel("inclusion probability")
    ax.set_ylabel("share of true variables")
    ax.legend()
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=8, help="data sets per cell")
    parser.add_argument("--seed", type=int, default=8000, help="seed of the first data set")
    parser.add_argument("--out", type=Path, default=Path("results/revs_calibration"), help="PATH.md and .svg")
    args = parser.parse_args()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chances, found = run(args)
    text = table(args, chances, found)
    args.out.with_suffix(".md").write_text(text)
    picture(chances, args.out.with_suffix(".svg"))
    print(text)


if __name__ == "__main__":
    main()
