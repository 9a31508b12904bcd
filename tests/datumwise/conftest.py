"""What tests of this folder share; it also lets them import `naive`."""

import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

from rlselect import DatumwiseClassifier

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def iris():
    return train_test_split(*load_iris(return_X_y=True), random_state=0)


@pytest.fixture(scope="module")
def fitted(iris):
    return DatumwiseClassifier(scoring="bins", feature_cost=0.02, random_state=0).fit(iris[0], iris[2])
