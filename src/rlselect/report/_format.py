"""Values as readers see them, the same in every output."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# rows that a text shows, and a page, which folds what is long; JSON holds all of them
MAX_ROWS, MAX_PAGE_ROWS = 100, 1000
# levels of one variable that a text shows
_MAX_LEVELS = 25
COLUMNS = ("Variable", "Inclusion", "Coefficient", "Std. error", "Gain")
LEGENDS = {
    "Inclusion": "Inclusion: how sure the selection is of a variable, from 0 to 1.",
    "Coefficient": "Coefficient: of a refit on the selected variables.",
    "Gain": "Gain: how much the error on left-out rows grows without the variable.",
}

# what a family is for
_FAMILIES = {
    "gaussian": "numbers",
    "binomial": "two classes",
    "poisson": "counts",
    "negative_binomial": "counts that vary more",
    "multinomial": "several classes",
    "ordinal": "ordered classes",
    "cox": "times of events",
    "mixed": "responses of several kinds",
}

# and what a task is
_TASKS = {"regression": "numbers", "classification": "classes"}

# what a search says in a word, for readers who have not read about it; other reasons are shown as they are
_REASONS = {
    "converged": "the search has converged",
    "decided": "every variable is decided, and a look at all rows shows nothing beside them",
    "decided on a sample": "every variable is decided, and a look at some other rows shows nothing more",
    "all rows": "all rows are used",
    "memory": "as many rows are used as may be held in memory; further ones might show more",
    "time budget": "the time budget is spent; this is what was found so far",
    "interrupted": "interrupted; this is what was found so far",
    "callback": "a callback asked to stop; this is what was found so far",
    "max stages": "the largest number of stages is reached",
    "all games": "all games are played",
    "all rounds": "all rounds are played",
    "all folds": "all parts of the rows have voted",
    "no better subset": "no subset is better",
    "nothing to choose from": "no variable varies, or the target does not: there is nothing to choose from",
}


def plain(value: Any) -> Any:
    """Return a value made of plain Python types only; NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Sequence | set | frozenset):
        return [plain(v) for v in value]
    return str(value)


