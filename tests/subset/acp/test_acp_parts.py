"""Actor, critic, prices, screening and the paper's steps: identities and problems with known answers."""

import itertools

import numpy as np
import pytest
from scipy.stats import expon, norm

from rlselect._clock import Clock
from rlselect.data._units import Units
from rlselect.learn._actor import (
    EDGE,
    LogitActor,
    natural_direction,
    ridge_direction,
    sample_masks,
    score,
)
from rlselect.learn._critic import Critic
from rlselect.subset import PolicyGradient
from rlselect.subset.acp._paper import _Adam, split_rewards
from rlselect.subset.acp._price import Tariff, learnt_prices, least_prices, noise_price
from rlselect.subset.acp._screen import (
    best_pairs,
    best_ranked,
    marginal_score,
    meet_partners,
    product_score,
    projection_score,
)
from rlselect.subset.acp._search import Actor, Effort
from rlselect.subset.acp.masked._linear import MaskedLinear
from rlselect.subset.acp.masked._predictor import make_target

THETA = np.array([0.2, 0.5, 0.9])
ALL = np.array(list(itertools.product([False, True], repeat=3)))


def probabilities(theta, masks=ALL):
    return np.prod(np.where(masks, theta, 1.0 - theta), axis=1)


# ---- the policy ----


def test_score_is_the_gradient_of_the_log_probability():
    for j in range(3):
        step = np.eye(3)[j] * 1e-6
        numeric = (np.log(probabilities(THETA + step)) - np.log(probabilities(THETA - step))) / 2e-6
        np.testing.assert_allclose(score(ALL, THETA)[:, j], numeric, rtol=1e-6)


def test_the_fisher_matrix_is_diagonal():
    s = score(ALL, THETA)
    fisher = (s * probabilities(THETA)[:, None]).T @ s
    np.testing.assert_allclose(fisher, np.diag(1.0 / (THETA * (1.0 - THETA))), atol=1e-12)


def test_the_natural_gradient_needs_no_system():
    rng = np.random.default_rng(0)
    reward = rng.standard_normal(8)
    share = probabilities(THETA)
    gradient = (share * reward) @ score(ALL, THETA)
    by_fisher = gradient * THETA * (1.0 - THETA)
    np.testing.assert_allclose(by_fisher, (share * reward) @ (ALL - THETA), atol=1e-12)
    # a baseline changes nothing in expectation
    np.testing.assert_allclose((share * 5.0) @ score(ALL, THETA), 0.0, atol=1e-12)
    masks = sample_masks(THETA, 200_000, rng)
    rewards = reward[masks @ [4, 2, 1]]
    np.testing.assert_allclose(natural_direction(masks, THETA, rewards), by_fisher, atol=0.01)


@pytest.mark.parametrize("count", [20, 4])
def test_ridge_direction_minimises_the_papers_objective(count):
    rng = np.random.default_rng(0)
    scores, advantage, gamma = rng.standard_normal((count, 7)), rng.standard_normal(count), 0.3
    w = ridge_direction(scores, advantage, gamma)
    gradient = 2 * scores.T @ (scores @ w - advantage) / count + 2 * gamma * w
    np.testing.assert_allclose(gradient, 0.0, atol=1e-10)


def test_without_ridge_and_with_many_actions_both_directions_agree():
    rng = np.random.default_rng(1)
    masks = sample_masks(THETA, 100_000, rng)
    advantage = masks @ np.array([1.0, -2.0, 0.5])
    advantage -= advantage.mean()
    np.testing.assert_allclose(
        ridge_direction(score(masks, THETA), advantage, 1e-9),
        natural_direction(masks, THETA, advantage),
        atol=0.01,
    )


def test_drawing_follows_theta():
    masks = sample_masks(THETA, 50_000, np.random.default_rng(0))
    np.testing.assert_allclose(masks.mean(axis=0), THETA, atol=0.01)


def test_the_logit_actor_learns_a_known_optimum():
    rng = np.random.default_rng(0)
    worth = np.array([2.0, -1.0, 0.5, -0.2, 1.0, -2.0])
    actor = LogitActor(np.full(6, 0.5), 0.6, 8, 0.01)
    for _ in range(60):
        masks = sample_masks(actor.theta, 32, rng)
        actor.learn(masks, Critic.standardize(masks @ worth))
    np.testing.assert_array_equal(actor.theta > 0.9, worth > 0)
    assert np.all((actor.theta >= EDGE - 1e-12) & (actor.theta <= 1 - EDGE + 1e-12))
    actor.reopen(np.array([0, 1]), np.array([0.5, 0.1]))
    np.testing.assert_allclose(actor.theta[:2], [0.5, 0.1])
    actor.pin(np.array([0]), False)
    actor.pin(np.array([1]), True)
    actor.reopen(np.array([0]))
    actor.learn(sample_masks(actor.theta, 32, rng), np.linspace(-1, 1, 32))
    np.testing.assert_allclose(actor.theta[:2], [EDGE, 1.0 - EDGE])


