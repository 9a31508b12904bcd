"""What rows left out say about prices, against naive searches."""

import itertools

import numpy as np
import pytest

from rlselect.datumwise._network_frontier import PriceFrontier, best_temperatures, upper_hull


def make_frontier(worth, spent, bought=None):
    prices = np.geomspace(1e-3, 1.0, len(worth))
    bought = np.asarray(spent) / 10 if bought is None else np.asarray(bought)
    return PriceFrontier(
        prices, np.asarray(worth), -np.asarray(worth), np.asarray(spent), bought, np.ones(len(worth))
    )


def test_budgets_raise_the_price_to_where_as_little_is_bought():
    frontier = make_frontier(np.zeros(4), [6.0, 4.0, 4.5, 0.0], [0.6, 0.4, 0.45, 0.0])
    for price in (1e-3, 0.05):
        # what is no limit changes nothing
        assert frontier.within(price, np.inf, np.inf) == pytest.approx(price)
        assert frontier.within(price, 0.6, 7.0) == pytest.approx(price)
        assert frontier.within(price, 0.0, np.inf) == pytest.approx(1.0)
    assert frontier.within(1e-3, 0.5, np.inf) == pytest.approx(10**-2.5)
    assert frontier.within(1e-3, np.inf, 5.0) == pytest.approx(10**-2.5)
    assert frontier.within(1e-3, 0.5, 2.0) == pytest.approx(10**-0.5)
    assert frontier.within(0.5, 0.5, 5.0) == pytest.approx(0.5)


def test_what_is_given_lowers_the_price_to_where_as_much_is_known():
    frontier = make_frontier(np.zeros(4), [6.0, 4.0, 4.5, 0.0], [0.6, 0.4, 0.45, 0.0])
    for price in (1e-3, 0.05, 1.0):
        assert frontier.knowing(price, 0.0) == price
        assert frontier.knowing(price, 1.0) == pytest.approx(1e-3)
    assert frontier.knowing(1.0, 0.2) == pytest.approx(10**-0.5)
    assert frontier.knowing(0.01, 1 / 6) == pytest.approx(10**-2.5)


@pytest.mark.parametrize("seed", range(5))
def test_no_point_and_no_mixture_of_two_is_above_the_hull(seed):
    x, y = np.random.default_rng(seed).random((2, 12))
    hull = upper_hull(x, y)
    assert (np.diff(x[hull]) > 0).all()
    for a, b in itertools.combinations(range(12), 2):
        for share in (0.0, 0.3, 1.0):
            at = share * x[a] + (1 - share) * x[b]
            assert share * y[a] + (1 - share) * y[b] <= np.interp(at, x[hull], y[hull]) + 1e-12


def test_the_price_that_earns_most_is_taken():
    # a case buys less at higher prices and is answered worse
    spent = np.linspace(5.0, 0.0, 16)
    frontier = make_frontier(-0.5 * np.exp(-spent), spent)
    for price in (0.001, 0.02, 0.1, 0.3):
        found = frontier.at(frontier.price_for(price))[1]
        # where one more unit of spending earns what it costs: the slope of the worth is the price
        assert found == pytest.approx(np.clip(np.log(0.5 / price), 0.0, 5.0), abs=0.45)
    assert frontier.at(frontier.price_for(0.0))[1] > 4.0


def test_settings_that_earn_the_same_are_met_in_their_middle_and_prices_between_lie_between():
    worth, spent = np.repeat([-0.1, -0.5], 8), np.repeat([2.0, 0.0], 8)
    frontier = make_frontier(worth, spent)
    low = np.log10(frontier.prices)
    assert np.log10(frontier.price_for(0.01)) == pytest.approx(low[:8].mean(), abs=0.1)
    curved = make_frontier(-0.5 * np.exp(-np.linspace(5.0, 0.0, 16)), np.linspace(5.0, 0.0, 16))
    found = [curved.price_for(price) for price in np.geomspace(0.005, 0.4, 12)]
    assert (np.diff(found) > 0).all()


def test_height_is_that_of_the_hull():
    bought = np.linspace(0.6, 0.0, 16)
    assert make_frontier(bought - 1, bought, bought).height() == pytest.approx(-1 + (0.05 + 0.5) / 2)
    better = make_frontier(np.where(bought == 0.6, -0.2, bought - 1), bought, bought)
    assert better.height() > -1 + (0.05 + 0.5) / 2


@pytest.mark.parametrize(
    "losses",
    [1.0 - np.eye(3), np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]) ** 2],
    ids=["classes", "numbers"],
)
def test_temperatures_make_answers_cost_what_is_expected(losses):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(5, 4000, 3)) * 2
    logs = logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))
    gumbel = rng.gumbel(size=logits.shape)
    labels = (logits + gumbel).argmax(axis=2)  # drawn from these probabilities
    for sharper in (0.5, 1.0, 2.0):
        others = sharper * logs
        others = others - np.log(np.exp(others).sum(axis=2, keepdims=True))
        found = best_temperatures(others, labels, np.ones((5, 4000)), losses)
        np.testing.assert_allclose(found, sharper, rtol=0.12)
    assert (best_temperatures(others, labels, np.zeros((5, 4000)), losses) == 1.0).all()


def test_what_was_chosen_by_its_rows_is_less_sure():
    """Of 100 rows that a chosen policy gets right in 80, one standard error (4 rows) is taken off."""
    labels, losses = (np.arange(100) >= 80).astype(int), 1 - np.eye(2)
    others = np.log(np.tile([0.95, 0.05], (1, 100, 1)))
    sure = []
    for flattered in (0.0, 1.0):
        heat = best_temperatures(others, labels, np.ones((1, 100)), losses, flattered)[0]
        shares = np.exp(others[0, 0] / heat)
        sure.append(shares[0] / shares.sum())
    # half a row is taken to be wrong besides; temperatures are a grid
    np.testing.assert_allclose(sure, [0.795, 0.755], atol=0.01)
