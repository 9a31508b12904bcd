"""Networks as judges of subsets, in NumPy and in torch."""

import pickle
import sys

import numpy as np
import pytest

from rlselect.kernels._networks import Training, network_outputs, start_networks, train_networks
from rlselect.subset.acp.masked._network import DECAYS, MaskedNetwork
from rlselect.subset.acp.masked._predictor import make_target


def product_data(n=200, p=6, kind="regression", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    signal = 2.0 * X[:, 0] * X[:, 1] + X[:, 2]
    if kind == "regression":
        return X, make_target(signal + 0.3 * rng.standard_normal(n), classifies=False)
    if kind == "two classes":
        return X, make_target((signal > 0).astype(int), classifies=True)
    return X, make_target(np.digitize(signal, [-1.0, 1.0]), classifies=True)


KINDS = ["regression", "two classes", "three classes"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_true_subset_is_best(kind):
    X, target = product_data(kind=kind)
    network = MaskedNetwork(X, target, hidden=32)
    masks = np.zeros((5, 6), dtype=bool)
    masks[0, :3] = True
    masks[1, :2] = True
    masks[2, 2] = True
    masks[4] = True
    values = network.criterion(masks)
    assert np.argmin(values) == 0
    # of nothing at all the constant remains: log of 1, or twice the entropy
    shares = np.ones(1) if target.codes is None else np.bincount(target.codes) / 200
    constant = 0.0 if target.codes is None else -2.0 * np.sum(shares * np.log(shares))
    assert values[3] == pytest.approx(constant, abs=0.25)


@pytest.mark.parametrize("kind", KINDS)
def test_losses_are_those_of_one_network_at_a_time(kind):
    X, target = product_data(n=50, kind=kind)
    network = MaskedNetwork(X, target, hidden=8, training=Training(epochs=20))
    rng = np.random.default_rng(1)
    masks, train = rng.random((4, 6)) < 0.5, rng.random((4, 50)) < 0.7
    together = network.losses(masks, train)
    for i in range(4):
        alone = network.losses(masks[i : i + 1], train[i : i + 1])[0]
        np.testing.assert_allclose(alone, together[i], rtol=1e-3, atol=1e-4)


def test_criterion_and_folds_follow_from_losses():
    X, target = product_data(n=50)
    network = MaskedNetwork(X, target, hidden=8, training=Training(epochs=20))
    mask = np.array([True, True, True, False, False, False])
    held = network._held
    assert 0.2 < held.mean() < 0.4
    losses = network.losses(mask[None], ~held[None])[0]
    assert network.criterion(mask[None])[0] == pytest.approx(np.log(losses[held].mean()))
    rows = network.row_losses(mask)
    fold = network.folds == 2
    np.testing.assert_allclose(rows[fold], network.losses(mask[None], ~fold[None])[0][fold])


def test_redraw_changes_rows_and_weights_and_a_seed_repeats_them():
    X, target = product_data(n=50)
    network = MaskedNetwork(X, target, hidden=8, training=Training(epochs=20), random_state=3)
    masks = np.ones((1, 6), dtype=bool)
    first = network.criterion(masks)[0]
    assert network.redraw(np.random.default_rng(0))
    assert network.criterion(masks)[0] != first
    again = MaskedNetwork(X, target, hidden=8, training=Training(epochs=20), random_state=3)
    assert again.criterion(masks)[0] == first


@pytest.mark.parametrize("kind", KINDS)
def test_the_final_model_predicts(kind):
    X, target = product_data(n=300, kind=kind)
    mask = np.array([True, True, True, False, False, False])
    model = MaskedNetwork(X[:200], target.rows(np.arange(200)), hidden=32).fit(mask)
    new = X[200:][:, mask]
    if target.codes is None:
        assert np.mean((model.decision(new) - target.Y[200:]) ** 2) < 0.3
        return
    proba, odds = model.proba(new), model.log_odds(new)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.mean(proba.argmax(axis=1) == target.codes[200:]) > 0.8
    if kind == "two classes":
        np.testing.assert_allclose(np.log(proba[:, 1] / proba[:, 0]), odds, atol=1e-6)
    else:
        np.testing.assert_array_equal(odds.argmax(axis=1), proba.argmax(axis=1))
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.proba(new), proba)


def test_tuning_takes_the_decay_with_the_smallest_loss():
    X, target = product_data(n=80)
    network = MaskedNetwork(X, target, hidden=16, training=Training(epochs=60, decay=0.5))
    mask = np.ones(6, dtype=bool)
    assert network.tune(mask)
    chosen = network.training.decay
    losses = {}
    for decay in DECAYS:
        network.training = Training(epochs=60, decay=decay)
        losses[decay] = network.row_losses(mask).mean()
    assert chosen == min(losses, key=losses.__getitem__)
    network.training = Training(epochs=60, decay=chosen)
    assert not network.tune(mask)


def test_noise_saves_little():
    X, target = product_data()
    network = MaskedNetwork(X, target, hidden=16, training=Training(epochs=60))
    mask = np.array([True, True, True, False, False, False])
    gains = network.noise_gains(mask, 20, np.random.default_rng(0))
    without = mask.copy()
    without[0] = False
    worth = network.criterion(np.stack([without, mask]))
    assert gains.mean() < 0.5 * (worth[0] - worth[1])


def test_without_torch_the_fix_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    X, target = product_data(n=20)
    with pytest.raises(ImportError, match=r"pip install 'rlselect\[torch\]'"):
        MaskedNetwork(X, target, device="cuda")


def torch_devices():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    return ["torch", "cuda"] if torch.cuda.is_available() else ["torch"]


@pytest.mark.parametrize("kind", KINDS)
def test_torch_trains_as_numpy_does(kind):
    for device in torch_devices():
        X, target = product_data(n=60, kind=kind)
        masks = np.random.default_rng(1).random((5, 6)) < 0.5
        train = np.random.default_rng(2).random((5, 60)) < 0.7
        # 47 steps are no whole number of recorded blocks
        training = Training(epochs=47, decay=0.01)
        ours = MaskedNetwork(X, target, hidden=16, training=training)
        theirs = MaskedNetwork(X, target, hidden=16, training=training, device=device)
        np.testing.assert_allclose(
            theirs.losses(masks, train), ours.losses(masks, train), rtol=0.02, atol=2e-3
        )
        # buffers are used again for other networks of the same shape
        flipped = masks[::-1].copy()
        np.testing.assert_allclose(
            theirs.losses(flipped, train), ours.losses(flipped, train), rtol=0.02, atol=2e-3
        )
        np.testing.assert_allclose(
            theirs.fit(masks[0]).decision(X[:, masks[0]]).shape, (60, ours._Y.shape[1])
        )
        pickle.loads(pickle.dumps(theirs))


def test_torch_rests_networks_that_are_ready():
    from_torch = pytest.importorskip("rlselect.subset.acp.masked._torch")
    for device in torch_devices():
        rng = np.random.default_rng(0)
        A = np.concatenate([rng.standard_normal((3, 60, 4)), np.ones((3, 60, 1))], axis=2).astype(np.float32)
        A[0] = 0.0
        Y = rng.standard_normal((60, 1)).astype(np.float32)
        Y -= Y.mean()
        uniform = tuple(rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((5, 8), (9, 1)))
        start = start_networks(uniform, np.tile(np.arange(4), (3, 1)), np.full(3, 4))
        start.second[0] = 0.0
        weight = np.full((3, 60), 1.0 / 60, dtype=np.float32)
        training = Training(epochs=100, tolerance=1e-3, patience=5)
        expected, steps = train_networks(A, Y, weight, start, training)
        got, again = from_torch.TorchTrainer(device).train(A, Y, weight, start, training)
        assert steps[0] == again[0] == 7
        assert np.abs(steps - again).max() <= 3
        np.testing.assert_allclose(network_outputs(A, got), network_outputs(A, expected), atol=0.02)


def test_torch_devices_that_are_not_there_are_refused():
    torch = pytest.importorskip("torch")
    X, target = product_data(n=20)
    with pytest.raises(ValueError, match="device='gpu' was given; allowed are"):
        MaskedNetwork(X, target, device="gpu")
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="torch sees no GPU"):
            MaskedNetwork(X, target, device="cuda")