# ---- the critic ----


def test_the_critic_is_the_papers_moving_average():
    critic = Critic(0.95, start=0.0)
    assert critic.observe(np.array([1.0, 3.0])) == pytest.approx(0.95 * 2.0)
    assert critic.observe(np.array([4.0])) == pytest.approx(0.05 * 1.9 + 0.95 * 4.0)
    assert Critic().observe(np.array([5.0])) == 5.0


def test_equal_rewards_teach_nothing():
    np.testing.assert_array_equal(Critic.standardize(np.full(5, 3.0)), 0.0)
    a = Critic.standardize(np.array([1.0, 2.0, 6.0]))
    assert a.mean() == pytest.approx(0.0)
    assert a.std() == pytest.approx(1.0)


# ---- the paper's pieces ----


def test_split_rewards_are_validation_errors_in_the_units_of_y():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4))
    y = 10.0 * X[:, 0] + rng.standard_normal(40)
    predictor = MaskedLinear(X, make_target(y, False))
    masks = np.array([[True, False, False, False], [False, True, True, True]])
    got = split_rewards(predictor, masks, 0.3, np.random.default_rng(7))
    order = np.argsort(np.random.default_rng(7).random((2, 40)), axis=1)
    for i, mask in enumerate(masks):
        held, train = order[i, :12], order[i, 12:]
        Z = np.column_stack([np.ones(40), X[:, mask]])
        coef = np.linalg.lstsq(Z[train], y[train], rcond=None)[0]
        np.testing.assert_allclose(got[i], -np.mean(np.square(y[held] - Z[held] @ coef)), rtol=1e-6)


def test_adam_starts_with_steps_of_its_rate():
    adam = _Adam(2, 0.01)
    np.testing.assert_allclose(adam(np.array([3.0, -0.1])), [0.01, -0.01], rtol=1e-6)


@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("actor", "sgd"),
        ("learning_rate", 0),
        ("gamma", -1),
        ("edge", 0.7),
        ("validation", 0),
        ("baseline_weight", 2),
    ],
)
def test_knobs_are_checked(knob, value):
    with pytest.raises(ValueError, match=knob):
        PolicyGradient(**{knob: value})


# ---- prices ----


def test_a_price_is_what_the_best_of_many_useless_variables_gains():
    rng = np.random.default_rng(0)
    gains = rng.chisquare(1, size=20_000) - 2.0
    prices = least_prices(5000, 50, 1, 20)
    assert np.all(least_prices(60, 50, 1, 20) > prices)
    nobody = np.empty(0)
    for size in (0, 8):
        assert noise_price(gains, 50, size, nobody) == pytest.approx(prices[size], abs=1.0)
    assert noise_price(gains, 1000, 8, nobody) > noise_price(gains, 50, 8, nobody)
    assert np.all(np.diff(prices) <= 0)
    assert np.all(least_prices(200, 50, 4, 20) < least_prices(200, 50, 1, 20))
    assert least_prices(10**6, 5, 1, 5)[-1] == pytest.approx(np.log(10**6) - 2.0)


def test_beside_strong_columns_a_small_gain_is_noise():
    rng = np.random.default_rng(0)
    gains = rng.exponential(5.0, size=20_000) - 10.0
    alone = noise_price(gains, 50, 4, np.empty(0))
    # by hand: the density of log-normal gains around 200, one of five, against that of 46 useless columns
    price = noise_price(gains, 50, 4, np.full(4, 200.0))
    spread = np.sqrt(4.0 / 7.0)
    useful = 5.0 * norm.pdf(np.log(price), np.log(200.0), spread) / price
    assert 46.0 * expon.pdf(price + 10.0, scale=5.0) == pytest.approx(useful, rel=0.15)
    assert alone < price < 40.0
    # others that differ a lot, or gain little, leave room for a weak one
    assert noise_price(gains, 50, 4, np.array([20.0, 60.0, 400.0, 1200.0])) < price
    assert noise_price(gains, 50, 4, np.full(4, 20.0)) == pytest.approx(alone)


