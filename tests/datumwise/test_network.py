"""Layers of several networks at once, against one network at a time and against differences."""

import numpy as np
import pytest

from rlselect.datumwise._network import LEAK, NetworkShape, backward, forward, softmax, start_weights

SHAPE = NetworkShape(width=5, trunk=4, ahead=3, classes=3, units=2, rewards=2)


@pytest.fixture
def given():
    rng = np.random.default_rng(0)
    weights = start_weights(SHAPE, 3, rng).astype(float)
    x = rng.normal(size=(3, 6, 5))
    log_price = rng.normal(size=(2, 3, 6))
    drop = 2 * rng.random((3, 6, 4)) * (rng.random((3, 6, 4)) < 0.7)
    return rng, weights, x, log_price, drop


def test_all_numbers_have_a_place():
    weights = np.arange(2 * SHAPE.size, dtype=np.float32).reshape(2, -1)
    views = SHAPE.views(weights)
    assert sum(view[0].size for view in views.values()) == SHAPE.size
    views["trunk"][...] = -1
    assert (weights == -1).sum() == 2 * 4 * 4


def test_forward_is_the_formula(given):
    _, weights, x, log_price, _ = given
    seen = forward(SHAPE.views(weights), x, log_price)
    for member in range(3):
        own = {name: view[0] for name, view in SHAPE.views(weights[member : member + 1]).items()}
        for state in range(6):
            first = np.maximum(x[member, state] @ own["input"] + own["input_bias"][0], 0)
            second = np.maximum(first @ own["trunk"] + own["trunk_bias"][0], 0)
            logits = second @ own["class"] + own["class_bias"][0]
            np.testing.assert_allclose(seen.logits[member, state], logits)
            for r in range(2):
                gain = second @ own[f"gain{r}"] + own[f"gain{r}_bias"][0]
                np.testing.assert_allclose(seen.gains[r][member, state], gain)
                priced = np.append(second, log_price[r, member, state])
                inner = priced @ own[f"ahead{r}"] + own[f"ahead{r}_bias"][0]
                inner = np.where(inner > 0, inner, LEAK * inner)
                ahead = inner @ own[f"ahead_of{r}"] + own[f"ahead_of{r}_bias"][0]
                np.testing.assert_allclose(seen.aheads[r][member, state], ahead)


def test_backward_is_the_slope_of_a_loss(given):
    rng, weights, x, log_price, drop = given
    to_logits = rng.normal(size=(3, 6, 3))
    to_gains = [rng.normal(size=(3, 6, 2)) for _ in range(2)]
    to_aheads = [rng.normal(size=(3, 6, 2)) for _ in range(2)]

    def loss(weights):
        seen = forward(SHAPE.views(weights), x, log_price, drop)
        out = (seen.logits * to_logits).sum()
        for r in range(2):
            out += (seen.gains[r] * to_gains[r]).sum() + (seen.aheads[r] * to_aheads[r]).sum()
        return out

    grads = np.zeros_like(weights)
    views = SHAPE.views(weights)
    seen = forward(views, x, log_price, drop)
    backward(views, SHAPE.views(grads), seen, log_price, to_logits, to_gains, to_aheads, drop)
    for place in rng.choice(SHAPE.size, 60, replace=False):
        for member in range(3):
            moved = [weights.copy(), weights.copy()]
            moved[0][member, place] += 1e-6
            moved[1][member, place] -= 1e-6
            slope = (loss(moved[0]) - loss(moved[1])) / 2e-6
            assert grads[member, place] == pytest.approx(slope, abs=1e-6)


def test_softmax_of_large_numbers():
    np.testing.assert_allclose(softmax(np.array([[1000.0, 1000.0, -1000.0]])), [[0.5, 0.5, 0.0]])
