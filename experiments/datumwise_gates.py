"""Accuracy at mean sparsity .8 and .6 on sixteen problems: one fit for all prices, bins and peers.

RLSELECT_DATA=... python experiments/datumwise_gates.py --replicates 10 --jobs 16
python experiments/datumwise_gates.py --resume --datasets vowel sonar --replicates 3
python experiments/datumwise_gates.py --resume --parts networks --device cuda --jobs 5 --minutes 9
python experiments/datumwise_gates.py --recorded  # one table of all that these have measured
"""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from _datumwise_common import (
    Problem,
    Records,
    arguments,
    load,
    make_split,
    mean_and_error,
    mixed_at_sparsity,
    run_method,
    scaled_split,
    write,
)
from _datumwise_methods import Datumwise
from joblib import Parallel, delayed

from rlselect import DatumwiseClassifier
from rlselect.datasets import load_local
from rlselect.datumwise import _learn
from rlselect.datumwise._filled_prices import fill_prices
from rlselect.datumwise._learn import sums_win
from rlselect.datumwise._peers import PEERS
from rlselect.simulate import make_routes

# goal at sparsity .8 and, where there is one, at .6, in percent
GOALS = {
    "breast_cancer": (96, None),
    "wine": (95, None),
    "sonar": (78, 80),
    "ionosphere": (92, None),
    "vowel": (57, 79),
    "vehicle": (71.5, 76),
    "heart": (79.5, 82),
    "diabetes": (75, None),
    "liver_disorders": (61.5, None),
    "segment": (95.5, 96.5),
    "splice": (95, None),
    "spambase": (94.5, None),
    "mnist49": (85, 90.5),
    "adult": (83.5, None),
    "xor": (97, None),
    "route": (96, None),
}
PRICE = 0.02
PRICES = np.geomspace(3e-4, 0.3, 20)
BIN_PRICES = (0.002, 0.007, 0.015, 0.03, 0.05, 0.08, 0.13)
# prices at each budget; budgets as multiples of what a sparsity of .8 leaves of each case, rounded up, the
# first also down; with more units than these, whole numbers come close to any sparsity
LIMITED, MULTIPLES, MOST_LIMITED = np.geomspace(3e-4, 0.1, 7), (1.0, 1.5, 2.0), 20
# rows to learn from and to judge by at most
MOST_TRAIN, MOST_TEST = 2500, 4000
# in the order in which "auto" learns them, and where the curves of all scorings are recorded
SUMS = ("bins", "linear")
CURVES = {"bins": "bins one fit", "linear": "linear one fit", "network": "network"}
PARTS = ("networks", "peers", "bins", "linear", "svm")
# small ones, which NumPy trains as fast
ON_CPU = ("sonar", "ionosphere", "wine", "heart", "liver_disorders", "breast_cancer", "diabetes", "vehicle")


def blocks_of_digits():
    """MNIST in 7 x 7 means of blocks of 4 x 4 pixels: 2,000 training and 4,000 test rows are drawn."""
    bunch = load_local("mnist")
    X = bunch.data.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49)
    return X, np.asarray(bunch.target)


def adult():
    """Text columns as numbers of their levels, which trees and forests can cut."""
    bunch = load_local("adult")
    columns = []
    for name in bunch.feature_names:
        values = np.asarray(bunch.frame[name].to_pylist(), dtype=object)
        numeric = all(isinstance(v, int | float) for v in values[:50])
        columns.append(
            values.astype(float) if numeric else np.unique(values.astype(str), return_inverse=True)[1]
        )
    return np.column_stack(columns).astype(float), np.unique(bunch.target, return_inverse=True)[1]


def synthetic(name, seed):
    """2,000 rows of 20 columns: the sign of a product, or a column that names the one that counts."""
    if name == "route":
        made = make_routes(2000, 20, n_routes=4, random_state=10_000 + seed)
        return made.X, made.y
    X = np.random.default_rng(10_000 + seed).normal(size=(2000, 20))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def read(name, seed, folder):
    """Columns and classes; they are kept in a folder, as some take long to read."""
    if name in ("xor", "route"):
        return synthetic(name, seed)
    kept = folder / f"{name}.npz"
    if not kept.exists():
        special = {"mnist49": blocks_of_digits, "adult": adult}
        problem = None if name in special else load(name)
        X, y = special[name]() if problem is None else (problem.X, problem.y)
        folder.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(kept, X=X.astype(np.float32 if name == "mnist49" else float), y=y)
    with np.load(kept) as arrays:
        return arrays["X"].astype(float), arrays["y"]


