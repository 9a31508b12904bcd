"""From a frame with its target to the bunch that loaders return."""

from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils import Bunch


def make_bunch(frame: pa.Table, target: str = "target", **more: Any) -> Bunch:
    """Split a frame into features and target; `data` is an array when all features are numbers."""
    features = frame.drop_columns([target])
    numeric = all(pa.types.is_integer(t) or pa.types.is_floating(t) for t in features.schema.types)
    data: Any = features
    if numeric:
        data = np.empty(features.shape)
        for j, column in enumerate(features.columns):
            data[:, j] = column.to_numpy()
    return Bunch(
        frame=frame,
        data=data,
        target=frame.column(target).to_numpy(),
        feature_names=features.column_names,
        target_name=target,
        **more,
    )
