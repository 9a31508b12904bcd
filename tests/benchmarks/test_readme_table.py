"""The comparison of README.md is what the committed results say."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import readme_table

    return readme_table


def test_readme_is_up_to_date(tables):
    text = (ROOT / "README.md").read_text()
    assert tables.written(text) == text, "run python benchmarks/readme_table.py"


def write(folder, name, rows):
    lines = ["cell,method,f1,exact,n_selected,cpu_seconds", *(",".join(map(str, row)) for row in rows)]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def test_means_worst_cells_and_misses_are_those_of_the_fits(tables, monkeypatch, tmp_path):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    rows = [
        ("a", "REVS", 1.0, 1, 5, 1.0),
        ("a", "REVS", 0.8, 0, 4, 3.0),
        ("b", "REVS", 0.5, 0, 3, 1.0),
        ("b", "REVS", 0.7, 0, 3, 1.0),
        ("a", "forward", 0.5, 0, 5, 0.1),
        ("b", "forward", 0.75, 0, 5, 0.1),
        ("c", "forward", 1.0, 1, 5, 0.1),
        ("a", "only here", 1.0, 1, 5, 0.1),
    ]
    write(tmp_path, "fits", rows)
    assert tables.selection("title", "fits") == (
        "| title, 2 cells: mean / worst F1 | .750 / .600 (2 seeds) | forward .625 / .500 | not run "
        "| b: forward .750 (.600) | `fits.csv` |"
    )
    assert tables.large("title", "fits", "a") == (
        "| title: exact sets, F1, CPU time | 1 of 2, F1 .900, 2.00 s | only here 1 of 1, F1 1.000, .10 s "
        "| not run | F1: only here 1.000 (.900) | `fits.csv` |"
    )
    write(tmp_path, "none", [("a", "REVS", "nan", 1, 0, 1.0), ("a", "REVS", "nan", 0, 2, 1.0)])
    assert "50 % (2 seeds)" in tables.nothing("title", "none")
