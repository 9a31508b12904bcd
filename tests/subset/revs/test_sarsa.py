"""The paper's search as a whole: a naive twin, convergence, and the behaviour Theorem 1 promises."""

import copy
import itertools
import math
import time

import numpy as np
import pytest

from rlselect import REVS
from rlselect.learn import (
    UCB,
    Constant,
    EpsilonGreedy,
    LinearRamp,
    PowerDecay,
    Softmax,
    ThompsonSampling,
    key_mask,
    subset_key,
)
from rlselect.subset.revs import _sarsa
from rlselect.subset.revs._sarsa import Sarsa, run_sarsa
from rlselect.subset.revs._sarsa_reward import Environment


def regression(n, p, coef, seed, family="gaussian"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    eta = X[:, : len(coef)] @ np.asarray(coef, dtype=float)
    if family == "binomial":
        return X, (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    if family == "poisson":
        return X, rng.poisson(np.exp(eta)).astype(float)
    return X, 1.0 + eta + rng.standard_normal(n)


def search(X, y, settings, seed=0, *, family="gaussian", units=None, allowed=None, always=None, **extra):
    units = [np.array([j]) for j in range(X.shape[1])] if units is None else units
    return run_sarsa(
        extra.pop("take", lambda rows: (X[rows], y[rows], None, None)),
        len(y),
        X.shape[1],
        family=family,
        settings=settings,
        units=units,
        allowed=np.ones(len(units), dtype=bool) if allowed is None else allowed,
        always=np.zeros(len(units), dtype=bool) if always is None else always,
        rng=np.random.default_rng(seed),
        **extra,
    )


# ---------------------------------------------------------------- quantile navigation


def test_only_rewards_above_the_quantile_move_the_walk():
    X, y = regression(400, 5, [1.0, -1.0], 1)
    settings = Sarsa(n_train=50, n_valid=50, n_preliminary=40, max_stages=150, patience=10**6)
    columns = search(X, y, settings).trajectory.to_dict()
    assert np.all(columns["moved"][:40] == (columns["action"][:40] != 0))
    tau = LinearRamp(0.6, 1.0, 150)
    moves = 0
    for t in range(1, 151):
        i = 39 + t
        passes = columns["reward"][i] > np.quantile(columns["reward"][:i], tau(t))
        assert columns["moved"][i] == (passes and columns["action"][i] != 0)
        moves += columns["moved"][i]
    assert 0 < moves < 150


def test_at_quantile_one_only_a_record_moves_the_walk():
    X, y = regression(400, 5, [1.0, -1.0], 1)
    result = search(X, y, Sarsa(n_train=50, n_valid=50, n_preliminary=60, max_stages=200, quantile=1.0))
    columns = result.trajectory.to_dict()
    for i in 60 + np.flatnonzero(columns["moved"][60:]):
        assert columns["reward"][i] > columns["reward"][:i].max()


# ---------------------------------------------------------------- the whole against a naive loop


def naive_mse(X, y, train, valid, columns):
    A, Av = (np.column_stack([np.ones(len(rows)), X[np.ix_(rows, columns)]]) for rows in (train, valid))
    coef = np.linalg.lstsq(A, y[train], rcond=None)[0]
    return float(np.mean((y[valid] - Av @ coef) ** 2))


def naive_algorithm_1(X, y, settings, seed):
    """Algorithm 1 with dictionaries, lstsq and np.quantile, drawing random numbers in the same order."""
    n, p = X.shape
    rng = np.random.default_rng(seed)
    Q, rewards, trace = {}, [], []

    def value(s, a):
        return Q.get((s, a), 0.0)

    def reward_of(s, a, price=settings.price):
        if a == p:
            return s, 0.0
        rows = rng.choice(n, settings.n_train + settings.n_valid, replace=False)
        train, valid = np.sort(rows[: settings.n_train]), np.sort(rows[settings.n_train :])
        following = s ^ {a}
        before, after = (naive_mse(X, y, train, valid, sorted(z)) for z in (s, following))
        return following, before - after - price * (-1 if a in s else 1)

    def greedy(s, t):
        if rng.random() < t**-0.1:
            return int(rng.integers(p + 1))
        best = max(value(s, a) for a in range(p + 1))
        ties = [a for a in range(p + 1) if value(s, a) == best]
        return ties[0] if len(ties) == 1 else ties[rng.integers(len(ties))]

    def learn(t, s, a, r, following, b):
        Q[s, a] = value(s, a) + (r + settings.discount * value(following, b) - value(s, a)) / t

    s, a = frozenset(), int(rng.integers(p + 1))
    for t in range(1, settings.n_preliminary + 1):
        following, r = reward_of(s, a)
        b = int(rng.integers(p + 1))
        learn(t, s, a, r, following, b)
        rewards.append(r)
        s, a = following, b
        trace.append((r, s))
    if settings.start != "last":
        s = frozenset()
    if settings.start == "random":
        s = frozenset(np.flatnonzero(rng.random(p) < 0.5))
    a = greedy(s, 1)
    stages = settings.max_stages
    if settings.stages_per_action is not None:
        stages = round(settings.stages_per_action * (p + 1))
    for t in range(1, stages + 1):
        last = settings.price if settings.last_price is None else settings.last_price
        passed = min(1.0, t / (0.7 * stages))
        following, r = reward_of(s, a, (1.0 - passed) * settings.price + passed * last)
        b = greedy(following, t)
        learn(t, s, a, r, following, b)
        first = settings.first_quantile
        known = rewards[-settings.reward_window :] if settings.reward_window else rewards
        bar = np.quantile(known, first + (1.0 - first) * t / stages)
        if r > bar and (r > 0 or not settings.only_gains):
            s, a = following, b
        elif settings.turned_down == "draw again":
            a = greedy(s, t)
        rewards.append(r)
        trace.append((r, s))
    return Q, trace


@pytest.mark.parametrize(
    ("seed", "reading"),
    [
        (0, {}),
        (1, {}),
        (2, {}),
        (0, {"turned_down": "repeat"}),
        (1, {"start": "random", "reward_window": 20}),
        (2, {"start": "last", "only_gains": True}),
        (4, {"price": 0.3, "last_price": 0.02}),
        (3, {"stages_per_action": 20.0, "first_quantile": 0.9, "reward_window": 25, "only_gains": True}),
    ],
)
def test_the_walk_is_algorithm_1_by_each_reading(seed, reading):
    X, y = regression(300, 5, [1.0, -0.7], seed)
    settings = Sarsa(n_train=60, n_valid=60, n_preliminary=30, max_stages=120, patience=10**6, **reading)
    result = search(X, y, settings, seed)
    Q, trace = naive_algorithm_1(X, y, settings, seed)
    assert len(result.trajectory) == len(trace) == 150
    np.testing.assert_allclose(result.trajectory.to_dict()["reward"], [r for r, _ in trace], atol=1e-6)
    for i, (_, state) in enumerate(trace):
        assert frozenset(np.flatnonzero(result.trajectory.subset_at(i))) == state
    for (state, action), expected in Q.items():
        mask = np.isin(np.arange(5), list(state))
        assert result.table.get(subset_key(mask), action) == pytest.approx(expected, abs=1e-6)
    assert len(result.table) == len({state for state, _ in Q})


# ---------------------------------------------------------------- convergence and step 4


def test_convergence_is_patience_stages_without_a_change():
    X, y = regression(1000, 4, [1.0, -1.0], 2)
    result = search(X, y, Sarsa(n_train=100, n_valid=100, patience=70))
    assert result.stop_reason == "converged"
    moved = result.trajectory.to_dict()["moved"]
    assert not moved[-70:].any()
    assert moved[-71]
    np.testing.assert_array_equal(result.support_units, result.trajectory.current)


def test_staying_counts_as_no_change_even_when_it_passes_the_quantile():
    X, y = regression(1000, 3, [0.0], 2)
    settings = Sarsa(n_train=50, n_valid=50, price=5.0, quantile=0.0, patience=60)
    result = search(X, y, settings, policy=EpsilonGreedy(0.0))
    columns = result.trajectory.to_dict()
    assert result.stop_reason == "converged"
    assert np.mean(columns["action"][-60:] == 0) > 0.9
    assert columns["reward"].min() < 0.0
    assert not result.support_units.any()


def test_default_patience_grows_with_the_actions():
    assert Sarsa().stages_to_converge(5) == 100
    assert Sarsa().stages_to_converge(201) == 402
    assert Sarsa().stages_to_converge(20_001) == 500
    assert Sarsa(max_stages=10**6).stages_to_converge(20_001) == 40_002
    assert Sarsa(patience=7).stages_to_converge(201) == 7


def unfinished_walk(visits, entries, n_units=2):
    """A walk that ran out of stages, with given main states and values."""
    X, y = regression(50, n_units, [1.0], 0)
    every = np.ones(n_units, dtype=bool)
    world = Environment(
        lambda rows: (X[rows], y[rows], None, None),
        50,
        n_units,
        family="gaussian",
        units=[np.array([j]) for j in range(n_units)],
        allowed=every,
        always=~every,
        price=0.2,
        batch_sizes=(20, 20),
        rng=np.random.default_rng(0),
    )
    walk = _sarsa._Walk(world, Sarsa(), np.random.default_rng(0), EpsilonGreedy(), None, None)
    walk.visits = [subset_key(np.array(mask, dtype=bool)) for mask in visits]
    walk.state = np.array(visits[-1], dtype=bool)
    for mask, action, value in entries:
        key = subset_key(np.array(mask, dtype=bool))
        walk.table.sarsa(key, action, reward=value, next_key=key, next_action=0, rate=1.0, discount=0.0)
    return walk


def test_step_4_draws_among_late_states_where_staying_is_best():
    a, b, c, d = [0, 0], [1, 0], [0, 1], [1, 1]
    visits = [a] * 10 + [b] * 6 + [c] * 3 + [d]
    # In c staying is beaten by removing unit 1; in b it is the maximum; in d nothing was tried, so it ties.
    entries = [(c, 1, 0.5), (c, 2, 0.1), (b, 0, -0.4), (b, 2, 0.2)]
    walk = unfinished_walk(visits, entries)
    drawn = [tuple(walk.final_state("max_stages").astype(int)) for _ in range(2000)]
    assert set(drawn) == {(1, 0), (1, 1)}
    assert drawn.count((1, 0)) / 2000 == pytest.approx(6 / 7, abs=0.04)
    for reason in ("time_budget", "interrupted"):
        assert tuple(walk.final_state(reason)) in {(1, 0), (1, 1)}


def test_step_4_without_a_candidate_is_the_last_state():
    walk = unfinished_walk([[1, 0]] * 4, [([1, 0], 1, 0.3)])
    np.testing.assert_array_equal(walk.final_state("max_stages"), [True, False])


def test_converged_state_needs_no_draw():
    walk = unfinished_walk([[0, 0]] * 9 + [[1, 1]], [([1, 1], 1, 0.3)])
    np.testing.assert_array_equal(walk.final_state("converged"), [True, True])


def test_final_set_of_an_unfinished_run_is_a_visited_state():
    X, y = regression(500, 6, [1.0, -1.0, 0.5], 3)
    result = search(X, y, Sarsa(n_train=40, n_valid=40, n_preliminary=30, max_stages=60, patience=10**6))
    assert result.stop_reason == "max_stages"
    assert result.n_stages == 90
    stay = 6
    visited = {subset_key(result.trajectory.subset_at(i)) for i in range(60, 90)}
    key = subset_key(result.support_units)
    assert key in visited
    assert result.table.is_best(key, stay) or not any(result.table.is_best(k, stay) for k in visited)


# ---------------------------------------------------------------- Theorem 1


@pytest.mark.parametrize("seed", range(8))
def test_the_true_set_absorbs(seed):
    """Gains 1 (true) and about 0 (noise) with lambda = .5: every wrong action at the true set costs about .5.

    With discount .5, Assumption 1 holds (coming back can win .25 at most), so staying is best there.
    """
    X, y = regression(3000, 5, [1.0, -1.0], seed)
    truth = np.array([True, True, False, False, False])
    result = search(X, y, Sarsa(price=0.5, discount=0.5, patience=300, max_stages=1200), seed)
    assert result.stop_reason == "converged"
    np.testing.assert_array_equal(result.support_units, truth)
    values = result.table.values(subset_key(truth))
    assert np.argmax(values) == 5
    assert np.all(values[:5] < values[5])
    np.testing.assert_array_equal(result.inclusion[:2], 1.0)
    assert np.all(result.inclusion[2:] < 0.5)


@pytest.mark.parametrize("seed", range(6))
def test_the_walk_ends_at_the_true_set_with_the_settings_of_the_paper(seed):
    X, y = regression(5000, 6, [1.0, -1.0, 1.0], 100 + seed)
    result = search(X, y, Sarsa(), seed)
    assert result.stop_reason == "converged"
    assert np.flatnonzero(result.support_units).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("family", "coef", "price"), [("binomial", [2.0, -2.0], 0.05), ("poisson", [0.6, -0.6], 0.1)]
)
@pytest.mark.parametrize("seed", range(3))
def test_other_families_find_the_true_set(family, coef, price, seed):
    X, y = regression(4000, 5, coef, 200 + seed, family)
    result = search(X, y, Sarsa(price=price), seed, family=family)
    assert np.flatnonzero(result.support_units).tolist() == [0, 1]


def test_price_decides_between_all_and_nothing():
    X, y = regression(2000, 4, [0.5, 0.5, 0.5, 0.5], 5)
    assert search(X, y, Sarsa(price=0.05)).support_units.all()
    assert not search(X, y, Sarsa(price=5.0)).support_units.any()


# ---------------------------------------------------------------- groups, forced units, settings


def test_groups_enter_and_leave_as_one():
    X, y = regression(3000, 6, [0.8, 0.8, 0.0, 0.0, 0.0, 1.0], 6)
    units = [np.array([0, 1]), np.array([2, 3, 4]), np.array([5])]
    result = search(X, y, Sarsa(), units=units)
    assert result.support_units.tolist() == [True, False, True]


def test_always_and_allowed():
    X, y = regression(2000, 5, [1.0, 1.0], 7)
    allowed, always = np.array([True, False, True, True, True]), np.array([False, False, False, True, False])
    result = search(X, y, Sarsa(), allowed=allowed, always=always)
    assert result.support_units.tolist() == [True, False, False, True, False]
    assert result.inclusion[3] == 1.0
    assert result.inclusion[1] == 0.0
    assert all(result.trajectory.subset_at(i)[3] for i in range(0, len(result.trajectory), 50))
    assert set(np.abs(result.trajectory.to_dict()["action"])) <= {0, 1, 3, 5}


@pytest.mark.parametrize("always", [False, True])
def test_nothing_to_choose(always):
    X, y = regression(50, 2, [1.0], 0)
    result = search(X, y, Sarsa(), allowed=np.full(2, always), always=np.full(2, always))
    assert result.support_units.tolist() == [always, always]
    assert (result.stop_reason, result.n_stages, result.n_rows_read) == ("converged", 0, 0)


def test_inclusion_is_the_share_of_the_last_half_of_the_main_stages():
    X, y = regression(500, 4, [0.5, -0.5], 8)
    result = search(X, y, Sarsa(n_train=40, n_valid=40, n_preliminary=20, max_stages=101, patience=10**6))
    masks = [result.trajectory.subset_at(i) for i in range(20 + 50, 121)]
    np.testing.assert_allclose(result.inclusion, np.mean(masks, axis=0), atol=1e-12)


def test_recorded_score_less_cost_is_the_penalised_performance():
    X, y = regression(500, 4, [1.0, -1.0], 8)
    columns = search(
        X, y, Sarsa(n_train=40, n_valid=40, n_preliminary=20, max_stages=60)
    ).trajectory.to_dict()
    np.testing.assert_allclose(columns["cost"], 0.2 * columns["size"])
    stays = columns["action"] == 0
    np.testing.assert_array_equal(np.isnan(columns["score"]), stays)
    assert np.all(columns["score"][~stays] < 0)


def test_defaults_are_the_paper():
    settings = Sarsa()
    assert (settings.n_train, settings.n_valid) == (200, 200)
    assert (settings.n_preliminary, settings.max_stages) == (250, 2000)
    assert (settings.discount, settings.price) == (0.99, 0.2)
    assert settings.learning_rate == PowerDecay(1.0)
    assert settings.quantile_schedule() == LinearRamp(0.6, 1.0, 2000)
    assert Sarsa(max_stages=500).quantile_schedule() == LinearRamp(0.6, 1.0, 500)
    assert copy.deepcopy(settings) == settings


@pytest.mark.parametrize(
    "change",
    [
        {"n_train": 20},
        {"n_valid": 20},
        {"n_preliminary": 3},
        {"max_stages": 40},
        {"discount": 0.1},
        {"price": 0.7},
        {"learning_rate": Constant(0.5)},
        {"quantile": 0.9},
        {"patience": 12},
    ],
)
def test_every_setting_matters(change):
    X, y = regression(500, 5, [0.6, -0.4, 0.3], 9)
    small = {"n_train": 50, "n_valid": 50, "n_preliminary": 30, "max_stages": 150}
    columns = [search(X, y, Sarsa(**kw)).trajectory.to_dict() for kw in (small, small | change)]
    same = len(columns[0]["reward"]) == len(columns[1]["reward"])
    assert not (same and np.array_equal(columns[0]["reward"], columns[1]["reward"]))


@pytest.mark.parametrize("policy", [EpsilonGreedy(0.05), Softmax(0.05), UCB(0.1), ThompsonSampling(0.1)])
def test_every_policy_leads_somewhere_else_and_finds_strong_effects(policy):
    X, y = regression(800, 5, [2.0, -2.0], 9)
    settings = Sarsa(n_train=100, n_valid=100, n_preliminary=30, max_stages=400)
    mine, paper = (search(X, y, settings, policy=p) for p in (policy, None))
    assert not np.array_equal(
        mine.trajectory.to_dict()["action"][:60], paper.trajectory.to_dict()["action"][:60]
    )
    np.testing.assert_array_equal(mine.support_units, [True, True, False, False, False])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_train": 0}, "n_train=0 was given; it must be an integer of at least 1"),
        ({"n_valid": 2.5}, "n_valid=2.5"),
        ({"max_stages": True}, "max_stages=True"),
        ({"patience": 0}, "patience=0 was given; it must be None or an integer of at least 1"),
        ({"discount": 1.0}, "discount=1.0 .* at least 0 and below 1"),
        ({"price": -0.1}, "price=-0.1"),
        ({"price": math.nan}, "price=nan"),
    ],
)
def test_wrong_settings(wrong, message):
    with pytest.raises(ValueError, match=message):
        Sarsa(**wrong)


