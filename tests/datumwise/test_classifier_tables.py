"""Tables with text, categories and truth values: a category is one feature, bought as a whole."""

import warnings

import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from problems import (
    COLOURS,
    FAST,
    make_columns,
)

from rlselect import DatumwiseClassifier
from rlselect.datumwise import FeatureUseDisplay, FrontierDisplay, PolicyIteration


def frames(columns):
    enum = pl.Enum(sorted(set(columns["colour"])))
    return {
        "pandas": pd.DataFrame(columns),
        "pandas categorical": pd.DataFrame(columns).astype({"colour": "category"}),
        "polars": pl.DataFrame(columns),
        "polars enum": pl.DataFrame(columns).with_columns(pl.col("colour").cast(enum)),
        "arrow": pa.table(columns),
    }


@pytest.mark.parametrize("scoring", ["bins", "linear"])
def test_all_frames_are_the_same_table(scoring):
    columns, y = make_columns()
    made = frames(columns)
    plain = DatumwiseClassifier(scoring=scoring, search=FAST, random_state=0).fit(made["pandas"], y)
    assert plain.units_ == ["weight", "colour", "lamp", "noise"]
    assert plain.feature_names_in_.tolist() == plain.units_
    assert plain.acquire(made["polars"]).shape == (300, 4)
    for frame in made.values():
        other = DatumwiseClassifier(scoring=scoring, search=FAST, random_state=0).fit(frame, y)
        assert other.predict_proba(frame) == pytest.approx(plain.predict_proba(made["pandas"]))
        assert (other.acquire(frame) == plain.acquire(made["arrow"])).all()


def test_a_category_is_worth_its_levels():
    columns, y = make_columns(n=600)
    frame = pd.DataFrame(columns)
    model = DatumwiseClassifier(scoring="bins", random_state=0).fit(frame[:400], y[:400])
    # eight levels in no order: quantile bins of their numbers would mix them
    assert model.score(frame[400:], y[400:]) > 0.9
    assert model.unit_inclusion_[1] > 0.9
    lamp = np.isin(columns["colour"][400:], ["blue", "dun", "fawn", "hazel"])
    bought = model.acquire(frame[400:])
    assert bought[lamp, 2].mean() > 0.9 > 0.3 > bought[~lamp, 2].mean()


def test_target_and_weights_may_be_columns():
    columns, y = make_columns(n=120)
    frame = pd.DataFrame({**columns, "class": y, "count": 1 + np.arange(120) % 2})
    apart = DatumwiseClassifier(search=FAST, random_state=0)
    apart.fit(frame[list(columns)], y, sample_weight=frame["count"])
    named = DatumwiseClassifier(search=FAST, random_state=0).fit(frame, "class", sample_weight="count")
    assert named.units_ == list(columns)
    weights = frame["count"].to_numpy()
    assert named.score(frame, "class", sample_weight="count") == named.score(frame, y, weights)
    assert named.predict_proba(frame) == pytest.approx(apart.predict_proba(frame[list(columns)]))


def test_missing_categories_cannot_be_bought():
    columns, _ = make_columns()
    frame, y = pd.DataFrame(columns), np.isin(columns["colour"], COLOURS[::3])
    gaps = np.random.default_rng(1).random(300) < 0.3
    frame.loc[gaps, "colour"] = None
    for scoring in ("bins", "linear"):
        model = DatumwiseClassifier(scoring=scoring, search=FAST, random_state=0).fit(frame, y)
        assert model.acquire(frame)[~gaps, 1].any()
        assert not model.acquire(frame)[gaps, 1].any()
    # a gap is a gap, whatever the type of the column that holds nothing else
    one = pd.DataFrame({"weight": [0.5], "colour": [np.nan], "lamp": [True], "noise": [0.0]})
    other = one.astype({"colour": object}).assign(colour=None)
    numbers = one.astype(float)
    for row in (one, other, numbers):
        assert model.predict(row)[0] == model.predict(one)[0]
        assert not model.acquire(row)[0, 1]


