"""Gains read from the trunk: states and gains against single states, least squares, and what it finds."""

import numpy as np
import pytest
from problems import make_lessons

from rlselect import DatumwiseClassifier
from rlselect._clock import Clock
from rlselect.datumwise import NetworkTraining
from rlselect.datumwise._gain_reading import _GainReader, read_gains
from rlselect.datumwise._network import NetworkShape, forward, softmax, start_weights
from rlselect.datumwise._network_training import TrainingTask
from rlselect.datumwise._plan import NETWORK

GROUPS = [None, [np.array([0, 2]), np.array([1]), np.array([3])]]


def make_task(groups):
    encoder, lessons = make_lessons(groups=groups, budget=2)
    columns = encoder.kinds[0]
    shape = NetworkShape(columns.width, 6, 5, 2, lessons.rules.n_units, 2)
    rng = np.random.default_rng(1)
    task = TrainingTask(lessons, columns, shape, np.array([0, 1]), 40, 8, rng)
    return task, start_weights(shape, 2, rng)


@pytest.mark.parametrize("groups", GROUPS)
def test_gains_are_differences_of_rewards(groups):
    task, weights = make_task(groups)
    lessons, columns = task.lessons, task.columns
    reader = _GainReader(task, weights, 0)
    rows = np.arange(30)
    sight = reader._sight(rows, np.random.default_rng(5))
    made = columns.make(lessons.codes[rows]) * lessons.known[rows][:, columns.owner]
    bought = reader._play(rows, made, np.random.default_rng(5))[1]
    assert bought.any()
    assert bought.sum(axis=1).max() <= 2

    def think(row, held):
        shown = held[lessons.unit_of] & lessons.known[row]
        x = columns.make(lessons.codes[row])[None, None] * shown[columns.owner]
        out = forward(task.shape.views(weights[:1]), x, np.zeros((2, 1, 0), dtype=np.float32))
        shares = softmax(out.logits)[0]
        return out.second[0, 0], [lessons.reward(r, shares, lessons.labels[[row]])[0] for r in (0, 1)]

    for state, row in enumerate(rows):
        second, before = think(row, bought[state])
        np.testing.assert_allclose(sight.seen[state], [*second, 1.0], rtol=1e-4, atol=1e-6)
        for unit in np.flatnonzero(sight.may[state]):
            assert not bought[state, unit]
            after = bought[state].copy()
            after[unit] = True
            for r, reward in enumerate(think(row, after)[1]):
                assert sight.gains[r][state, unit] == pytest.approx(reward - before[r], abs=1e-5)


def test_layers_are_ridge_regressions(monkeypatch):
    task, weights = make_task(None)
    reader = _GainReader(task, weights, 1)
    sights = []
    whole = _GainReader._sight
    monkeypatch.setattr(_GainReader, "_sight", lambda *args: sights.append(whole(*args)) or sights[-1])
    for _ in range(2):
        reader.look(np.random.default_rng(2))
    # every second one is of rows that judge
    seen = np.concatenate([sight.seen for sight in sights[::2]]).astype(float)
    may = np.concatenate([sight.may for sight in sights[::2]])
    for r in (0, 1):
        gains = np.concatenate([sight.gains[r] for sight in sights[::2]])
        for unit, ok in enumerate(may.T):
            square = seen[ok].T @ seen[ok]
            for found, ridge in zip(reader.found[r], NETWORK.ridges, strict=True):
                size = ridge * np.trace(square[:-1, :-1]) / 6
                whole_square = square + np.diag([size] * 6 + [1e-6])
                wanted = np.linalg.solve(whole_square, seen[ok].T @ gains[ok, unit])
                np.testing.assert_allclose(seen @ found[unit], seen @ wanted, atol=1e-3)
    sight = sights[-1]
    error = sum(
        (sight.seen[state] @ reader.found[1][2][unit] - sight.gains[1][state, unit]) ** 2
        for state, unit in zip(*np.nonzero(sight.may), strict=True)
    )
    assert reader.errors()[1, 2] == pytest.approx(error, rel=1e-4)


def test_every_second_pair_of_states_is_that_of_a_policy_that_looks_ahead():
    """What opens the way to much is bought first there, though it gains nothing at once."""
    task, weights = make_task(None)
    views = task.shape.views(weights)
    for r in (0, 1):
        views[f"gain{r}"][...] = views[f"gain{r}_bias"][...] = 0.0
        views[f"ahead_of{r}"][...] = views[f"ahead_of{r}_bias"][...] = 0.0
        views[f"gain{r}_bias"][:, :, 1] = 5.0
        views[f"ahead_of{r}_bias"][:, :, 3] = 50.0
    rows = np.repeat(np.flatnonzero(~task.lessons.closed.any(axis=1)), 20)
    reader = _GainReader(task, weights, 0)
    made = task.columns.make(task.lessons.codes[rows])
    bought = reader._play(rows, made, np.random.default_rng(0))[1]
    single = bought.sum(axis=1) == 1
    ahead = np.arange(len(rows)) // 2 % 2 == 1
    chance = NETWORK.explore / task.lessons.rules.n_units
    for looks, unit in ((False, 1), (True, 3)):
        share = bought[single & (ahead == looks), unit].mean()
        assert share == pytest.approx(1 - NETWORK.explore + chance, abs=0.1)


def test_no_time_leaves_gains_as_they_are():
    task, weights = make_task(None)
    clock = Clock(None)
    clock.reason = "late"
    np.testing.assert_array_equal(read_gains(task, weights, np.random.default_rng(0), clock), weights)


def test_what_tells_most_is_found_among_many():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 30))
    y = (X[:, 7] + 0.7 * X[:, 23] > 0).astype(int)
    search = NetworkTraining(steps=60, n_members=2, hidden=16, batch=32, lookahead=False, reward="log")
    model = DatumwiseClassifier(scoring="network", search=search, feature_cost=0.01, random_state=0).fit(X, y)
    assert model.with_budget(1).acquire(X)[:, 7].all()
    # where the first one leaves a doubt
    assert model.with_budget(2).acquire(X)[:, 23].mean() > 0.4
