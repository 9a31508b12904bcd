"""Which of many units are learned about."""

import numpy as np
import pandas as pd
import pytest

from rlselect import DatumwiseClassifier
from rlselect.datumwise import PolicyIteration


def test_many_features_are_screened():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 60))
    y = (X[:, 41] > 0).astype(int)
    search = PolicyIteration(n_iter=2, n_restarts=1, screen=5)
    needs = {41: [7]}
    model = DatumwiseClassifier(search=search, prerequisites=needs, random_state=0).fit(X, y)
    assert 5 <= model.learned_units_.sum() <= 6
    assert model.learned_units_[[41, 7]].all()
    assert not model.acquire(X)[:, ~model.learned_units_].any()
    assert model.acquire(X).shape == X.shape
    assert model.sparsity(X) == pytest.approx(1 - model.acquire(X).mean())
    assert model.unit_inclusion_[~model.learned_units_].sum() == 0
    every = DatumwiseClassifier(search=PolicyIteration(n_iter=1, screen=None)).fit(X, y)
    assert every.learned_units_.all()


def test_screening_counts_a_category_once():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 10)), columns=[f"n{j}" for j in range(10)])
    frame["key"] = rng.choice(list("abcdefghij"), 200)
    y = np.isin(frame["key"], list("acegi"))
    for scoring in ("bins", "linear"):
        search = PolicyIteration(n_iter=2, n_restarts=1, screen=2)
        model = DatumwiseClassifier(scoring=scoring, search=search, random_state=0).fit(frame, y)
        assert model.learned_units_.sum() == 2
        assert model.learned_units_[10]
        assert model.score(frame, y) == 1.0
        assert model.start().tell("c").result().label
