"""Batched networks against one network at a time, written out by hand."""

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor

from rlselect.kernels import _networks
from rlselect.kernels._networks import (
    Networks,
    Training,
    loss_and_slope,
    network_outputs,
    row_losses,
    start_networks,
    train_networks,
)

H = 6


def problem(q=1, log_loss=False, m=3, n=40, k=4, seed=0):
    rng = np.random.default_rng(seed)
    A = np.concatenate([rng.standard_normal((m, n, k)), np.ones((m, n, 1))], axis=2).astype(np.float32)
    Y = rng.standard_normal((n, q)).astype(np.float32)
    if log_loss:
        Y = (Y > 0).astype(np.float32) if q == 1 else np.eye(q, dtype=np.float32)[rng.integers(q, size=n)]
    train = rng.random((m, n)) < 0.7
    weight = (train / train.sum(axis=1, keepdims=True)).astype(np.float32)
    first = rng.uniform(-0.5, 0.5, size=(m, k + 1, H)).astype(np.float32)
    second = rng.uniform(-0.5, 0.5, size=(m, H + 1, q)).astype(np.float32)
    return A, Y, weight, Networks(first, second)


def naive_loss(A, Y, weight, first, second, training):
    """Loss of one network, by loops, in double precision."""
    total = 0.0
    for x, y, w in zip(A.astype(float), Y.astype(float), weight.astype(float), strict=True):
        hidden = np.array([max(0.0, float(x @ first[:, j])) for j in range(first.shape[1])])
        out = hidden @ second[:-1] + second[-1]
        if not training.log_loss:
            total += w * 0.5 * float(np.sum((out - y) ** 2))
        elif len(y) == 1:
            total += w * float(np.log1p(np.exp(out[0])) - y[0] * out[0])
        else:
            total += w * float(np.log(np.exp(out).sum()) - out @ y)
    squares = np.sum(first[:-1] ** 2) + np.sum(second[:-1] ** 2)
    return total + 0.5 * training.decay * float(squares)


def naive_adam(A, Y, weight, first, second, training):
    """Adam with slopes from finite differences."""
    both = [first.astype(float), second.astype(float)]
    mean, square = [np.zeros_like(w) for w in both], [np.zeros_like(w) for w in both]
    for t in range(1, training.epochs + 1):
        slopes = []
        for w in both:
            slope = np.zeros_like(w)
            for at in np.ndindex(*w.shape):
                old, values = w[at], []
                for shift in (1e-6, -1e-6):
                    w[at] = old + shift
                    values.append(naive_loss(A, Y, weight, *both, training))
                w[at] = old
                slope[at] = (values[0] - values[1]) / 2e-6
            slopes.append(slope)
        for i, slope in enumerate(slopes):
            mean[i] = 0.9 * mean[i] + 0.1 * slope
            square[i] = 0.999 * square[i] + 0.001 * slope**2
            corrected = mean[i] / (1 - 0.9**t), square[i] / (1 - 0.999**t)
            both[i] = both[i] - training.step * corrected[0] / (np.sqrt(corrected[1]) + 1e-8)
    return both


@pytest.mark.parametrize(("q", "log_loss"), [(1, False), (3, False), (1, True), (3, True)])
def test_a_batch_is_each_network_alone_by_finite_differences(q, log_loss):
    A, Y, weight, start = problem(q, log_loss, n=15, k=2)
    training = Training(epochs=4, decay=0.03, log_loss=log_loss)
    out, steps = train_networks(A, Y, weight, start, training)
    assert steps.tolist() == [4, 4, 4]
    for i in range(3):
        first, second = naive_adam(A[i], Y, weight[i], start.first[i], start.second[i], training)
        # Adam divides a slope by its size: one that is zero but for rounding moves its weight at random
        for ours, naive in ((out.first[i], first), (out.second[i], second)):
            assert np.mean(np.abs(ours - naive) < 2e-4) > 0.9
            assert np.abs(ours - naive).max() < 2 * 4 * training.step
        value = naive_loss(A[i], Y, weight[i], out.first[i], out.second[i], training)
        assert value == pytest.approx(naive_loss(A[i], Y, weight[i], first, second, training), abs=1e-4)


def test_the_start_is_left_as_it_was():
    A, Y, weight, start = problem()
    before = start.first.copy(), start.second.copy()
    train_networks(A, Y, weight, start, Training(epochs=3))
    np.testing.assert_array_equal(start.first, before[0])
    np.testing.assert_array_equal(start.second, before[1])


