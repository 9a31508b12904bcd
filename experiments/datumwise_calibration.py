"""How sure networks are and how often they are right, at twelve prices: two ways to average them.

Made data and two sets that come with scikit-learn; nothing has to be fetched. "now" averages log
probabilities, as the library does; "probabilities" is their plain mean, with the temperatures that it needs.

python experiments/datumwise_calibration.py --resume --seed 70 --replicates 6 --device cuda --jobs 12
python experiments/datumwise_calibration.py --resume --seed 80 --replicates 4 --device cuda --jobs 12
python experiments/datumwise_calibration.py --recorded
"""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from _datumwise_common import Records, arguments, command_line, write
from joblib import Parallel, delayed
from scipy import special
from sklearn import datasets

from rlselect import DatumwiseClassifier
from rlselect.datumwise._plan import NETWORK

# rows to learn from; columns, classes and columns that count of made data
DESIGNS = {
    "made, 100 x 60": (100, (60, 2, 10)),
    "made, 135 x 13": (135, (13, 2, 5)),
    "made, 495 x 10, 11 classes": (495, (10, 11, 8)),
    "made, 420 x 18, 4 classes": (420, (18, 4, 8)),
    "made, 1000 x 20, 6 classes": (1000, (20, 6, 10)),
    "wine": (90, datasets.load_wine),
    "breast cancer": (150, datasets.load_breast_cancer),
}
PRICES = np.geomspace(3e-4, 0.3, 12)
N_TEST = 1000
# of the temperature of a single network, for the mean of probabilities: from 200 rows on, and below
PLAIN = (0.9, 0.8)
CHOSEN_ON = range(70, 76)


def draw(design, seed):
    """Training rows and others."""
    n, made = DESIGNS[design]
    if callable(made):
        X, y = made(return_X_y=True)
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
    else:
        columns, classes, counting = made
        X, y = datasets.make_classification(
            n + N_TEST,
            columns,
            n_informative=counting,
            n_redundant=0,
            n_classes=classes,
            n_clusters_per_class=1,
            flip_y=0.05,
            class_sep=0.8,
            random_state=seed,
        )
    return X[:n], y[:n], X[n:], y[n:]


def run(key, args):
    """At each price: purchases per case, then accuracy and mean confidence of both; None without time."""
    if time.time() > args.until:
        return key, None
    X, y, X_test, y_test = draw(*key)
    model = DatumwiseClassifier(
        scoring="network", feature_cost=0.02, random_state=key[1], device=args.device
    ).fit(X, y)
    fitted, rows, out = model._fitted, np.arange(len(y_test)), []
    for price in PRICES:
        own = fitted.at(replace(fitted.rules, prices=np.full(fitted.rules.n_units, price)))
        codes, episodes = own.episodes(X_test)
        policy, some = own.policy, episodes.bought.any(axis=1)[:, None]
        single = policy.frontier.temperature(policy.price) / NETWORK.averaged
        raw = replace(policy, frontier=replace(policy.frontier, prices=np.empty(0)))
        parts = [
            raw.part(member).probabilities(codes, episodes.bought)
            for member in range(sum(len(family.weights) for family in policy.families))
        ]
        heat = np.where(some, PLAIN[len(y) <= NETWORK.few_rows] * single, 1.0)
        plain = special.softmax(np.log(np.mean(parts, axis=0)) / heat, axis=1)
        found = [float(episodes.bought.sum(axis=1).mean())]
        for shares in (policy.probabilities(codes, episodes.bought), plain):
            answer = shares.argmax(axis=1)
            found += [float(np.mean(fitted.classes[answer] == y_test)), float(shares[rows, answer].mean())]
        out.append([round(value, 4) for value in found])
    return key, out


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_calibration", replicates=4)
    parser.set_defaults(seed=80)
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS), choices=list(DESIGNS))
    parser.add_argument("--device", default="cpu", help="where networks are trained")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6, help="begin nothing after so many")
    parser.add_argument("--recorded", action="store_true", help="compute nothing, show what is recorded")
    args = parser.parse_args()
    args.until = time.time() + 60 * args.minutes
    records = Records(Path(args.records), args.resume or args.recorded)
    seeds = range(args.seed, args.seed + args.replicates)
    keys = [(design, seed) for seed in seeds for design in args.designs]
    todo = [] if args.recorded else [key for key in keys if key not in records.done]
    parallel = Parallel(n_jobs=args.jobs, return_as="generator_unordered", batch_size=1)
    for key, found in parallel(delayed(run)(key, args) for key in todo):
        if found is not None:
            records.get(key, lambda found=found: found)
            print(*key, flush=True)
    write(table(records), args.out)


def table(records):
    """Lines of Markdown; the seeds that chose, and the others."""
    lines = [
        "Largest |mean confidence - accuracy| over those of 12 prices at which something is bought, means "
        f"over data sets. The temperature of the mean of log probabilities, {NETWORK.averaged} of a single "
        f"network's, was chosen among 1, .95, .9 and .8 on seeds {CHOSEN_ON[0]} to {CHOSEN_ON[-1]}; others "
        "are untouched. accuracy: mean over all prices and data sets, in percent.",
        "",
        command_line(),
        "",
        "| data | rows | goal | data sets that chose | now | probabilities | untouched data sets | now "
        "| probabilities | accuracy now | probabilities |",
        "|---" + "|---:" * 10 + "|",
    ]
    for design, (n_rows, _) in DESIGNS.items():
        found = {seed: run for (own, seed), run in records.done.items() if own == design}
        cells = [design, n_rows, ".06" if n_rows < 200 else ".03"]
        for chose in (True, False):
            runs = [run for seed, run in found.items() if (seed in CHOSEN_ON) == chose]
            cells += [len(runs), *(f"{gap(runs, k):.3f}" if runs else "" for k in (1, 3))]
        if found:
            cells += [f"{100 * np.mean([np.array(run)[:, k] for run in found.values()]):.1f}" for k in (1, 3)]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def gap(runs, place):
    """Largest difference of the means over runs."""
    means = np.mean(runs, axis=0)
    asked = means[:, 0] > 0.05
    return np.abs(means[asked, place + 1] - means[asked, place]).max()


if __name__ == "__main__":
    main()
