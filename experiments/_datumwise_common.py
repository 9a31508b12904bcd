"""What the datum-wise experiments share: data, splits, choice of the price on validation rows, saved records.

A method is a set of settings (a price, a pruning level, a penalty) and a function that fits one of them.
Every method is treated alike: each setting is fitted on the folds of the training rows and judged on the rows
left out, then fitted on all training rows and judged on the test rows. The choice is made with the left-out
training rows alone.
"""

import argparse
import json
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
    """Training and test rows, columns scaled by the mean and the deviation of the training rows."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def make_split(problem, fraction, seed):
    """A random split with every class in both parts in proportion."""
    shuffle = StratifiedShuffleSplit(1, train_size=fraction, random_state=seed)
    train, test = next(shuffle.split(problem.X, problem.y))
    return scaled_split(problem.X[train], problem.y[train], problem.X[test], problem.y[test])


def scaled_split(X_train, y_train, X_test, y_test):
    mean, deviation = X_train.mean(axis=0), X_train.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    return Split((X_train - mean) / deviation, y_train, (X_test - mean) / deviation, y_test)


def sparsity(used):
    """Mean share of the features that a case did not need."""
    return 1.0 - float(np.mean(used))


def judge(decide, X, y):
    labels, used = decide(X)
    return float(np.mean(labels == y)), sparsity(used)


def run_method(method, split, seed, n_folds=3):
    """Judge every setting of a method out of fold and on the test rows.

    Returns
    -------
    dict
        Lists, one entry a setting: ``setting``, ``val_accuracy``, ``val_sparsity``, ``test_accuracy``,
        ``test_sparsity``, ``seconds`` (CPU time of the fit on all training rows).
    """
    X, y = split.X_train, split.y_train
    settings = method.settings(X, y)
    record = {"setting": settings}
    record |= {
        key: [] for key in ("val_accuracy", "val_sparsity", "test_accuracy", "test_sparsity", "seconds")
    }
    folds = make_folds(X, y, n_folds, seed)
    for setting in settings:
        left_out = [judge_fold(method, X, y, fold, setting, seed) for fold in folds]
        weights = [len(held) for _, held in folds]
        accuracy, unused = np.average(left_out, axis=0, weights=weights)
        start = time.process_time()
        decide = method.fit(X, y, setting, seed)
        seconds = time.process_time() - start
        test = judge(decide, split.X_test, split.y_test)
        for key, value in zip(list(record)[1:], (accuracy, unused, *test, seconds), strict=True):
            record[key].append(round(float(value), 5))
    return record


def make_folds(X, y, n_folds, seed):
    """Pairs of (rows to learn from, rows left out); one fold is a plain holdout of 30 %."""
    if n_folds == 1:
        return list(StratifiedShuffleSplit(1, test_size=0.3, random_state=seed).split(X, y))
    # a class with fewer rows than folds cannot be in all of them
    n_folds = max(2, min(n_folds, int(np.bincount(y).min())))
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, y))


def judge_fold(method, X, y, fold, setting, seed):
    rest, held = fold
    return judge(method.fit(X[rest], y[rest], setting, seed), X[held], y[held])


def choose(record, target):
    """Position of the setting with the best left-out accuracy among those at least as sparse as the target.

    Of equals the least sparse; the sparsest of all when none reaches the target.
    """
    accuracy, unused = np.array(record["val_accuracy"]), np.array(record["val_sparsity"])
    enough = np.flatnonzero(unused >= target - 1e-9)
    if not len(enough):
        return int(np.argmax(unused))
    return int(enough[np.lexsort((unused[enough], -accuracy[enough]))[0]])


def at_sparsity(record, target):
    """Test accuracy and test sparsity of the chosen setting."""
    place = choose(record, target)
    return record["test_accuracy"][place], record["test_sparsity"][place]


def mixed_at_sparsity(record, target):
    """Test accuracy and sparsity of a coin flip between two settings, at the target on the left-out rows.

    Each case is given to one of the two by a coin, so the mean sparsity can be met between two settings. The
    two are neighbours on the upper hull of the left-out points.
    """
    points = np.column_stack([record["val_sparsity"], record["val_accuracy"]])
    hull = upper_hull(points)
    unused = points[hull, 0]
    if target <= unused[0] or target >= unused[-1]:
        place = hull[0] if target <= unused[0] else hull[-1]
        return record["test_accuracy"][place], record["test_sparsity"][place]
    right = int(np.searchsorted(unused, target))
    share = (target - unused[right - 1]) / (unused[right] - unused[right - 1])
    test = np.column_stack([record["test_accuracy"], record["test_sparsity"]])
    return tuple((1 - share) * test[hull[right - 1]] + share * test[hull[right]])


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