def test_chunks_change_nothing(monkeypatch):
    A, Y, weight, start = problem(q=3, log_loss=True, m=7)
    training = Training(epochs=30, log_loss=True)
    whole, steps = train_networks(A, Y, weight, start, training)
    monkeypatch.setattr(_networks, "_CELLS", 1)
    parts, again = train_networks(A, Y, weight, start, training)
    np.testing.assert_allclose(parts.first, whole.first, atol=1e-5)
    np.testing.assert_array_equal(steps, again)
    np.testing.assert_allclose(network_outputs(A, parts), network_outputs(A, whole), atol=1e-4)


def test_rows_of_weight_zero_teach_nothing():
    A, Y, weight, start = problem()
    out, _ = train_networks(A, Y, weight, start, Training(epochs=20))
    changed = A.copy()
    changed[weight == 0.0] = 7.0
    again, _ = train_networks(changed, Y, weight, start, Training(epochs=20))
    np.testing.assert_allclose(again.first, out.first, atol=1e-6)


def test_a_network_that_is_ready_rests():
    A, Y, weight, start = problem(n=60)
    weight[:] = 1.0 / 60
    Y = Y.copy()
    # the first network has nothing to learn; the others do
    A[0] = 0.0
    start.second[0] = 0.0
    Y -= Y.mean()
    training = Training(epochs=80, tolerance=1e-3, patience=5)
    out, steps = train_networks(A, Y, weight, start, training)
    assert steps[0] == 7
    assert steps[1:].min() > 20
    alone, one = train_networks(A[1:2], Y, weight[1:2], start.part(slice(1, 2)), training)
    assert one[0] == steps[1]
    np.testing.assert_allclose(alone.first[0], out.first[1], atol=1e-5)


def test_start_is_scaled_by_the_inputs_of_each():
    rng = np.random.default_rng(0)
    uniform = (
        rng.uniform(-1, 1, (6, H)).astype(np.float32),
        rng.uniform(-1, 1, (H + 1, 2)).astype(np.float32),
    )
    columns, sizes = np.array([[0, 3], [4, 5], [5, 5]]), np.array([2, 1, 0])
    start = start_networks(uniform, columns, sizes)
    bound = np.sqrt(6.0 / (np.array([2, 1, 1]) + H))
    np.testing.assert_allclose(start.first[0], uniform[0][[0, 3, 5]] * bound[0], rtol=1e-6)
    np.testing.assert_allclose(start.first[1, [0, 2]], uniform[0][[4, 5]] * bound[1], rtol=1e-6)
    assert np.all(start.first[1, 1] == 0.0)
    assert np.all(start.first[2, :2] == 0.0)
    np.testing.assert_allclose(start.second[1], uniform[1] * np.sqrt(6.0 / (H + 2)), rtol=1e-6)


@pytest.mark.parametrize("q", [1, 3])
def test_log_losses_of_huge_outputs_are_finite(q):
    output = np.array([[[1e4] * q, [-1e4] * q]], dtype=np.float32)
    output[..., 0] *= -1.0
    Y = np.zeros((2, q), dtype=np.float32)
    Y[:, 0] = 1.0
    loss, slope = row_losses(output, Y, log_loss=True)
    assert np.all(np.isfinite(loss))
    assert np.all(np.isfinite(slope))
    mean, _ = loss_and_slope(output, Y, np.full((1, 2), 0.5, dtype=np.float32), log_loss=True)
    assert mean[0] == pytest.approx(loss.mean())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_fits_as_well_as_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.1 * rng.standard_normal(300)
    y = (y - y.mean()) / y.std()
    A = np.column_stack([X, np.ones(300)]).astype(np.float32)[None]
    uniform = tuple(rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((5, 64), (65, 1)))
    start = start_networks(uniform, np.arange(4)[None], np.array([4]))
    weight = np.zeros((1, 300), dtype=np.float32)
    weight[0, :200] = 1.0 / 200
    ours, _ = train_networks(A, y[:, None].astype(np.float32), weight, start, Training(patience=300))
    error = np.mean((network_outputs(A, ours)[0, 200:, 0] - y[200:]) ** 2)
    peer = MLPRegressor(
        hidden_layer_sizes=(64,), learning_rate_init=0.01, max_iter=300, n_iter_no_change=300, random_state=0
    ).fit(X[:200], y[:200])
    assert error < 0.35
    assert error < 1.3 * np.mean((peer.predict(X[200:]) - y[200:]) ** 2) + 0.05
