"""Selectors side by side by the words of the command line."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from rlselect.cli._selectors import SELECTORS, make_selector
from rlselect.data import load_source, read_numbers_or_classes, read_task, read_vectors
from rlselect.report import how_made, name_some
from rlselect.subset import Comparison, compare

__all__ = ["read_truth", "run_comparison"]

_HEADS = {"selected": "Variables", "f1": "F1", "seconds": "Time"}


def read_truth(path: Path | None) -> list[str] | None:
    """Names of the columns that matter, from a file that `rlselect simulate` has written."""
    if path is None:
        return None
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}; rlselect simulate writes one.")
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        matters = known["matters"]
        if not all(isinstance(name, str) for name in matters):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise ValueError(
            f'--truth {str(path)!r} is not understood; it must be JSON such as {{"matters": ["x1", "x2"]}}, '
            "as rlselect simulate writes it."
        ) from None
    return list(matters)


def run_comparison(
    data: Any,
    target: str,
    methods: Sequence[str],
    *,
    truth: Sequence[str] | None,
    folds: int,
    task: Literal["auto", "regression", "classification"],
    missing: Literal["error", "drop", "indicator"],
    time_budget: float | None,
    random_state: int,
) -> dict[str, Any]:
    """Fit selectors on the same folds and report how they do on the rows left out.

    Parameters
    ----------
    data : table or source
        Of which all rows are loaded.
    target : str
        Column to explain.
    methods : sequence of str
        Words of `SELECTORS`.
    truth : sequence of str, optional
        Columns that matter.
    folds : int
        At least two.
    task, missing
        As for `rlselect.compare`.
    time_budget : float, optional
        Seconds of one fit.
    random_state : int
        Seed of the selectors.

    Returns
    -------
    dict
        The report.
    """
    frame = load_source(data, "rlselect compare")
    if folds < 2 or folds > len(frame):
        raise ValueError(f"--folds {folds} was given; it must be from 2 to the {len(frame)} rows.")
    family = _family(frame, target, task)
    known = dict.fromkeys(methods)  # named twice is meant once
    selectors = {
        method: make_selector(
            method,
            # to the others any number of classes is one family
            family="binomial" if family == "multinomial" and method != "revs" else family,
            missing="error",
            time_budget=time_budget,
            random_state=random_state,
        )
        for method in known
    }
    found = compare(selectors, frame, target, truth=truth, cv=folds, task=task, missing=missing)
    return _report(found, len(frame), frame.num_columns - 1, folds)


def _family(frame: Any, target: str, task: Literal["auto", "regression", "classification"]) -> str:
    """What REVS is told: it sees classes as numbers from zero on, which could be counts."""
    y = read_vectors(frame.filter(frame.column(target).is_valid()), {"y": target, "sample_weight": None})["y"]
    assert y is not None
    classes = read_numbers_or_classes(y, read_task(y, task))[1]
    return "gaussian" if classes is None else "binomial" if len(classes) <= 2 else "multinomial"


def _report(found: Comparison, n_rows: int, n_features: int, folds: int) -> dict[str, Any]:
    measure = "f1" if "f1" in found.rows[0] else "stability"
    at = [name for name in found.rows[0] if name.startswith("score at ")]
    bars = [(row["selector"], round(row[measure], 3)) for row in found.rows if row[measure] == row[measure]]
    beside = {
        "title": "Side by side",
        **_table(found, [name for name in found.rows[0] if name not in (*at, "failures")]),
        "note": f"Score: {found.metric} of a support vector machine on the selected variables, on rows left "
        "out. Stability: 1 when each fold selects the same, 0 for random choices.",
        "bars": bars,
    }
    by_size = {
        "title": "Score by the number of variables",
        **_table(found, ["selector", *at]),
        "note": "Of the same machine on the first variables of a selector's ranking.",
    }
    return {
        "command": "compare",
        "answer": _answer(found, measure),
        "facts": {"Rows": n_rows, "Variables": n_features, "Folds": folds},
        "sections": [beside, by_size],
        "comparison": found.rows,
        "made": how_made(_code([row["selector"] for row in found.rows], folds)),
    }


def _table(found: Comparison, names: Sequence[str]) -> dict[str, Any]:
    heads = [_HEADS.get(name, name.removeprefix("score ").capitalize()) for name in names]
    return {"columns": heads, "rows": [[_cell(name, row[name]) for name in names] for row in found.rows]}


def _cell(name: str, value: Any) -> Any:
    if name == "seconds":
        return f"{value:.2f} s"
    return round(value, 1 if name == "selected" else 3) if isinstance(value, float) else value


def _answer(found: Comparison, measure: str) -> str:
    """Who does best, by the truth where it is known, else on rows left out."""
    by = "f1" if measure == "f1" else "score"
    done = [row for row in found.rows if row[by] == row[by]]
    failed = [row["selector"] for row in found.rows if row["failures"]]
    text = "No selector could be judged."
    if done:
        best = max(row[by] for row in done)
        first = [row for row in done if row[by] > best - 0.005]
        sizes = name_some([f"{row['selector']} with {_variables(row['selected'])}" for row in first])
        words = "F1 against the truth" if by == "f1" else f"{found.metric} on rows left out"
        text = f"Best by {words}, {best:.2f}: {sizes}."
    return text + (f" {name_some(failed)} failed in some folds." if failed else "")


def _code(methods: Sequence[str], folds: int) -> str:
    kinds = [kind if isinstance(kind, str) else kind.__name__ for kind in (SELECTORS[m][0] for m in methods)]
    made = ", ".join(f"{kind}()" for kind in kinds)
    return f"from rlselect import {', '.join(kinds)}, compare\n\ncompare([{made}], X, y, cv={folds})"


def _variables(count: float) -> str:
    return "1 variable" if count == 1 else f"{count:.3g} variables"