def split_of(name, seed, folder):
    """Half of the rows to learn from, at most 2,500, and two halves of the others, at most 4,000 rows."""
    rng = np.random.default_rng(seed)
    X, y = read(name, seed, folder)
    if name == "mnist49":
        train = rng.choice(60_000, 2000, replace=False)
        rest = 60_000 + rng.choice(10_000, MOST_TEST, replace=False)
    elif name == "adult":
        train, rest = np.split(rng.permutation(len(y))[: MOST_TRAIN + MOST_TEST], [MOST_TRAIN])
    else:
        split = make_split(Problem(name, X, y, [], []), 0.5, seed)
        assert len(split.y_train) <= MOST_TRAIN
        return split
    return scaled_split(X[train], y[train], X[rest], y[rest], seed)


class Watched:
    """What `scoring="auto"` learns on the way, each with its rows: bins, lines and networks."""

    def __enter__(self):
        self.found, sums = {}, iter(SUMS)
        self._watch(
            _learn, "iterate_policies", lambda out, rows: self.found.update({next(sums): (out, rows)})
        )
        self._watch(_learn, "learn_networks", lambda out, rows: self.found.update(network=(out, rows)))
        return self

    def _watch(self, owner, name, keep):
        whole = getattr(owner, name)

        def watched(*args, **options):
            out = whole(*args, **options)
            keep(out, args[0])
            return out

        setattr(owner, name, watched)
        self._undo = [*getattr(self, "_undo", []), (owner, name, whole)]

    def __exit__(self, *_):
        for owner, name, whole in reversed(self._undo):
            setattr(owner, name, whole)


def curve_of(fitted, policy, prices, split):
    """Accuracy, sparsity and confidence of a policy on both halves at prices of purchases."""
    X = np.concatenate([half for half, _ in split.halves])
    y = np.concatenate([labels for _, labels in split.halves])
    number = len(split.halves[0][1])
    parts = [slice(0, number), slice(number, None)]

    def play(price):
        own = policy(price)
        codes, episodes = own.episodes(X)
        right = fitted.classes[episodes.answer] == y
        shares = own.policy.probabilities(codes, episodes.bought)
        sure = shares[np.arange(len(y)), episodes.answer]
        accuracy = [round(float(right[part].mean()), 5) for part in parts]
        sparsity = [round(1 - float(episodes.bought[part].mean()), 5) for part in parts]
        gap = round(float(sure.mean() - right.mean()), 4)
        return float(episodes.bought.mean()), (accuracy, sparsity, gap)

    settings, played = zip(*fill_prices(prices, play), strict=True)
    columns = map(list, zip(*played, strict=True))
    return {"setting": settings, **dict(zip(("accuracy", "sparsity", "gap"), columns, strict=True))}


def budgets_of(n_units):
    """Whole numbers of purchases about those that a sparsity of .8 leaves."""
    own = 0.2 * n_units
    return sorted({max(int(own), 1), *(int(np.ceil(k * own)) for k in MULTIPLES)})


def with_budgets(fitted, plain, split):
    """A curve and those of some prices within budgets, as `frontier(budgets=...)` has them."""

    def limited(budget):
        rules = replace(fitted.rules, budget=budget)
        return curve_of(fitted, lambda price: fitted.at(_priced(rules, price)), LIMITED, split)

    found = [limited(budget) for budget in budgets_of(fitted.rules.n_units)]
    return {what: sum((one[what] for one in found), plain[what]) for what in ("sparsity", "accuracy")}


