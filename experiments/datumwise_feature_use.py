"""Figure 4: who needs which feature, and how many, at half of the features (breast cancer), beside LARS.

python experiments/datumwise_feature_use.py
"""

import numpy as np
from _datumwise_common import Records, arguments, choose, load, make_split, run_method, write
from _datumwise_methods import Datumwise

from rlselect.datumwise._peers import LassoPath

# half of the features are left unused at prices far below those of the curves
PRICES = (0.0, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01)

# what the paper's text reads off from its figure, with ten columns (an id among them)
PAPER = "about 60 % of the cases need at most 3 of 10, most of the others all 10; nearly all errors are there"


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_feature_use")
    parser.add_argument("--dataset", default="breast_cancer")
    parser.add_argument("--sparsity", type=float, default=0.5)
    args = parser.parse_args()
    records, problem = Records(args.records, args.resume), load(args.dataset)
    seeds = range(args.seed, args.seed + args.replicates)
    runs = [
        records.get((args.dataset, args.sparsity, s), lambda s=s: one(problem, args.sparsity, s))
        for s in seeds
    ]
    ours, lars = (np.mean([r[key] for r in runs], axis=0) for key in ("use", "lars_use"))
    counts, errors = (np.mean([r[key] for r in runs], axis=0) for key in ("count", "error"))
    lines = [
        f"{args.dataset}, half of the rows to learn from, {args.replicates} splits from seed {args.seed}; "
        f"price and penalty chosen on a quarter, judged on the last, at sparsity of {args.sparsity} or more.",
        "",
        "| | datum-wise | LARS |",
        "|---|---|---|",
        f"| accuracy | {mean(runs, 'accuracy'):.3f} | {mean(runs, 'lars_accuracy'):.3f} |",
        f"| sparsity | {1 - ours.mean():.3f} | {1 - lars.mean():.3f} |",
        *(
            f"| needs {name} | {a:.2f} | {b:.2f} |"
            for name, a, b in zip(problem.feature_names, ours, lars, strict=True)
        ),
        "",
        "| features a case needs | share of the cases | share of the errors |",
        "|---|---|---|",
        *(
            f"| {k} | {c:.3f} | {e / max(errors.sum(), 1e-12):.3f} |"
            for k, (c, e) in enumerate(zip(counts, errors, strict=True))
        ),
        "",
        f"Paper: {PAPER}.",
    ]
    draw(problem, args, args.out.with_suffix(".png"))
    write(lines, args.out)


def mean(runs, key):
    return float(np.mean([r[key] for r in runs]))


def chosen(method, split, target, seed):
    """Labels and features used on the second half, at the setting that the first half chooses."""
    record = run_method(method, split, seed)
    setting = record["setting"][choose(record, target, half=0)]
    return method.fit(split.X_train, split.y_train, setting, seed)(split.halves[1][0])


def one(problem, target, seed):
    split = make_split(problem, 0.5, seed)
    y = split.halves[1][1]
    labels, used = chosen(Datumwise(PRICES), split, target, seed)
    lars_labels, lars_used = chosen(LassoPath(), split, target, seed)
    number, wrong = used.sum(axis=1), labels != y
    size = len(problem.feature_names) + 1
    return {
        "accuracy": float(np.mean(~wrong)),
        "lars_accuracy": float(np.mean(lars_labels == y)),
        "use": used.mean(axis=0).tolist(),
        "lars_use": lars_used.mean(axis=0).tolist(),
        "count": (np.bincount(number, minlength=size) / len(number)).tolist(),
        "error": (np.bincount(number[wrong], minlength=size) / len(number)).tolist(),
    }


def draw(problem, args, path):
    """The first split as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from rlselect.datumwise import FeatureUseDisplay

    split = make_split(problem, 0.5, args.seed)
    methods = {"datum-wise": Datumwise(PRICES), "LARS": LassoPath()}
    used = {name: chosen(method, split, args.sparsity, args.seed)[1] for name, method in methods.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    FeatureUseDisplay(used, problem.feature_names).plot().figure_.savefig(path, dpi=70)


if __name__ == "__main__":
    main()
