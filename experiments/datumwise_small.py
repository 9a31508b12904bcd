"""Up to 200 rows: small networks and short trainings, the default there, beside large and long ones.

RLSELECT_DATA=... python experiments/datumwise_small.py --resume --seed 7000 --replicates 5
python experiments/datumwise_small.py --resume --seed 7000 --device cuda --jobs 16 --minutes 9
python experiments/datumwise_small.py --recorded --seed 7000  # one table of all that these have measured
"""

import time
from pathlib import Path

import numpy as np
from _datumwise_common import Records, arguments, command_line, mean_and_error, mixed_at_sparsity, write
from datumwise_gates import PRICE, _priced, curve_of, split_of
from joblib import Parallel, delayed

from rlselect import DatumwiseClassifier
from rlselect.datumwise import NetworkTraining

DATASETS = ("wine", "sonar", "heart", "liver_disorders", "ionosphere")
WAYS = {
    "large": {"hidden": 128, "steps": (400, 1600)},
    "small": {"hidden": 64, "steps": (300, 1000)},
}


def run(key, args):
    """Accuracy of one split at two sparsities, and how sure answers are at 20 prices; None without time."""
    if time.time() > args.until:
        return key, None
    name, seed, way = key
    split = split_of(name, seed, args.folder)
    start = time.process_time()
    model = DatumwiseClassifier(
        scoring="network",
        search=NetworkTraining(**WAYS[way]),
        feature_cost=PRICE,
        random_state=seed,
        device=args.device,
    ).fit(split.X_train, split.y_train)
    seconds = time.process_time() - start
    fitted = model._fitted
    curve = curve_of(
        fitted, lambda price: fitted.at(_priced(fitted.rules, price)), np.geomspace(3e-4, 0.3, 20), split
    )
    at = {str(goal): 100 * mixed_at_sparsity(curve, goal)[0] for goal in (0.8, 0.6)}
    return key, {"at": at, "gap": curve["gap"], "seconds": seconds}


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_small", replicates=5)
    parser.add_argument("--device", default="cpu", help="where networks are trained")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), choices=DATASETS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6, help="begin nothing after so many")
    parser.add_argument("--folder", type=Path, default=Path("build/datumwise/gates"), help="data as arrays")
    parser.add_argument("--recorded", action="store_true", help="compute nothing, show what is recorded")
    args = parser.parse_args()
    args.until = time.time() + 60 * args.minutes
    records = Records(args.records, args.resume or args.recorded)
    seeds = range(args.seed, args.seed + args.replicates)
    keys = [(name, seed, way) for seed in seeds for name in args.datasets for way in WAYS]
    todo = [] if args.recorded else [key for key in keys if key not in records.done]
    parallel = Parallel(n_jobs=args.jobs, return_as="generator_unordered", batch_size=1)
    for key, found in parallel(delayed(run)(key, args) for key in todo):
        if found is not None:
            records.get(key, lambda found=found: found)
            print(*key, flush=True)
    write(table(args, records), args.out)


def table(args, records):
    """Lines of Markdown; only splits that both ways have met count."""
    lines = [
        "Accuracy in percent (± standard error over splits) at mean sparsity .8 and .6 of networks with 128 "
        "hidden units and 400 or 1,600 steps (large), and with 64 and 300 or 1,000 (small); half of the rows "
        "to learn from. difference: small minus large on the same splits. gap: largest |mean of confidence - "
        f"accuracy| over 20 prices. Seeds from {args.seed}; small was chosen on splits from seed "
        "7000.",
        "",
        command_line(),
        "",
        "| data | splits | large .8 | small .8 | difference | large .6 | small .6 | difference "
        "| gap large | gap small |",
        "|---" + "|---:" * 9 + "|",
    ]
    for name in DATASETS:
        both = [
            seed
            for own, seed, way in records.done
            if (own, way) == (name, "large") and (name, seed, "small") in records.done
        ]
        if not both:
            continue
        runs = {way: [records.done[name, seed, way] for seed in both] for way in WAYS}
        cells = [name, len(both)]
        for goal in ("0.8", "0.6"):
            at = {way: np.array([one["at"][goal] for one in found]) for way, found in runs.items()}
            cells += [f"{at['large'].mean():.1f}", f"{at['small'].mean():.1f}"]
            cells += [mean_and_error(at["small"] - at["large"])]
        for found in runs.values():
            cells.append(f"{np.abs(np.mean([one['gap'] for one in found], axis=0)).max():.3f}")
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


if __name__ == "__main__":
    main()
