"""Values as readers see them, the same in every output."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# A page or a Markdown table shows this many variables; JSON holds all of them.
MAX_ROWS = 100
COLUMNS = ("Variable", "Inclusion", "Coefficient", "Gain")


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
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{k} {show(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(show(v) for v in value) or "none"
    return value


def fact_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the head of a report as label and text, leaving out what it does not say."""
    rows: list[tuple[str, str]] = []
    if "family" in report:
        rows.append(("Family", show(report["family"])))
    if "n_features" in report:
        rows.append(
            (
                "Selected",
                f"{show(len(report.get('variables', ())))} of {show(report['n_features'])} variables",
            )
        )
    if "n_rows" in report:
        read = report.get("n_rows_read", report["n_rows"])
        rows.append(("Rows read", f"{show(read)} of {show(report['n_rows'])}"))
    if "seconds" in report:
        rows.append(("Time", f"{float(report['seconds']):.2f} s"))
    if "stop_reason" in report:
        rows.append(("Stopped", show(report["stop_reason"])))
    rows += [(str(label), show(value)) for label, value in report.get("facts", {}).items()]
    return rows


def _share(value: Any) -> str:
    """Write a probability with as many digits in every row, so that a column can be read down."""
    value = plain(value)
    return show(None) if value is None else f"{value:.3f}"


def variable_rows(report: Mapping[str, Any]) -> tuple[list[list[str]], int]:
    """Return the cells of the first variables, and how many are left out."""
    variables = report.get("variables", ())
    rows = [
        [str(v["name"]), _share(v.get("inclusion")), show(v.get("coef")), show(v.get("gain"))]
        for v in variables[:MAX_ROWS]
    ]
    return rows, max(0, len(variables) - MAX_ROWS)
