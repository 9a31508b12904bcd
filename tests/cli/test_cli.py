"""The command line: what it prints and writes, and how it refuses."""

import gzip
import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

import rlselect
from rlselect.cli import _main as cli
from rlselect.cli._selectors import SELECTORS
from rlselect.data import as_numbers, open_table
from rlselect.report import Summary


class Screen:
    """A tiny selector with the face of the real ones: columns that correlate with y by more than .5."""

    def __init__(self, *, family="auto", missing="error", time_budget=None, random_state=None):
        self.family, self.missing = family, missing
        self.time_budget, self.random_state = time_budget, random_state

    def fit(self, X, y, sample_weight=None):
        table = open_table(X, y, sample_weight=sample_weight, missing=self.missing, owner="Screen")
        batch = table.take()
        y = as_numbers(batch.y, "y")
        if self.family not in ("auto", "gaussian"):
            raise ValueError(f"family={self.family!r} is not known;\nuse 'auto' or 'gaussian'.")
        if self.time_budget is not None:
            warnings.warn("the budget\nran out", UserWarning, stacklevel=2)
        self.table_, self.weight_ = table, batch.sample_weight
        self.cor_ = np.nan_to_num([np.corrcoef(x, y)[0, 1] if x.std() else 0.0 for x in batch.X.T])
        return self

    def summary(self):
        return Summary(self._report())

    def _report(self):
        chosen = np.flatnonzero(abs(self.cor_) > 0.5)
        return {
            "title": "Screen",
            "family": "gaussian",
            "n_rows": self.table_.n_rows + self.table_.rows_dropped,
            "n_rows_read": self.table_.n_rows,
            "n_features": self.table_.encoder.n_features_in_,
            "stop_reason": f"seed {self.random_state}" + (", weighted" if self.weight_ is not None else ""),
            "seconds": 0.5,
            "variables": [
                {
                    "name": self.table_.columns[j],
                    "inclusion": 1.0,
                    "coef": self.cor_[j],
                    "error": 0.25,
                    "gain": 1.0,
                }
                for j in chosen
            ],
            "path": {"stage": [0, 1], "size": [0, len(chosen)], "score": [0.0, 1.0]},
            "notes": ["a note"],
        }


def runner():
    try:
        return CliRunner(mix_stderr=False)  # click before 8.2
    except TypeError:
        return CliRunner()


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setitem(SELECTORS, "screen", (Screen, "family", None))

    def run(*arguments, method="screen"):
        return runner().invoke(cli.main, ["select", *map(str, arguments), "--method", method])

    return run


@pytest.fixture
def houses():
    rng = np.random.default_rng(0)
    size, noise = rng.normal(size=60), rng.normal(size=60)
    price = 3 * size + 0.1 * rng.normal(size=60)
    city = np.where(np.arange(60) % 2, "Oslo", "Rome")
    return pa.table({"size": size, "noise": noise, "city": city, "weight": np.ones(60), "price": price})


def write(table, path):
    text = ",".join(table.column_names) + "\n"
    text += (
        "\n".join(",".join("" if v is None else str(v) for v in row.values()) for row in table.to_pylist())
        + "\n"
    )
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def refused(result, *words):
    """One sentence on stderr, nothing on stdout, no traceback, exit code 2."""
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


def test_version():
    result = runner().invoke(cli.main, ["--version"])
    assert result.exit_code == 0
    assert result.output.strip() == f"rlselect, version {rlselect.__version__}"


def test_the_package_itself_can_be_run():
    done = subprocess.run([sys.executable, "-m", "rlselect", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, f"rlselect, version {rlselect.__version__}")


def test_help_lists_every_option():
    result = runner().invoke(cli.main, ["select", "-h"])
    assert result.exit_code == 0
    options = "--target --method --family --weight --drop --missing --na --seed --time-budget --json --html"
    for option in options.split():
        assert option in result.output
    assert "  rlselect select houses.csv --target price\n" in result.output


@pytest.mark.parametrize("name", ["houses.csv", "houses.csv.gz", "houses.parquet"])
def test_select_prints_the_variables(run, houses, tmp_path, name):
    path = tmp_path / name
    if name.endswith("parquet"):
        parquet.write_table(houses, path)
    else:
        write(houses, path)
    result = run(path, "--target", "price", "--seed", 7)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"What matters for price, in {name}\nMethod: Screen, for numbers")
    assert "Selected: 1 of 4 variables" in result.stdout
    assert "Rows read: 60 of 60" in result.stdout
    assert "Stopped: seed 7\n" in result.stdout
    assert "Note: a note" in result.stdout
    row = next(line for line in result.stdout.splitlines() if "size" in line)
    # two digits of the error, and as many decimals of what it is the error of
    assert row.split() == ["size", "1.000", "1.00", "0.25", "1.00"]
    assert "Std. error" in result.stdout
    assert "noise" not in result.stdout
    assert result.stderr == ""


