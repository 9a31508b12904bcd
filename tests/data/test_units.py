"""Columns of a feature and features of a group stay together."""

import numpy as np
import pandas as pd

from rlselect.data import TableEncoder, read_units

FRAME = pd.DataFrame(
    {
        "age": [1.0, np.nan, 3.0, 4.0],
        "same": ["x", "x", "x", "x"],
        "city": ["a", "b", "c", "a"],
        "b": [1.0, 0.0, 0.0, 2.0],
    }
)


def test_indicators_and_gaps_follow_their_feature():
    encoder = TableEncoder(missing="indicator").fit(FRAME)
    assert encoder.column_names_ == ["age", "city=b", "city=c", "b", "age=missing"]
    found = read_units(encoder)
    assert [c.tolist() for c in found.units.columns] == [[0, 4], [1, 2], [3]]
    assert found.unit_of_feature.tolist() == [0, -1, 1, 2]
    assert found.to_features(np.array([5.0, 7.0, 9.0]), np.nan).tolist()[::2] == [5.0, 7.0]
    assert np.isnan(found.to_features(np.array([5.0, 7.0, 9.0]), np.nan)[1])


def test_groups_join_features_in_the_order_of_their_first_ones():
    encoder = TableEncoder(missing="indicator").fit(FRAME)
    found = read_units(encoder, {"late": ["b", "same"], "early": ["city", "age"]})
    assert [c.tolist() for c in found.units.columns] == [[0, 1, 2, 4], [3]]
    # a feature without a column belongs to its group, which may have others
    assert found.unit_of_feature.tolist() == [0, 1, 0, 1]
