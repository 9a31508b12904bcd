"""Encoders of categories: one number per level."""

import numpy as np
import pytest

from rlselect.datumwise._encoding import make_encoder
from rlselect.datumwise._levels import with_levels


@pytest.mark.parametrize("scoring", ["bins", "linear"])
def test_level_encoders_agree_with_themselves(scoring):
    """What units add is what the regressors of their states say, also beside numbers and in groups."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=40), rng.integers(0, 7, 40), rng.integers(0, 2, 40)]).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    plain = make_encoder(scoring, 3).fit(X, np.ones(40))
    encoder = with_levels(plain, {1: 7, 2: 2})
    assert encoder.width_ == (1 + 3 + 7 + 2 if scoring == "bins" else 7 + 7 + 2)
    assert plain.width_ < encoder.width_
    assert with_levels(plain, {}) is plain
    codes = encoder.encode(X)
    theta = np.vstack([rng.normal(size=(encoder.width_, 4)), np.zeros((1, 4))])
    for order, starts in (([0, 1, 2], [0, 1, 2]), ([1, 0, 2], [0, 1]), ([2, 1, 0], [0])):
        added = encoder.contributions(theta, codes, np.array(starts), np.array(order))
        bounds = [*starts, 3]
        for u in range(len(starts)):
            shown = np.zeros((40, 3), dtype=bool)
            shown[:, order[bounds[u] : bounds[u + 1]]] = True
            design = np.asarray(encoder.design(codes, shown))
            np.testing.assert_allclose(added[:, u] + theta[0], design @ theta[:-1])
    diagonal, beside = encoder.precision_
    assert len(diagonal) == encoder.width_ == len(beside) + 1
    levels = slice(encoder.offset_[1], encoder.offset_[2]) if scoring == "bins" else slice(-9, -2)
    assert (diagonal[levels] == 1).all()


def test_levels_stay_apart_in_all_numbers_of_bins():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 12, 200)]).astype(float)
    encoder = with_levels(make_encoder("bins", (3, 8)).fit(X, np.ones(200)), {1: 12})
    assert [one.encoder.width_ for one in encoder.regressors_] == [1 + 3 + 12, 1 + 8 + 12]
    codes = encoder.encode(X)
    shown = np.ones((200, 2), dtype=bool)
    for one in encoder.regressors_:
        design = np.asarray(one.design(codes, shown))
        for level in range(12):
            assert (design[:, -12 + level] == (X[:, 1] == level)).all()
    only = with_levels(make_encoder("bins", (3, 8)).fit(X[:, 1:], np.ones(200)), {0: 12})
    assert len(only.regressors_) == 1
