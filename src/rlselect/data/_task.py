"""What a target is: numbers to predict, or labels of classes."""

import warnings
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from rlselect._compat import user_level
from rlselect.data._read import as_numbers

TASKS = ("auto", "regression", "classification")
Task: TypeAlias = Literal["regression", "classification"]
# more classes than this, with fewer rows each than that, are doubted
_MANY_CLASSES, _FEW_ROWS = 20, 5
# so few whole numbers may be names of classes
_FEW_NUMBERS = 10
# a value that more rows share than these is none of many; what one of many rows has of all squares, neither
_MOST_ALIKE, _MOST_OF_ONE, _MANY_ROWS = 0.5, 0.5, 20


def find_task(y: NDArray, *, labels: Literal["two values", "whole numbers"]) -> Task:
    """Whether y holds numbers or class labels; the rule behind ``"auto"`` of every estimator.

    Text and truth values are always classes, and one single number is never one. Of other numbers, an
    estimator that knows two classes only takes exactly two distinct values as classes ("two values"); one
    that knows many classes takes whole numbers as such, however they are stored ("whole numbers", which is
    scikit-learn's `type_of_target`).

    Parameters
    ----------
    y : array of shape (n,)
        Made by `read_vector`, without gaps.
    labels : {"two values", "whole numbers"}
        Which numbers are labels.

    Examples
    --------
    >>> y = np.array([1, 2, 3])
    >>> find_task(y, labels="two values"), find_task(y, labels="whole numbers")
    ('regression', 'classification')
    """
    if y.dtype.kind in "OUSb":
        return "classification"
    if labels == "two values":
        return "classification" if _count_is(y, 2) else "regression"
    with warnings.catch_warnings():
        # of many distinct whole numbers, see `doubtful_classes`; and of numbers beyond any integer
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        kind = type_of_target(y)
    return "regression" if kind == "continuous" or _count_is(y, 1) else "classification"


def _count_is(y: NDArray, count: int) -> bool:
    # a look at the first rows settles it nearly always, without sorting millions of values
    return len(np.unique(y[:1000])) <= count and len(np.unique(y)) == count


def class_like(n_distinct: int, whole: bool) -> bool:
    """Whether numbers of a target may be names of classes: three or more whole ones, and few.

    Parameters
    ----------
    n_distinct : int
        How many different numbers there are.
    whole : bool
        Whether all of them are whole.
    """
    return whole and 3 <= n_distinct <= _FEW_NUMBERS


def common_value(y: NDArray, weight: NDArray | None = None) -> tuple[float, float] | None:
    """The number that more than half of the rows share, and their share; None where there is none.

    Parameters
    ----------
    y : array of shape (n,)
        Numbers.
    weight : array of shape (n,), optional
        How often each row counts.

    Examples
    --------
    >>> common_value(np.array([0.0, 3.5, 0.0, 0.0])), common_value(np.array([1.0, 2.0]))
    ((0.0, 0.75), None)
    """
    values, place = np.unique(y, return_inverse=True)
    counts = np.bincount(place, weight)
    best = int(np.argmax(counts))
    share = float(counts[best] / counts.sum())
    return (float(values[best]), share) if share > _MOST_ALIKE else None


def lone_number(y: NDArray) -> tuple[float, float] | None:
    """The number of one row that has more than half of all squared deviations from the mean, and its share.

    Parameters
    ----------
    y : array of shape (n,)
        Finite numbers.

    Returns
    -------
    tuple of float, or None
        None where there is no such row, or rows are few.

    Examples
    --------
    >>> lone_number(np.append(np.arange(30.0), 1e4)), lone_number(np.arange(30.0))
    ((10000.0, 0.967...), None)
    """
    if len(y) < _MANY_ROWS:
        return None
    away = np.square(y - np.mean(y))
    row, total = int(np.argmax(away)), float(away.sum())
    # the mean moves towards a row that is far out, and all others seem to be away from it
    return (float(y[row]), float(away[row] / total)) if away[row] > _MOST_OF_ONE * total else None


def doubtful_classes(y: NDArray) -> str | None:
    """Start of a sentence, when whole numbers that were taken as classes are hardly meant to be.

    Prices in whole units look like labels; too many for their rows are doubted.
    """
    count = len(np.unique(y)) if y.dtype.kind in "iuf" else 0
    if count > _MANY_CLASSES and count * _FEW_ROWS > len(y):
        return f"y holds {count} different whole numbers in {len(y)} rows"
    return None


def read_classes(y: NDArray, *, given: str, instead: str) -> tuple[NDArray, NDArray[np.intp]]:
    """Class labels, sorted, and the number of each row's one.

    Parameters
    ----------
    y : array of shape (n,)
        Labels.
    given, instead : str
        What asked for classes, and what to give for numbers, such as "task='regression'".
    """
    if y.dtype.kind == "f" and np.any(y != np.round(y)):
        raise ValueError(
            f"{given} was given, but y holds continuous values (Unknown label type: continuous); use "
            f"{instead} or class labels."
        )
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class ({classes.tolist()[0]!r}); at least two classes are needed to tell apart."
        )
    if len(classes) == len(y) > _MANY_CLASSES:
        raise ValueError(
            f"y has a class of its own in each of its {len(y)} rows (such as {classes.tolist()[0]!r}): there "
            "is nothing to learn from one row. Is it an identifier?"
        )
    return classes, codes.ravel()


def read_task(y: NDArray, task: str) -> str:
    """The task that was asked for, or the one that y looks like; classes that may be quantities warn."""
    if task != "auto":
        return task
    found = find_task(y, labels="whole numbers")
    doubt = doubtful_classes(y) if found == "classification" else None
    if doubt is not None:
        warnings.warn(
            f"{doubt}, which are taken as classes; set task='regression' if they are quantities, or "
            "task='classification' if they are labels.",
            UserWarning,
            stacklevel=user_level(),
        )
    return found


def read_numbers_or_classes(y: NDArray, task: str) -> tuple[NDArray, NDArray | None]:
    """Numbers and None for a regression; else the numbers of the classes, and their labels."""
    if task == "regression":
        return as_numbers(y, "y"), None
    classes, codes = read_classes(y, given="task='classification'", instead="task='regression'")
    return codes, classes


def spread_rows(y: NDArray, count: int, classes: bool) -> NDArray[np.intp]:
    """About so many rows, spread evenly over the values of y; two of every class at least.

    Examples
    --------
    >>> spread_rows(np.array([0, 0, 0, 0, 1, 0]), 2, classes=True).tolist()
    [0, 1, 4]
    """
    order = np.argsort(y, kind="stable")
    kept = order[np.linspace(0, len(order) - 1, count).round().astype(np.intp)]
    if classes:
        _, codes, sizes = np.unique(y[order], return_inverse=True, return_counts=True)
        place = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[codes]
        kept = np.concatenate([kept, order[place < 2]])
    return np.unique(kept)
