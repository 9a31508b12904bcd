"""`rlselect datumwise` says what the report says."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from rlselect import DatumwiseClassifier, load, save
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


def run(*words, lines=None):
    try:
        runner = CliRunner(mix_stderr=False)  # click before 8.2
    except TypeError:
        runner = CliRunner()
    return runner.invoke(cli.main, ["datumwise", *map(str, words)], input=lines)


def test_command(tmp_path):
    data = tmp_path / "patients.csv"
    make_frame().assign(id=range(200)).to_csv(data, index=False)
    page, values = tmp_path / "page.html", tmp_path / "values.json"
    words = ["--target", "ill", "--drop", "id", "--cost", "scan=0.3", "--budget", 2, "--time-budget", 2]
    result = run(data, *words, "--html", page, "--json", values)
    assert result.exit_code == 0, result.output
    assert "What to ask of each case to tell ill, in patients.csv" in result.output
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
        (["--target", "ill", "--budget", "-1"], "--budget -1 was given; it must be"),
    ]:
        result = run(data, *words)
        assert result.exit_code == 2
        assert message in result.stderr
    assert parse_costs([]) is None


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "ill.model"
    frame = make_frame()
    groups = {"person": ["age", "town"]}
    model = DatumwiseClassifier(
        scoring="bins", feature_groups=groups, feature_cost=0.005, time_budget=3, random_state=0
    )
    save(model.fit(frame.drop(columns="ill"), frame["ill"]), path)
    return path


def answers(model, row):
    """What a session asks for, as the lines of a user; and its result."""
    session, lines = model.start(), []
    while session.next() is not None:
        values = {name: row[name] for name, _ in session.fields()}
        lines += [str(value) for value in values.values()]
        session.tell(values)
    return "\n".join(lines) + "\n", session.result()


def test_ask_plays_a_session(saved):
    model, frame = load(saved), make_frame()
    asked = set()
    for row in frame[:6].to_dict("records"):
        lines, result = answers(model, row)
        shown = run("ask", saved, lines=lines)
        assert shown.exit_code == 0, shown.output
        assert f"Answer: {result.label}" in shown.output
        assert f"Asked: {', '.join(result.acquired) or 'nothing'}, for {result.cost:.4g}" in shown.output
        assert f"{result.label} {result.probabilities.max():.0%}" in shown.output.splitlines()[-2]
        assert str(model.start().explain()) in shown.output
        assert "has ended" not in shown.output
        asked.add(tuple(result.acquired))
    assert len(asked) > 1


def test_ask_takes_what_is_not_known_and_asks_again_for_nonsense(saved):
    model, session, lines = load(saved), load(saved).start(), []
    values = {"age": "50", "town": "Rome", "scan": "unknown", "n<1>": "?"}
    assert session.next() == "scan"
    while (question := session.next()) is not None:
        if question == "person":
            lines += ["50", "Paris"]  # no level of it, so that both are asked for again
            session.tell({"age": 50.0, "town": "Rome"})
        else:
            lines += ["high"]
            session.unavailable()
        lines += [values[name] for name in (["age", "town"] if question == "person" else [question])]
    assert session.result().acquired == ["person"]
    nonsense = run("ask", saved, lines="\n".join(lines) + "\n")
    assert nonsense.exit_code == 0
    assert "'scan' is a number, but 'high'" in nonsense.output
    assert "none of its levels" in nonsense.output
    assert f"Answer: {session.result().label}" in nonsense.output
    assert "Asked: person" in nonsense.output
    short = run("ask", saved, lines="")
    assert "The input has ended" in short.output
    assert f"Answer: {model.start().result().label}" in short.output


def test_ask_starts_with_what_is_known(saved):
    model = load(saved)
    session = model.start(known={"scan": 2.5})
    lines = 20 * "unknown\n"
    while session.next() is not None:
        session.unavailable()
    shown = run("ask", saved, "--known", "scan=2.5", lines=lines)
    assert f"Answer: {session.result().label}" in shown.output
    assert "Asked: nothing, for 0" in shown.output


def test_ask_refuses_in_one_sentence(saved, tmp_path):
    from rlselect import REVS

    frame = make_frame(60)
    other = tmp_path / "other.model"
    save(REVS(random_state=0).fit(frame[["age", "scan"]], frame["n<1>"]), other)
    for words, message in [
        ([tmp_path / "none.model"], "none.model"),
        ([other], "holds a REVS; ask needs a DatumwiseClassifier"),
        ([saved, "--known", "scan"], "--known 'scan' is not understood"),
        ([saved, "--known", "scna=1"], "known names 'scna'"),
    ]:
        result = run("ask", *words)
        assert result.exit_code == 2
        assert message in result.stderr


def test_learning_can_save_what_ask_loads(tmp_path):
    data = tmp_path / "patients.csv"
    make_frame(80).to_csv(data, index=False)
    path = tmp_path / "ill.model"
    result = run("--target", "ill", data, "--time-budget", 1, "--save", path)
    assert result.exit_code == 0, result.output
    assert run("ask", path, lines=9 * "unknown\n").exit_code == 0
    assert run(data, "--target", "ill", "--save", data).exit_code == 2
    helped = run("--help").output
    assert "learn" in helped
    assert "ask" in helped


def test_numbers_are_learned_and_asked_for(tmp_path):
    data, path, values = tmp_path / "houses.csv", tmp_path / "price.model", tmp_path / "values.json"
    frame = make_frame(120).drop(columns="ill")
    frame["price"] = 100 + 20 * frame["scan"] + 0.5 * frame["n<1>"]
    frame["rooms"] = (5 + 2 * frame["scan"]).round().astype(int)
    frame.to_csv(data, index=False)
    words = ["--drop", "rooms", "--time-budget", 1, "--save", path, "--json", values]
    result = run(data, "--target", "price", *words)
    assert result.exit_code == 0, result.output
    written = json.loads(values.read_text())
    assert written["method"] == "DatumwiseRegressor"
    assert written["facts"]["R squared"] <= 1  # how good it is depends on how far it came in the time
    session = load(path).start()
    while (name := session.next()) is not None:
        session.tell(1.5 if name == "scan" else None)
    shown = run("ask", path, lines="\n".join("1.5" if "scan" in name else "?" for name in asked_for(path)))
    assert f"Answer: {session.result().label:.4g}" in shown.output
    assert "give or take" in shown.output
    whole = run(data, "--target", "rooms", "--drop", "price", "--time-budget", 1, "--task", "regression")
    assert "R squared" in whole.output


def asked_for(path):
    """Names in the order of the questions of a dialogue in which all but one are unknown."""
    session, out = load(path).start(), []
    while (name := session.next()) is not None:
        out.append(name)
        session.tell(1.5 if name == "scan" else None)
    return out
