"""Figure 7: a hard budget of 2, 5, 10 or 20 features per case, free of charge, beside prices and the peers.

python experiments/datumwise_budget.py
"""

import numpy as np
from _datumwise_common import (
    BINARY,
    Records,
    arguments,
    load,
    make_split,
    mixed_at_sparsity,
    run_method,
    write,
)
from _datumwise_methods import PEERS, Datumwise, HardBudget

OTHERS = (Datumwise(), *PEERS)
DRAWN = ("ionosphere", "heart")

# the one figure that the text names, without its dataset: 5 features at sparsity .8
PAPER = "77 % with 5 features at sparsity .8, LARS about 72 % and L1-SVM 65 %"


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_budget", replicates=3)
    parser.add_argument("--datasets", nargs="+", default=list(BINARY))
    args = parser.parse_args()
    records = Records(args.records, args.resume)
    lines = [
        "Accuracy in percent with a hard budget and price 0, half of the rows to learn from, "
        f"{args.replicates} splits from seed {args.seed}; the others at the same sparsity, datum-wise with "
        "prices instead of a budget. s per fit: CPU seconds with the budget, and with the middle price. "
        f"Paper, its left figure: {PAPER}.",
        "",
        "| dataset | budget | sparsity | hard budget | "
        + " | ".join(method.name for method in OTHERS)
        + " | s per fit | s with a price |",
        "|" + "---|" * (6 + len(OTHERS)),
    ]
    runs = {name: measure(name, args, records) for name in args.datasets}
    for name in args.datasets:
        lines += rows(name, runs[name])
    draw(runs, args.out.with_suffix(".png"))
    write(lines, args.out)


def measure(name, args, records):
    """One dictionary per split: method -> points."""
    problem, runs = load(name), []
    for seed in range(args.seed, args.seed + args.replicates):
        split = make_split(problem, 0.5, seed)
        run = {}
        for method in (HardBudget(), *OTHERS):
            key = (name, seed, method.name)
            run[method.name] = records.get(key, lambda m=method, s=split, r=seed: run_method(m, s, r))
        runs.append(run)
    return runs


def rows(name, runs):
    lines = []
    for place, budget in enumerate(runs[0]["hard budget"]["setting"]):
        ours = [run["hard budget"] for run in runs]
        accuracy, unused, seconds = (
            np.mean([r[key][place] for r in ours]) for key in ("accuracy", "sparsity", "seconds")
        )
        others = [np.mean([mixed_at_sparsity(run[m.name], unused)[0] for run in runs]) for m in OTHERS]
        cells = [f"{100 * v:.1f}" for v in (accuracy, *others)]
        priced = [run["datum-wise"]["seconds"] for run in runs]
        cells += [f"{seconds:.2f}", f"{np.mean([s[len(s) // 2] for s in priced]):.2f}"]
        lines.append(f"| {name} | {budget} | {unused:.3f} | " + " | ".join(cells) + " |")
    return lines


def draw(runs, path):
    """Mean points of all settings for two of the datasets, as in the paper."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from rlselect.datumwise import FrontierDisplay

    names = [name for name in DRAWN if name in runs] or list(runs)[:2]
    figure, axes = plt.subplots(
        1, len(names), figsize=(4.5 * len(names), 3.5), layout="constrained", squeeze=False
    )
    for ax, name in zip(axes[0], names, strict=True):
        curves = {}
        for method in ("hard budget", *(m.name for m in OTHERS)):
            size = min(len(run[method]["setting"]) for run in runs[name])
            curves[method] = {
                key: np.mean([np.mean(run[method][key], axis=1)[:size] for run in runs[name]], axis=0)
                for key in ("sparsity", "accuracy")
            }
        FrontierDisplay.from_curves(curves, ax=ax)
        ax.set_title(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=70)


if __name__ == "__main__":
    main()
