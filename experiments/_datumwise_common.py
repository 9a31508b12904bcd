"""What the datum-wise experiments share: data, splits, choice of the price on validation rows, saved records.

A method is a set of settings (a price, a pruning level, a penalty) and a function that fits one of them.
Every method is treated alike: each setting is fitted on the training rows, and the other rows are halved. The
setting chosen on one half is judged on the other, and the other way round; the two are averaged. So no row
judges a setting that it chose, and what was chosen is what is judged, without another fit on other rows.
"""

import argparse
import json
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from rlselect.datasets import load_local

RESULTS = Path(__file__).parent / "results"
BINARY = (
    "australian",
    "breast_cancer",
    "diabetes",
    "heart",
    "ionosphere",
    "liver_disorders",
    "sonar",
    "splice",
)
MULTICLASS = ("segment", "vehicle", "vowel", "wine")
DATASETS = BINARY + MULTICLASS


@dataclass
class Problem:
    """A dataset: features as numbers, classes 0, 1, ... and names."""

    name: str
    X: np.ndarray
    y: np.ndarray
    feature_names: list[str]
    classes: list[str]


def load(name):
    """One of the twelve datasets, as numbers.

    Integer codes of categories (australian, heart, splice) stay numbers, as in the files the paper used;
    nothing is imputed (the zeros of diabetes are left alone) and breast_cancer comes without its id column.
    """
    bunch = load_local(name)
    if not isinstance(bunch.data, np.ndarray):
        raise ValueError(f"{name} has features that are not numbers")
    classes, y = np.unique(bunch.target, return_inverse=True)
    names = [str(n) for n in bunch.feature_names]
    return Problem(name, bunch.data.astype(float), y, names, [str(c) for c in classes])


@dataclass
class Split:
    """Training rows and the two halves of the others, columns scaled by the training rows."""

    X_train: np.ndarray
    y_train: np.ndarray
    halves: list[tuple[np.ndarray, np.ndarray]]


def make_split(problem, fraction, seed):
    """A random split with every class in all parts in proportion."""
    shuffle = StratifiedShuffleSplit(1, train_size=fraction, random_state=seed)
    train, rest = next(shuffle.split(problem.X, problem.y))
    return scaled_split(problem.X[train], problem.y[train], problem.X[rest], problem.y[rest], seed)


def scaled_split(X_train, y_train, X_rest, y_rest, seed):
    mean, deviation = X_train.mean(axis=0), X_train.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    X_train, X_rest = (X_train - mean) / deviation, (X_rest - mean) / deviation
    folds = StratifiedKFold(2, shuffle=True, random_state=seed).split(X_rest, y_rest)
    return Split(X_train, y_train, [(X_rest[half], y_rest[half]) for _, half in folds])


def sparsity(used):
    """Mean share of the features that a case did not need."""
    return 1.0 - float(np.mean(used))


def judge(decide, X, y):
    labels, used = decide(X)
    return float(np.mean(labels == y)), sparsity(used)


def run_method(method, split, seed):
    """Judge every setting of a method on both halves.

    Returns
    -------
    dict
        Lists, one entry a setting: ``setting``, ``accuracy`` and ``sparsity`` (pairs, one entry a half), and
        ``seconds``, the CPU time of the fit.
    """
    settings = method.settings(split.X_train, split.y_train)
    record = {"setting": settings, "accuracy": [], "sparsity": [], "seconds": []}
    for setting in settings:
        start = time.process_time()
        decide = method.fit(split.X_train, split.y_train, setting, seed)
        record["seconds"].append(round(time.process_time() - start, 3))
        accuracy, unused = zip(*(judge(decide, X, y) for X, y in split.halves), strict=True)
        record["accuracy"].append([round(v, 5) for v in accuracy])
        record["sparsity"].append([round(v, 5) for v in unused])
    return record


def choose(record, target, half):
    """Position of the best setting on one half among those at least as sparse there as the target.

    Of equals the least sparse; the sparsest of all when none reaches the target.
    """
    accuracy, unused = np.array(record["accuracy"])[:, half], np.array(record["sparsity"])[:, half]
    enough = np.flatnonzero(unused >= target - 1e-9)
    if not len(enough):
        return int(np.argmax(unused))
    return int(enough[np.lexsort((unused[enough], -accuracy[enough]))[0]])


