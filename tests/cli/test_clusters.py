"""Rows that belong together, from the command line."""

import json

import numpy as np
import pandas as pd
from click.testing import CliRunner

from rlselect.cli import main


def test_a_column_says_which_rows_belong_together(tmp_path):
    rng = np.random.default_rng(0)
    clinic = np.repeat(np.arange(10), 12)
    frame = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    frame["clinic"] = [f"clinic {i}" for i in clinic]
    frame["y"] = frame["a"] + rng.normal(size=10)[clinic] + rng.normal(size=120)
    frame.to_csv(tmp_path / "data.csv", index=False)
    given = ["select", str(tmp_path / "data.csv"), "--target", "y", "--json", str(tmp_path / "out.json")]
    done = CliRunner().invoke(main, [*given, "--groups", "clinic"])
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert report["dependence"]["clusters"] == 10
    assert [v["name"] for v in report["variables"]] == ["a"]
    done = CliRunner().invoke(main, [*given, "--time-ordered", "--drop", "clinic"])
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert report["dependence"]["clusters"] == 0
    for wrong in (["--groups", "clinic"], ["--time-ordered"]):
        refused = CliRunner().invoke(main, [*given, *wrong, "--method", "acp"])
        assert refused.exit_code != 0
        assert "takes every row for itself" in refused.output


def test_several_targets_are_names_with_commas_between(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    frame["u"] = frame["a"] + 0.3 * rng.normal(size=80)
    frame["v"] = frame["a"] - frame["b"] + 0.3 * rng.normal(size=80)
    frame["u,v"] = frame["c"] + 0.3 * rng.normal(size=80)
    path, out, model = (tmp_path / name for name in ("data.csv", "out.json", "two.model"))
    frame.drop(columns="u,v").to_csv(path, index=False)
    given = ["select", str(path), "--json", str(out)]

    def selected(*words):
        done = CliRunner().invoke(main, [*given, *words])
        assert done.exit_code == 0, done.output
        return [v["name"] for v in json.loads(out.read_text(encoding="utf-8"))["variables"]]

    assert selected("--target", "u,v", "--save", str(model)) == ["a", "b"]
    done = CliRunner().invoke(main, ["predict", str(model), str(path), "--out", str(tmp_path / "new.csv")])
    assert done.exit_code == 0, done.output
    told = pd.read_csv(tmp_path / "new.csv")
    assert list(told) == ["prediction of u", "prediction of v"]
    assert np.corrcoef(told["prediction of v"], frame["v"])[0, 1] > 0.9
    assert selected("--target", " u , v", "--responses", "each") == ["a", "b"]
    # a column of that very name is one target
    frame.to_csv(path, index=False)
    assert "c" in selected("--target", "u,v", "--drop", "u", "--drop", "v")
    for words, told in [
        (["--target", "u,w"], "'w' is not a column"),
        (["--target", "u,a", "--method", "acp"], "--method acp is for one target"),
        (["--target", "u,a", "--event", "b"], "--event is for one target"),
        (["--target", "u", "--responses", "each"], "single response"),
        (["--target", "u", "--responses", "each", "--method", "acp"], "takes one target"),
        (["--target", "u,a", "--drop", "a"], "both --target and --drop"),
    ]:
        refused = CliRunner().invoke(main, [*given, *words])
        assert refused.exit_code != 0
        assert told in refused.output
    refused = CliRunner().invoke(
        main, ["predict", str(model), str(path), "--out", str(tmp_path / "p.csv"), "--proba"]
    )
    assert "several responses; leave out --proba" in refused.output or "not classes" in refused.output