def test_learnt_prices_follow_the_company():
    weak, strong = learnt_prices(15.0, 50, 20), learnt_prices(300.0, 50, 20)
    # log(301) - log(16): a small gain is no sign of a variable like the strong ones
    np.testing.assert_allclose(strong - weak, np.log(301 / 16), atol=1e-12)
    assert np.all(np.diff(weak) <= 0)
    assert np.all(learnt_prices(15.0, 1000, 20) > weak)


def test_a_tariff_adds_up():
    tariff = Tariff(np.array([5.0, 3.0, 1.0]))
    np.testing.assert_allclose(tariff.total(np.array([0, 1, 2, 3])), [0, 5, 8, 9])
    tariff.ask(4.0)
    np.testing.assert_allclose(tariff.total(np.array([3])), [13.0])
    assert (tariff.next(0), tariff.next(1), tariff.next(9)) == (5.0, 4.0, 4.0)


def test_useless_columns_gain_what_theory_says():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6))
    y = X[:, 0] + rng.standard_normal(200)
    predictor = MaskedLinear(X, make_target(y, False), n_folds=10)
    gains = 200 * predictor.noise_gains(np.arange(6) < 1, 400, rng)
    assert gains.mean() == pytest.approx(-1.0, abs=0.4)
    # folds add noise of their own to the chi-squared variable
    assert np.sqrt(2.0) <= gains.std() <= 2.5


# ---- screening ----


def interactions(n=300, p=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n)
    return X, (y - y.mean())[:, None] / y.std()


def test_each_rank_finds_what_it_is_there_for():
    X, Y = interactions()
    units = Units(np.arange(40))
    none = np.zeros(40, dtype=bool)
    assert np.argmax(marginal_score(X, Y)) == 0
    assert np.argmax(projection_score(X, Y)) == 0
    assert np.argmax(projection_score(np.tile(X, 10), Y)) % 40 == 0
    assert set(np.argsort(-product_score(X, Y))[:2]) == {1, 2}
    assert {0, 1, 2} <= set(best_ranked([marginal_score(X, Y), product_score(X, Y)], units, 4, none))
    first = none.copy()
    first[[38, 39]] = True
    assert {38, 39} <= set(best_ranked([marginal_score(X, Y)], units, 3, first))
    assert best_pairs(X, Y, 3)[0].tolist() == [1, 2]


def test_a_group_has_the_rank_of_its_best_column():
    X, Y = interactions()
    units = Units(np.array([0] * 20 + [1] * 10 + [2] * 10))
    assert best_ranked([marginal_score(X, Y)], units, 1, np.zeros(3, dtype=bool)).tolist() == [0]


def test_partners_join_together_or_not_at_all():
    from rlselect.subset.acp.masked._kernel import MaskedKernel

    X, Y = interactions()
    predictor = MaskedKernel(X, make_target(Y[:, 0], False), ridge=0.1)
    start = np.arange(40) == 0
    joined = meet_partners(predictor, start, best_pairs(X, Y, 8), price=0.05)
    assert {0, 1, 2} <= set(np.flatnonzero(joined))
    np.testing.assert_array_equal(meet_partners(predictor, start, np.array([[30, 31]]), 0.05), start)


def test_of_columns_that_stand_for_each_other_one_may_leave():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    X[:, 1] = -X[:, 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = X[:, 0] + 0.1 * rng.standard_normal(60)
    actor = Actor(
        MaskedLinear(X, make_target(y, False)),
        Units(np.arange(4)),
        n_variables=4,
        penalty=None,
        batch_size=8,
        max_iter=1,
        rng=rng,
        clock=Clock(None, 1),
        effort=Effort(),
        expand=lambda theta: theta,
    )
    actor.predictor.redraw(rng)
    mode, worth = np.array([True, True, True, True]), np.array([0.1, 0.2, 0.3, 0.1])
    copies, useless = np.array([True, True, False, False]), np.array([False, False, True, True])
    np.testing.assert_array_equal(actor._changes_together(mode, copies, worth), [False, True, False, False])
    np.testing.assert_array_equal(actor._changes_together(mode, useless, worth), useless)
    # one of the copies after the useless ones, not both
    leaving = actor._leave_together(mode, mode, np.array([0.1, 0.2, 0.4, 0.3]))
    np.testing.assert_array_equal(leaving, [False, True, True, True])
    np.testing.assert_array_equal(actor._leave_together(mode, useless & copies, worth), np.zeros(4, bool))
