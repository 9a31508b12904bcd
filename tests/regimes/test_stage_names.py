"""Stages in order of time, by name, with what is said of each."""

import numpy as np
import pytest
from click.testing import CliRunner

from rlselect import QLearning, TrialData
from rlselect.cli import _main as cli
from rlselect.regimes import DecisionMapDisplay

ROLES = {"id": "who", "stage": "when", "action": "what", "reward": "gain", "covariates": ["age", "x"]}


def long(names, n=60, seed=0):
    """Rows of the later stage first; age is the same at each stage."""
    rng = np.random.default_rng(seed)
    first, second = names
    what = rng.choice(["a", "b"], size=2 * n)
    x = rng.normal(size=2 * n)
    return {
        "who": np.tile(np.arange(n), 2),
        "when": np.repeat([second, first], n),
        "what": what,
        "gain": x * (what == "a") + 0.3 * rng.normal(size=2 * n),
        "age": np.tile(rng.normal(50, 9, size=n), 2),
        "x": x,
    }


@pytest.mark.parametrize(
    "names", [("week4", "week12"), ("Visit 2", "visit 10"), ("9", "10"), ("t0.5", "t0.75"), (2, 11)]
)
def test_stages_are_ordered_by_time(names):
    trial = TrialData.from_long(long(names), **ROLES)
    assert trial.stage_names == [str(name) for name in names]
    np.testing.assert_array_equal(trial.history(1)[f"x_{names[0]}"], long(names)["x"][60:])


def test_the_order_is_asked_for_where_names_do_not_tell():
    table = long(("entry", "after"))
    with pytest.raises(
        ValueError, match=r"called \['after', 'entry'\], which does not say which comes first"
    ):
        TrialData.from_long(table, **ROLES)
    trial = TrialData.from_long(table, **ROLES, stage_order=["entry", "after"])
    assert trial.stage_names == ["entry", "after"]
    for bad in (["entry"], ["entry", "later"], "entry"):
        with pytest.raises(ValueError, match="must list each of"):
            TrialData.from_long(table, **ROLES, stage_order=bad)


def test_baseline_columns_are_not_repeated():
    table = long((1, 2))
    trial = TrialData.from_long(table, **ROLES)
    assert list(trial.history(2)) == ["age", "x_1", "what_1", "gain_1", "x_2"]
    table["age"][3] += 1.0
    assert "age_2" in TrialData.from_long(table, **ROLES).history(2)
    once = {name: values[60:] for name, values in table.items()}
    assert list(TrialData.from_long(once, **ROLES).history(1)) == ["age_1", "x_1"]


def test_names_work_wherever_numbers_do():
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot as plt

    names = ("week4", "week12")
    trial = TrialData.from_long(
        long(names), **ROLES, propensity="randomized", feasible={"week12": ["a", "b"]}
    )
    learner = QLearning(model="linear", random_state=0).fit(trial)
    assert learner.stage_names_ == ["week4", "week12"]
    for number, name in enumerate(names, start=1):
        assert trial.stage(name) is trial.stage(number)
        assert list(trial.history(name)) == list(trial.history(number))
        np.testing.assert_array_equal(trial.action_probabilities(name), trial.action_probabilities(number))
        np.testing.assert_array_equal(learner.predict(trial, name), learner.predict(trial, number))
        np.testing.assert_array_equal(learner.q_values(trial, name), learner.q_values(trial, number))
    pictures = [
        DecisionMapDisplay.from_estimator(learner, trial, stage=one, resolution=5) for one in ("week12", 2)
    ]
    assert np.array_equal(pictures[0].decision, pictures[1].decision)
    plt.close("all")
    with pytest.raises(
        ValueError, match=r"stage='week5' was given; it must be .* one of the names \['week4'"
    ):
        learner.predict(trial, "week5")
    stage = {"history": ["x"], "action": "what", "reward": "gain", "name": "entry"}
    assert TrialData.from_wide(long(names), [stage]).stage("entry").name == "entry"
    with pytest.raises(ValueError, match="give each a name of its own"):
        TrialData.from_wide(long(names), [stage, stage])


def test_propensities_by_stage():
    table = long(("week4", "week12"))
    table["chance"] = np.full(120, 0.5)
    said = {"week4": "1:3", "week12": "chance"}
    trial = TrialData.from_long(table, **ROLES, propensity=said)
    assert np.allclose(trial.action_probabilities("week4"), [0.25, 0.75])
    assert np.allclose(trial.action_probabilities("week12"), 0.5)
    trial = TrialData.from_long(table, **ROLES, propensity={"week4": {"a": 0.4, "b": 0.6}})
    assert np.allclose(trial.action_probabilities(1), [0.4, 0.6])
    assert trial.stages[1].propensity == "estimate"
    trial = TrialData.from_long(table, **ROLES, propensity={"a": 0.4, "b": 0.6})
    assert np.allclose(trial.action_probabilities(2), [0.4, 0.6])
    with pytest.raises(ValueError, match=r"propensity names the stage\(s\) \['week5'\]"):
        TrialData.from_long(table, **ROLES, propensity={"week4": "1:1", "week5": "1:1"})


def test_the_command_takes_ratios_and_the_order(tmp_path):
    table = long(("entry", "after"), n=40)
    lines = [",".join(table)] + [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(lines))
    words = ["regimes", str(path)]
    for role in ("id", "stage", "action", "reward"):
        words += [f"--{role}", ROLES[role]]
    result = CliRunner().invoke(cli.main, words)
    assert "give --stage-order, such as --stage-order after,entry" in result.output
    words += ["--stage-order", "entry,after"]
    ratios = ["--randomized", "entry=1:1", "--randomized", "after=frequencies"]
    result = CliRunner().invoke(cli.main, [*words, *ratios])
    assert result.exit_code == 0, result.output
    assert "Overlap is fine." in result.output
    for bad, sentence in (
        (["--randomized", "1:1", "--randomized", "after=1:1"], "write STAGE=RATIO for each"),
        (["--randomized", "1:1", "--propensity", "x"], "give one of them"),
        (["--randomized", "1:1:1"], "must have one positive number for each of the actions"),
    ):
        result = CliRunner().invoke(cli.main, [*words, *bad])
        assert result.exit_code != 0
        assert sentence in " ".join(result.output.split())
