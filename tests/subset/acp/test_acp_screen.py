"""Reasons to look beyond straight lines among many variables."""

import numpy as np
import pytest

from rlselect import ActorCriticPredictor
from rlselect._clock import Clock
from rlselect.data import open_table
from rlselect.subset.acp._inputs import read_inputs
from rlselect.subset.acp._screen import (
    _above_chance,
    _product_correlations,
    _product_sizes,
    promising,
    surprising_effects,
)
from rlselect.subset.acp._search import Effort
from rlselect.subset.acp._stages import PredictorChoice, Stages


def noise_and(signal, n=100, p=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, (signal(X) + 0.3 * rng.standard_normal(n))[:, None]


def test_products_squares_and_what_they_hid_are_found():
    # the linear effect is drowned by the product until the product has joined
    X, y = noise_and(lambda X: 3.0 * X[:, 0] * X[:, 1] + 1.5 * (X[:, 2] ** 2) + 0.8 * X[:, 3])
    effects, surprised, _ = surprising_effects(X, y, np.zeros(120, dtype=bool), np.random.default_rng(0))
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
        effects, surprised, _ = surprising_effects(X, y, found, np.random.default_rng(seed))
        surprises += surprised
        assert effects[:3].all()
    # one in twenty is expected; five has a probability of .003
    assert surprises <= 4


def test_a_subset_with_half_as_many_members_as_rows_leaves_no_room():
    X, y = noise_and(lambda X: X[:, 0] * X[:, 1])
    full = np.arange(120) < 60
    effects, surprised, _ = surprising_effects(X, y, full, np.random.default_rng(0))
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


def test_of_too_many_columns_for_their_pairs_the_factors_of_a_product_stay(monkeypatch):
    monkeypatch.setattr("rlselect.subset.acp._screen._FOR_PAIRS", 60)
    X, y = noise_and(lambda X: 3.0 * X[:, 0] * X[:, 1] + X[:, 2] + X[:, 3] ** 2, n=120, p=250)
    kept = promising(X, y, np.arange(250) == 249)
    assert len(kept) == 60
    assert set(kept) >= {0, 1, 2, 3, 249}
    effects, surprised, _ = surprising_effects(X, y, np.zeros(250, dtype=bool), np.random.default_rng(0))
    assert surprised
    assert effects[:4].all()
    # a search of its own: screening, products and additions work on the same columns
    fitted = ActorCriticPredictor(random_state=0).fit(X, y[:, 0])
    assert fitted.support_[:4].all()
    assert fitted.predictor_.name == "kernel"


def test_chance_is_asked_no_longer_than_needed(monkeypatch):
    X, y = noise_and(lambda X: X[:, 0], p=30)
    rng = np.random.default_rng(0)
    shuffled = [rng.permutation(y) for _ in range(19)]
    sizes = _product_sizes(X)
    limit = max(_product_correlations(X, r, sizes).max() for r in shuffled)
    expected = _product_correlations(X, y, sizes) > limit
    np.testing.assert_array_equal(_above_chance(X, y, shuffled, sizes), expected)
    noise = [rng.standard_normal((100, 1)) for _ in range(19)]
    calls = []
    monkeypatch.setattr(
        "rlselect.subset.acp._screen._product_correlations",
        lambda *a: (calls.append(1), _product_correlations(*a))[1],
    )
    assert not _above_chance(X, noise[0] * 0.01, noise, sizes).any()
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("t", "surprised", "believed"),
    [
        (4.0, False, True),
        (3.0, True, True),
        (3.0, False, False),
        (1.9, True, False),
        (3.0, None, True),
    ],
)
def test_a_small_lead_of_the_kernel_is_believed_where_products_surprise(t, surprised, believed):
    X, y = noise_and(lambda X: 2.0 * X[:, 0] * X[:, 1], p=20)
    inputs = read_inputs(open_table(X, y[:, 0]), "regression")
    stages = Stages(inputs, {}, "auto", 0.02, np.random.default_rng(0), Clock(None, 1), Effort())
    nothing = np.empty(0, dtype=np.intp)
    assert stages.believes(PredictorChoice("linear", {}, t), nothing, surprised) is believed
    units, products = stages.surprises(nothing)
    assert products
    assert set(units) >= {0, 1}
