"""Runs that are stopped go on where they were, and slow methods get the data sets that are theirs."""

import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def modules(monkeypatch):
    for folder in ("benchmarks", "experiments"):
        monkeypatch.syspath_prepend(str(ROOT / folder))
    for name in ("_runner", "_tables", "_kept_runs", "_revs_print"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import _kept_runs
    import _revs_print

    import _runner

    return _runner, _kept_runs, _revs_print


def test_slow_methods_get_fewer_data_sets(modules, tmp_path, capsys):
    runner = modules[0]
    asked = []

    def method(name):
        def select(X, y, family, *, seed):
            asked.append((name, seed))
            return np.array([True, False])

        return SimpleNamespace(NAME=name, FAMILIES=("gaussian",), available=lambda: True, select=select)

    data = SimpleNamespace(X=np.zeros((3, 2)), y=np.zeros(3), support=np.array([True, False]))
    cells = [runner.Cell("one", "gaussian", lambda seed: data)]
    methods = {"quick": method("Quick"), "slow": method("Slow")}
    args = Namespace(
        list=False,
        cells="*",
        methods="*",
        replicates=3,
        seed=5,
        jobs=1,
        out=tmp_path / "table",
        resume=True,
    )
    runner.run(args, "title", cells, methods, [], most={"slow": 1})
    assert asked == [("Quick", 5), ("Slow", 5), ("Quick", 6), ("Quick", 7)]
    runner.run(args, "title", cells, methods, [], most={"slow": 2})
    assert asked[4:] == [("Slow", 6)]


def test_records_are_kept_and_added_to(modules, tmp_path, capsys):
    path = tmp_path / "runs.jsonl"
    calls = []

    def one(n, seed):
        calls.append((n, seed))
        return {"value": n + seed}

    first = modules[1].Records(path)
    first.collect([(1, 10), (2, 10)], one)
    again = modules[1].Records(path)
    again.collect([(1, 10), (1, 11), (2, 10)], one)
    assert calls == [(1, 10), (2, 10), (1, 11)]
    assert again.of(1) == [{"value": 11}, {"value": 12}]
    assert len(path.read_text().splitlines()) == 3
    again.collect([(3, 10)], one, seconds=0.0)
    assert (3, 10) not in again.known


def test_printed_tables_agree_with_their_own_counts(modules):
    printed = modules[2]
    assert printed.MINUTES["sparse", 400, "MCP"] == {"minutes": 9.52}
    assert len(printed.MINUTES) == 45
    assert printed.SELECTED["logistic"]["banded", 800, "SCAD"] == {
        "n_selected": 44.67,
        "tnr": 93.48,
        "ppv": 33.64,
    }
    assert len(printed.SELECTED["logistic"]) == len(printed.SELECTED["linear"]) == 45
    # wrong ones by PPV, and by TNR; both are means of 50 data sets, so that they agree roughly (of the
    # logistic table they do not)
    for (_, p, _), line in printed.SELECTED["linear"].items():
        by_ppv = line["n_selected"] * (1.0 - line["ppv"] / 100.0)
        by_tnr = (p - 25) * (1.0 - line["tnr"] / 100.0)
        assert abs(by_ppv - by_tnr) < 8.0
