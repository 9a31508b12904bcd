"""The look before a stop: which rows it passes over, what it calls more, and the size it would have shown."""

import numpy as np
import pytest

from rlselect import REVS
from rlselect.data import open_table
from rlselect.data._sampler import RowSampler
from rlselect.data._units import Units
from rlselect.learn import Softmax
from rlselect.subset.revs._effort import EffortPlan, begin, run_effort
from rlselect.subset.revs._outlook import LookPlan, detectable, look_out
from rlselect.subset.revs._search import _rows, _state
from rlselect.subset.revs._walk import SizePrior, Walker

PLAN = EffortPlan(first=800, enough=800, block=256)
# a quarter of the rows at first
SOME = LookPlan(cells=1.0)


def problem(n=64_000, p=30, effects=(1.0,), seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, : len(effects)] @ np.array(effects) + rng.standard_normal(n)


def stand(X, y, tick=lambda: None):
    """A walker on 800 of the rows."""
    p, rng = X.shape[1], np.random.default_rng(0)
    table = open_table(X, y)
    table.start(rng)
    sampler = table.sampler
    state = _state("gaussian", Units(np.arange(p)), _rows(table, True), sampler.draw(800, 256), parts=2)
    return Walker(state, SizePrior(p), Softmax(), np.ones(p, dtype=bool), rng, tick, 800), sampler


def outlook_of(X, y, plan=None, **options):
    walker, sampler = stand(X, y)
    walker.climb()
    plan = LookPlan() if plan is None else plan
    return look_out(walker, sampler, plan, block=256, probes=np.arange(8), tune=True, **options), walker


def test_how_much_is_looked_at_at_first():
    plan, sampler = LookPlan(), RowSampler(1_000_000, np.random.default_rng(0))
    assert [plan.rounds(sampler, p) for p in (10, 200, 400, 1000, 10_000)] == [1, 1, 3, 4, 4]
    sampler.in_memory = False
    assert [plan.rounds(sampler, p) for p in (10, 200, 10_000)] == [1, 4, 10]


def test_all_rows_show_what_a_sample_cannot():
    outlook, walker = outlook_of(*problem(effects=(1.0, 0.03)))
    assert outlook.more
    assert (outlook.share, outlook.n_rows) == (1.0, 64_000)
    # the search itself has not moved
    np.testing.assert_array_equal(np.flatnonzero(walker.state.mask), [0])


def test_nothing_more_where_nothing_is():
    outlook, _ = outlook_of(*problem())
    assert not outlook.more
    assert (outlook.share, outlook.n_rows) == (1.0, 64_000)


def test_a_part_is_enough_where_it_is_clear():
    outlook, _ = outlook_of(*problem(effects=(1.0, 0.06)), SOME)
    assert outlook.more
    assert outlook.share == pytest.approx(0.25, abs=0.01)
    found = [outlook_of(*problem(seed=seed), SOME)[0] for seed in range(1, 7)]
    # a unit of the sample may leave, and none enters
    assert not any(outlook.walker.state.mask[1:].any() for outlook in found)
    assert min(outlook.share for outlook in found) == pytest.approx(0.25, abs=0.01)
    assert np.mean([outlook.share for outlook in found]) < 0.6


def test_doubts_are_looked_into():
    # z is about 3 in a quarter of the rows, and 6 in all of them
    effects = (1.0, 0.024, 0.024, -0.024)
    found = [outlook_of(*problem(effects=effects, seed=seed), SOME)[0] for seed in range(1, 7)]
    assert sum(outlook.more for outlook in found) >= 5
    assert max(outlook.share for outlook in found if outlook.more) > 0.4


def test_a_wish_is_looked_for():
    X, y = problem(seed=2)
    plan = LookPlan(cells=1.0, leftover=np.inf)
    first, _ = outlook_of(X, y, plan)
    assert first.share == pytest.approx(0.25, abs=0.01)
    limit = np.nanmax(first.detectable)
    asked, _ = outlook_of(X, y, plan, min_effect=0.8 * limit)
    assert asked.share > 0.4
    assert np.nanmax(asked.detectable) < limit


