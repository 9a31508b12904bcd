"""From a file to a model and to predictions of other files."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import feather

import rlselect
from rlselect.cli import main


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((240, 4)), columns=list("abcd"))
    frame["when"] = pd.date_range("2024-01-01", periods=240)
    frame["y"] = 2 * frame.a + 0.01 * np.arange(240) + rng.standard_normal(240)
    frame.to_parquet(tmp_path / "all.parquet")
    frame.to_csv(tmp_path / "all.csv", index=False)
    (tmp_path / "parts").mkdir()
    for k in range(3):
        frame.drop(columns="when").iloc[80 * k : 80 * (k + 1)].to_parquet(tmp_path / f"parts/{k}.parquet")
    frame.drop(columns="when").to_json(tmp_path / "all.jsonl", orient="records", lines=True)
    return tmp_path


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_select_save_predict(folder):
    done = run("select", folder / "parts", "--target", "y", "--save", folder / "m.rls")
    assert done.exit_code == 0, done.output
    done = run("predict", folder / "m.rls", folder / "all.jsonl", "--out", folder / "p.csv")
    assert done.exit_code == 0, done.output
    frame = pd.read_parquet(folder / "all.parquet")
    expected = rlselect.load(folder / "m.rls").predict(frame[list("abcd")])
    np.testing.assert_allclose(pd.read_csv(folder / "p.csv")["prediction"], expected, atol=1e-8)


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
def test_predictions_of_a_source_are_those_of_its_rows(kind, folder):
    run("select", folder / "parts", "--target", "y", "--save", folder / "m.rls")
    out = folder / f"p.{kind}"
    done = run("predict", folder / "m.rls", folder / "parts/*.parquet", "--out", out)
    assert done.exit_code == 0, done.output
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "feather": feather.read_feather}[kind]
    frame = pd.read_parquet(folder / "all.parquet")[list("abcd")]
    np.testing.assert_allclose(
        read(out)["prediction"], rlselect.load(folder / "m.rls").predict(frame), rtol=1e-9
    )


def test_dates_of_one_new_row_are_what_they_were_in_the_fit(folder):
    frame = pd.read_parquet(folder / "all.parquet")
    frame["when"] = frame["when"] + pd.to_timedelta(np.arange(240) % 24, unit="h")
    frame["y"] += 0.2 * (np.arange(240) % 24)
    frame.to_parquet(folder / "hours.parquet")
    done = run(
        "select", folder / "hours.parquet", "--target", "y", "--expand-dates", "--save", folder / "m.rls"
    )
    assert done.exit_code == 0, done.output
    assert "when.hour" in rlselect.load(folder / "m.rls").get_feature_names_out()
    # at midnight, and of one row no text could be told for a date
    frame.iloc[:1].to_csv(folder / "one.csv", index=False)
    frame.iloc[:1].astype({"when": str}).to_parquet(folder / "one.parquet")
    told = []
    for name in ("one.csv", "one.parquet", "hours.parquet"):
        out = folder / f"{name}.out.csv"
        done = run("predict", folder / "m.rls", folder / name, "--out", out, "--expand-dates")
        assert done.exit_code == 0, done.output
        told.append(pd.read_csv(out)["prediction"][0])
    assert told[0] == pytest.approx(told[2])
    assert told[1] == pytest.approx(told[2])


def test_dates_are_expanded_alike(folder):
    done = run("select", folder / "all.csv", "--target", "y", "--expand-dates", "--save", folder / "m.rls")
    assert done.exit_code == 0, done.output
    assert "when.days" in rlselect.load(folder / "m.rls").get_feature_names_out()
    bare = run("predict", folder / "m.rls", folder / "all.csv", "--out", folder / "a.csv")
    assert bare.exit_code == 2
    assert "use --expand-dates" in bare.output
    first = run("predict", folder / "m.rls", folder / "all.csv", "--out", folder / "a.csv", "--expand-dates")
    second = run(
        "predict", folder / "m.rls", folder / "all.parquet", "--out", folder / "b.csv", "--expand-dates"
    )
    assert first.exit_code == second.exit_code == 0, first.output + second.output
    np.testing.assert_allclose(pd.read_csv(folder / "a.csv"), pd.read_csv(folder / "b.csv"), rtol=1e-12)


def test_new_dates_are_read_in_the_order_of_the_fit(folder):
    frame = pd.read_parquet(folder / "all.parquet")
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(240), unit="D")
    frame["y"] = frame["when"].dt.month + 0.01 * frame["a"]
    frame.assign(when=frame["when"].dt.strftime("%d/%m/%Y")).to_csv(folder / "british.csv", index=False)
    run("select", folder / "british.csv", "--target", "y", "--expand-dates", "--save", folder / "m.rls")
    assert rlselect.load(folder / "m.rls").day_first_ == {"when": True}
    # 2 January and 1 February
    for name in ("csv", "parquet"):
        new = frame.iloc[[1, 31]].assign(when=frame["when"].dt.strftime("%d/%m/%Y"))
        new.to_csv(folder / "new.csv", index=False)
        new.to_parquet(folder / "new.parquet")
        out = folder / "p.csv"
        done = run("predict", folder / "m.rls", folder / f"new.{name}", "--out", out, "--expand-dates")
        assert done.exit_code == 0, done.output
        np.testing.assert_allclose(pd.read_csv(out)["prediction"], [1.0, 2.0], atol=0.2)
    # the other way only if that is said; without a fit nothing tells
    swapped = ("--out", folder / "p.csv", "--expand-dates", "--month-first")
    run("predict", folder / "m.rls", folder / "new.csv", *swapped)
    np.testing.assert_allclose(pd.read_csv(folder / "p.csv")["prediction"], [2.0, 1.0], atol=0.2)
    done = run("select", folder / "new.csv", "--target", "y", "--expand-dates")
    assert done.exit_code == 2
    assert "--day-first or --month-first." in done.output
    done = run("select", folder / "new.csv", "--target", "y", "--day-first")
    assert "give both" in done.output


def test_classes_have_probabilities(folder):
    frame = pd.read_parquet(folder / "all.parquet").drop(columns="when")
    frame["y"] = np.where(frame.y > 1, "high", "low")
    frame.to_csv(folder / "two.csv", index=False)
    run("select", folder / "two.csv", "--target", "y", "--save", folder / "m.rls")
    done = run("predict", folder / "m.rls", folder / "two.csv", "--out", folder / "p.csv", "--proba")
    assert done.exit_code == 0, done.output
    told = pd.read_csv(folder / "p.csv")
    np.testing.assert_allclose(told["p(high)"] + told["p(low)"], 1.0)
    assert set(told.prediction) == {"high", "low"}
    done = run("predict", folder / "m.rls", folder / "two.csv", "--out", folder / "p.csv", "--interval", ".9")
    assert "leave out --interval" in " ".join(done.output.split())


@pytest.mark.parametrize("rows", ["all.parquet", "all.csv"])
def test_numbers_have_intervals(folder, rows):
    run("select", folder / "parts", "--target", "y", "--save", folder / "m.rls")
    done = run("predict", folder / "m.rls", folder / rows, "--out", folder / "p.csv", "--interval", "0.8")
    assert done.exit_code == 0, done.output
    told, data = pd.read_csv(folder / "p.csv"), pd.read_parquet(folder / "all.parquet")
    model = rlselect.load(folder / "m.rls")
    expected = model.predict_interval(data[list(model.feature_names_in_)], level=0.8)
    np.testing.assert_allclose(told[["lower", "upper"]], expected)


def test_what_is_in_the_way_is_told_at_once_with_flags(folder):
    frame = pd.read_parquet(folder / "all.parquet")
    frame.loc[3, "a"] = np.nan
    frame.to_csv(folder / "bad.csv", index=False)
    done = run("select", folder / "bad.csv", "--target", "y")
    assert done.exit_code == 2
    assert "--missing indicator" in done.output
    assert "--expand-dates" in done.output


def test_check_and_report(folder):
    done = run("check", folder / "all.csv", "--target", "y", "--html", folder / "c.html")
    assert done.exit_code == 0, done.output
    assert "rlselect select" in done.output
    assert "--expand-dates" in done.output
    assert (folder / "c.html").exists()
    run("select", folder / "parts", "--target", "y", "--save", folder / "m.rls")
    done = run("report", folder / "m.rls")
    assert done.exit_code == 0
    assert "Selected: 1 of 4" in done.output or "Selected: 2 of 4" in done.output


def test_a_report_judges_rows_that_are_given(folder):
    model = folder / "d.model"
    run(
        "datumwise",
        folder / "all.csv",
        "--target",
        "y",
        "--drop",
        "when",
        "--scoring",
        "bins",
        "--save",
        model,
    )
    told = run("report", model).output
    # in the words of the command line, and never on the page of a decision maker
    assert "report(" not in told
    assert "--data FILE tells how well cases are answered" in " ".join(told.split())
    judged = run("report", model, "--data", folder / "all.csv", "--json", folder / "r.json")
    assert judged.exit_code == 0, judged.output
    score = rlselect.load(model).score(
        pd.read_csv(folder / "all.csv")[list("abcd")], pd.read_csv(folder / "all.csv").y
    )
    assert json.loads((folder / "r.json").read_text())["facts"]["R squared"] == pytest.approx(score)
    other = pd.read_csv(folder / "all.csv").rename(columns={"y": "z"})
    other.to_csv(folder / "other.csv", index=False)
    assert (
        "--target 'y' is not a column of --data"
        in run("report", model, "--data", folder / "other.csv").output
    )
    done = run("report", model, "--data", folder / "other.csv", "--target", "z")
    assert done.exit_code == 0, done.output
    assert "give both" in run("report", model, "--target", "z").output


def test_models_side_by_side(folder):
    for name, more in (("one", ()), ("two", ("--drop", "a"))):
        done = run("select", folder / "parts", "--target", "y", "--save", folder / f"{name}.rls", *more)
        assert done.exit_code == 0, done.output
    done = run("report", folder / "one.rls", folder / "two.rls", "--html", folder / "both.html")
    assert done.exit_code == 0, done.output
    assert "one.rls and two.rls side by side" in done.output
    assert "not in its data" in done.output
    assert "What was selected" in (folder / "both.html").read_text(encoding="utf-8")
    done = run("report", folder / "one.rls", folder / "none.rls")
    assert done.exit_code == 2
    assert "There is no file" in done.output


def test_columns_that_are_dropped_are_not_read(folder):
    table = pa.table({"a": [1.0, 2.0] * 20, "y": list(np.arange(40.0)), "odd": [[1]] * 40})
    feather.write_feather(table, folder / "odd.feather")
    import pyarrow.parquet as parquet

    parquet.write_table(table, folder / "odd.parquet")
    done = run("select", folder / "odd.parquet", "--target", "y", "--drop", "odd")
    assert done.exit_code == 0, done.output
    done = run("select", folder / "odd.parquet", "--target", "y", "--drop", "add")
    assert "Did you mean 'odd'" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "none.rls", "all.csv", "--out", "p.csv"], "There is no file"),
        (["predict", "m.rls", "all.csv", "--out", "p.xls"], "must end in .csv, .parquet, .feather"),
        (["predict", "m.rls", "all.csv", "--out", "m.rls"], "give another name"),
        (["predict", "m.rls", "all.jsonl", "--out", "p.csv", "--proba"], "leave out --proba"),
        (["predict", "m.rls", "all.csv", "--out", "p.csv", "--interval", "2"], "0.0<x<1.0"),
        (
            ["predict", "m.rls", "all.csv", "--out", "p.csv", "--interval", "9e-1", "--no-average"],
            "leave out --no-average or --interval",
        ),
    ],
)
def test_errors_name_the_flag(words, message, folder):
    run("select", folder / "parts", "--target", "y", "--save", folder / "m.rls")
    done = run(*(folder / w if "." in w and not w.startswith("-") else w for w in words))
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_learn_the_words(shell):
    done = run("completion", shell)
    assert done.exit_code == 0
    assert "_RLSELECT_COMPLETE" in done.output