def test_wrong_problems():
    X, y = regression(50, 2, [1.0], 0)
    with pytest.raises(ValueError, match="family must be one of gaussian, binomial, poisson, got 'cox'"):
        search(X, y, Sarsa(), family="cox")
    with pytest.raises(ValueError, match="at least 2 rows"):
        search(X[:1], y[:1], Sarsa())
    with pytest.raises(ValueError, match="column numbers outside 0 to 1"):
        search(X, y, Sarsa(), units=[np.array([0]), np.array([2])])
    with pytest.raises(ValueError, match="one entry per unit, got 2, 3 and 2"):
        search(X, y, Sarsa(), allowed=np.ones(3, dtype=bool))


# ---------------------------------------------------------------- determinism, interrupts, time


def test_same_seed_same_walk():
    X, y = regression(800, 6, [1.0, -1.0], 10)
    settings = Sarsa(n_train=60, n_valid=60, n_preliminary=60, max_stages=300)
    first, second, other = (search(X, y, settings, seed) for seed in (3, 3, 4))
    columns, again, different = (r.trajectory.to_dict() for r in (first, second, other))
    for name in ("action", "moved", "size", "reward", "rows", "segment"):
        np.testing.assert_array_equal(columns[name], again[name])
    np.testing.assert_array_equal(first.inclusion, second.inclusion)
    assert columns["action"][:60].tolist() != different["action"][:60].tolist()