def run_networks(split, seed, device):
    """The one fit of "auto", with the curves of bins, lines and networks, whichever it keeps."""
    start = time.process_time(), time.perf_counter()
    model = DatumwiseClassifier(scoring="auto", feature_cost=PRICE, random_state=seed, device=device)
    with Watched() as watched:
        model.fit(split.X_train, split.y_train)
    record = {"seconds": round(time.process_time() - start[0], 1), "scoring": model.scoring_}
    record["wall"] = round(time.perf_counter() - start[1], 1)
    record["words"] = model.summary().dict["facts"].get("Scores", "")
    fitted, found = model._fitted, watched.found
    record["merit"] = {name: learned.merit for name, (learned, _) in found.items()}
    record["height"] = {name: learned.height() for name, (learned, _) in found.items()}

    def at(learned, rows):
        own = replace(fitted, encoder=rows.encoder, policy=learned.policy)
        return lambda price: own.at(_priced(fitted.rules, price))

    for name in SUMS:
        record[CURVES[name]] = curve_of(fitted, at(*found[name]), np.geomspace(2e-3, 0.2, 20), split)
    record["network"] = curve_of(fitted, at(*found["network"]), PRICES, split)
    if fitted.rules.n_units <= MOST_LIMITED:
        record["budgets"] = with_budgets(fitted, record[CURVES[model.scoring_]], split)
    return record


def _priced(rules, price):
    return replace(rules, prices=np.full(rules.n_units, price))


def run_part(key, args):
    """The record of one part of one split; None when there is no time left."""
    if time.time() > args.until:
        return key, None
    name, seed, part = key
    split = split_of(name, seed, args.folder)
    if part == "networks":
        return key, run_networks(split, seed, "cpu" if name in ON_CPU else args.device)
    methods = {
        "peers": [PEERS["cart"], PEERS["forest"]],
        "svm": [PEERS["l1-svm"]],
        **{name: [Datumwise(BIN_PRICES, name, scoring=name)] for name in ("bins", "linear")},
    }
    return key, {method.name: run_method(method, split, seed) for method in methods[part]}


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_gates")
    parser.add_argument("--datasets", nargs="+", default=list(GOALS), choices=list(GOALS))
    parser.add_argument("--parts", nargs="+", default=list(PARTS[:3]), choices=PARTS, help="in this order")
    parser.add_argument("--jobs", type=int, default=1, help="splits at a time, each in a process")
    parser.add_argument("--device", default="cpu", help="where networks are trained")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin nothing after so many")
    parser.add_argument("--folder", type=Path, default=Path("build/datumwise/gates"), help="data as arrays")
    parser.add_argument("--recorded", action="store_true", help="compute nothing, show what is recorded")
    args = parser.parse_args()
    args.until = time.time() + 60 * args.minutes
    records = Records(args.records, args.resume or args.recorded)
    seeds = range(args.seed, args.seed + args.replicates)
    keys = [(name, seed, part) for part in args.parts for seed in seeds for name in args.datasets]
    todo = [] if args.recorded else [key for key in keys if key not in records.done]
    parallel = Parallel(n_jobs=args.jobs, return_as="generator_unordered", batch_size=1)
    runs = parallel(delayed(run_part)(key, args) for key in todo)
    start = time.time()
    for key, record in runs:
        if record is not None:
            records.get(key, lambda record=record: record)
            print(round(time.time() - start), *key, record.get("scoring", ""), flush=True)
    write(table(args, records), args.out)


def kept_scoring(run, name, folder):
    """What "auto" keeps, by what all were worth on rows left out and the library's rule."""
    n_units = read(name, 0, folder)[0].shape[1]
    best = max(SUMS, key=lambda one: run["merit"][one])
    leads = [run[what][best] - run[what]["network"] for what in ("merit", "height")]
    return best if sums_win(leads, -run["merit"][best], n_units, rows_of(name, folder)) else "network"