def at_sparsity(record, target):
    """Accuracy and sparsity of the settings chosen on one half and judged on the other."""
    pairs = []
    for half in (0, 1):
        place = choose(record, target, half)
        pairs.append((record["accuracy"][place][1 - half], record["sparsity"][place][1 - half]))
    return tuple(np.mean(pairs, axis=0))


def mixed_at_sparsity(record, target):
    """As `at_sparsity`, for a coin flip between two settings that meets the target where it is chosen.

    Each case is given to one of the two by a coin, so the mean sparsity can be met between two settings. The
    two are neighbours on the upper hull of the points of the half that chooses.
    """
    points = np.stack([record["sparsity"], record["accuracy"]], axis=2)
    return tuple(
        np.mean([_mix(points[:, half], points[:, 1 - half], target) for half in (0, 1)], axis=0)[::-1]
    )


def path_at_sparsity(record, target):
    """As `mixed_at_sparsity`, between the first neighbours of the path that have the target between them.

    Accuracy plays no part in this choice.
    """
    points = np.stack([record["sparsity"], record["accuracy"]], axis=2)
    if points[0, :, 0].mean() > points[-1, :, 0].mean():
        points = points[::-1]
    pairs = []
    for half in (0, 1):
        right = int(np.argmax(points[:, half, 0] >= target))
        pairs.append(_between(points[:, half], points[:, 1 - half], right, target))
    return tuple(np.mean(pairs, axis=0)[::-1])


def _between(points, others, right, target):
    if right == 0:
        return others[0 if points[0, 0] >= target else -1]
    share = (target - points[right - 1, 0]) / (points[right, 0] - points[right - 1, 0])
    return (1 - share) * others[right - 1] + share * others[right]


def _mix(points, others, target):
    hull = upper_hull(points)
    points, others = points[hull], others[hull]
    return _between(points, others, int(np.argmax(points[:, 0] >= target)), target)


def upper_hull(points):
    """Positions of the points on the upper concave hull, from left to right."""
    order = np.lexsort((-points[:, 1], points[:, 0]))
    hull = []
    for i in order:
        if hull and points[hull[-1], 0] == points[i, 0]:
            continue
        while len(hull) > 1 and _turns_left(points[hull[-2]], points[hull[-1]], points[i]):
            hull.pop()
        hull.append(int(i))
    return hull


def _turns_left(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) >= 0


class Records:
    """Results saved one line each, so that an interrupted run goes on where it stopped."""

    def __init__(self, path, resume):
        self.path = path
        self.done = {}
        if resume and path.exists():
            for line in path.read_text().splitlines():
                item = json.loads(line)
                self.done[tuple(item["key"])] = item["value"]
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")

    def get(self, key, compute):
        """The saved value of a key, computed and saved when it is not there."""
        key = tuple(key)
        if key not in self.done:
            self.done[key] = compute()
            with self.path.open("a") as file:
                file.write(json.dumps({"key": key, "value": self.done[key]}) + "\n")
        return self.done[key]


def arguments(description, name, replicates=10):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--replicates", type=int, default=replicates, help="random splits")
    parser.add_argument("--seed", type=int, default=1000, help="seed of the first split")
    parser.add_argument("--records", type=Path, default=Path("build/datumwise") / f"{name}.jsonl")
    parser.add_argument("--resume", action="store_true", help="keep what the records already hold")
    parser.add_argument("--out", type=Path, default=RESULTS / f"{name}.md", help="Markdown file to write")
    return parser


def command_line():
    """The very command that runs now, as a block of Markdown."""
    path, *options = sys.argv
    return f"    RLSELECT_DATA=... python experiments/{Path(path).name} {shlex.join(options)}".rstrip()


def write(lines, out):
    text = "\n".join(lines) + "\n"
    print(text)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text)


def mean_and_error(values, scale=1.0, digits=1):
    """A mean with its standard error, as text."""
    values = scale * np.asarray(values, dtype=float)
    if len(values) < 2:
        return f"{values.mean():.{digits}f}"
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1) / np.sqrt(len(values)):.{digits}f}"
