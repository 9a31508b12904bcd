"""What a learner says about itself, and what it is worth to other subjects."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.exceptions import NotFittedError

from rlselect import AdvantageLearning, QLearning, TrialData, regime_value
from rlselect.cli import _main as cli
from rlselect.regimes._estimates import from_scores
from rlselect.regimes._report import answer_of
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
    history, rules, effects, overlap, stages = report["sections"]
    assert [row[1] for row in effects["rows"]] == [
        one.column for stage in learner.tailoring_effects_ for one in stage
    ]
    assert [row[1] for row in overlap["rows"]] == [round(one.smallest, 3) for one in learner.overlap_]
    assert "Overlap is fine" in overlap["note"]
    for t in range(2):
        mine = {name: use for name, stage, use in history["rows"] if stage == t + 1}
        assert sorted(mine) == sorted(learner.selected_[t])
        assert {name for name, use in mine.items() if use == "the decision"} == set(learner.tailoring_[t])
    assert rules["text"] == "\n".join(stage.outline for stage in learner.regime_.stages)
    assert [row[-1] for row in stages["rows"]] == learner.stop_reason_
    assert [row[3:5] for row in stages["rows"]] == [
        [len(names), trial.stages[t].history.shape[1]] for t, names in enumerate(learner.selected_)
    ]
    rewards = sum(stage.reward for stage in trial.stages)
    assert learner.observed_.value == pytest.approx(rewards.mean())
    difference = learner.value_.value - learner.observed_.value
    assert report["facts"]["Difference"].startswith(f"{difference:.2f} ")
    assert str(learner.value_) in str(learner.summary())
    assert "Which history matters" in to_html(report)
    assert json.loads(to_json(report))["facts"]["Subjects"] == 120


def test_a_column_that_decides_is_said_to_stand_for_one_much_like_it():
    rng = np.random.default_rng(2)
    table = {"age": rng.normal(size=120), "dose": rng.normal(size=120), "arm": rng.integers(0, 2, 120)}
    table["years, about"] = -table["age"] + 0.3 * rng.normal(size=120)
    table["city"] = rng.choice(["a", "b", "c"], 120)
    table["y"] = table["dose"] + 2.0 * table["arm"] * table["age"] + 0.5 * rng.normal(size=120)
    histories = ["age", "dose", "city"], ["age", "years, about", "dose", "city"]
    notes = []
    for history in histories:
        stage = {"history": history, "action": "arm", "reward": "y", "propensity": {0: 0.5, 1: 0.5}}
        fitted = QLearning(model="linear", random_state=0).fit(TrialData.from_wide(table, [stage]))
        assert "age" in fitted.tailoring_[0]
        assert "years, about" not in fitted.tailoring_[0]
        notes.append([note for note in fitted.summary().dict["notes"] if "stand for" in note])
    size = abs(np.corrcoef(table["age"], table["years, about"])[0, 1])
    assert notes[0] == []
    assert len(notes[1]) == 1
    assert f"At stage 1 age may stand for 'years, about' ({size:.2f}):" in notes[1][0]


def test_the_report_opens_with_what_the_regime_is_worth(learner):
    answer = learner.summary().dict["answer"]
    low, high = learner.value_.less(learner.observed_).interval
    assert f"about {learner.value_.value:.3g} instead of {learner.observed_.value:.3g}" in answer
    assert ("do not tell" in answer) == (low <= 0 <= high)
    assert learner.tailoring_[0][0] in answer
    assert "a guess" not in answer


def test_what_is_worse_unclear_or_not_to_be_compared_is_told(learner):
    def worth(value, spread):
        return from_scores(np.array([value - spread, value + spread] * 20), "dr", 0.95)

    some = copy.copy(learner)
    low, high, unclear = worth(1.0, 0.1), worth(2.0, 0.2), worth(1.01, 2.0)
    assert "which is better" in answer_of(some, high, low)
    assert "which is worse" in answer_of(some, low, high)
    assert "do not tell" in answer_of(some, unclear, low)
    # who selected the columns cannot tell that they are good for something
    assert "others can tell" in answer_of(some, high, low, flattered=True)
    assert "which is worse" in answer_of(some, low, high, flattered=True)
    some.maximize = False
    assert "which is better" in answer_of(some, low, high)
    some.overlap_ = [replace(learner.overlap_[0], poor=True), learner.overlap_[1]]
    assert "leans" not in answer_of(some, low, high)
    some.tailoring_, some.stop_reason_ = [[], []], ["time budget", ""]
    some.faint_ = [["X1_1", "X1_2"], []]
    told = answer_of(some, low, high)
    for part in (
        "hardly be compared at stage 1,",
        "do not show that the decision needs any",
        "The full regime leans a little on X1_1 and X1_2 at stage 1, which may not matter.",
        "(time budget)",
    ):
        assert part in told
    # no interval makes a finding of actions that were not tried
    assert "which is" not in told


def test_few_subjects_for_their_columns_are_told(learner):
    some, columns = copy.copy(learner), max(map(len, learner.history_names_in_))

    def told():
        return any(
            f"subjects are few for {columns} history columns" in n for n in some.summary().dict["notes"]
        )

    some._n_subjects = 25 * columns - 1
    # folds that select anew are not flattered
    assert some._selected_anew
    assert not told()
    some._selected_anew, some._n_subjects = False, 25 * columns
    assert not told()
    some._n_subjects -= 1
    assert told()
    # nothing was selected
    some.path_ = [None, None]
    assert not told()


def test_values_and_slopes_are_drawn(learner):
    _, rules, effects, _, _ = learner.summary().dict["sections"]
    assert [name for name, *_ in rules["intervals"]] == ["the regime", "these rules", "what was done"]
    assert rules["intervals"][0][1:] == (learner.value_.value, *learner.value_.interval)
    assert len(effects["intervals"]) == len(effects["rows"]) > 0
    # a picture per row, and two axes
    assert to_html(learner.summary().dict).count("<svg") == 3 + len(effects["rows"]) + 2


def test_a_contrast_is_all_for_the_decision(trial):
    advantage = AdvantageLearning(model="linear", selection=None, random_state=0).fit(trial)
    uses = {row[2] for row in advantage.summary().dict["sections"][0]["rows"]}
    assert uses == {"the decision"}


def test_the_command(tmp_path):
    rng = np.random.default_rng(2)
    n = 60
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


def test_what_the_command_says_of_trials(tmp_path):
    rng = np.random.default_rng(3)
    lines = ["who,visit,x,dose,alive,gone,w,site"]
    for i in range(60):
        x, dose = rng.standard_normal(), rng.uniform(0.0, 4.0)
        time = rng.exponential(np.exp(-0.2 * (dose - 2.0) ** 2))
        shown = "" if i % 10 == 0 else f"{x}"
        lines.append(f"{i},1,{shown},{dose},{time},{int(rng.uniform() < 0.2)},{1 + i % 2},{i % 12}")
    path = tmp_path / "trial.csv"
    path.write_text("\n".join(lines))
    words = [str(path), "--id", "who", "--stage", "visit", "--action", "dose", "--reward", "alive", "--dose"]
    words += ["--censored", "gone", "--horizon", "1.5", "--weight", "w", "--cluster", "site"]
    out = tmp_path / "out.json"
    result = CliRunner().invoke(
        cli.main,
        ["regimes", *words, "--missing", "indicator", "--randomized", "frequencies", "--json", str(out)],
    )
    assert result.exit_code == 0, result.output
    notes = " ".join(json.loads(out.read_text())["notes"])
    for part in (
        "Time counts up to 1.5",
        "as much as 54 equal ones",
        "12 independent clusters",
        "'x_1=missing'",
    ):
        assert part in notes


def test_a_report_on_other_subjects(learner, trial):
    simulated = make_regime_trial("I", 150, 5, random_state=9)
    other = TrialData.from_wide(simulated.columns, simulated.stages)
    report = learner.report(trial=other, random_state=3).dict
    section = report["sections"][0]
    assert report["sections"][1:] == learner.summary().dict["sections"] == learner.report().dict["sections"]
    value = regime_value(other, learner, random_state=3)
    observed = regime_value(other, "observed")
    for row, one in zip(section["rows"], (value, observed, value.less(observed)), strict=True):
        assert row[1:] == [round(x, 4) for x in (one.value, one.standard_error, *one.interval)]
    assert "150 subjects, 95 % intervals" in section["note"]
    assert report["answer"].startswith(
        f"Had all been treated as recommended here, their mean outcome would be about {value.value:.3g}"
    )
    with pytest.raises(TypeError, match="must be a TrialData"):
        learner.report(trial=simulated.columns)
    with pytest.raises(ValueError, match="1 stage"):
        learner.report(trial=TrialData.from_wide(simulated.columns, simulated.stages[:1]))
    with pytest.raises(NotFittedError):
        QLearning().report()
