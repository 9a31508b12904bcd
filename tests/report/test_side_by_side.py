"""Fits side by side: what changed, said rightly."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Lasso

import rlselect
from rlselect import (
    REVS,
    CorrelationFeatureSelection,
    DatumwiseClassifier,
    MismatchFeatures,
    QLearning,
    RiskRFE,
    TemporalProcessRegression,
    TrialData,
)
from rlselect.report import Summary, side_by_side
from rlselect.simulate import make_regime_trial


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((150, 5)), columns=["age", "<b>dose</b>", "sex", "noise", "other"])
    y = 2.0 * X["age"] - X["<b>dose</b>"] + 0.15 * X["sex"] + 0.5 * rng.standard_normal(150)
    return X, y


@pytest.fixture(scope="module")
def fits(table):
    X, y = table
    open_to_all = REVS(random_state=0).fit(X, y)
    narrow = REVS(random_state=0, never_select=["sex"], always_select=["noise"]).fit(X, y)
    return {"free": open_to_all, "narrow": narrow}


def section(found, title):
    return next(part for part in found.dict["sections"] if part["title"] == title)


def rows_of(found, title):
    return {row[0]: row[1:] for row in section(found, title)["rows"]}


def test_variables_gained_and_lost(fits):
    found = side_by_side(fits)
    rows = rows_of(found, "What was selected")
    assert section(found, "What was selected")["columns"] == ["Variable", "free", "narrow", "Change"]
    assert [rows[name][-1] for name in ("age", "<b>dose</b>", "sex", "noise")] == ["-", "-", "lost", "gained"]
    assert "other" not in rows
    free, narrow = fits.values()
    assert rows["noise"][0] == f"no ({free.inclusion_[3]:.2f})"
    assert rows["noise"][1] == f"yes ({narrow.inclusion_[3]:.2f})"
    assert list(rows)[:2] == ["age", "<b>dose</b>"]
    shared, *own = found.dict["answer"].split(". ")
    assert shared == "Both fits select age and <b>dose</b>"
    assert own == ["free selects in addition sex", "narrow selects in addition noise."]
    assert found.dict["selected"]["free"] == ["age", "<b>dose</b>", "sex"]


def test_settings_facts_and_scores(fits, table):
    found = side_by_side(fits, X=table[0], y=table[1])
    assert rows_of(found, "Settings that differ") == {
        "always_select": ["()", "['noise']"],
        "never_select": ["()", "['sex']"],
    }
    facts = rows_of(found, "How they went")
    scores = facts["Score on the rows given"]
    assert scores == [f"{fit.score(*table):.4g}" for fit in fits.values()]
    assert facts["Selected"] == ["3 of 5 variables"] * 2
    assert all(time.endswith(" s") for time in facts["Time"])
    assert facts["Stopped"] == ["the search has converged"] * 2
    assert section(found, "What free says")["note"] == fits["free"].summary().dict["answer"]


def test_across_selectors_of_one_room(table):
    X, y = table
    selectors = [REVS(random_state=0), RiskRFE(random_state=0), CorrelationFeatureSelection(patience=3)]
    found = rlselect.report([one.fit(X, y) for one in selectors])
    assert found.dict["fits"] == ["REVS", "RiskRFE", "CorrelationFeatureSelection"]
    settings = rows_of(found, "Settings that differ")
    assert settings["patience"] == ["-", "-", "3"]
    # an option of one kind at its default says nothing
    assert "cv" not in settings
    twins = rlselect.report([selectors[0], selectors[0], selectors[1]])
    assert twins.dict["fits"] == ["REVS 1", "REVS 2", "RiskRFE"]


def test_equal_fits_are_told_so(fits):
    found = side_by_side([fits["free"], fits["free"]])
    assert section(found, "Settings that differ")["note"] == "All fits have the same settings."
    assert found.dict["answer"].startswith("Both fits select the same 3 variables: age, ")


def test_text_values_and_page(fits, tmp_path):
    found = rlselect.report(fits, tmp_path / "both.html")
    assert isinstance(found, Summary)
    page = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert "What was selected" in page
    assert "<b>dose" not in page
    assert "# free and narrow side by side" in str(found)
    written = json.loads(found.save(tmp_path / "both.json").read_text(encoding="utf-8"))
    assert written["selected"]["narrow"] == ["age", "<b>dose</b>", "noise"]
    assert "# free\nfrom rlselect.subset import REVS" in found.dict["made"]["code"]


def test_other_data_other_variables(fits, table):
    X, y = table
    less = REVS(random_state=0).fit(X[["age", "sex"]], y)
    rows = rows_of(side_by_side([fits["free"], less]), "What was selected")
    assert rows["<b>dose</b>"][1:] == ["not in its data", "lost"]


def test_other_rooms():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(120, 3)).astype(float)
    cheap, dear = (
        DatumwiseClassifier(scoring="bins", feature_cost=cost, random_state=0).fit(X, X[:, 1].astype(int))
        for cost in (0.01, 0.9)
    )
    both = side_by_side({"cheap": cheap, "dear": dear})
    assert rows_of(both, "What was selected") == {"x1": ["yes (1.00)", "no (<0.01)", "lost"]}
    simulated = make_regime_trial("I", 60, 5, random_state=1)
    trial = TrialData.from_wide(simulated.columns, simulated.stages)
    learners = [QLearning(model="linear", random_state=0, selection=s).fit(trial) for s in ("loo", None)]
    rows = rows_of(side_by_side(learners), "What was selected")
    assert {name.split(": ")[0] for name in rows} == set(learners[0].stage_names_)
    assert all(cells[1].startswith("yes") for cells in rows.values())
    x, y = rng.standard_normal((200, 2)), rng.standard_normal(200)
    ids, times = np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40)
    models = [
        TemporalProcessRegression().fit(x, x[:, 0] * k + 0.3 * y, id=ids, time=times) for k in (0.0, 2.0)
    ]
    assert rows_of(side_by_side(models), "What was selected")["x0"][-1] == "gained"


def test_refusals(fits, table):
    free = fits["free"]
    with pytest.raises(ValueError, match=r"1 fits were given; give two to 8 .* One fit has summary"):
        side_by_side([free])
    with pytest.raises(ValueError, match="a REVS was given"):
        side_by_side(free)
    with pytest.raises(ValueError, match="'Lasso' is a Lasso; give estimators of rlselect"):
        side_by_side([free, Lasso()])
    with pytest.raises(ValueError, match="MismatchFeatures"):
        side_by_side([free, MismatchFeatures()])
    with pytest.raises(NotFittedError):
        side_by_side([free, REVS()])
    with pytest.raises(ValueError, match="y was given alone"):
        side_by_side(fits, y=table[1])
    x = table[0][["age"]]
    other = DatumwiseClassifier(scoring="bins").fit(x, (x["age"] > 0).astype(int))
    with pytest.raises(ValueError, match=r"rlselect.subset and .* rlselect.datumwise: .* one room"):
        side_by_side([free, other])
    with pytest.raises(ValueError, match=r"must end in \.html"):
        side_by_side(fits, "both.pdf")
