"""Times of events from the command line."""

import json

import numpy as np
import pandas as pd
from click.testing import CliRunner

from rlselect.cli import main


def table(path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((120, 3)), columns=["a", "b", "c"])
    frame["days"] = rng.exponential(np.exp(-1.2 * frame["b"]))
    frame["died"] = (rng.random(120) < 0.8).astype(int)
    frame.to_csv(path, index=False)


def test_the_event_makes_times_of_the_target(tmp_path):
    table(tmp_path / "data.csv")
    given = ["select", str(tmp_path / "data.csv"), "--target", "days", "--event", "died"]
    done = CliRunner().invoke(main, [*given, "--json", str(tmp_path / "out.json")])
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert report["family"] == "cox"
    assert [v["name"] for v in report["variables"]] == ["b"]
    refused = CliRunner().invoke(main, [*given, "--method", "acp"])
    assert refused.exit_code != 0
    assert "--method acp knows no events" in refused.output
