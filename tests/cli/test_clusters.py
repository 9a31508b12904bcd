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