def test_json_and_html_are_written(run, houses, tmp_path):
    path = write(houses, tmp_path / "h.csv")
    result = run(path, "--target", "price", "--json", tmp_path / "o.json", "--html", tmp_path / "o.html")
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "o.json").read_text())
    assert report["title"] == "What matters for price, in h.csv"
    assert report["method"] == "Screen"
    assert [v["name"] for v in report["variables"]] == ["size"]
    page = (tmp_path / "o.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "<svg" in page
    # what was seen in the data, and is not in the way, is told on the page
    assert [one["weight"] for one in report["data"]["findings"]] == ["warning", "note"]
    assert "The data</h2>" in page


def test_columns_can_be_dropped_or_weigh(run, houses, tmp_path):
    path = write(houses, tmp_path / "h.csv")
    result = run(path, "--target", "price", "--drop", "size", "--drop", "city", "--weight", "weight")
    assert result.exit_code == 0, result.output
    assert "Selected: 0 of 1 variables" in result.stdout
    assert "No variable was selected." in result.stdout
    assert "Stopped: seed 0, weighted" in result.stdout


def test_missing_values_and_their_marks(run, houses, tmp_path):
    column = houses["noise"].to_pylist()
    column[3] = None
    path = write(houses.set_column(1, "noise", pa.array(column)), tmp_path / "gaps.csv")
    refused(run(path, "--target", "price"), "'noise'", "--missing indicator, or --missing drop")
    result = run(path, "--target", "price", "--missing", "drop")
    assert "Rows read: 59 of 60" in result.stdout
    assert run(path, "--target", "price", "--missing", "indicator").exit_code == 0
    marked = tmp_path / "marked.csv"
    marked.write_text(path.read_text().replace(",,", ",?,"))
    refused(run(marked, "--target", "price"), "'noise' holds numbers but for '?' in data row 4")
    assert run(marked, "--target", "price", "--na", "?", "--missing", "drop").exit_code == 0


def test_warnings_are_lines_on_stderr(run, houses, tmp_path):
    result = run(write(houses, tmp_path / "h.csv"), "--target", "price", "--time-budget", 3)
    assert result.exit_code == 0
    assert result.stderr == "Warning: the budget ran out\n"


def test_misspelt_columns_suggest_the_nearest(run, houses, tmp_path):
    path = write(houses, tmp_path / "h.csv")
    refused(run(path, "--target", "prise"), "--target 'prise' is not a column of h.csv. Did you mean 'price'")
    refused(run(path, "--target", "price", "--drop", "sise"), "--drop 'sise'", "Did you mean 'size'")
    refused(run(path, "--target", "price", "--weight", "wait"), "--weight 'wait'")
    refused(run(path, "--target", "zzzzzz"), "--target 'zzzzzz' is not a column of h.csv.\n")
    refused(run(path, "--target", "price", "--drop", "price"), "both --target and --drop")
    several = run(path, "--target", "price", "--drop", "size,noise")
    refused(several, "is not a column of h.csv. Of several say --drop size --drop noise.")


def test_bad_files_are_refused(run, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("a,b\n")
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (tmp_path / "half.parquet").write_bytes(b"PAR1 and then nothing")
    (tmp_path / "half.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 9999)[:40])
    (tmp_path / "notes.docx").write_text("hello")
    for name, word in (
        ("none.csv", "There is no file"),
        ("empty.csv", "is empty"),
        ("header.csv", "no rows"),
        ("ragged.csv", "cannot be read as a table"),
        ("half.parquet", "cannot be read as Parquet"),
        ("half.csv.gz", "cannot be read as a table"),
        ("notes.docx", "unknown kind"),
        ("", "cannot be read as Parquet"),
    ):
        refused(run(tmp_path / name, "--target", "a"), word)


def test_text_where_a_number_is_needed(run, houses, tmp_path):
    path = write(houses, tmp_path / "h.csv")
    refused(run(path, "--target", "city"), "The target holds text ('Rome'), but numbers are needed")
    refused(run(path, "--target", "price", "--weight", "city"), "--weight holds text")


def test_what_the_library_refuses_is_one_line(run, houses, tmp_path):
    path = write(houses, tmp_path / "h.csv")
    refused(run(path, "--target", "price", "--family", "gamma"), "is not known; use 'auto' or 'gaussian'.")
    refused(
        run(path, "--target", "price", method="magic"),
        "--method 'magic' is not known; use one of revs, acp, risk-rfe, thompson, fuse, fstd, cfs, screen",
    )


def test_outputs_are_checked_before_the_search(run, houses, tmp_path):
    path = write(houses, tmp_path / "h.csv")
    refused(run(path, "--target", "price", "--json", tmp_path), "is a folder; give the name of a file")
    refused(
        run(path, "--target", "price", "--html", tmp_path / "no" / "o.html"), "folder of", "does not exist"
    )


def test_usage_errors_exit_with_2():
    result = runner().invoke(cli.main, ["select", "x.csv"])
    assert result.exit_code == 2
    assert "Missing option '--target'" in result.stderr


@pytest.mark.parametrize("method", SELECTORS)
def test_every_method_answers(run, houses, tmp_path, method):
    path, out = write(houses, tmp_path / "h.csv"), tmp_path / "o.json"
    result = run(
        path, "--target", "price", "--drop", "weight", "--json", out, "--time-budget", 2, method=method
    )
    assert result.exit_code == 0, result.output
    assert "size" in out.read_text()


def test_a_method_without_weights_or_a_family_says_so(run, houses, tmp_path):
    path = write(houses, tmp_path / "h.csv")
    refused(
        run(path, "--target", "price", "--weight", "weight", method="cfs"), "--method cfs takes no weights"
    )
    refused(
        run(path, "--target", "price", "--family", "poisson", method="fuse"),
        "--method fuse knows the families auto, gaussian, binomial, not 'poisson'",
    )


def test_revs_from_the_command_line(run, houses, tmp_path):
    path = write(houses, tmp_path / "h.csv")
    out = tmp_path / "o.json"
    result = run(path, "--target", "price", "--drop", "weight", "--json", out, method="revs")
    assert result.exit_code == 0, result.output
    report = json.loads(out.read_text())
    assert [v["name"] for v in report["variables"]] == ["size"]
    assert report["variables"][0]["coef"] == pytest.approx(3, abs=0.1)
    assert report["variables"][0]["error"] == pytest.approx(0.1 / 60**0.5, rel=0.5)
    again = tmp_path / "again.json"
    run(path, "--target", "price", "--drop", "weight", "--json", again, method="revs")
    assert json.loads(again.read_text())["path"]["size"] == report["path"]["size"]
    refused(run(path, "--target", "city", "--family", "gaussian", method="revs"), "text")


def test_help_is_a_table_of_contents():
    result = runner().invoke(cli.main, ["--help"])
    assert result.exit_code == 0
    headings = [
        line for line in result.output.splitlines() if line.endswith(":") and not line.startswith(" ")
    ]
    assert headings[1:4] == [
        "Look first:",
        "Which variables matter:",
        "With a model that --save has written:",
    ]
    assert "Others:" not in headings
    for name in cli.main.commands:
        assert f"\n  {name} " in result.output
    # no line of the contents is cut
    assert "..." not in result.output.split("\n", 1)[1]


@pytest.mark.parametrize("name", [*cli.main.commands, "datumwise learn", "datumwise ask"])
def test_every_command_has_help_with_examples(name):
    result = runner().invoke(cli.main, [*name.split(), "--help"])
    assert result.exit_code == 0
    if name != "datumwise":
        assert "Examples:\n    " in result.output
        assert "rlselect " + name.replace(" learn", "") in result.output


def test_quiet_says_nothing_beside_the_result(run, houses, tmp_path):
    path = write(houses, tmp_path / "h.csv")
    result = run(path, "--target", "price", "--json", tmp_path / "o.json", "--quiet")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert (tmp_path / "o.json").exists()


def test_decimal_commas_are_refused_with_the_flag_that_reads_them(run, houses, tmp_path):
    path, european = write(houses, tmp_path / "h.csv"), tmp_path / "eu.csv"
    european.write_text(path.read_text().replace(",", ";").replace(".", ","))
    refused(run(european, "--target", "price"), "'price'", "numbers with commas", "Use --decimal ,.")
    one, two = run(path, "--target", "price"), run(european, "--target", "price", "--decimal", ",")
    seconds = r"Time: [\d.]+ s"
    assert re.sub(seconds, "", two.stdout) == re.sub(seconds, "", one.stdout.replace("h.csv", "eu.csv"))
    assert "'.'" in run(path, "--target", "price", "--decimal", ";").output


def test_marks_of_missing_values_are_for_text(run, houses, tmp_path):
    parquet.write_table(houses, tmp_path / "h.parquet")
    refused(run(tmp_path / "h.parquet", "--target", "price", "--decimal", ","), "--decimal is for CSV files")
    refused(run(tmp_path / "h.parquet", "--target", "price", "--encoding", "cp1252"), "--encoding is for CSV")
    assert (
        "'klingon' is not known" in run(tmp_path / "h.csv", "--target", "a", "--encoding", "klingon").output
    )
    refused(run(tmp_path / "h.parquet", "--target", "price", "--na", "?"), "--na is for CSV files")


def test_memory_and_missing_extras_are_told_in_a_sentence():
    import click

    for error in (MemoryError("Too large"), ImportError("pip install x")):
        with pytest.raises(click.ClickException, match=str(error)), cli.one_sentence():
            raise error
    with pytest.raises(ImportError, match="broken"), cli.one_sentence():
        raise ImportError("broken")
