"""Each kind of bad input has its own sentence."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from rlselect.data import TableEncoder, nearest_names, open_table

X3 = np.arange(6.0).reshape(3, 2)
FRAME = pa.table({"income": [1.0, 2.0, 3.0], "age": [4, 5, 6], "city": ["u", "v", "u"]})


@pytest.mark.parametrize(
    ("X", "error", "match"),
    [
        (np.arange(3.0), ValueError, "Reshape your data"),
        (pd.Series([1.0, 2.0]), ValueError, "Reshape your data"),
        (3.0, ValueError, "got a scalar.*Reshape your data"),
        (np.ones((2, 2, 2)), ValueError, r"Found array with dim 3 .*dim <= 2 is required"),
        (np.ones((0, 3)), ValueError, r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.ones((3, 0)), ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
        (sparse.csr_array((0, 3)), ValueError, r"0 sample\(s\)"),
        (FRAME[:0], ValueError, r"0 sample\(s\) \(shape=\(0, 3\)\)"),
        (pl.DataFrame(), ValueError, r"0 sample\(s\)|0 feature\(s\)"),
        (X3 * 1j, ValueError, "Complex data not supported"),
        (sparse.csr_array(X3 * 1j), ValueError, "Complex data not supported"),
        (np.array([[1j, 2.0]], dtype=object), ValueError, "Complex data not supported"),
        (pd.DataFrame({"z": [1j, 2j]}), ValueError, "Complex data not supported"),
        ([[1, 2], [3]], ValueError, "its rows differ in length"),
        (b"table.csv", TypeError, "is text; pass the table itself"),
        ({"a": [1]}, TypeError, "X is a dict"),
        (None, TypeError, "X is a NoneType"),
        (np.array([[1.0], ["v"]], dtype=object), ValueError, r"'x0' of X mixes numbers \(1.0\) and text"),
        (np.array([[{"a": 1}], [1.0]], dtype=object), TypeError, "'x0' of X holds a dict: each argument"),
        (np.array([[{"a": 1}], [{"a": 2}]], dtype=object), TypeError, "must be a string or a number"),
        (np.array([[True], [2.5]], dtype=object), ValueError, "mixes truth values"),
        (np.array([[2.5], [True]], dtype=object), ValueError, "mixes truth values"),
        (np.array([[b"u"], [b"v"]]), TypeError, "holds binary values"),
        (pa.table({"l": [[1], [2]]}), TypeError, "'l' of X holds list<.*> values"),
        (pl.DataFrame({"s": [{"a": 1}]}), TypeError, "'s' of X holds struct<.*> values"),
        (pd.DataFrame({"c": pd.Categorical([1, "u"])}), ValueError, r"'c' of X mixes numbers \(1\) and text"),
        (pd.DataFrame({"c": pd.Categorical([("u", 1), ("v", 2)])}), TypeError, "'c' of X holds a tuple"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "column names of X must differ"),
        (pd.DataFrame([[1, 2]], columns=["a", 3]), TypeError, "all input features have string names"),
        (np.array([(1, 2.0)], dtype=[("a", int), ("b", float)])[:, None], TypeError, "numbers or text is"),
    ],
)  # fmt: skip
def test_bad_tables(X, error, match):
    with pytest.raises(error, match=match):
        open_table(X)
    with pytest.raises(error, match=match):
        TableEncoder().fit(X)


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({"y": [1, 2]}, ValueError, "y has 2 values, but X has 3 rows"),
        ({"y": np.ones((3, 2))}, ValueError, r"y should be a 1d array, got an array of shape \(3, 2\)"),
        ({"y": 1.0}, ValueError, "y should be a 1d array"),
        ({"y": np.ones(3) * 1j}, ValueError, "Complex data not supported: y"),
        ({"y": [1, "u", 2.5]}, ValueError, "y mixes numbers .* and text"),
        ({"y": [{}, {}, {}]}, TypeError, "y holds"),
        ({"y": {"a": 1}}, TypeError, "y is a dict"),
        ({"y": sparse.csr_array(np.ones((3, 1)))}, TypeError, "y is a sparse matrix"),
        ({"y": [[1, 2], [3], [4]]}, ValueError, "y cannot be read as a 1-D array"),
        ({"y": "target"}, TypeError, "y='target' names a column, but X has no column names"),
        ({"sample_weight": [1, 2]}, ValueError, "sample_weight has 2 values, but X has 3 rows"),
        ({"sample_weight": np.ones((3, 2))}, ValueError, "sample_weight should be a 1d array"),
        ({"sample_weight": [1, -1, -2]}, ValueError, "sample_weight is negative in 2 of 3 rows"),
        ({"sample_weight": [0, 0, 0]}, ValueError, "All values of sample_weight are zero"),
        ({"sample_weight": [1, np.nan, 2]}, ValueError, "sample_weight contains NaN or infinity in 1 of 3"),
        ({"sample_weight": ["a", "b", "c"]}, TypeError, r"sample_weight holds text \('a'\), but numbers"),
        ({"y": np.ma.masked_array(np.ones(3), mask=[0, 1, 0])}, ValueError, "y contains missing .* 1 of 3"),
        ({"sample_weight": np.ma.masked_equal([1, 2, 3], 2)}, ValueError, "sample_weight contains NaN .* 1 "),
        ({"offset": [1, 2, np.inf]}, ValueError, "offset contains NaN or infinity in 1 of 3"),
        ({"offset": [1]}, ValueError, "offset has 1 values"),
        ({"missing": "ignore"}, ValueError, "missing='ignore' is not known; use one of \"error\""),
    ],
)
def test_bad_companions(given, error, match):
    with pytest.raises(error, match=match):
        open_table(X3, **given)


@pytest.mark.parametrize("role", ["y", "sample_weight", "offset"])
def test_misspelt_columns_suggest_the_nearest(role):
    for frame in (FRAME, FRAME.to_pandas(), pl.from_arrow(FRAME)):
        with pytest.raises(ValueError, match=f"{role}='Incme' is not a column of X. Did you mean 'income'?"):
            open_table(frame, **{role: "Incme"})
        with pytest.raises(ValueError, match="Its columns are 'income', 'age', 'city'"):
            open_table(frame, **{role: "zzzzzz"})
    assert nearest_names("AGE", FRAME.column_names) == ["age"]


def test_text_weights_by_name():
    with pytest.raises(TypeError, match="sample_weight holds text"):
        open_table(FRAME, sample_weight="city")


def test_all_columns_taken_by_roles():
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(3, 0\)\)"):
        open_table(FRAME.select(["income"]), "income")


def test_scalar_weight_is_spread():
    assert open_table(X3, sample_weight=2).sample_weight.tolist() == [2, 2, 2]


def test_other_widths_and_names_name_the_owner():
    table = open_table(FRAME, owner="REVS")
    with pytest.warns(
        UserWarning, match="X does not have valid feature names, but REVS was fitted with feature names"
    ):
        table.encoder.transform(np.array([[1.0, 2.0, "u"]], dtype=object))
    encoder = open_table(X3, owner="REVS").encoder
    with pytest.raises(ValueError, match="X has 1 features, but REVS is expecting 2 features as input"):
        encoder.transform(X3[:, :1])
    with pytest.warns(UserWarning, match="X has feature names, but REVS was fitted without feature names"):
        encoder.transform(pa.table({"a": [1.0], "b": [2.0]}))
    with pytest.raises(ValueError, match=re.escape("Feature names must be in the same order")):
        table.encoder.transform(FRAME.select(["age", "income", "city"]))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- town\n.*yet now missing:\n- city\n"):
        table.encoder.transform(FRAME.rename_columns(["income", "age", "town"]))


def _known_exceptions(encoder):
    if encoder.missing == "indicator":
        return {}
    # Its fit takes NaN (numbers are not looked at, or rows are dropped), its transform refuses it;
    # scikit-learn has one tag for both, and this check feeds NaN to both.
    return {"check_estimators_pickle": "NaN in transform is refused"}


@parametrize_with_checks(
    [TableEncoder(), TableEncoder(missing="drop"), TableEncoder(missing="indicator")],
    expected_failed_checks=_known_exceptions,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