def test_unknown_levels_are_taken_as_missing():
    columns, y = make_columns()
    frame = pd.DataFrame(columns)
    for search in (FAST, PolicyIteration(n_iter=2, exact_states=10**6)):
        model = DatumwiseClassifier(search=search, random_state=0).fit(frame, y)
        new = frame[:20].assign(colour="mauve")
        with pytest.warns(UserWarning, match=r"not there in fit \('colour': 'mauve'\).*taken as missing"):
            bought = model.acquire(new)
        assert not bought[:, 1].any()
        assert (bought == model.acquire(new.assign(colour=None))).all()


def test_exact_solution_knows_levels():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"key": rng.choice(list("abc"), 200), "u": rng.random(200) < 0.5})
    y = np.where(frame["key"] == "b", frame["u"], frame["key"] == "c").astype(int)
    model = DatumwiseClassifier(scoring="bins").fit(frame, y)
    assert model.stop_reason_.startswith("solved exactly, 12 states")
    assert model.score(frame, y) == 1.0
    assert (model.acquire(frame)[:, 1] == (frame["key"] == "b")).all()
    tree = model.question_tree(frame)
    assert tree.question == "key"
    assert [label for label, _ in tree.branches] == ["a", "b", "c"]
    assert [label for label, _ in dict(tree.branches)["b"].branches] == ["False", "True"]


def test_rows_from_dictionaries_and_nullable_types():
    rng = np.random.default_rng(0)
    flag = rng.random(200) < 0.5
    frame = pd.DataFrame(
        {
            "flag": pd.array(np.where(rng.random(200) < 0.1, None, flag), dtype="boolean"),
            "year": pd.Categorical(rng.choice([1999, 2001, 2004], 200)),
            "kind": pd.array(np.where(rng.random(200) < 0.1, None, rng.choice(["u", "v"], 200)), "string"),
            "count": pd.array(rng.integers(0, 9, 200), dtype="Int64"),
        }
    )
    y = flag | (frame["year"] == 2001).to_numpy()
    model = DatumwiseClassifier(search=FAST, random_state=0, feature_cost=0.001).fit(frame, y)
    labels = str(model.question_tree(frame))
    assert "False: " in labels
    assert "not available: " in labels
    for i in range(20):
        row = frame.iloc[i].to_dict()
        assert model.predict(pd.DataFrame([row]))[0] == model.predict(frame.iloc[[i]])[0]
        session = model.start()
        while (question := session.next()) is not None:
            session.tell(row[question])
        assert session.result().acquired == model.acquisition_order(frame.iloc[[i]])[0]


def test_groups_prices_and_rules_go_by_feature():
    columns, y = make_columns()
    frame = pd.DataFrame(columns)
    rules = {"costs": {"colour": 0.2}, "prerequisites": {"lamp": "colour"}, "budget": 2}
    model = DatumwiseClassifier(search=FAST, random_state=0, **rules).fit(frame, y)
    bought, cost = model.acquire(frame), model.cost(frame)
    assert cost == pytest.approx(bought @ [0.01, 0.2, 0.01, 0.01])
    assert bought.sum(axis=1).max() <= 2
    assert not (bought[:, 2] & ~bought[:, 1]).any()


def test_pictures_of_tables():
    columns, y = make_columns(n=120)
    frame = pd.DataFrame(columns)
    matplotlib.use("Agg")
    model = DatumwiseClassifier(search=FAST, random_state=0).fit(frame, y)
    assert len(FeatureUseDisplay.from_estimator(model, frame).feature_names) == 4
    shown = FrontierDisplay.from_estimator(
        model, frame[60:], y[60:], train=(frame[:60], y[:60]), feature_costs=[0.05], peers=["cart"]
    )
    # the full tree asks for features, not for indicators: never more than four
    assert 0 <= min(shown.curves["CART"]["sparsity"]) < 1
    assert (np.array(shown.curves["CART"]["sparsity"]) * 4 * 60 % 1 < 1e-6).all()
    matplotlib.pyplot.close("all")


def test_lists_of_rows_and_numbers_stay_what_they_are():
    rows = [[1.0, "a"], [2.0, "b"], [3.0, "a"], [4.0, "b"]] * 10
    model = DatumwiseClassifier(scoring="bins").fit(rows, [0, 1, 0, 1] * 10)
    assert model.units_ == ["x0", "x1"]
    assert model.predict([[9.0, "b"]])[0] == 1
    with pytest.raises(TypeError, match="'x0' of X holds text"):
        model.predict([["high", "b"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict([[None, "a"]])
