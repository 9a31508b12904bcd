"""Figure 5: the price of a feature and the sparsity it leads to.

python experiments/datumwise_price.py
"""

import numpy as np
from _datumwise_common import BINARY, Records, arguments, judge, load, make_split, write
from _datumwise_methods import Datumwise

PAPER_PRICES = (0.0, 0.001, 0.01, 0.1, 0.15, 0.2, 0.3)


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_price", replicates=3)
    parser.add_argument("--datasets", nargs="+", default=list(BINARY))
    args = parser.parse_args()
    records, table = Records(args.records, args.resume), {}
    for name in args.datasets:
        problem = load(name)
        for price in PAPER_PRICES:
            seeds = range(args.seed, args.seed + args.replicates)
            runs = [
                records.get((name, price, s), lambda p=problem, c=price, s=s: one(p, c, s)) for s in seeds
            ]
            table[name, price] = np.mean(runs, axis=0)
    lines = [
        "Mean test sparsity (accuracy in percent) at each price, half of the rows to learn from, "
        f"{args.replicates} splits from seed {args.seed}. In the paper sparsity rises with the price to 1: "
        "nothing is bought and every case is given the larger class.",
        "",
        "| dataset | " + " | ".join(f"{price:g}" for price in PAPER_PRICES) + " |",
        "|" + "---|" * (len(PAPER_PRICES) + 1),
    ]
    for name in args.datasets:
        cells = [f"{table[name, c][1]:.2f} ({100 * table[name, c][0]:.0f})" for c in PAPER_PRICES]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    draw(table, args.datasets, args.out.with_suffix(".png"))
    means = [np.mean([table[name, c][1] for name in args.datasets]) for c in PAPER_PRICES]
    lines.append("| mean | " + " | ".join(f"{m:.2f}" for m in means) + " |")
    write(lines, args.out)


def draw(table, names, path):
    """Sparsity of each dataset at each price, and the mean."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
    for name in names:
        ax.plot(PAPER_PRICES, [table[name, c][1] for c in PAPER_PRICES], "o-", lw=0.8, ms=3, label=name)
    means = [np.mean([table[name, c][1] for name in names]) for c in PAPER_PRICES]
    ax.plot(PAPER_PRICES, means, "k-", lw=2.5, label="mean")
    ax.set_xscale("symlog", linthresh=0.001)
    ax.set(xlabel="price of a feature", ylabel="mean sparsity on test rows", ylim=(0, 1.02))
    ax.legend(fontsize=7, ncols=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=80)


def one(problem, price, seed):
    split = make_split(problem, 0.5, seed)
    decide = Datumwise().fit(split.X_train, split.y_train, price, seed)
    return np.mean([judge(decide, X, y) for X, y in split.halves], axis=0).tolist()


if __name__ == "__main__":
    main()
