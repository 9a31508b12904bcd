"""Refusals and advice in the words of the command line: flags, names of files, what can be pasted."""

import shlex

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv, parquet

from rlselect.cli import main
from rlselect.cli._errors import BadInput, one_sentence


@pytest.fixture
def pain(tmp_path, monkeypatch):
    """Two visits of each patient: decimal commas, dates with points, names of several words."""
    monkeypatch.chdir(tmp_path)
    lines = ["who;visit;day;age;drug;pain before;pain after"]
    for i in range(40):
        for visit in (1, 2):
            after = 50 + (i % 7) - 6 * (i % 2 == visit % 2) + 0.25 * (i % 5)
            before = "" if i == 3 else f"{after + 3:.2f}"
            row = f"p{i};{visit};{i % 28 + 1:02d}.0{visit}.2024;{20 + i};{'AB'[i % 2]};{before};{after:.2f}"
            lines.append(row.replace(".", ",").replace(",0", ".0", 1).replace(",2024", ".2024"))
    (tmp_path / "pain.csv").write_text("\n".join(lines) + "\n")
    return "pain.csv"


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_python_words_become_flags_of_the_command():
    command = main.commands["select"]
    with command.make_context("select", ["a.csv", "--target", "y"]):
        for said, told in [
            ('set missing="drop", or n_jobs=2', "set --missing drop, or n_jobs=2"),
            ("time_budget=-1.5 was given; it must", "--time-budget -1.5 was given; it must"),
            ("say missing='indicator'.", "say --missing indicator."),
            ("x.missing=3 and amissing=4", "x.missing=3 and amissing=4"),
        ]:
            with pytest.raises(BadInput) as refused, one_sentence():
                raise ValueError(said)
            assert refused.value.message == told


def test_the_command_that_check_names_can_be_run_as_it_stands(pain):
    told = run("check", pain, "--target", "pain after", "--question", "decision", "--drop", "age")
    line = next(line for line in told.stdout.splitlines() if line.startswith("rlselect regimes"))
    words = shlex.split(line)[1:]
    assert words[words.index("--id") + 1] == "who"
    assert [words[k + 1] for k, word in enumerate(words) if word == "--drop"] == ["day", "age"]
    words[words.index("ACTION")] = "drug"
    assert run(*words, "--quiet").exit_code == 0
    told = run("check", pain, "--target", "pain after", "--decimal", ",", "--na", "p 1")
    line = next(line for line in told.stdout.splitlines() if line.startswith("rlselect effects"))
    words = shlex.split(line)[1:]
    words[words.index("`pain after` ~ ...")] = "`pain after` ~ drug"
    assert words[words.index("--na") + 1] == "p 1"
    assert run(*words, "--quiet").exit_code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["regimes", "--stage", "visit", "--reward", "pain after"], "(--decimal ,;"),
        (["regimes", "--stage", "visit", "--reward", "pain after", "--decimal", ","], "--missing indicator"),
        (["effects", "--time", "visit", "--formula", "pain after ~ drug"], "backticks: `pain after`"),
        (["effects", "--time", "visit", "--formula", "`pain after` ~ drug"], "(--decimal ,;"),
    ],
)
def test_a_refusal_names_the_flag_that_helps(pain, words, told):
    more = ["--action", "drug", "--drop", "day"] if words[0] == "regimes" else []
    result = run(words[0], pain, "--id", "who", *words[1:], *more)
    assert result.exit_code == 2
    assert told in result.stderr


def test_dates_with_points_are_times(pain):
    result = run(
        "effects", pain, "--id", "who", "--time", "day", "--formula", "`pain after` ~ drug",
        "--decimal", ",", "--visits", "bin", "--grid", "2",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "from 2024-01" in result.stdout


def test_predictions_of_commas_name_the_flag(tmp_path):
    table = pa.table({"a": [0.5 * k for k in range(40)], "y": [1.5 * k + k % 3 for k in range(40)]})
    csv.write_csv(table, tmp_path / "t.csv")
    (tmp_path / "n.csv").write_text("a\n" + '"1,5"\n"2,5"\n')
    assert run("select", tmp_path / "t.csv", "--target", "y", "--save", tmp_path / "m").exit_code == 0
    result = run("predict", tmp_path / "m", tmp_path / "n.csv", "--out", tmp_path / "o.csv")
    assert "--decimal ," in result.stderr
    done = run("predict", tmp_path / "m", tmp_path / "n.csv", "--out", tmp_path / "o.csv", "--decimal", ",")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_predictions_stand_beside_columns_that_are_kept(kind, tmp_path):
    names = [f"house {k}" for k in range(40)]
    table = pa.table(
        {"id": names, "a": [0.5 * k for k in range(40)], "y": [1.5 * k + k % 3 for k in range(40)]}
    )
    path, out = tmp_path / f"t.{kind}", tmp_path / "o.csv"
    csv.write_csv(table, path) if kind == "csv" else parquet.write_table(table, path)
    model = tmp_path / "m"
    assert run("select", path, "--target", "y", "--drop", "id", "--save", model).exit_code == 0
    done = run("predict", model, path, "--out", out, "--keep", "id", "--keep", "y")
    assert done.exit_code == 0, done.output
    told = csv.read_csv(out)
    assert told.column_names == ["id", "y", "prediction"]
    assert told["id"].to_pylist() == names
    np.testing.assert_allclose(told["prediction"].to_numpy(), told["y"].to_numpy(), atol=3)
    refused = run("predict", model, path, "--out", out, "--keep", "ids")
    assert refused.exit_code == 2
    assert "--keep 'ids' is not a column" in refused.stderr
    assert "Did you mean 'id'?" in refused.stderr
