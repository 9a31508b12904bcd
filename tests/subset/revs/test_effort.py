"""Adaptive effort: which rows are drawn, and when the reading stops."""

from types import SimpleNamespace

import numpy as np
import pytest

from rlselect.data._sampler import RowSampler
from rlselect.data._units import Units
from rlselect.learn import Softmax
from rlselect.subset.revs import _effort, _outlook
from rlselect.subset.revs._effort import EffortPlan, begin, run_effort
from rlselect.subset.revs._walk import SizePrior, Walker
from rlselect.subset.revs.evidence._gram import LazyGram
from rlselect.subset.revs.evidence._ridge_subset import RidgeSubset
from rlselect.subset.revs.evidence._rows import Rows
from rlselect.subset.revs.evidence._ties import SHAPES

SMALL = EffortPlan(first=200, enough=800, block=256)


# ---- rows ----


def test_wide_rows_come_in_smaller_blocks():
    plan = EffortPlan()
    assert plan.block_rows(1) == plan.block_rows(50) == plan.block
    assert plan.block_rows(100_000) < plan.block_rows(5000) == 512 < plan.block_rows(500) < plan.block
    assert plan.block_rows(10**9) == 64


# ---- when to stop ----


def make_walker(X, y, tick=None, seed=0, plan=SMALL):
    rng = np.random.default_rng(seed)
    sampler = RowSampler(len(y), rng)

    def take(rows):
        return SimpleNamespace(X=X[rows], y=y[rows], sample_weight=None, offset=None)

    gram = LazyGram(Rows(take, single=True, as_is=True), X.shape[1], 2)
    gram.grow(sampler.draw(plan.first, plan.block))
    p = X.shape[1]
    walker = Walker(
        RidgeSubset(gram, Units(np.arange(p))),
        SizePrior(p),
        Softmax(),
        np.ones(p, dtype=bool),
        rng,
        (lambda: None) if tick is None else tick,
        sampler.n_used,
    )
    return walker, sampler


def effort(X, y, plan=SMALL, **options):
    walker, sampler = make_walker(X, y, plan=plan, **options)
    result = run_effort(begin(walker, sampler, np.random.default_rng(1)), plan, tune=True)
    return result, sampler, walker


def problem(n=20_000, p=30, effects=(1.0, -1.0, 0.5), noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = X[:, : len(effects)] @ np.array(effects) + noise * rng.standard_normal(n)
    return X, y


def test_clear_effects_need_few_rows():
    X, y = problem(seed=1)
    result, sampler, _ = effort(X, y)
    assert result.stop_reason == "decided"
    assert sampler.n_used <= 3200
    np.testing.assert_array_equal(np.flatnonzero(result.inclusion > 0.5), [0, 1, 2])
    assert result.inclusion[3:].max() < 0.2


def test_a_look_that_would_decode_all_rows_is_the_pass_itself(monkeypatch):
    X, y = problem(seed=1)
    monkeypatch.setattr(RowSampler, "in_memory", False)
    monkeypatch.setattr(_effort, "_NARROW", 0)
    assert effort(X, y)[0].stop_reason == "decided"
    # rows are decoded anew each time: those of a look would come once more in the pass
    monkeypatch.setattr(RowSampler, "decodes", lambda sampler, wanted: 2.0 * wanted)
    monkeypatch.setattr(_effort, "look_out", None)
    result, sampler, _ = effort(X, y)
    assert (result.stop_reason, sampler.n_used) == ("all rows", len(y))
    np.testing.assert_array_equal(np.flatnonzero(result.inclusion > 0.5), [0, 1, 2])
    # nor does a look pay for narrow rows that were decoded once
    monkeypatch.setattr(_effort, "_NARROW", X.shape[1])
    monkeypatch.setattr(RowSampler, "decodes", lambda sampler, wanted: float(wanted))
    assert effort(X, y)[0].stop_reason == "all rows"


def test_a_pass_over_rows_in_parts_ends_where_the_rest_would_show_nothing(monkeypatch):
    monkeypatch.setattr(RowSampler, "in_memory", False)
    monkeypatch.setattr(RowSampler, "decodes", lambda sampler, wanted: 2.0 * wanted)
    monkeypatch.setattr(_effort, "look_out", None)
    # 2,500 rows of 30 columns in a round
    plan = EffortPlan(first=200, enough=800, block=256, look=_outlook.LookPlan(slow_cells=75_000))
    result, sampler, walker = effort(*problem(seed=1), plan=plan)
    assert result.stop_reason == "decided on a sample"
    assert result.n_rows_seen == sampler.n_used == walker.state.rows.n_rows < 6000
    np.testing.assert_array_equal(np.flatnonzero(result.inclusion > 0.5), [0, 1, 2])
    # z is about 2 in the first round, of each of ten
    faint = problem(effects=(1.0, *[0.04] * 10), seed=2)
    result, sampler, walker = effort(*faint, plan=plan)
    assert (result.stop_reason, sampler.n_used) == ("all rows", 20_000)
    assert walker.state.rows.n_rows == 20_000
    np.testing.assert_array_equal(np.flatnonzero(result.inclusion > 0.5), np.arange(11))


def test_an_effect_that_is_neither_clear_nor_absent_needs_more():
    # at 800 rows its z is about 4, between the q + 1 = 3.6 of noise and the 5.4 that is asked of a member
    X, y = problem(effects=(1.0, 0.14))
    result, sampler, _ = effort(X, y)
    assert sampler.n_used > 800
    np.testing.assert_array_equal(np.flatnonzero(result.inclusion > 0.5), [0, 1])


def test_many_effects_too_faint_to_see_one_by_one_ask_for_more_rows():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40_000, 120))
    beta = np.r_[1.0, np.full(60, 0.035), np.zeros(59)]
    y = X @ beta + rng.standard_normal(40_000)
    with_them = effort(X, y)[1].n_used
    without = effort(X, X[:, 0] + rng.standard_normal(40_000))[1].n_used
    assert with_them >= 4 * without