def show(value: Any) -> str:
    """Write a value for a table: counts with separators, numbers to four digits, nothing as a dash."""
    value = plain(value)
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return short(value, 4)
    if isinstance(value, dict):
        return ", ".join(f"{k} {show(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(show(v) for v in value) or "none"
    return value


def short(value: float, digits: int = 3) -> str:
    """Write a number to so many digits; large ones have separators, and an exponent where they are huge.

    Examples
    --------
    >>> short(0.12345), short(69481.7), short(1e15)
    ('0.123', '69,482', '1e+15')
    """
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e12 else f"{value:.{digits}g}"


def show_column(values: Sequence[Any]) -> list[str]:
    """Write the cells of a column: numbers with as many decimals in each, so that it can be read down."""
    values = [plain(value) for value in values]
    numbers = [v for v in values if isinstance(v, float)]
    if not numbers or any(v is not None and not isinstance(v, float) for v in values):
        return [show(value) for value in values]
    sizes = [abs(v) for v in numbers if v]
    largest = max(sizes, default=0.0)
    decimals = 3 - math.floor(math.log10(largest)) if largest else 0
    # rows of different scales would lose their digits, or show too many
    if not 1e-4 <= largest < 1e3 or min(sizes) < 10.0 ** (1 - decimals):
        return [show(value) for value in values]
    while decimals and all(round(v, decimals - 1) == round(v, decimals) for v in numbers):
        decimals -= 1
    return [show(v) if v is None else f"{v:.{decimals}f}" for v in values]


def show_pvalues(values: Sequence[Any]) -> list[str]:
    """Write p-values: three decimals, and no more than that for the smallest."""
    known = [plain(value) for value in values]
    return [show(v) if not isinstance(v, float) else "<0.001" if v < 0.001 else f"{v:.3f}" for v in known]


def fact_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the head of a report as label and text, leaving out what it does not say."""
    rows: list[tuple[str, str]] = []
    method, family = (show(report[key]) if key in report else "" for key in ("method", "family"))
    if family:
        kind = f"{_FAMILIES[family]} (family {family})" if family in _FAMILIES else _TASKS.get(family, family)
        rows.append(("Method", f"{method}, for {kind}") if method else ("For", kind))
    elif method:
        rows.append(("Method", method))
    chosen, products = len(report.get("variables", ())), int(report.get("n_products", 0))
    if "n_features" in report:
        rows.append(
            (
                "Selected",
                f"{show(chosen - products)} of {show(report['n_features'])} variables"
                + (f", and {products} product{'s' * (products > 1)} of two" if products else ""),
            )
        )
    if "n_rows" in report:
        read = report.get("n_rows_read", report["n_rows"])
        rows.append(("Rows read", f"{show(read)} of {show(report['n_rows'])}"))
    if "seconds" in report:
        rows.append(("Time", f"{float(report['seconds']):.2f} s"))
    if "stop_reason" in report:
        reason = show(report["stop_reason"])
        rows.append(("Stopped", _REASONS.get(reason, reason)))
    for label, value in report.get("facts", {}).items():
        # beside a label, three digits say as much as four
        rows.append((str(label), short(value) if isinstance(value, float) else show(value)))
    return rows


def _share(value: Any) -> str:
    """Write a probability with as many digits in every row, so that a column can be read down."""
    value = plain(value)
    return show(None) if value is None else f"{value:.3f}"


def _estimate(value: Any, error: Any) -> tuple[str, str]:
    """Write a number and its standard error: two digits of the error, and as many decimals of the number."""
    value, error = plain(value), plain(error)
    if value is None:
        return show(None), show(None)
    if not error or not 1e-9 < error < 1e12:
        whole = 1e3 <= abs(value) < 1e12
        text = f"{value:,.0f}" if whole else f"{value:#.4g}".removesuffix(".")
        return text, show(error)
    decimals = 1 - math.floor(math.log10(error))
    if decimals > 6:
        return f"{value:.3g}", f"{error:.2g}"
    decimals = max(decimals, 0)
    return f"{value:,.{decimals}f}", f"{error:,.{decimals}f}"


def _decimals(values: Sequence[Any]) -> int | None:
    """Decimals that give the largest of the values three digits; None where an exponent is shorter."""
    finite = [abs(v) for v in map(plain, values) if v is not None]
    largest = max(finite, default=0.0)
    if not 1e-5 <= largest < 1e9:
        return None
    return max(0, 2 - math.floor(math.log10(largest)))


def _gain(value: Any, decimals: int | None) -> str:
    value = plain(value)
    if value is None:
        return show(None)
    return f"{value:.3g}" if decimals is None else f"{value:,.{decimals}f}"


def variable_rows(report: Mapping[str, Any], most: int = MAX_ROWS) -> tuple[list[list[str]], int]:
    """Return the cells of the first variables under `COLUMNS`, and how many variables are left out.

    A variable with several coefficients takes a row of its own and one more, indented, for each of them.
    """
    variables = report.get("variables", ())
    shown = variables[:most]
    decimals = _decimals([v.get("gain") for v in shown])
    rows = []
    for variable in shown:
        name, inclusion = str(variable["name"]) or "''", _share(variable.get("inclusion"))
        coef, error = variable.get("coef"), variable.get("error")
        gain = _gain(variable.get("gain"), decimals)
        if not isinstance(coef, Mapping):
            rows.append([name, inclusion, *_estimate(coef, error), gain])
            continue
        rows.append([name, inclusion, "", "", gain])
        errors = error if isinstance(error, Mapping) else {}
        levels = list(coef) if most > MAX_ROWS else _largest(coef)
        rows += [
            [f"  {_below(name, level)}", "", *_estimate(coef[level], errors.get(level)), ""]
            for level in levels
        ]
        if len(levels) < len(coef):
            rows.append([f"  {len(coef) - len(levels):,} more, nearer to 0", "", "", "", ""])
    return rows, len(variables) - len(shown)


def _largest(coef: Mapping[str, Any]) -> list[str]:
    """Levels of a variable with the largest coefficients, in the order in which they were given."""
    if len(coef) <= _MAX_LEVELS:
        return list(coef)
    size = {level: abs(plain(c) or 0.0) for level, c in coef.items()}
    kept = set(sorted(size, key=size.__getitem__, reverse=True)[:_MAX_LEVELS])
    return [level for level in coef if level in kept]


def _below(name: str, column: str) -> str:
    """What a row below that of a variable is about, without the name that stands there already.

    Examples
    --------
    >>> _below("city", "city=Paris"), _below("age", "age (ill)"), _below("age", "age"), _below("a", "b")
    ('Paris', 'ill', 'per unit', 'b')
    """
    if column == name:
        return "per unit"
    if column.startswith(f"{name}="):
        return column.removeprefix(f"{name}=")
    return column[len(name) + 2 : -1] if column.startswith(f"{name} (") else column


def selection_table(
    report: Mapping[str, Any], most: int = MAX_ROWS
) -> tuple[list[str], list[list[str]], str, int]:
    """Columns that say something of the first variables, their cells, what they mean, and how many are left.

    A selector that gives no coefficients has no column of them.

    Parameters
    ----------
    report : mapping
        As for `to_html`.
    most : int
        Variables that are shown.

    Returns
    -------
    columns : list of str
    rows : list of lists of str
    legend : str
    more : int
        Variables that are not shown.
    """
    rows, more = variable_rows(report, most)
    filled = [k for k in range(len(COLUMNS)) if any(row[k] not in ("", "-") for row in rows)]
    columns = [COLUMNS[k] for k in filled]
    legends = LEGENDS | ({"Coefficient": report["coefficient"]} if "coefficient" in report else {})
    legend = " ".join(text for name, text in legends.items() if name in columns)
    return columns, [[row[k] for k in filled] for row in rows], legend, more