def test_single_precision_batches_walk_the_same_way():
    X, y = regression(800, 6, [1.0, -1.0], 10)
    X = X.astype(np.float32).astype(float)
    settings = Sarsa(n_train=60, n_valid=60, n_preliminary=60, max_stages=300)
    narrow = search(X, y, settings, take=lambda rows: (X[rows].astype(np.float32), y[rows], None, None))
    np.testing.assert_array_equal(
        narrow.trajectory.to_dict()["action"], search(X, y, settings).trajectory.to_dict()["action"]
    )


@pytest.mark.parametrize("at", [1, 10, 30, 31, 80])
def test_an_interrupt_leaves_a_valid_result(at):
    X, y = regression(500, 5, [1.0, -1.0], 11)

    def interrupt(stage, _):
        if stage == at:
            raise KeyboardInterrupt

    settings = Sarsa(n_train=40, n_valid=40, n_preliminary=30, max_stages=200)
    result = search(X, y, settings, callback=interrupt)
    assert result.stop_reason == "interrupted"
    assert result.n_stages == len(result.trajectory) == at
    assert result.support_units.shape == result.inclusion.shape == (5,)
    assert np.all((result.inclusion >= 0) & (result.inclusion <= 1))
    if at <= 30:
        assert not result.support_units.any()
    else:
        visited = {subset_key(result.trajectory.subset_at(i)) for i in range(30, at)}
        assert subset_key(result.support_units) in visited
        assert np.array_equal(key_mask(subset_key(result.support_units), 5), result.support_units)


