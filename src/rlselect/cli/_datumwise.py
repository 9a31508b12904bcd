"""DatumwiseClassifier and DatumwiseRegressor by the words of the command line."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from rlselect.data import find_task, read_vectors
from rlselect.datumwise import DatumwiseClassifier, DatumwiseRegressor

__all__ = ["parse_costs", "run_command"]


def parse_costs(given: Sequence[str]) -> dict[str, float] | None:
    """Costs from words such as ``glucose=17.6``.

    Parameters
    ----------
    given : sequence of str
        Name, equals sign, number.

    Returns
    -------
    dict or None
        None when nothing was given.

    Examples
    --------
    >>> parse_costs(["glucose=17.6", "a=b=2"])
    {'glucose': 17.6, 'a=b': 2.0}
    """
    costs = {}
    for word in given:
        name, mark, number = word.rpartition("=")
        try:
            costs[name] = float(number)
        except ValueError:
            mark = ""
        if not mark:
            raise ValueError(f"--cost {word!r} is not understood; write it as NAME=NUMBER, such as age=0.5.")
    return costs or None


def run_command(
    frame: Any,
    target: str,
    weight: str | None,
    *,
    test_share: float,
    random_state: int,
    task: str = "auto",
    **params: Any,
) -> tuple[Any, dict[str, Any]]:
    """Fit on a part of a table's rows and report on the others.

    Parameters
    ----------
    frame : pyarrow table
        The data.
    target, weight : str, str or None
        Columns of the classes and of weights.
    test_share : float in [0, 1)
        Share of the rows that are held out; 0 learns from all and reports on them.
    random_state : int
        Seed of the split and of learning.
    task : {"auto", "classification", "regression"}
        Whether the target holds classes or numbers; "auto" takes text, truth values and whole numbers as
        classes.
    **params : object
        Parameters of the estimator.

    Returns
    -------
    model : estimator
        Fitted.
    report : dict
        With the name of the estimator as ``method``.
    """
    if not 0 <= test_share < 1:
        raise ValueError(f"--test-share {test_share:g} must be from 0 to below 1.")
    y = read_vectors(frame, {"y": target, "sample_weight": weight})["y"]
    assert y is not None
    numbers = (find_task(y, labels="whole numbers") if task == "auto" else task) == "regression"
    kind = DatumwiseRegressor if numbers else DatumwiseClassifier
    model = kind(random_state=random_state, **params)
    train = test = frame
    note = "Judged on the rows it has learned from, which flatters it."
    if test_share > 0:
        rows, held_out = _split(np.asarray(y), test_share, random_state, stratify=not numbers)
        train, test = frame.take(rows), frame.take(held_out)
        note = f"Judged on {len(held_out)} rows that took no part in learning."
    model.fit(train, target, sample_weight=weight)
    report = model.report(X=test, y=target, sample_weight=weight).dict
    return model, {**report, "notes": [note], "method": kind.__name__}


def _split(y: np.ndarray, share: float, seed: int, *, stratify: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from and to judge by, with each class in both where it has rows enough."""
    rows = np.arange(len(y))
    try:
        parts = train_test_split(rows, test_size=share, random_state=seed, stratify=y if stratify else None)
    except ValueError:  # a class of one row, or fewer rows than classes
        parts = train_test_split(rows, test_size=share, random_state=seed)
    learnt, judged = parts
    # a class that was not learnt cannot be judged
    known = np.isin(y[judged], y[learnt]) if stratify else np.ones(len(judged), dtype=bool)
    learnt, judged = np.append(learnt, judged[~known]), judged[known]
    return np.sort(learnt), np.sort(judged)
