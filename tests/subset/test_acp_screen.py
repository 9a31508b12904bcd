"""Reasons to look beyond straight lines among many variables."""

import numpy as np
import pytest

from rlselect import ActorCriticPredictor
from rlselect.subset._acp_screen import surprising_effects


def noise_and(signal, n=100, p=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, (signal(X) + 0.3 * rng.standard_normal(n))[:, None]


def test_products_squares_and_what_they_hid_are_found():
    # the linear effect is drowned by the product until the product has joined
    X, y = noise_and(lambda X: 3.0 * X[:, 0] * X[:, 1] + 1.5 * (X[:, 2] ** 2) + 0.8 * X[:, 3])
    effects, surprised = surprising_effects(X, y, np.zeros(120, dtype=bool), np.random.default_rng(0))
    assert surprised
    assert effects[:4].all()
    # a few that lean on a strong effect by chance may join: this is only where the search starts
    assert effects.sum() <= 10


def test_straight_lines_surprise_nobody():
    found = np.zeros(120, dtype=bool)
    found[:3] = True
    surprises = 0
    for seed in range(20):
        X, y = noise_and(lambda X: X[:, :3].sum(axis=1), seed=seed)
        effects, surprised = surprising_effects(X, y, found, np.random.default_rng(seed))
        surprises += surprised
        assert effects[:3].all()
    # one in twenty is expected; five has a probability of .003
    assert surprises <= 4


def test_a_subset_with_half_as_many_members_as_rows_leaves_no_room():
    X, y = noise_and(lambda X: X[:, 0] * X[:, 1])
    full = np.arange(120) < 60
    effects, surprised = surprising_effects(X, y, full, np.random.default_rng(0))
    np.testing.assert_array_equal(effects, full)
    assert not surprised


@pytest.mark.parametrize(("product", "name"), [(True, "kernel"), (False, "linear")])
def test_many_variables_get_the_predictor_that_the_truth_needs(product, name):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 250))
    y = X[:, 0] + X[:, 1] + (2.0 * X[:, 2] * X[:, 3] if product else X[:, 2]) + 0.3 * rng.standard_normal(120)
    fitted = ActorCriticPredictor(random_state=0).fit(X, y)
    assert fitted.predictor_.name == name
    assert np.flatnonzero(fitted.support_).tolist() == list(range(4 if product else 3))