def test_pure_noise_stops_early_and_empty():
    X, y = problem(effects=())
    result, sampler, _ = effort(X, y)
    assert sampler.n_used <= 6400
    assert not (result.inclusion > 0.5).any()


def test_never_fewer_rows_than_enough():
    X, y = problem()
    result, sampler, _ = effort(X, y, plan=EffortPlan(first=200, enough=5000, block=256))
    assert sampler.n_used >= 5000
    assert result.stop_reason == "decided"


def test_when_the_rows_end_all_of_them_are_used():
    X, y = problem(n=1100, effects=(1.0, 0.08))
    result, sampler, walker = effort(X, y)
    assert result.stop_reason == "all rows"
    assert sampler.n_used == 1100
    # the last state is that of all rows, not of a sample of them
    fresh, _ = make_walker(X, y, plan=EffortPlan(first=1100, block=256))
    fresh.state.set_prior(walker.state.slab, SHAPES[0])
    fresh.state.reset(walker.state.mask)
    np.testing.assert_allclose(walker.state.moves(), fresh.state.moves(), atol=1e-3)


def alike_and_one_more(faint, n=6000, p=60):
    """Twenty effects of one size, and some columns whose z is made to be 4.2 exactly."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((n, p))
    noise = rng.standard_normal(n)
    inside = np.column_stack([np.ones(n), X[:, : 20 + faint]])
    noise -= inside @ np.linalg.lstsq(inside, noise, rcond=None)[0]
    error = np.sqrt(noise @ noise / n * np.diag(np.linalg.inv(inside.T @ inside)))[1:]
    return X, X[:, :20].sum(axis=1) + noise + X[:, 20 : 20 + faint] @ (4.2 * error[20:])


def test_beside_effects_that_are_alike_a_faint_one_is_noise():
    X, y = alike_and_one_more(1)
    result, _, walker = effort(X, y, plan=EffortPlan(first=200, enough=6000, block=256))
    assert result.stop_reason == "all rows"
    assert walker.state.z_values()[20] > 4.0
    np.testing.assert_array_equal(np.flatnonzero(result.inclusion > 0.5), np.arange(20))


def test_several_faint_ones_are_effects():
    X, y = alike_and_one_more(6)
    result, _, _ = effort(X, y, plan=EffortPlan(first=200, enough=6000, block=256))
    np.testing.assert_array_equal(np.flatnonzero(result.inclusion > 0.5), np.arange(26))


def test_inclusion_is_the_chance_of_each_unit_given_the_rest():
    X, y = problem(n=1100, effects=(1.0, 0.1))
    result, _, walker = effort(X, y)
    rewards = walker.rewards()
    odds = np.exp(np.where(walker.state.mask, -rewards, rewards))
    np.testing.assert_allclose(result.inclusion, odds / (1 + odds), atol=1e-8)


def test_stopped_in_a_climb_the_subset_so_far_is_the_answer():
    # columns that repeat one signal: before the climb has taken one, all of them pay
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 1)) + 0.2 * rng.standard_normal((5000, 30))
    y = X[:, 0] + rng.standard_normal(5000)
    for moves in (0, 1):
        ticks = iter([None] * moves + ["enough"] * 100)
        result, sampler, walker = effort(X, y, tick=lambda t=ticks: next(t))
        assert result.stop_reason == "enough"
        assert sampler.n_used == SMALL.first
        np.testing.assert_array_equal(result.inclusion > 0.5, walker.state.mask)
        assert walker.state.size == moves


def test_a_signal_in_the_order_of_the_rows_does_no_harm():
    X, y = problem()
    order = np.argsort(y)
    result, sampler, _ = effort(X[order], y[order])
    assert result.stop_reason == "decided"
    assert sampler.n_used <= 3200
    np.testing.assert_array_equal(np.flatnonzero(result.inclusion > 0.5), [0, 1, 2])


def cancelling(n=30_000, p=20):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((n, p))
    X[:, 6] = 0.95 * X[:, 5] + np.sqrt(1 - 0.95**2) * X[:, 6]
    return X, X[:, 0] + 0.12 * (X[:, 5] - X[:, 6]) + rng.standard_normal(n)


def test_neighbours_that_hide_each_other_are_found_together():
    X, y = cancelling()
    result, _, walker = effort(X, y, plan=EffortPlan(enough=25_600))
    np.testing.assert_array_equal(np.flatnonzero(result.inclusion > 0.5), [0, 5, 6])
    # neither pays alone
    walker.state.reset(np.arange(20) == 0)
    walker.stand(walker.state)
    assert walker.rewards()[1:].max() < 0
    assert walker.pair_up(np.array([], dtype=int))
    assert set(np.flatnonzero(walker.state.mask)) == {0, 5, 6}
    assert not walker.pair_up(_outlook.doubtful(walker))


def test_a_stand_in_gives_way():
    """A neighbour that entered first hides the column that it stands in for: neither move pays alone."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((8000, 20))
    X[:, 6] = 0.95 * X[:, 5] + np.sqrt(1 - 0.95**2) * X[:, 6]
    y = X[:, 0] + 0.055 * X[:, 5] + rng.standard_normal(8000)
    walker, _ = make_walker(X, y, plan=EffortPlan(first=8000, block=256))
    walker.state.reset(np.isin(np.arange(20), [0, 6]))
    walker.stand(walker.state)
    assert walker.rewards().max() < 0
    assert _outlook.doubtful(walker).tolist() == [6]
    assert walker.pair_up(_outlook.doubtful(walker))
    assert set(np.flatnonzero(walker.state.mask)) == {0, 5}
    assert not walker.pair_up(_outlook.doubtful(walker))


