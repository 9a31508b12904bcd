"""Rules for subsets from the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from rlselect.cli import main


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((150, 4)), columns=["a", "b", "c=d", "e"])
    frame["y"] = frame.a + 0.9 * frame.b - frame["c=d"] + frame.a * frame.b + 0.5 * rng.standard_normal(150)
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def run(path, *given):
    out = path.parent / "out.json"
    done = CliRunner().invoke(main, ["select", str(path), "--target", "y", *given, "--json", str(out)])
    if done.exit_code:
        return done.output
    return {v["name"] for v in json.loads(out.read_text(encoding="utf-8"))["variables"]}


def test_rules_are_followed(path):
    assert run(path) == {"a", "b", "c=d"}
    assert len(run(path, "--max-features", "2")) == 2
    assert len(run(path, "--at-most", "1: a, b", "--at-most", "0:e") & {"a", "b"}) == 1
    assert run(path, "--sign", "c=d=+", "--sign", "a=+") == {"a", "b"}
    assert run(path, "--sign", "+") == {"a", "b"}
    assert run(path, "--order", "2") == {"a", "b", "c=d", "a:b"}


def test_what_cannot_be_is_said(path):
    assert "--at-most 'a,b' is not understood" in run(path, "--at-most", "a,b")
    assert "--sign 'a' is not understood; write a column and its sign, as a=+." in run(path, "--sign", "a")
    assert "--sign 'a=up' is not understood" in run(path, "--sign", "a=up")
    assert "--method acp knows no --order; leave it out, or use --method revs." in run(
        path, "--order", "2", "--method", "acp"
    )
