"""The command `effects` says what the estimator says."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from rlselect import TemporalProcessRegression, cli
from rlselect.cli._effects import read_grid
from rlselect.datasets import load_simulated_visits


@pytest.fixture(scope="module")
def trial():
    return load_simulated_visits()


def run(*words):
    return CliRunner().invoke(cli.main, ["effects", *map(str, words)])


def test_file_to_report(trial, tmp_path):
    page, values = tmp_path / "out.html", tmp_path / "out.json"
    formula = "score ~ arm + age"
    result = run(
        trial.path,
        "--formula",
        formula,
        "--id",
        "patient",
        "--time",
        "visit",
        "--html",
        page,
        "--json",
        values,
    )
    assert result.exit_code == 0, result.output
    assert "Effects over time" in result.output
    assert page.read_text().count("<svg") == 3
    model = TemporalProcessRegression(formula).fit(trial.frame, id="patient", time="visit")
    report = json.loads(values.read_text())
    assert report["title"] == "Effects on score over time, in simulated_visits.csv"
    row = dict(zip(report["sections"][0]["columns"], report["sections"][0]["rows"][1], strict=True))
    assert row["Covariate"] == "arm: placebo"
    assert row["p (mean)"] == model.test("arm").pvalue


@pytest.mark.parametrize(
    ("words", "params", "fit"),
    [
        (
            ["--visits", "carry", "--grid", "0,60,120", "--cluster", "age"],
            ("carry", [0, 60, 120.0]),
            "cluster",
        ),
        (["--visits", "bin", "--grid", "6", "--several", "last", "--splines", "4"], ("bin", 6), None),
        (["--visits", "local", "--grid", "10,80", "--bandwidth", "20"], ("local", [10, 80.0]), None),
    ],
)
def test_visits_as_they_come(trial, tmp_path, words, params, fit):
    values = tmp_path / "out.json"
    result = run(
        trial.path, "--formula", "score ~ arm", "--id", "patient", "--time", "day", "--json", values, *words
    )
    assert result.exit_code == 0, result.output
    options = {"several": "last", "n_splines": 4} if params[0] == "bin" else {}
    options |= {"bandwidth": 20.0} if params[0] == "local" else {}
    model = TemporalProcessRegression("score ~ arm", visits=params[0], grid=params[1], **options)
    model.fit(trial.frame, id="patient", time="day", **({} if fit is None else {"cluster": "age"}))
    curve = json.loads(values.read_text())["sections"][0]["curves"][1]["y"]
    expected = model.smoothed_coef_ if "n_splines" in options else model.coef_
    np.testing.assert_allclose(curve, expected["arm[T.placebo]"])


def test_links_dropout_and_constant_effects(tmp_path):
    frame = load_simulated_visits().frame.to_pandas()
    frame["well"] = (frame["score"] < 28).astype(int)
    frame["low"] = frame["score"].where(frame["score"] > 10)
    frame.assign(low=frame["low"].map(lambda v: "?" if np.isnan(v) else v)).to_csv(
        tmp_path / "v.csv", index=False
    )
    common = [tmp_path / "v.csv", "--id", "patient", "--time", "visit"]
    weighted = run(*common, "--formula", "well ~ arm", "--link", "logit", "--dropout", "score")
    assert weighted.exit_code == 0, weighted.output
    assert "Weighted for drop-out" in weighted.output
    constant = run(*common, "--formula", "low ~ arm + age", "--na", "?", "--constant", "age")
    assert "Constant in time: age" in constant.output


def test_what_is_wrong_is_said_in_one_sentence(trial):
    common = [trial.path, "--formula", "score ~ arm"]
    wrong = {
        "--id patent is not a column": ["--id", "patent", "--time", "visit"],
        "--grid 'often' is not understood": ["--id", "patient", "--time", "day", "--grid", "often"],
        "--link probits was given": ["--id", "patient", "--time", "visit", "--link", "probits"],
        "leave grid out": ["--id", "patient", "--time", "visit", "--grid", "5"],
    }
    for sentence, words in wrong.items():
        result = run(*common, *words)
        assert (result.exit_code, sentence in result.output) == (2, True), result.output


def test_grids_are_numbers_or_dates():
    assert read_grid(" 7") == 7
    assert read_grid("2024-01-01, 2024-02-01").dtype.kind == "M"


def test_dates_with_slashes_are_read_as_cells_or_flags_tell(trial, tmp_path):
    frame = trial.frame.to_pandas()
    day = np.datetime64("2023-12-01") + frame["day"].to_numpy().astype("timedelta64[D]")
    frame["seen"] = [f"{d.day:02}/{d.month:02}/{d.year}" for d in day.astype(object)]
    frame.to_csv(tmp_path / "v.csv", index=False)
    frame["seen"] = day
    common = ["--formula", "score ~ arm", "--id", "patient", "--time", "seen", "--visits", "carry"]
    grid = ["--grid", "01/01/2024,01/03/2024"]
    saved = ["--save", tmp_path / "m.rls", "--json", tmp_path / "o.json"]
    result = run(tmp_path / "v.csv", *common, *grid, *saved)
    assert result.exit_code == 0, result.output
    model = TemporalProcessRegression("score ~ arm", visits="carry", grid=["2024-01-01", "2024-03-01"])
    model.fit(frame, id="patient", time="seen")
    curve = json.loads((tmp_path / "o.json").read_text())["sections"][0]["curves"][1]["y"]
    np.testing.assert_allclose(curve, model.coef_["arm[T.placebo]"])
    # rows to predict may hold no cell that tells: the model knows
    (tmp_path / "new.csv").write_text("seen,arm\n01/02/2024,placebo\n")
    words = ["predict", str(tmp_path / "m.rls"), str(tmp_path / "new.csv"), "--out", str(tmp_path / "p.csv")]
    assert CliRunner().invoke(cli.main, words).exit_code == 0
    expected = model.predict({"seen": [np.datetime64("2024-02-01")], "arm": ["placebo"]})[0]
    assert float((tmp_path / "p.csv").read_text().split()[1]) == pytest.approx(expected)
    wrong = {
        "month first, but for": ["--month-first"],
        "'visit' holds none": ["--day-first", "--time", "visit"],
    }
    for sentence, flags in wrong.items():
        told = run(tmp_path / "v.csv", *common, *flags)
        assert (told.exit_code, sentence in told.output) == (2, True), told.output
    frame["seen"] = "01/02/2024"
    frame.drop_duplicates("patient").to_csv(tmp_path / "v.csv", index=False)
    assert "--day-first or --month-first" in run(tmp_path / "v.csv", *common).output
