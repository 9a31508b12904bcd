"""Pictures of the datum-wise classifier show the numbers they are made of."""

import matplotlib
import numpy as np
import pytest
from problems import FAST
from sklearn.base import clone
from sklearn.datasets import load_digits

from rlselect.datumwise import (
    BlockUseDisplay,
    DatumwiseClassifier,
    FeatureUseDisplay,
    FrontierDisplay,
    NetworkTraining,
)
from rlselect.datumwise._peers import PEERS

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


def test_frontier_holds_the_test_points_of_every_price_and_peer(iris):
    X, X_test, y, y_test = iris
    template = DatumwiseClassifier(scoring="bins", search=FAST, random_state=0)
    shown = FrontierDisplay.from_estimator(
        template, X_test, y_test, train=(X, y), feature_costs=(0.02, 0.9), peers=("cart", "lars")
    )
    assert list(shown.curves) == ["datum-wise", "CART", "LARS"]
    ours = shown.curves["datum-wise"]
    again = clone(template).set_params(feature_cost=0.02).fit(X, y)
    assert ours["accuracy"][0] == again.score(X_test, y_test)
    assert ours["sparsity"][0] == pytest.approx(1 - again.acquire(X_test).mean())
    # nobody pays .9 for a feature; the peers' paths begin without features, too
    assert ours["sparsity"][1] == 1.0
    assert all(max(curve["sparsity"]) == 1.0 for curve in shown.curves.values())
    assert len(shown.ax_.containers) == 3
    drawn = shown.ax_.containers[0].lines[0].get_xydata()
    np.testing.assert_allclose(drawn[-1], [1.0, ours["accuracy"][1]])


def test_frontier_refuses_what_it_cannot_draw(iris):
    X, X_test, y, y_test = iris
    rows, train = (X_test, y_test), (X, y)
    model = DatumwiseClassifier(scoring="bins")
    with pytest.raises(ValueError, match="'svm' is none of 'cart', 'l1-svm', 'lars'"):
        FrontierDisplay.from_estimator(model, *rows, train=train, peers=["svm"])
    priced = DatumwiseClassifier(scoring="bins", costs=[1, 1, 1, 1])
    with pytest.raises(ValueError, match="costs=None"):
        FrontierDisplay.from_estimator(priced, *rows, train=train)
    with pytest.raises(ValueError, match="feature_costs is empty"):
        FrontierDisplay.from_estimator(model, *rows, train=train, feature_costs=())
    with pytest.raises(ValueError, match="give X and y"):
        FrontierDisplay.from_estimator(model)
    gaps = np.where(np.arange(X.size).reshape(X.shape) == 5, np.nan, X)
    with pytest.raises(ValueError, match="CART needs whole rows"):
        FrontierDisplay.from_estimator(model, *rows, train=(gaps, y), feature_costs=(0.1,), peers=["cart"])
    with pytest.raises(ValueError, match="'a' must hold sparsity and accuracy"):
        FrontierDisplay.from_curves({"a": {"sparsity": [0.1], "accuracy": [0.5, 0.6]}})


def test_frontier_of_given_curves_draws_errors_in_order():
    curve = {"sparsity": [0.9, 0.1], "accuracy": [0.5, 0.8], "accuracy_error": [0.02, 0.01]}
    shown = FrontierDisplay.from_curves({"a": curve})
    container = shown.ax_.containers[0]
    np.testing.assert_allclose(container.lines[0].get_xydata(), [[0.1, 0.8], [0.9, 0.5]])
    low_high = [segment[:, 1] for segment in container.lines[2][0].get_segments()]
    np.testing.assert_allclose(low_high, [[0.79, 0.81], [0.48, 0.52]])


