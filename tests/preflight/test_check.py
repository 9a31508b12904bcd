"""What a look at data finds, and what it does not make up."""

import shlex

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import rlselect
from rlselect.preflight import check
from rlselect.preflight._columns import read_column


@pytest.fixture
def houses():
    """Plain data: three columns of numbers and one of text, a target of two of them."""
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(rng.standard_normal((n, 3)), columns=["area", "noise", "age"])
    frame["city"] = rng.choice(["Rome", "Oslo", "Bonn"], n)
    frame["price"] = 2 * frame.area - frame.age + rng.standard_normal(n)
    return frame


def seen(found):
    return {finding.what: finding for finding in found.findings}


def test_plain_data_have_nothing_in_the_way(houses):
    found = check(houses, "price")
    assert found.findings == []
    assert found.recommendation.method == "REVS"
    assert "nothing that is in the way" in str(found)


def test_the_line_of_code_runs(houses):
    found = check(houses, "price")
    names = {"X": houses, "REVS": rlselect.REVS}
    fitted = eval(found.recommendation.python, names)
    assert fitted.get_feature_names_out().tolist() == ["area", "age"]


SPOILT = {
    "missing values": lambda f, rng: f.assign(area=f.area.where(rng.random(len(f)) > 0.1)),
    "constants": lambda f, rng: f.assign(one=1.0),
    "dates": lambda f, rng: f.assign(sold=pd.date_range("2024-01-01", periods=len(f))),
    "numbers with commas": lambda f, rng: f.assign(area=[f"{a:.2f}".replace(".", ",") for a in f.area]),
    "no table cells": lambda f, rng: f.assign(rooms=[[1, 2]] * len(f)),
    "ids and free text": lambda f, rng: f.assign(owner=[f"o{i}" for i in range(len(f))]),
    "repeated columns": lambda f, rng: f.assign(again=f.noise),
    "codes for missing": lambda f, rng: f.assign(noise=f.noise.where(rng.random(len(f)) > 0.05, -999.0)),
    "categories that may mean missing": lambda f, rng: f.assign(kind=rng.choice(["a", "b", "?"], len(f))),
    "numbers that may be categories": lambda f, rng: f.assign(kind=rng.integers(1, 5, len(f))),
    "stand-ins": lambda f, rng: f.assign(near=f.noise + 0.01 * rng.standard_normal(len(f))),
    "leaks": lambda f, rng: f.assign(tax=3 * f.price + 0.001 * rng.standard_normal(len(f))),
    "missing target": lambda f, rng: f.assign(price=f.price.where(rng.random(len(f)) > 0.05)),
    "constant target": lambda f, rng: f.assign(price=1.0),
    "no target": lambda f, rng: f.assign(price=pd.date_range("2024-01-01", periods=len(f))),
    "sorted rows": lambda f, rng: f.sort_values("price"),
    "repeated rows": lambda f, rng: pd.concat([f, f.iloc[:30]]),
    "rows that follow each other": lambda f, rng: f.assign(price=np.cumsum(rng.standard_normal(len(f)) ** 3)),
    "target: amounts or classes": lambda f, rng: f.assign(price=rng.integers(1, 5, len(f))),
    "target: one number in most rows": lambda f, rng: f.assign(
        price=f.price.where(rng.random(len(f)) < 0.3, 0.0)
    ),
    "target: one row": lambda f, rng: f.assign(price=np.where(np.arange(len(f)) == 7, 1e6, f.price)),
    "rare classes": lambda f, rng: f.assign(price=["dear"] * 4 + ["cheap", "fair"] * ((len(f) - 4) // 2)),
}


@pytest.mark.parametrize("what", SPOILT)
def test_what_is_spoilt_is_found(what, houses):
    rng = np.random.default_rng(1)
    found = seen(check(SPOILT[what](houses, rng), "price"))
    assert what in found
    assert found[what].text


def test_levels_that_may_mean_missing_come_with_their_flag(houses):
    rng = np.random.default_rng(4)
    houses["kind"] = rng.choice(["old", "new", "?", "n/a"], len(houses))
    houses["none"] = rng.choice(["none", "one"], len(houses))
    found = check(houses, "price")
    finding = seen(found)["categories that may mean missing"]
    assert finding.columns == ["kind"]
    assert finding.command == "--na '?' --na n/a --missing indicator"
    # as long as nobody says so, they are categories: the command that is proposed goes without
    assert "--na" not in found.recommendation.command


def test_levels_count_in_what_a_fit_takes(houses):
    rng = np.random.default_rng(4)
    few, many = (
        check(houses.assign(town=rng.integers(0, levels, len(houses)).astype(str)), "price").recommendation
        for levels in (3, 30)
    )
    assert few.seconds[1] < many.seconds[1]
    assert few.memory < many.memory


def test_dates_written_as_text_are_dates(houses):
    houses["sold"] = [f"{1 + k % 28:02d}.{1 + k % 12:02d}.2023" for k in range(len(houses))]
    assert seen(check(houses, "price"))["dates"].columns == ["sold"]


def test_real_classes_are_no_leaks(houses):
    houses["dear"] = np.where(
        houses.area + 0.5 * np.random.default_rng(2).standard_normal(300) > 0, "yes", "no"
    )
    found = check(houses.drop(columns="price"), "dear")
    assert "leaks" not in seen(found)
    houses["bought_for_more"] = houses.dear.map({"yes": 1.0, "no": 0.0})
    assert seen(check(houses.drop(columns="price"), "dear"))["leaks"].columns == ["bought_for_more"]


def test_subjects_that_come_again_lead_to_curves():
    rng = np.random.default_rng(3)
    n, times = 40, 5
    frame = pd.DataFrame(
        {
            "patient": np.repeat([f"p{i}" for i in range(n)], times),
            "week": np.tile(np.arange(times), n),
            "sex": np.repeat(rng.integers(0, 2, n), times),
            "pain": rng.standard_normal(n * times),
        }
    )
    found = check(frame, "pain")
    assert seen(found)["repeated measures"].columns == ["patient", "week"]
    assert found.recommendation.method == "TemporalProcessRegression"
    assert "--id patient --time week" in found.recommendation.command


@pytest.mark.parametrize(
    ("y", "method", "family"),
    [
        (lambda X, rng: X[:, 0] + rng.standard_normal(400), "REVS", "gaussian"),
        (lambda X, rng: np.where(X[:, 0] + rng.logistic(size=400) > 0, "a", "b"), "REVS", "binomial"),
        (lambda X, rng: rng.poisson(np.exp(0.3 * X[:, 0])), "REVS", "poisson"),
        (lambda X, rng: np.array(list("abc"))[np.digitize(X[:, 0], [-0.5, 0.5])], "REVS", "multinomial"),
        (lambda X, rng: 3.0 * X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(400), "ActorCriticPredictor", ""),
    ],
)
def test_the_method_suits_the_target(y, method, family):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((400, 5))
    found = check(X, y(X, rng)).recommendation
    assert found.method == method
    assert family in found.python


@pytest.mark.parametrize("question", ["case", "decision", "moment"])
def test_questions_have_their_rooms(question, houses):
    assert check(houses, "price", question=question).recommendation.method in (
        "DatumwiseRegressor",
        "QLearning",
        "TemporalProcessRegression",
    )


def test_any_container_shows_the_same(houses, tmp_path):
    houses.loc[3, "area"] = np.nan
    first = [(f.what, f.columns) for f in check(houses, "price").findings]
    houses.to_csv(tmp_path / "houses.csv", index=False)
    houses.iloc[:100].to_parquet(tmp_path / "a.parquet")
    houses.iloc[100:].to_parquet(tmp_path / "b.parquet")
    for other in (
        pl.from_pandas(houses),
        pa.Table.from_pandas(houses),
        str(tmp_path / "houses.csv"),
        str(tmp_path / "*.parquet"),
        pl.from_pandas(houses).lazy(),
        lambda: iter([houses.iloc[:150], houses.iloc[150:]]),
    ):
        assert [(f.what, f.columns) for f in check(other, "price").findings] == first


def test_arrays_and_sparse_matrices():
    X = np.random.default_rng(5).standard_normal((80, 4))
    X[:, 2] = 0.0
    for other in (X, sparse.csr_matrix(X), X.astype(object)):
        assert seen(check(other, X[:, 0]))["constants"].columns == ["x2"]


def test_only_some_rows_of_many_are_looked_at(houses):
    found = check(houses, "price", most_rows=50)
    assert "Looked at: 50 rows" in str(found)
    assert "Rows: 300" in str(found)


def test_pages_and_values(houses, tmp_path):
    houses["<b>bold</b>"] = 1.0
    found = check(houses, "price")
    page = found.save(tmp_path / "check.html").read_text(encoding="utf-8")
    assert "<b>bold" not in page
    assert found.dict["recommendation"]["method"] == "REVS"


def test_errors_say_the_fix(houses):
    with pytest.raises(ValueError, match="everyone, case, decision, moment"):
        check(houses, "price", question="me")
    with pytest.raises(ValueError, match=r"'prise'.*price"):
        check(houses, "prise")
    with pytest.raises(ValueError, match="same number"):
        check(houses, np.zeros(3))


def test_the_answer_is_what_is_in_the_way_or_what_to_run(houses):
    fine = check(houses, "price").dict["answer"]
    assert fine.startswith("Nothing is in the way of a fit. REVS suits these data")
    assert check(houses, "price").dict["made"]["code"].endswith("check(X, 'price')")
    gaps = check(houses.assign(area=houses.area.where(houses.age > 0)), "price").dict["answer"]
    assert "is to be mended: missing values. Then REVS" in gaps


def test_numbers_with_commas_are_no_ids_and_codes_are_no_numbers(houses):
    houses["area"] = [f"{a:.6f}".replace(".", ",") for a in houses.area]
    houses["code"] = [f"{k % 7},b" for k in range(len(houses))]
    found = seen(check(houses, "price"))
    assert found["numbers with commas"].columns == ["area"]
    assert "ids and free text" not in found
    assert "text among numbers" not in found


def test_text_among_numbers_is_told_with_its_rows_and_not_refused(houses, tmp_path):
    houses["area"] = [{4: "?", 9: "n.d.", 12: "?"}.get(k, a) for k, a in enumerate(houses.area)]
    houses.to_csv(tmp_path / "spoilt.csv", index=False)
    found = check(str(tmp_path / "spoilt.csv"), "price")
    told = seen(found)["text among numbers"]
    assert (told.weight, told.columns) == ("problem", ["area"])
    assert (
        told.text == "'area' holds numbers but for '?' in data row 5, 'n.d.' in data row 10 and 1 more cell."
    )
    assert told.command == "--na '?' --na n.d."
    # what is read as missing then is in the way, too
    assert "--na '?' --na n.d. --missing indicator" in found.recommendation.command
    # a frame has types of its own: there text is what it was meant to be, perhaps
    frame = houses.assign(area=houses.area.astype(str))
    told = seen(check(frame, "price"))["text among numbers"]
    assert (told.weight, told.command) == ("warning", "")
    assert "read as categories" in told.text


def test_commands_can_be_pasted_into_a_shell(houses):
    houses["owner's name"] = [f"o{i}" for i in range(len(houses))]
    command = check(houses.rename(columns={"price": "price in £"}), "price in £").recommendation.command
    words = shlex.split(command)
    assert words[words.index("--drop") + 1] == "owner's name"
    assert words[words.index("--target") + 1] == "price in £"


def test_cases_with_numbers_are_for_the_regressor_and_its_command_expands_dates(houses):
    houses["sold"] = pd.date_range("2024-01-01", periods=len(houses))
    advice = check(houses, "price", question="case").recommendation
    assert advice.method == "DatumwiseRegressor"
    assert advice.python.startswith("DatumwiseRegressor(")
    assert "--drop sold" not in advice.command
    assert "--expand-dates" in advice.command
    assert check(houses, "city", question="case").recommendation.method == "DatumwiseClassifier"


def test_a_target_written_with_commas_is_told_as_such():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    price = [f"{value:.2f}".replace(".", ",") for value in 3 * x + rng.normal(size=60)]
    found = check(pa.table({"x": x, "price": price}), "price")
    assert [finding.what for finding in found.problems] == ["numbers with commas"]
    assert "'price' holds numbers with commas" in found.problems[0].text
    # the advice is for the numbers that are meant
    assert found.dict["facts"]["Target"] == "price: number"
    assert "--decimal , " in f"{found.recommendation.command} "
    assert "--family gaussian" in found.recommendation.command


@pytest.mark.parametrize(
    ("written", "numbers", "mend"),
    [
        ("{:.2f}", [1.25, -3.5, 12.0], "--decimal ,"),
        ("{:,.0f}", [1000, 25000, 7], "--thousands ,"),
    ],
)
def test_numbers_with_commas_are_what_is_meant(written, numbers, mend):
    texts = [written.format(v) for v in numbers]
    texts = [t.replace(".", ",") for t in texts] if "2f" in written else texts
    column = read_column("x", pa.array([*texts, None] * 3))
    np.testing.assert_array_equal(column.values, [*numbers, np.nan] * 3)
    assert (column.kind, column.n_missing, column.n_distinct) == ("text number", 3, 3)
    found = check(pa.table({"x": texts * 20, "y": np.arange(60.0)}), "y")
    assert mend in {f.what: f for f in found.findings}["numbers with commas"].command
    assert ("--decimal ," in found.recommendation.command) == (mend == "--decimal ,")


@pytest.mark.parametrize(
    ("texts", "marks"),
    [
        (["12.5%", "3 %", "0"], ("", ["%"])),
        (["€ 1,000", "-€5", "€-7"], (",", ["€"])),
        (["USD 10", "USD 9.5"], ("", ["USD"])),
        (["3 km", "1.5 km"], ("", ["km"])),
        (["5 kg", "300 g"], None),
        (["s17", "s18"], None),
        (["Level 1", "Level 2"], None),
        (["#1", "#2"], None),
        (["10:30", "11:45"], None),
    ],
)
def test_units_are_told_from_names(texts, marks):
    found = check(pa.table({"x": texts * 20, "y": np.arange(20.0 * len(texts))}), "y")
    commands = [f.command for f in found.findings if f.what == "numbers with units"]
    if marks is None:
        assert not commands
    else:
        between = ["--thousands", marks[0]] if marks[0] else []
        assert shlex.split(commands[0]) == [*between, *(w for unit in marks[1] for w in ("--unit", unit))]


def test_a_table_of_the_target_alone_has_nothing_to_select_from():
    found = check(pa.table({"y": np.arange(30.0)}), "y")
    assert [finding.what for finding in found.problems] == ["no columns"]
    assert found.dict["facts"]["Columns"] == "0"


def test_codes_for_missing_are_in_the_command_for_files_that_take_them(houses):
    houses["area"] = np.where(np.arange(len(houses)) % 9 == 0, -999, houses.area)
    for name, said in (("a.csv", True), ("DATA", True), ("a.parquet", False)):
        command = check(houses, "price", name=name).recommendation.command
        assert ("--na -999" in command) == said
        assert "--missing indicator" in command


def test_gaps_that_tell_the_target_are_leaks(houses):
    houses["left"] = np.where(houses.price > 0, "yes", "no")
    houses["left on"] = [
        f"2024-01-{k % 28 + 1:02d}" if left == "yes" else None for k, left in enumerate(houses.left)
    ]
    found = check(houses.drop(columns="price"), "left")
    assert seen(found)["telling gaps"].columns == ["left on"]
    assert "Whether 'left on' is missing tells 'left'" in seen(found)["telling gaps"].text
    assert "Beware of left on" in found.dict["answer"]
    # gaps by chance tell nothing
    houses["left on"] = houses["left on"].sample(frac=1.0, random_state=0).to_numpy()
    assert "telling gaps" not in seen(check(houses.drop(columns="price"), "left"))


def test_the_command_names_files_as_a_shell_reads_them(houses):
    assert (
        "select 'my houses.csv' --target"
        in check(houses, "price", name="my houses.csv").recommendation.command
    )
    assert (
        "select 'a b.csv' c.csv --target"
        in check(houses, "price", name=["a b.csv", "c.csv"]).recommendation.command
    )
    flagged = houses.assign(**{"-w": [f"o{i}" for i in range(len(houses))]})
    assert "--drop=-w" in check(flagged, "price").recommendation.command


def test_a_column_of_subjects_is_no_id_to_be_dropped_and_the_formula_names_what_there_is():
    rng = np.random.default_rng(0)
    n = 60
    table = pd.DataFrame(
        {"patient": np.repeat([f"P{k}" for k in range(n)], 4), "week": np.tile([0, 2, 4, 8], n)}
    )
    table["arm"] = np.repeat(rng.choice(["a", "b"], n), 4)
    table["blood pressure"] = rng.normal(size=4 * n)
    table["pain"] = rng.normal(size=4 * n)
    found = check(table, "pain")
    assert "ids and free text" not in seen(found)
    assert (
        "--formula 'pain ~ arm + `blood pressure`' --id patient --time week" in found.recommendation.command
    )


def test_an_id_is_one_though_some_rows_were_copied():
    rng = np.random.default_rng(0)
    rows = np.r_[rng.permutation(300), np.arange(12)]
    found = check(pa.table({"row": rows + 1, "x": rng.normal(size=300)[rows]}), rng.normal(size=312))
    assert ["row"] in [one.columns for one in found.findings if one.what == "ids and free text"]


def test_the_line_of_code_takes_the_target_as_it_was_given(houses):
    X, y = houses.drop(columns="price"), houses["price"]
    for found, said in ((check(X, y), "fit(X, y)"), (check(houses, "price"), "fit(X, 'price')")):
        assert said in found.recommendation.python
    missing = check(X, y.mask(y > y.quantile(0.9)))
    assert missing.recommendation.python.endswith("fit(X, y)")
    assert "of X and y" in next(f.python for f in missing.problems if f.what == "missing target")


@pytest.fixture
def trial():
    """A trial in long form: one outcome at the end, responders without a second treatment."""
    rng = np.random.default_rng(5)
    n = 60
    frame = pd.DataFrame({"subject": np.repeat([f"s{i}" for i in range(n)], 2), "month": np.tile([0, 3], n)})
    frame["drug"] = rng.choice(["a", "b"], 2 * n)
    frame.loc[(frame.month == 3) & (rng.random(2 * n) < 0.4), "drug"] = None
    frame["score"] = np.where(frame.month == 3, rng.standard_normal(2 * n), np.nan)
    frame["pain"] = rng.standard_normal(2 * n)
    frame["seen"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, 2 * n), unit="D")
    return frame


def test_a_trial_keeps_the_rows_without_a_reward(trial):
    """The line of code left out every first stage, and named none of what a trial needs."""
    found = check(trial, "score", question="decision")
    assert seen(found)["missing target"].weight == "note"
    assert seen(found)["missing target"].command == ""
    assert "repeated measures" not in seen(found)
    assert "without an action a subject was done" in seen(found)["missing values"].python
    assert seen(found)["dates"].command == "--drop seen"
    code = found.recommendation.python
    assert "TrialData.from_long(X, id='subject', stage='month', action=..., reward='score'" in code
    code = code.replace("action=...", "action='drug'").replace("[...]", "['pain']")
    assert eval(code.partition("fit(")[2][:-1], {"TrialData": rlselect.TrialData, "X": trial}).n_stages == 2


def test_gaps_and_dates_are_in_nobodys_way_where_times_are_asked_for(trial):
    """Dates that are the times had to be expanded, and gaps imputed, by flags of another command."""
    for frame in (trial, trial.assign(month=trial.month.map({0: "2024-01-01", 3: "2024-04-01"}))):
        found = check(frame, "score", question="moment")
        assert not [finding for finding in found.findings if finding.weight == "problem"]
        assert seen(found)["missing target"].text.endswith("such a row counts as unavailable at its time.")
        assert seen(found)["dates"].columns[-1] == "seen"
        assert "'seen' out of the formula" in seen(found)["dates"].command
        assert "fit(X, id='subject', time='month')" in found.recommendation.python
    unknown = trial.assign(month=trial.month.map({0: "first", 3: "second"}), seen=0)
    unknown = check(unknown.assign(site=np.repeat(np.arange(60) % 4, 2)), "score")
    assert seen(unknown)["repeated measures"].python.endswith("id='subject', time=...)")


def test_what_is_missing_cannot_be_bought(houses):
    """`rlselect datumwise` has no --missing, which the look asked for."""
    houses.loc[::5, "area"] = np.nan
    houses.loc[::7, "age"] = -999.0
    found = check(houses, "price", question="case")
    assert found.problems == []
    assert seen(found)["missing values"].text.endswith("what is missing cannot be bought, and costs nothing.")
    assert seen(found)["codes for missing"].command == "--na -999"
    assert seen(found)["codes for missing"].python == "replace -999 by NaN"
    assert seen(check(houses, "price"))["codes for missing"].command == "--na -999 --missing indicator"