def test_a_pair_is_sought_once_in_a_subset(monkeypatch):
    # a pair that the next climb takes back again must not be made for ever
    X, y = problem()
    monkeypatch.setattr(Walker, "pair_up", lambda self, doubtful=(): True)
    result, _, _ = effort(X, y)
    assert result.stop_reason == "decided"


def test_rows_needed_follow_the_faintest_member():
    X, y = problem(n=11_000, effects=(1.0, 0.07), seed=5)
    walker, _ = make_walker(X, y, plan=EffortPlan(first=3200, block=256))
    asked = 1.5 * (np.sqrt(2 * np.log(30)) + 1)
    for members in (1, 2):
        walker.state.reset(np.arange(30) < members)
        z = walker.state.z_values()[members - 1]
        assert _effort._rows_needed(walker) == pytest.approx(3200 * (asked / z) ** 2)


@pytest.mark.parametrize("needed", [100.0, 9000.0])
def test_far_from_decided_all_rows_are_used_at_once(monkeypatch, needed):
    monkeypatch.setattr(_effort, "_rows_needed", lambda walker: needed)
    X, y = problem(n=16_000, effects=(1.0, 0.08))
    walker, sampler = make_walker(X, y)
    draw, drawn = sampler.draw, []
    sampler.draw = lambda *given: (drawn.append(given), draw(*given))[1]
    run_effort(begin(walker, sampler, np.random.default_rng(1)), SMALL, tune=True)
    assert (len(drawn) == 0) == (needed > 8000)


def test_what_must_stay_stays():
    X, y = problem()
    walker, sampler = make_walker(X, y)
    start = np.arange(30) == 20
    walker.state.reset(start)
    walker = Walker(walker.state, SizePrior(29), Softmax(), ~start, walker.rng, lambda: None, 200)
    result = run_effort(begin(walker, sampler, np.random.default_rng(1)), SMALL, tune=True)
    np.testing.assert_array_equal(np.flatnonzero(result.inclusion > 0.5), [0, 1, 2, 20])
    assert result.inclusion[20] == 1.0