def test_feature_use_bars_are_the_shares(iris, fitted):
    X_test = iris[1]
    shown = FeatureUseDisplay.from_estimator(fitted, X_test, others={"LARS": [True, False, False, True]})
    used = fitted.acquire(X_test)
    left, right = shown.axes_
    order = [shown.feature_names.index(text.get_text()) for text in left.get_yticklabels()]
    np.testing.assert_allclose([bar.get_width() for bar in left.containers[0]], used.mean(axis=0)[order])
    np.testing.assert_allclose([bar.get_width() for bar in left.containers[1]], np.array([1, 0, 0, 1])[order])
    most = max(used.sum(axis=1).max(), 2)
    counts = np.bincount(used.sum(axis=1), minlength=most + 1) / len(used)
    np.testing.assert_allclose([bar.get_height() for bar in right.containers[0]], counts)
    np.testing.assert_allclose([bar.get_height() for bar in right.containers[1]], np.arange(most + 1) == 2)
    (alone,) = FeatureUseDisplay.from_estimator(fitted).axes_
    order = [shown.feature_names.index(text.get_text()) for text in alone.get_yticklabels()]
    np.testing.assert_allclose([bar.get_width() for bar in alone.containers[0]], fitted.inclusion_[order])
    with pytest.raises(ValueError, match=r"others\['b'\] has shape \(3,\)"):
        FeatureUseDisplay.from_estimator(fitted, X_test, others={"b": [True, False, True]})


def test_block_use_counts_right_answers_only():
    X, y = load_digits(n_class=3, return_X_y=True)
    groups = (np.arange(64) // 8 // 4) * 2 + np.arange(64) % 8 // 4
    X, y = X[::3], y[::3]
    model = DatumwiseClassifier(
        scoring="bins", feature_cost=0.05, feature_groups=groups, search=FAST, random_state=0
    ).fit(X, y)
    shown = BlockUseDisplay.from_estimator(model, X, y, shape=(8, 8))
    used, right = model.acquire(X), model.predict(X) == y
    for c in range(3):
        np.testing.assert_allclose(shown.use[c].ravel(), used[right & (y == c)].mean(axis=0))
        assert shown.axes_[c].get_xlabel() == f"{shown.sparsity[c]:.0%} not needed"
        assert any(np.allclose(shown.images[c].ravel(), row / 16) for row in X[y == c])
    assert len(shown.axes_) == 3
    with pytest.raises(ValueError, match="72 pixels, X has 64 columns"):
        BlockUseDisplay.from_estimator(model, X, y, shape=(8, 9))


def test_forest_on_the_best_columns():
    """It finds the columns that count, uses no others, and needs them all for what takes all of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = (X[:, 1] + X[:, 4] > 0).astype(int)
    path = PEERS["forest"]
    assert path.settings(X, y) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    labels, used = path.fit(X[:150], y[:150], 2.0, 0)(X[150:])
    np.testing.assert_array_equal(np.flatnonzero(used.all(axis=0)), [1, 4])
    assert used.sum() == 2 * 50
    assert np.mean(labels == y[150:]) > 0.85
    alone, _ = path.fit(X[:150], y[:150], 1.0, 0)(X[150:])
    assert np.mean(alone == y[150:]) < np.mean(labels == y[150:])


def test_networks_are_fitted_once_for_all_prices(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] > 0).astype(int)
    fits = []
    whole = DatumwiseClassifier.fit
    monkeypatch.setattr(
        DatumwiseClassifier, "fit", lambda self, *given: fits.append(1) or whole(self, *given)
    )
    training = NetworkTraining(steps=40, n_members=2, hidden=8, batch=16)
    model = DatumwiseClassifier(scoring="network", search=training, random_state=0)
    display = FrontierDisplay.from_estimator(
        model, X[60:], y[60:], train=(X[:60], y[:60]), feature_costs=(0.01, 0.9), peers=()
    )
    assert len(fits) == 1
    fitted = model.fit(X[:60], y[:60])
    curve = display.curves["datum-wise"]
    assert curve["accuracy"][0] == pytest.approx(fitted.at(feature_cost=0.01).score(X[60:], y[60:]))
    again = FrontierDisplay.from_estimator(fitted, X[60:], y[60:])
    own = fitted.frontier(X[60:], y[60:])
    np.testing.assert_array_equal(again.curves["datum-wise"]["accuracy"], own["accuracy"])


def test_curves_of_numbers_have_their_own_height():
    display = FrontierDisplay.from_curves({"a": {"sparsity": [0.1, 0.9], "r2": [0.8, 0.2]}})
    assert display.ax_.get_ylabel() == "R squared"
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), [0.8, 0.2])
