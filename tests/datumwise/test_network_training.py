"""How networks learn: targets against a naive loop, what is never met, and what can be learned."""

from dataclasses import replace

import numpy as np
import pytest
from problems import make_lessons

from rlselect._clock import Clock
from rlselect.datumwise import _network_training
from rlselect.datumwise._network import NetworkShape, forward, softmax, start_weights
from rlselect.datumwise._network_draws import StateDraws
from rlselect.datumwise._network_training import (
    TrainingTask,
    cost_shares,
    train_networks,
    utilities,
)
from rlselect.datumwise._plan import NETWORK


def test_utilities_and_shares_of_costs():
    rules = make_lessons()[1].rules
    np.testing.assert_allclose(utilities(rules), np.eye(2))
    np.testing.assert_allclose(cost_shares(rules).mean(), 1.0)


def test_numbers_are_worth_shares_of_the_variance():
    """However far apart the extreme values are; a draw from the shares is twice as far off as their mean."""
    values = np.array([-1.0, 0.0, 9.0])
    losses = np.subtract.outer(values, values) ** 2
    rules = replace(make_lessons()[1].rules, losses=losses, values=values)
    shares = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])
    labels = np.array([2, 0])
    np.testing.assert_allclose(rules.soft_losses(shares, labels), [(1.75 - 9) ** 2, 1.0])
    drawn = replace(rules, values=None).soft_losses(shares, labels)
    np.testing.assert_allclose(drawn, [0.5 * 100 + 0.25 * 81, 1.0])
    worth = utilities(rules)
    np.testing.assert_allclose(worth[0, 0] - worth[0, 1], 1 / (2 * NETWORK.squared_unit), rtol=1e-5)
    np.testing.assert_allclose(np.ptp(utilities(replace(rules, values=None))), 1.0)


@pytest.mark.parametrize("groups", [None, [np.array([0, 2]), np.array([1]), np.array([3])]])
def test_slopes_of_gains_are_those_of_a_loop(groups, monkeypatch):
    """The slope is zero but where a purchase was tried, and there that of the squared error."""
    encoder, lessons = make_lessons(groups=groups, budget=2)
    columns = encoder.kinds[0]
    shape = NetworkShape(columns.width, 6, 5, 2, lessons.rules.n_units, 2)
    rng = np.random.default_rng(1)
    slow, now = start_weights(shape, 2, rng), start_weights(shape, 2, rng)
    task = TrainingTask(lessons, columns, shape, np.array([0, 1]), 40, 8, rng)
    draws = task.start()[1]
    states = _network_training._States(lessons, draws)
    states.renew(draws.step())
    drawn = draws.gain_step()
    rows, bought, log_price = states.rows[:, :8], states.bought[:, :8].copy(), states.log_price.copy()
    labels, made = lessons.labels[rows], columns.make(lessons.codes[rows])
    x = lessons.inputs(columns, made, bought, lessons.known[rows])
    seen = forward(shape.views(now), x, log_price)
    monkeypatch.setattr(_network_training._States, "advance", lambda *args: None)
    slopes = _network_training._gain_slopes(
        lessons, columns, shape.views(slow), states, drawn, seen.gains, seen.aheads
    )

    def think(member, row, held, r, price):
        shown = held[lessons.unit_of] & lessons.known[row]
        one = columns.make(lessons.codes[row])[None, None] * shown[columns.owner]
        prices = np.full((2, 1, 1), price, dtype=np.float32)
        out = forward(shape.views(slow[member : member + 1]), one, prices)
        return softmax(out.logits)[0, 0], out.gains[r][0, 0], out.aheads[r][0, 0]

    cost, tried = cost_shares(lessons.rules), 0
    for member, state, unit in np.ndindex(2, 8, lessons.rules.n_units):
        row, held = rows[member, state], bought[member, state]
        after = held.copy()
        after[unit] = True
        for r in range(2):
            got = slopes[0][r][member, state, unit], slopes[1][r][member, state, unit]
            if got == (0.0, 0.0):
                continue
            tried += 1
            assert lessons.open(held[None], lessons.closed[[row]])[0, unit]
            price = log_price[r, member, state]
            before, then = (think(member, row, own, r, price) for own in (held, after))
            reward = [s[0][labels[member, state]] for s in (before, then)]
            if r == 1:
                reward = [max(np.log(value), -4.0) for value in reward]
            may = ~after & ~lessons.closed[row] & (after.sum() < 2)
            score = then[1] - 10**price * cost + np.maximum(then[2], 0)
            further = max(0.0, score[may].max(initial=0.0))
            times = round(
                got[0] / ((seen.gains[r][member, state, unit] - (reward[1] - reward[0])) * (20, 2)[r]) * 32
            )
            size = (20, 2)[r] / (8 * 4) * times
            assert times >= 1  # a purchase may be drawn and be the best as well
            assert got[0] == pytest.approx(
                (seen.gains[r][member, state, unit] - (reward[1] - reward[0])) * size, rel=1e-3, abs=1e-6
            )
            assert got[1] == pytest.approx(
                (seen.aheads[r][member, state, unit] - further) * size, rel=1e-3, abs=1e-6
            )
    assert tried > 10


def test_rows_of_the_fold_left_out_are_never_met(monkeypatch):
    encoder, lessons = make_lessons()
    seen = []
    whole = StateDraws._rows
    monkeypatch.setattr(
        StateDraws, "_rows", lambda self, number: seen.append(whole(self, number)) or seen[-1]
    )
    columns = encoder.kinds[1]
    shape = NetworkShape(columns.width, 6, 5, 2, 4, 2)
    rng = np.random.default_rng(0)
    train_networks(TrainingTask(lessons, columns, shape, np.array([1, 3]), 12, 16, rng), Clock(None))
    rows = np.concatenate(seen, axis=1)
    assert set(lessons.folds[rows[0]]) == {0, 2, 3}
    assert set(lessons.folds[rows[1]]) == {0, 1, 2}


def test_without_time_the_weights_are_what_they_are():
    encoder, lessons = make_lessons()
    columns = encoder.kinds[1]
    shape = NetworkShape(columns.width, 6, 5, 2, 4, 2)
    late = Clock(1e-9)
    given = (lessons, columns, shape, np.array([0, 1]), 10**4, 16)
    assert train_networks(TrainingTask(*given, np.random.default_rng(0)), late, False) is None
    weights = train_networks(TrainingTask(*given, np.random.default_rng(0)), late, True)
    np.testing.assert_array_equal(weights, start_weights(shape, 2, np.random.default_rng(0)))


def test_a_fold_that_holds_all_rows_leaves_nothing_out():
    encoder, lessons = make_lessons(n=3)
    lessons.folds[:] = 0
    shape = NetworkShape(encoder.kinds[1].width, 6, 5, 2, 4, 2)
    rng = np.random.default_rng(0)
    draws = TrainingTask(lessons, encoder.kinds[1], shape, np.array([0, 1]), 8, 8, rng).start()[1]
    assert set(draws.step().rows[0]) <= {0, 1, 2}
    assert np.isfinite(draws.mass).all()
