"""What y is taken for."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.utils.multiclass import type_of_target

from rlselect.data import category_order, doubtful_classes, find_task, open_once, read_classes

TEXT = np.array(["a", "b", "c", "a"], dtype=object)


@pytest.mark.parametrize("labels", ["two values", "whole numbers"])
def test_text_and_truth_values_are_classes_and_one_number_is_not(labels):
    assert find_task(TEXT, labels=labels) == "classification"
    assert find_task(np.array([True, False]), labels=labels) == "classification"
    for constant in (np.full(4, 7.0), np.ones(4, dtype=int), np.full(3, 0.5)):
        assert find_task(constant, labels=labels) == "regression"


@pytest.mark.parametrize(
    ("y", "two", "whole"),
    [
        (np.array([0, 1, 1, 0]), "classification", "classification"),
        (np.array([0.0, 1.0, 1.0]), "classification", "classification"),
        (np.array([0.5, 1.5, 1.5]), "classification", "regression"),
        (np.array([1, 2, 3]), "regression", "classification"),
        (np.array([1.0, 2.0, 3.0]), "regression", "classification"),
        (np.array([1.0, 2.5, 3.0]), "regression", "regression"),
        (np.array([1e300, 2e300, 3e300]), "regression", "regression"),
    ],
)
def test_the_two_rules_for_numbers(y, two, whole):
    assert find_task(y, labels="two values") == two
    assert find_task(y, labels="whole numbers") == whole


def test_a_late_third_value_is_seen():
    y = np.append(np.arange(2000) % 2, 7)
    assert find_task(y, labels="two values") == "regression"
    assert find_task(y[:-1], labels="two values") == "classification"


def test_whole_numbers_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    for y in (rng.integers(0, 5, 50), rng.integers(0, 5, 50).astype(float), rng.normal(size=50)):
        continuous = type_of_target(y) == "continuous"
        assert find_task(y, labels="whole numbers") == ("regression" if continuous else "classification")


def test_many_whole_numbers_with_few_rows_are_doubted():
    assert doubtful_classes(np.arange(50)) == "y holds 50 different whole numbers in 50 rows"
    assert doubtful_classes(np.repeat(np.arange(50), 5)) is None
    assert doubtful_classes(np.arange(20)) is None
    assert doubtful_classes(np.array([str(j) for j in range(50)], dtype=object)) is None


def test_classes_and_their_refusals():
    classes, codes = read_classes(TEXT, given="loss='hinge'", instead="loss='squared'")
    assert classes.tolist() == ["a", "b", "c"]
    assert codes.tolist() == [0, 1, 2, 0]
    with pytest.raises(ValueError, match=r"loss='hinge' was given, but .*continuous.*use loss='squared'"):
        read_classes(np.array([0.5, 1.0]), given="loss='hinge'", instead="loss='squared'")
    with pytest.raises(ValueError, match=r"only one class \('a'\)"):
        read_classes(TEXT[:1], given="loss='hinge'", instead="loss='squared'")


def test_the_order_of_categories_where_their_type_says_it(tmp_path):
    stages = pd.Categorical(["mild", "bad"], ["none", "mild", "bad"], ordered=True)
    enum = pl.Series("stage", ["mild", "bad"], dtype=pl.Enum(["none", "mild", "bad"]))
    frame = pd.DataFrame({"stage": stages})
    frame.to_parquet(tmp_path / "pandas.parquet")
    enum.to_frame().write_parquet(tmp_path / "polars.parquet")
    for X, y in (
        (None, stages),
        (None, frame["stage"]),
        (frame, "stage"),
        (enum.to_frame(), "stage"),
        (enum.to_frame().lazy(), "stage"),
        (enum.to_frame().to_arrow(), "stage"),
        (tmp_path / "pandas.parquet", "stage"),
        (open_once(str(tmp_path / "polars.parquet")), "stage"),
        (pl.scan_parquet(tmp_path / "polars.parquet"), "stage"),
    ):
        assert category_order(X, y) == ["none", "mild", "bad"]
    frame.to_csv(tmp_path / "a.csv")
    loose = pd.Series(stages).cat.as_unordered()
    for X, y in (
        (None, loose),
        (None, TEXT),
        (None, [1, 2]),
        (frame, "other"),
        (tmp_path / "a.csv", "stage"),
        (pa.table({"stage": ["mild"]}), "stage"),
    ):
        assert category_order(X, y) is None