def test_neighbours_that_cancel_are_seen_together():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((120_000, 20))
    X[:, 6] = 0.97 * X[:, 5] + np.sqrt(1 - 0.97**2) * X[:, 6]
    y = X[:, 0] + 0.1 * (X[:, 5] - X[:, 6]) + rng.standard_normal(120_000)
    outlook, walker = outlook_of(X, y)
    np.testing.assert_array_equal(np.flatnonzero(walker.state.mask), [0])
    assert outlook.more
    assert set(np.flatnonzero(outlook.walker.state.mask)) == {0, 5, 6}


def test_what_all_rows_do_not_speak_for_leaves_without_more_rows():
    X, y = problem()
    # in the first rows that are drawn, and only there, column 3 seems to matter
    drawn = np.random.default_rng(0).permutation(len(y))[:800]
    y[drawn] += 0.3 * X[drawn, 3]
    walker, sampler = stand(X, y)
    progress = begin(walker, sampler, np.random.default_rng(1))
    walker.climb()
    assert walker.state.mask[3]
    result = run_effort(progress, PLAN, tune=True)
    assert result.stop_reason == "decided"
    assert sampler.n_used == 800
    np.testing.assert_array_equal(np.flatnonzero(result.inclusion > 0.5), [0])
    assert result.n_rows_seen == 64_000


def test_stopped_while_looking():
    X, y = problem()
    walker, sampler = stand(X, y)
    progress = begin(walker, sampler, np.random.default_rng(1))
    passed = []
    walker.tick = lambda: "enough" if passed else None
    pass_by = walker.state.rows.pass_by
    walker.state.rows.pass_by = lambda *given: (passed.append(1), pass_by(*given))[1]
    result = run_effort(progress, PLAN, tune=True)
    assert result.stop_reason == "enough"
    assert len(passed) == 1
    np.testing.assert_array_equal(result.inclusion > 0.5, walker.state.mask)


def test_what_is_detectable_is_the_size_that_pays_with_some_to_spare():
    _, walker = outlook_of(*problem(n=20_000))
    sizes = detectable(walker)
    assert np.isnan(sizes[0])
    error = np.sqrt(walker.state.noise / 800)
    needed = walker.paying_z()[1:]
    np.testing.assert_allclose(sizes[1:], (needed + 1.2816) * error, rtol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("n", [30_000, 120_000])
def test_an_effect_of_the_detectable_size_is_seen_nine_times_in_ten(n):
    seen, trials = 0, 120
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, 10), dtype=np.float32)
        noise = rng.standard_normal(n)
        limit = REVS(random_state=seed).fit(X, X[:, 0] + noise).detectable_[4]
        y = X[:, 0] + noise
        fit = REVS(random_state=seed).fit(X, y + limit * y.std() * X[:, 4])
        seen += fit.support_[4]
    # about three standard errors
    assert 0.82 <= seen / trials <= 0.98


@pytest.mark.parametrize(("faint", "more"), [(0, False), (1, False), (3, True)])
def test_one_faint_column_beside_many_alike_is_noise_but_several_are_no_accident(faint, more):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((20_000, 50))
    noise = rng.standard_normal(len(X))
    # columns beside the effects have no correlation with the noise, then some have z = 4.3
    noise -= X @ np.linalg.lstsq(X, noise, rcond=None)[0]
    noise += X[:, 40 : 40 + faint] @ np.full(faint, 4.3 / np.sqrt(len(X)))
    outlook, walker = outlook_of(X, X[:, :25].sum(axis=1) + noise)
    assert walker.state.size == 25
    assert (outlook.share, outlook.more) == (1.0, more)
    assert np.any(outlook.walker.rewards() > 0) == more
    assert outlook.walker.state.shape == (faint == 1)
