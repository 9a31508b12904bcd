"""Text and categories in histories: one group each, whatever the table is made of."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rlselect import AdvantageLearning, QLearning, TrialData
from rlselect.regimes._anova_kernel import ActionAnovaState, simplex_codes

STAGE = {"history": ["site", "sex", "x", "junk", "z"], "action": "A", "reward": "R"}


def columns(n=200, seed=0):
    rng = np.random.default_rng(seed)
    site, sex = rng.choice(["Bonn", "Oslo", "Rome", "Wien"], n), rng.choice(["f", "m"], n, p=[0.7, 0.3])
    x, z = rng.standard_normal((2, n))
    action = rng.choice(["drug", "rest"], n)
    sign = np.where(action == "drug", 1.0, -1.0)
    reward = sign * (1.5 * (site == "Oslo") - 0.5 + 0.5 * x) + (sex == "m") + 0.4 * rng.standard_normal(n)
    junk = rng.choice(list("abcde"), n)
    return {"site": site, "sex": sex, "x": x, "junk": junk, "z": z, "A": action, "R": reward}


@pytest.fixture(scope="module")
def trial():
    return TrialData.from_wide(columns(), [STAGE])


@pytest.mark.parametrize("model", ["anova", "rbf", "linear"])
def test_categories_are_kept_or_left_out_as_a_whole(trial, model):
    learner = QLearning(model=model, random_state=0).fit(trial)
    assert set(learner.selected_[0]) == {"site", "sex", "x"}
    assert {"site", "x"} <= set(learner.tailoring_[0])
    assert "site is Oslo" in str(learner.regime_)
    oslo, rome = learner.predict({"site": ["Oslo", "Rome"], "sex": ["f", "f"], "x": [0.0, 0.0]})
    assert (oslo, rome) == ("drug", "rest")


def test_a_contrast_of_categories(trial):
    learner = AdvantageLearning(model="linear", random_state=0).fit(trial)
    assert {"site", "x"} <= set(learner.tailoring_[0])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda d: pl.DataFrame(d).to_arrow()])
def test_tables_of_any_kind_mean_the_same(trial, make):
    table = make(columns())
    if isinstance(table, pd.DataFrame):
        table = table.astype({"site": "category", "sex": "string"})
    other = TrialData.from_wide(table, [STAGE])
    assert other.stages[0].columns == trial.stages[0].columns
    np.testing.assert_array_equal(other.stages[0].history, trial.stages[0].history)
    assert list(other.history(1)["site"][:3]) == list(columns()["site"][:3])


def test_numbers_declared_as_categories_are_labels():
    frame = pd.DataFrame(columns(60))
    frame["site"] = pd.Categorical(frame["site"].map({"Bonn": 1, "Oslo": 2, "Rome": 3, "Wien": 4}))
    trial = TrialData.from_wide(frame, [STAGE])
    assert trial.stages[0].columns[0].labels == ("1", "2", "3", "4")
    learner = QLearning(model="linear", selection=None, random_state=0).fit(trial)
    plain = frame.assign(site=frame["site"].astype(int))
    assert list(learner.predict(plain)) == list(learner.predict(frame)) == list(learner.predict(trial))


def test_a_long_table_spreads_categories():
    rows = {
        "id": [1, 1, 2, 2, 3, 3, 4, 4],
        "t": [1, 2] * 4,
        "arm": ["u", "v", "v", "u", "u", "u", "v", "v"],
        "A": [0, 1, 1, 0, 1, 1, 0, 0],
        "R": np.arange(8.0),
    }
    trial = TrialData.from_long(rows, id="id", stage="t", action="A", reward="R", covariates=["arm"])
    assert [c.name for c in trial.stages[1].columns] == ["arm_1", "A_1", "R_1", "arm_2"]
    assert list(trial.history(2)["arm_2"]) == ["v", "u", "u", "v"]


def test_what_cannot_be_a_category():
    table = columns(40)
    with pytest.raises(ValueError, match=r"'site' is missing for 1 subject\(s\) .* row 3; say missing='ind"):
        TrialData.from_wide(
            table | {"site": [None if i == 3 else s for i, s in enumerate(table["site"])]}, [STAGE]
        )
    with pytest.warns(UserWarning, match=r"names its 40 rows.*left out: 'site' \(40 levels\)"):
        trial = TrialData.from_wide(table | {"site": [f"p{i}" for i in range(40)]}, [STAGE])
    assert "site" not in [column.name for column in trial.stages[0].columns]
    learner = QLearning(model="linear", selection=None).fit(TrialData.from_wide(table, [STAGE]))
    with pytest.raises(ValueError, match=r"category 'site' holds \['Berlin'\]"):
        learner.predict({name: v[:1] for name, v in table.items()} | {"site": ["Berlin"]})


def test_overlap_looks_at_each_label():
    table = columns(400)
    chance = 0.2 + 0.6 * (table["site"] == "Rome")
    table["A"] = np.where(np.random.default_rng(1).random(400) < chance, "a", "b")
    report = TrialData.from_wide(table, [STAGE]).overlap()[0]
    name, gap = report.largest_imbalance
    assert name == "site = Rome"
    rome = table["site"] == "Rome"
    means = [rome[table["A"] == label].mean() for label in ("a", "b")]
    assert gap == pytest.approx((means[0] - means[1]) / rome.std())


@pytest.mark.parametrize("width", [2.0, None])
def test_the_kernel_of_a_category(width):
    rng = np.random.default_rng(2)
    label, action = rng.integers(3, size=30), rng.integers(2, size=30)
    x = rng.standard_normal(30)
    X = np.column_stack([simplex_codes(3)[label], x, simplex_codes(2)[action]])
    groups, action_column = [np.array([0, 1]), np.array([2])], np.array([3])
    state = ActionAnovaState(X, groups, [False, False], action_column, width)
    codes = simplex_codes(3)[label] - simplex_codes(3)[label].mean(axis=0)
    own = codes @ codes.T / np.square(codes).sum(axis=1).mean()
    alone = ActionAnovaState(X[:, 2:], [np.array([0])], [False], np.array([1]), width)
    both = X[:, 3:] @ X[:, 3:].T
    np.testing.assert_allclose(state.gram(), alone.gram() + own * (1.0 + both))
    np.testing.assert_allclose(state.without(0), alone.gram())
    np.testing.assert_allclose(state.cross(X, [0, 1]), state.gram())
    state.drop([1])
    np.testing.assert_allclose(state.gram(), both + own * (1.0 + both), atol=1e-12)
