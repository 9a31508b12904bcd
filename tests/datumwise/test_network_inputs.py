"""Codes and input columns of networks, against naive ones."""

import numpy as np
import pytest
from scipy import stats

from rlselect.datumwise._network_inputs import ScoreEncoder


def test_scores_are_those_of_mid_ranks():
    values = np.array([3.0, 1.0, 1.0, 7.0, np.nan, 5.0])
    encoder = ScoreEncoder().fit(values[:, None], np.ones(6), {})
    ranks = stats.rankdata(values[[0, 1, 2, 3, 5]])
    np.testing.assert_allclose(
        encoder.encode(values[:, None])[[0, 1, 2, 3, 5], 0], stats.norm.ppf((ranks - 0.5) / 5)
    )
    assert np.isnan(encoder.encode(values[:, None])[4, 0])


def test_weights_are_copies():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(30, 2)), rng.integers(1, 4, size=30)
    mine = ScoreEncoder().fit(X, weights, {})
    copies = ScoreEncoder().fit(np.repeat(X, weights, axis=0), np.ones(weights.sum()), {})
    np.testing.assert_allclose(mine.encode(X), copies.encode(X))


def test_values_beyond_the_rows_of_fit_are_taken_for_the_last():
    encoder = ScoreEncoder().fit(np.arange(10.0)[:, None], np.ones(10), {})
    low, high = encoder.encode(np.array([[-50.0], [50.0]]))[:, 0]
    assert (low, high) == (encoder.scores_[0][0], encoder.scores_[0][-1])


def test_columns_are_clipped_lines():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    encoder = ScoreEncoder().fit(X, np.ones(200), {})
    codes = encoder.encode(X).astype(np.float32)
    ramps, raw = encoder.kinds
    assert (ramps.width, raw.width) == (2 * 10, 2 * 2)
    made = ramps.make(codes)
    own = made[:, ramps.owner == 1]
    np.testing.assert_array_equal(own[:, 0], 1.0)  # known
    np.testing.assert_allclose(own[:, 1], codes[:, 1])
    # ramps are filled one after the other, so their sum is where a value is among the quantiles
    assert ((own[:, 2:] >= 0) & (own[:, 2:] <= 1)).all()
    order = np.argsort(codes[:, 1])
    assert (np.diff(own[order, 2:].sum(axis=1)) >= -1e-6).all()
    np.testing.assert_array_equal(raw.make(codes)[:, raw.owner == 1], own[:, :2])


def test_every_level_of_a_category_can_be_told_from_the_others():
    X = np.arange(4.0)[np.random.default_rng(0).integers(0, 4, size=50)][:, None]
    encoder = ScoreEncoder().fit(X, np.ones(50), {0: 4})
    for columns in encoder.kinds:
        made = columns.make(np.arange(4, dtype=np.float32)[:, None])
        assert np.linalg.matrix_rank(made) == 4
        assert columns.noise[0] == 0
    np.testing.assert_allclose(encoder.edges_[0], [0.5, 1.5, 2.5])


@pytest.mark.parametrize("levels", [4, 40])
def test_scores_at_the_clip_make_no_ramps_without_length(levels):
    """A column that is almost always zero: most of its levels have the highest score that there is."""
    values = np.concatenate([np.zeros(3000), np.arange(1.0, levels)])
    encoder = ScoreEncoder().fit(values[:, None], np.ones(len(values)), {})
    codes = encoder.encode(values[:, None]).astype(np.float32)
    for columns in encoder.kinds:
        assert np.isfinite(columns.slope).all()
        assert np.isfinite(columns.make(codes)).all()


def test_values_between_levels_very_close_to_each_other_lie_between_their_scores():
    levels = np.array([0.0, 4e-310, 1.0])
    new = np.array([0.0, 1e-310, 2e-310, 4e-310, np.nan, 2.0])
    encoder = ScoreEncoder().fit(levels[:, None], np.ones(3), {})
    low, middle, high = encoder.encode(levels[:, None])[:, 0]
    wanted = [low, 0.75 * low + 0.25 * middle, (low + middle) / 2, middle, np.nan, high]
    np.testing.assert_allclose(encoder.encode(new[:, None])[:, 0], wanted, rtol=1e-12, atol=1e-12)