def test_an_interrupt_while_reading_is_caught():
    X, y = regression(500, 5, [1.0, -1.0], 11)
    calls = itertools.count()

    def take(rows):
        if next(calls) == 50:
            raise KeyboardInterrupt
        return X[rows], y[rows], None, None

    result = search(X, y, Sarsa(n_preliminary=20), take=take)
    assert result.stop_reason == "interrupted"
    assert 50 <= result.n_stages < 100


def test_other_errors_are_not_swallowed():
    def take(rows):
        raise OSError("the disk is gone")

    X, y = regression(50, 2, [1.0], 0)
    with pytest.raises(OSError, match="the disk is gone"):
        search(X, y, Sarsa(), take=take)


def test_deadline():
    X, y = regression(500, 5, [1.0, -1.0], 12)
    late = search(X, y, Sarsa(), deadline=time.perf_counter() - 1.0)
    assert (late.stop_reason, late.n_stages) == ("time_budget", 0)
    assert not late.support_units.any()
    begin = time.perf_counter()
    result = search(X, y, Sarsa(max_stages=10**7, patience=10**7), deadline=begin + 0.3)
    assert result.stop_reason == "time_budget"
    assert 0.3 <= time.perf_counter() - begin < 3.0
    assert result.n_stages > 0


def test_rows_read_are_distinct_rows():
    X, y = regression(500, 3, [1.0], 0)
    asked = []

    def take(rows):
        asked.append(rows)
        return X[rows], y[rows], None, None

    result = search(X, y, Sarsa(n_train=20, n_valid=10, n_preliminary=5, max_stages=8), take=take)
    assert result.n_rows_read == len(np.unique(np.concatenate(asked)))
    assert all(len(rows) == 30 for rows in asked)
    rows = result.trajectory.to_dict()["rows"]
    assert rows[-1] == result.n_rows_read
    assert np.all(np.diff(rows) >= 0)


