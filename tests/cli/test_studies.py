"""Selectors side by side, simulated tables with their truth, and tables of the papers."""

import json

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv, feather, parquet

from rlselect import simulate
from rlselect.cli import _papers, main
from rlselect.cli._designs import DESIGNS, make_design
from rlselect.data import read_file


def invoke(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def refused(result, *words):
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_is_written_with_its_truth(name, tmp_path):
    out = tmp_path / "made.csv"
    size = ["--rows", 40] if DESIGNS[name].columns == 0 else ["--rows", 40, "--columns", 60]
    result = invoke("simulate", name, *size, "--seed", 3, "--out", out)
    assert result.exit_code == 0, result.output
    truth = json.loads((tmp_path / "made.truth.json").read_text())
    table = read_file(out)
    assert (truth["design"], truth["seed"]) == (name, 3)
    assert (truth["rows"], truth["columns"]) == table.shape
    command = result.stdout.splitlines()[0]
    assert command.startswith("rlselect ")
    assert str(out) in command
    if "matters" in truth:
        assert set(truth["matters"]) <= set(table.column_names)
        assert truth["matters"] or name == "adherence-visits"


def test_the_table_is_that_of_the_generator(tmp_path):
    made = simulate.make_revs(50, 30, structure="banded", family="binomial", n_nonzero=15, random_state=7)
    result = invoke(
        *("simulate", "revs-banded", "--rows", 50, "--columns", 30),
        *("--family", "binomial", "--seed", 7, "--out", tmp_path / "m.parquet"),
    )
    assert result.exit_code == 0, result.output
    table = parquet.read_table(tmp_path / "m.parquet")
    np.testing.assert_array_equal(np.column_stack(table.columns), np.column_stack([made.X, made.y]))
    truth = json.loads((tmp_path / "m.truth.json").read_text())
    assert truth["matters"] == [f"x{j + 1}" for j in np.flatnonzero(made.support)]
    assert list(truth["coefficients"].values()) == made.coef[made.support].tolist()


def test_all_formats_hold_the_same_table(tmp_path):
    read = {
        ".csv": csv.read_csv,
        ".parquet": parquet.read_table,
        ".feather": feather.read_table,
        ".jsonl": read_file,
    }
    found = []
    for end, reader in read.items():
        assert invoke("simulate", "regime-1", "--rows", 20, "--out", tmp_path / f"t{end}").exit_code == 0
        found.append(reader(tmp_path / f"t{end}"))
    for other in found[1:]:
        assert other.cast(found[0].schema).equals(found[0])
    # covariates of setting I are measured once
    assert found[0].filter(pa.compute.equal(found[0]["stage"], 2))["X1"].null_count == 20


def test_the_same_seed_gives_the_same_file(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        invoke("simulate", "acp-logistic", "--seed", seed, "--out", tmp_path / f"{name}.csv")
    a, b, c = ((tmp_path / f"{name}.csv").read_bytes() for name in "abc")
    assert a == b != c


def test_a_simulated_trial_goes_through_its_command(tmp_path):
    out = tmp_path / "trial.csv"
    made = invoke("simulate", "regime-1", "--rows", 150, "--columns", 5, "--out", out)
    command = made.stdout.split()[1:]
    result = invoke(*command, "--json", tmp_path / "o.json")
    assert result.exit_code == 0, result.output
    truth = json.loads((tmp_path / "trial.truth.json").read_text())
    assert truth["decides by stage"] == [["X3_1"], ["reward_1", "X1_1", "X2_1"]]
    # the best second decision goes by the sign of 2 X1 + 1.5 X2 + R1, so its names are found
    for name in truth["decides by stage"][1]:
        assert name in (tmp_path / "o.json").read_text()


def test_designs_are_listed():
    result = invoke("simulate")
    assert result.exit_code == 0
    assert all(name in result.output for name in DESIGNS)
    assert "For a decision" in result.output


def test_bad_designs_are_refused(tmp_path):
    out = tmp_path / "o.csv"
    refused(invoke("simulate", "no\x1b[2Jthing", "--out", out), "no\\x1b[2Jthing", "rlselect simulate lists")
    refused(invoke("simulate", "revs-block"), "--out is missing")
    refused(invoke("simulate", "revs-block", "--out", tmp_path / "o.xlsx"), "must end in .csv, .parquet")
    refused(invoke("simulate", "revs-block", "--rows", 0, "--out", out), "--rows 0", "at least 1")
    refused(invoke("simulate", "revs-block", "--columns", 3, "--out", out), "p=3", "at least 45")
    refused(invoke("simulate", "acp-linear", "--family", "poisson", "--out", out), "leave out --family")
    refused(invoke("simulate", "revs-block", "--family", "cox", "--out", out), "gaussian, binomial, poisson")
    refused(invoke("simulate", "adherence-daily", "--columns", 3, "--out", out), "leave out --columns")
    refused(invoke("simulate", "annulus", "--out", tmp_path / "no" / "o.csv"), "does not exist")
    assert not out.exists()


def made_file(tmp_path, name="acp-linear", **options):
    size = {"rows": 80, "columns": 10, "seed": 0, "family": None, **options}
    made = make_design(name, **size)
    csv.write_csv(made.table, tmp_path / "made.csv")
    (tmp_path / "made.truth.json").write_text(json.dumps(made.truth))
    return tmp_path / "made.csv"


def test_selectors_are_compared(tmp_path):
    path = made_file(tmp_path)
    page, values = tmp_path / "c.html", tmp_path / "c.json"
    truth = ("--truth", tmp_path / "made.truth.json")
    methods = ("--method", "cfs", "--method", "fstd", "--method", "cfs", "--folds", 2)
    result = invoke("compare", path, "--target", "y", *methods, *truth, "--html", page, "--json", values)
    assert result.exit_code == 0, result.output
    report = json.loads(values.read_text())
    assert [row["selector"] for row in report["comparison"]] == ["cfs", "fstd"]
    assert report["facts"] == {"Rows": 80, "Variables": 10, "Folds": 2}
    assert all(0 < row["f1"] <= 1 for row in report["comparison"])
    best = max(row["f1"] for row in report["comparison"])
    assert f"Best by F1 against the truth, {best:.2f}: " in " ".join(result.stdout.split())
    assert "<svg" in page.read_text()


def test_classes_gaps_and_text_are_compared_too(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=90)
    kinds = np.array(["a", "b", "c"])[np.digitize(x + 0.1 * rng.normal(size=90), [-0.5, 0.5])]
    table = pa.table(
        {
            "x": pa.array(np.where(np.arange(90) % 9 == 0, np.nan, x), from_pandas=True),
            "noise": rng.normal(size=90),
            "city": np.where(rng.random(90) < 0.5, "Oslo", "Rome"),
            "kind": kinds,
        }
    )
    path = tmp_path / "c.parquet"
    parquet.write_table(table, path)
    arguments = ("compare", path, "--target", "kind", "--method", "revs", "--method", "cfs", "--folds", 2)
    refused(invoke(*arguments), "'x'", "--missing indicator, or --missing drop")
    result = invoke(*arguments, "--missing", "drop", "--json", tmp_path / "o.json")
    assert result.exit_code == 0, result.output
    rows = json.loads((tmp_path / "o.json").read_text())["comparison"]
    assert [row["failures"] for row in rows] == [0, 0]
    assert all(row["score"] > 0.7 for row in rows)


def test_bad_comparisons_are_refused(tmp_path):
    path = made_file(tmp_path)
    refused(invoke("compare", path, "--target", "why"), "--target 'why' is not a column", "Did you mean 'y'")
    refused(invoke("compare", path, "--target", "y", "--method", "magic"), "--method 'magic'", "use one of")
    refused(invoke("compare", path, "--target", "y", "--folds", 1), "--folds 1", "from 2 to the 80 rows")
    refused(invoke("compare", path, "--target", "y", "--truth", tmp_path / "no.json"), "There is no file")
    bad = tmp_path / "bad.json"
    for text in ("[]", "{", '{"matters": [1]}'):
        bad.write_text(text)
        refused(invoke("compare", path, "--target", "y", "--truth", bad), "is not understood")
    bad.write_text('{"matters": ["zzz"]}')
    refused(
        invoke("compare", path, "--target", "y", "--method", "cfs", "--truth", bad), "--truth zzz", "names"
    )
    refused(invoke("compare", path, "--target", "y", "--truth", bad, "--json", bad), "file of the data")


def test_tables_of_the_papers_are_listed():
    result = invoke("reproduce")
    assert result.exit_code == 0
    assert all(name in result.output for name in _papers.TABLES)


def test_scripts_that_are_named_exist():
    from pathlib import Path

    folder = Path(__file__).parents[2] / "experiments"
    assert all((folder / table.script).is_file() for table in _papers.TABLES.values())


def test_a_table_is_run_beside_its_print(tmp_path):
    out = tmp_path / "t.json"
    result = invoke("reproduce", "dissertation-table-3.1", "--seed", 5, "--time-budget", 1e-9, "--json", out)
    assert result.exit_code == 0, result.output
    report = json.loads(out.read_text())
    first, second = report["sections"][:2]
    # the first fit always begins, and no other does
    assert first["rows"][0][:1] == ['RiskRFE.paper(loss="hinge")']
    assert first["rows"][0][2] == 1
    assert first["rows"][1:] == [["printed", 0.97, ""]]
    assert second["rows"] == [["printed", 0.62, ""]]
    assert "time budget is spent" in report["notes"][-1]
    X, y, informative = simulate.make_sparse_linear(100, 15, 4, random_state=5)
    ranking = _papers.RiskRFE.paper(loss="hinge", kernel="rbf").fit(X, y).ranking_
    assert first["rows"][0][1] == float(max(ranking[informative]) == 4)


def test_replicates_take_the_seeds_that_follow(monkeypatch):
    seen = []

    def fit(seed):
        seen.append(seed)
        return {"F1": float(seed)}

    cells = [_papers.Cell("one", {"a": fit}, {"F1": 0.5}), _papers.Cell("two", {"b": fit}, {"F1": 0.6})]
    table = _papers.PaperTable("about", "paper", "table_3_1.py", lambda: cells, "a note")
    monkeypatch.setattr(_papers, "TABLES", {"t": table})
    report = _papers.run_table("t", replicates=3, seed=10, time_budget=None)
    assert seen == [10, 10, 11, 11, 12, 12]
    assert [section["rows"] for section in report["sections"]] == [
        [["a", 11.0, 3], ["printed", 0.5, ""]],
        [["b", 11.0, 3], ["printed", 0.6, ""]],
    ]
    assert report["notes"] == ["a note"]


@pytest.mark.slow
@pytest.mark.parametrize("name", _papers.TABLES)
def test_every_table_of_the_papers_runs(name):
    report = _papers.run_table(name, replicates=1, seed=1000, time_budget=None)
    for section in report["sections"]:
        assert [row[-1] for row in section["rows"][:-1]] == [1] * (len(section["rows"]) - 1)
        assert all(np.isfinite(value) for row in section["rows"] for value in row[1:-1])


def test_unknown_tables_are_refused():
    refused(invoke("reproduce", "table\x1b[2J"), "table\\x1b[2J", "rlselect reproduce lists them")
    refused(invoke("reproduce", "acp-table-3", "--replicates", 0), "--replicates 0", "at least 1")
