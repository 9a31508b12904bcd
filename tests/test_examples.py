"""The examples run and say what they are there to say."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(name):
        names = runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return names, capsys.readouterr().out

    return run


def test_every_example_is_tested():
    # adherence.py takes longer and runs among the slow checks of its room
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "adherence.py",
        "crime.py",
        "categories.py",
        "triage.py",
        "interactions.py",
    }


def test_crime(run):
    names, printed = run("crime.py")
    assert "| Variable " in printed
    model = names["model"]
    assert 0 < model.support_.sum() < 40
    assert "PctIlleg" in model.get_feature_names_out()
    assert model.score(names["others"], names["target"]) > 0.6
    assert printed.count("\nPct") >= 1


def test_categories(run):
    names, printed = run("categories.py")
    assert set(names["model"].get_feature_names_out()) == {"age", "power", "region"}
    assert "Not selected: fuel colour mileage" in printed
    assert "region=south" in printed
    assert "power=missing" in printed
    assert names["share"] == pytest.approx(2.0, rel=0.25)


def test_triage(run):
    names, printed = run("triage.py")
    assert names["ours"] < names["scan_all"] < names["nobody"]
    assert 0.2 < names["bought"][:, 4].mean() < 0.8
    assert "Please measure" in printed
    assert "Answer: " in printed


def test_interactions(run):
    names, printed = run("interactions.py")
    assert "REVS: dose, age\n" in printed
    assert "ActorCriticPredictor: dose, age, enzyme, inhibitor\n" in printed
    assert names["policy"].predictor_.name == "kernel"
