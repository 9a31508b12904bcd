"""`rlselect datumwise` says what the report says."""

import json

import numpy as np
import pandas as pd
from click.testing import CliRunner

from rlselect.cli import _main as cli
from rlselect.cli._datumwise import parse_costs


def make_frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "town": rng.choice(["Bonn", "Oslo", "Rome"], n),
            "scan": rng.normal(size=n),
            "n<1>": rng.normal(size=n),
        }
    )
    frame["ill"] = np.where(frame["scan"] + (frame["town"] == "Rome") > 0.5, "yes", "no")
    return frame


def run(*words):
    try:
        runner = CliRunner(mix_stderr=False)  # click before 8.2
    except TypeError:
        runner = CliRunner()
    return runner.invoke(cli.main, ["datumwise", *map(str, words)])


def test_command(tmp_path):
    data = tmp_path / "patients.csv"
    make_frame().assign(id=range(200)).to_csv(data, index=False)
    page, values = tmp_path / "page.html", tmp_path / "values.json"
    words = ["--target", "ill", "--drop", "id", "--cost", "scan=0.3", "--budget", 2, "--time-budget", 2]
    result = run(data, *words, "--html", page, "--json", values)
    assert result.exit_code == 0, result.output
    assert "ill in patients.csv" in result.output
    assert "How many features a case needs" in result.output
    assert "Judged on 50 rows that took no part" in result.output
    written = json.loads(values.read_text())
    assert written["facts"]["Cases reported on"] == 50
    assert "0.01 to 0.3" in written["facts"]["To buy"]
    assert "<h2>Classes</h2>" in page.read_text()
    again = run(data, *words, "--test-share", 0)
    assert "which flatters it" in " ".join(again.output.split())


def test_command_refuses_in_one_sentence(tmp_path):
    data = tmp_path / "patients.csv"
    make_frame(40).to_csv(data, index=False)
    for words, message in [
        (["--target", "il"], "--target 'il' is not a column of patients.csv. Did you mean 'ill'?"),
        (["--target", "ill", "--cost", "scan"], "--cost 'scan' is not understood"),
        (["--target", "ill", "--cost", "scna=1"], "costs names 'scna'"),
        (["--target", "ill", "--test-share", "1"], "--test-share 1 must be from 0 to below 1"),
        (["--target", "ill", "--budget", "-1"], "budget=-1 was given; it must be"),
    ]:
        result = run(data, *words)
        assert result.exit_code == 2
        assert message in result.stderr
    assert parse_costs([]) is None