def rows_of(name, folder):
    """How many rows are learned from."""
    return {"mnist49": 2000, "adult": MOST_TRAIN}.get(name, len(read(name, 0, folder)[1]) // 2)


def table(args, records):
    lines = [
        "Accuracy in percent (± standard error over splits) at mean sparsity .8 and .6. Half of the rows "
        "are learned from (adult 2,500, MNIST in 49 block means 2,000). The others are halved: the mix of "
        "two neighbouring settings that has the sparsity on one half is judged on the other, both ways. "
        f"auto: one fit at a price of {PRICE}, 20 prices after it and up to 10 more where purchases fall "
        "steeply between two, as `frontier` has them; networks, bins and lines: the same fit without the "
        "choice among them (records of bins refitted at 7 prices are not shown). budgets: auto with some "
        "prices within budgets beside these, as `frontier(budgets=...)` has them, where there are 20 columns "
        "at most: two of ten for every case can be better than one for some and three for others. behind: "
        "points that auto and, in brackets, auto with budgets are behind the best of CART, the k-best forest "
        "and bins at .8. gap: largest |mean of confidence - accuracy| "
        f"over the prices. Seeds from {args.seed}; nothing was chosen on them. CPU s: of the one fit, the "
        f"choice included; trained with NumPy: {', '.join(ON_CPU)}; others on a GPU.",
        "",
        "    RLSELECT_DATA=... python experiments/datumwise_gates.py "
        f"--replicates {args.replicates} --seed {args.seed} --device {args.device}",
        "",
        "| data | splits | auto .8 | goal | budgets | networks | bins | lines | CART | k-best forest "
        "| behind | auto .6 | goal | networks | bins | k-best forest | gap | CPU s "
        "| networks, bins, lines chosen |",
        "|---" + "|---:" * 18 + "|",
    ]
    for name, goals in GOALS.items():
        lines += [row] if (row := table_row(name, goals, records, args.folder)) else []
    return lines


def table_row(name, goals, records, folder):
    """One line of the table; None if nothing is recorded."""
    # of the splits that networks have learned from
    seeds = {seed for other, seed, part in records.done if (other, part) == (name, "networks")}
    parts = {
        part: [v for key, v in records.done.items() if key[::2] == (name, part) and key[1] in seeds]
        for part in PARTS
    }
    runs = parts["networks"]
    if not runs:
        return None
    kept = [kept_scoring(run, name, folder) for run in runs]
    curves = {
        "auto": [run[CURVES[way]] for run, way in zip(runs, kept, strict=True)],
        "budgets": [run["budgets"] for run in runs if "budgets" in run],
        "networks": [run["network"] for run in runs],
        "bins": [run["bins one fit"] for run in runs],
        "lines": [run["linear one fit"] for run in runs],
        "bins refitted": [run["bins"] for run in parts["bins"]],
        "CART": [run["CART"] for run in parts["peers"]],
        "k-best forest": [run["k-best forest"] for run in parts["peers"]],
    }
    at = {
        (method, goal): [100 * mixed_at_sparsity(curve, goal)[0] for curve in found]
        for method, found in curves.items()
        for goal in (0.8, 0.6)
        # means over fewer splits cannot be compared
        if len(found) == len(runs)
    }

    def cell(method, goal):
        return f"{np.mean(at[method, goal]):.1f}" if (method, goal) in at else ""

    others = ("bins", "CART", "k-best forest")
    rivals = [np.mean(at[m, 0.8]) for m in others] if all((m, 0.8) in at for m in others) else []
    gaps = [np.interp(np.log(PRICES), np.log(curve["setting"]), curve["gap"]) for curve in curves["auto"]]
    gap = np.abs(np.mean(gaps, axis=0))
    cells = [name, len(runs), mean_and_error(at["auto", 0.8]), goals[0], cell("budgets", 0.8)]
    cells += [cell(m, 0.8) for m in ("networks", "bins", "lines", "CART", "k-best forest")]
    judged = [m for m in ("auto", "budgets") if rivals and (m, 0.8) in at]
    behind = [f"{max(rivals) - np.mean(at[m, 0.8]):.1f}" for m in judged]
    cells += [" (".join(behind) + ")" * (len(behind) > 1)]
    cells += [mean_and_error(at["auto", 0.6]), goals[1] or ""]
    cells += [cell(m, 0.6) for m in ("networks", "bins", "k-best forest")]
    cells += [f"{gap.max():.3f}", f"{np.mean([run['seconds'] for run in runs]):.0f}"]
    cells += [", ".join(str(kept.count(way)) for way in ("network", *SUMS))]
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    main()
