"""What a learner says about itself, to whom while it learns, and what an interruption leaves behind."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from rlselect import AdvantageLearning, QLearning, TrialData
from rlselect.cli import _main as cli
from rlselect.report import to_html, to_json
from rlselect.simulate import make_regime_trial


@pytest.fixture(scope="module")
def trial():
    simulated = make_regime_trial("I", 120, 5, random_state=4)
    return TrialData.from_wide(simulated.columns, simulated.stages)


@pytest.fixture(scope="module")
def learner(trial):
    return QLearning(model="linear", random_state=0).fit(trial)


def test_the_report_says_what_the_attributes_say(learner, trial):
    report = learner.summary().dict
    history, rules, stages = report["sections"]
    for t in range(2):
        mine = {name: use for name, stage, use in history["rows"] if stage == t + 1}
        assert sorted(mine) == sorted(learner.selected_[t])
        assert {name for name, use in mine.items() if use == "the decision"} == set(learner.tailoring_[t])
    assert rules["text"] == str(learner.regime_)
    assert [row[3:] for row in stages["rows"]] == [
        [len(names), trial.stages[t].history.shape[1]] for t, names in enumerate(learner.selected_)
    ]
    rewards = sum(stage.reward for stage in trial.stages)
    assert learner.observed_.value == pytest.approx(rewards.mean())
    difference = learner.value_.value - learner.observed_.value
    assert report["facts"]["Difference"].startswith(f"{difference:.4g} ")
    assert str(learner.value_) in str(learner.summary())
    assert "Which history matters" in to_html(report)
    assert json.loads(to_json(report))["facts"]["Subjects"] == 120


def test_a_contrast_is_all_for_the_decision(trial):
    advantage = AdvantageLearning(model="linear", selection=None, random_state=0).fit(trial)
    uses = {row[2] for row in advantage.summary().dict["sections"][0]["rows"]}
    assert uses == {"the decision"}


def test_callbacks_hear_of_every_part(trial, learner, Watch):
    pytest.importorskip("sklearn.callback")
    watch = Watch(most=0)  # asks to stop at once, which is not followed
    watched = QLearning(model="linear", random_state=0).set_callbacks(watch).fit(trial)
    assert watch.ended
    assert watch.parts == 5
    assert watched.selected_ == learner.selected_
    assert watched.value_.value == learner.value_.value


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_fit_that_ends_early_leaves_the_learner_as_it_was(trial, monkeypatch, error):
    from rlselect.machines._elimination import SquaredKernelProblem

    learner = QLearning(model="linear", random_state=0).fit(trial)
    before, selected = learner.value_.value, learner.selected_
    original, calls = SquaredKernelProblem.removals, []

    def removals(self, count):
        calls.append(count)
        if len(calls) == 20:
            raise error
        return original(self, count)

    monkeypatch.setattr(SquaredKernelProblem, "removals", removals)
    other = make_regime_trial("I", 60, 5, random_state=5)
    with pytest.raises(error):
        learner.fit(TrialData.from_wide(other.columns, other.stages))
    monkeypatch.undo()
    assert learner.value_.value == before
    assert learner.selected_ is selected
    assert len(learner.predict(trial, stage=2)) == 120


def test_the_command(tmp_path):
    rng = np.random.default_rng(2)
    n = 80
    x, z = rng.standard_normal((2, 2, n))
    lines = ["who,visit,x,z,what,good"]
    for i in range(n):
        for t in range(2):
            what = rng.choice(["drug", "rest"])
            good = (1 if what == "drug" else -1) * x[t, i] + 0.3 * rng.standard_normal()
            lines.append(f"{i},{t},{x[t, i]},{z[t, i]},{what},{good}")
    path = tmp_path / "trial.csv"
    path.write_text("\n".join(lines))
    words = [str(path), "--id", "who", "--stage", "visit", "--action", "what", "--reward", "good"]
    out = tmp_path / "out.json"
    result = CliRunner().invoke(cli.main, ["regimes", *words, "--json", str(out)])
    assert result.exit_code == 0, result.output
    assert "Which history matters" in result.output
    report = json.loads(out.read_text())
    assert report["method"] == "QLearning"
    decides = {(name, stage) for name, stage, use in report["sections"][0]["rows"] if use == "the decision"}
    assert ("x_0", 1) in decides
    assert ("x_1", 2) in decides
    assert not {name for name, _ in decides} & {"z_0", "z_1", "who", "visit"}
    for bad, sentence in (
        (["--drop", "good"], "both --reward and --drop"),
        (["--propensity", "chance"], "--propensity 'chance' is not a column"),
    ):
        result = CliRunner().invoke(cli.main, ["regimes", *words, *bad])
        assert result.exit_code == 2
        assert sentence in result.output