def test_callback_counts_the_stages():
    X, y = regression(200, 3, [1.0], 0)
    calls = []
    result = search(
        X, y, Sarsa(n_preliminary=5, max_stages=20), callback=lambda done, most: calls.append((done, most))
    )
    assert calls == [(i, 25) for i in range(1, result.n_stages + 1)]


def test_screening_leaves_the_strongest_units():
    X, y = regression(400, 30, [1.0, -1.0, 1.0], 7)
    settings = Sarsa(n_train=100, n_valid=100, n_preliminary=20, max_stages=100, n_screened=4)
    always = np.arange(30) == 20
    result = search(X, y, settings, always=always)
    tried = np.unique(np.abs(result.trajectory.to_dict()["action"]))
    assert len(set(tried) - {0}) == 4
    assert {1, 2, 3} <= set(tried)
    assert result.support_units[20]


def test_the_published_reading():
    search_settings = REVS.paper(reading="published", n_train=150).search
    assert (search_settings.n_train, search_settings.reward_window, search_settings.only_gains) == (
        150,
        250,
        True,
    )
    assert search_settings.for_actions(51).max_stages == 1020
    assert REVS.paper().search == Sarsa()
    with pytest.raises(ValueError, match="reading='words' was given"):
        REVS.paper(reading="words")
    with pytest.raises(ValueError, match="leave one of them out"):
        REVS.paper(reading="published", search=Sarsa())
