"""Numbers that are names of categories."""

import pyarrow as pa
import pytest

from rlselect.data import CategoryColumns


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.float32(), pa.float64()])
def test_a_number_has_one_name_whichever_its_type(kind):
    table = pa.table({"a": pa.array([10, None, 2, 10], kind), "b": [1, 2, 3, 4]})
    maker = CategoryColumns(["a"])
    made = maker.make(table)
    assert made["a"].to_pylist() == ["10", None, "2", "10"]
    assert made.schema == maker.schema(table.schema)
    assert made["b"].equals(table["b"])


def test_text_categories_and_truth_stay_what_they_mean():
    table = pa.table({"t": ["x", None], "c": pa.array(["u", "v"]).dictionary_encode(), "l": [True, False]})
    made = CategoryColumns(["t", "c", "l"]).make(table)
    assert {name: made[name].to_pylist() for name in "tcl"} == {
        name: table[name].to_pylist() for name in "tcl"
    }


def test_numbers_with_decimals_and_gaps_of_floats():
    made = CategoryColumns(["a"]).make(pa.table({"a": [1.5, float("nan"), -2.0]}))
    assert made["a"].to_pylist() == ["1.5", None, "-2"]
