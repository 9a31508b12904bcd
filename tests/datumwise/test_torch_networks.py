"""Networks in torch: they learn and answer as those of NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from problems import make_lessons

from rlselect import DatumwiseClassifier
from rlselect._clock import Clock
from rlselect.datumwise import NetworkTraining
from rlselect.datumwise._network import NetworkShape
from rlselect.datumwise._network_training import TrainingTask, train_networks

torch = pytest.importorskip("torch", reason="torch is not installed")
DEVICES = ["torch", "cuda"] if torch.cuda.is_available() else ["torch"]


def make_tasks(encoder, lessons, steps=40, batch=16):
    """Both kinds of networks."""
    out = []
    for k, columns in enumerate(encoder.kinds):
        shape = NetworkShape(columns.width, 12, 6, 2, lessons.rules.n_units, len(lessons.rewards))
        rng = np.random.default_rng(k)
        out.append(TrainingTask(lessons, columns, shape, np.array([k, k + 2]), steps, batch, rng))
    return out


def assert_close(got, wanted):
    """Rounding grows from step to step, the most where Adam moves weights without a slope."""
    for mine, other in zip(wanted, got, strict=True):
        difference = np.abs(other - mine)
        assert np.median(difference) < 1e-4
        assert np.quantile(difference, 0.95) < 2e-3


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"rewards": (1,)},
        {"groups": [np.array([0, 2]), np.array([1]), np.array([3])], "budget": 2},
        {"needs": np.eye(4, k=-1, dtype=bool), "cost_budget": 4.0},
    ],
    ids=["plain", "one reward", "groups and budget", "prerequisites"],
)
def test_training_is_that_of_numpy(device, rules):
    from rlselect.datumwise._torch_networks import train_on_device

    wanted = [train_networks(task, Clock(None)) for task in make_tasks(*make_lessons(**rules))]
    got = train_on_device(make_tasks(*make_lessons(**rules)), device, Clock(None))
    assert_close(got, wanted)


def test_kinds_of_different_width_can_be_one_batch():
    """Narrow networks are filled up, which changes nothing."""
    from rlselect.datumwise import _torch_networks

    wanted = [train_networks(task, Clock(None)) for task in make_tasks(*make_lessons())]
    trainer = _torch_networks._Trainer(make_tasks(*make_lessons()), torch.device("cpu"))
    assert trainer.run(Clock(None))
    assert_close(trainer.result(), wanted)


def test_without_time_there_are_first_weights_or_none():
    from rlselect.datumwise._torch_networks import train_on_device

    tasks = make_tasks(*make_lessons(), steps=10**4)
    assert train_on_device(tasks, "torch", Clock(1e-9), False) == [None, None]
    tasks = make_tasks(*make_lessons(), steps=10**4)
    wanted = make_tasks(*make_lessons())[0].start()[0]
    np.testing.assert_array_equal(train_on_device(tasks, "torch", Clock(1e-9))[0], wanted)


@pytest.mark.parametrize("device", DEVICES)
def test_fits_agree_and_answers_can_be_had_on_any_device(device):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) > 0).astype(int)
    search = NetworkTraining(steps=(40, 60), n_members=4, hidden=12, batch=32)
    mine = DatumwiseClassifier(scoring="network", search=search, random_state=0).fit(X, y)
    other = DatumwiseClassifier(scoring="network", search=search, random_state=0, device=device).fit(X, y)
    np.testing.assert_allclose(other.predict_proba(X), mine.predict_proba(X), atol=2e-3)
    assert other.value_ == pytest.approx(mine.value_, abs=2e-3)
    policy = mine._fitted.policy
    codes, bought = np.nan_to_num(X), rng.random(X.shape) < 0.5
    for lookahead in (False, True):
        here = replace(policy, lookahead=lookahead)
        there = replace(here, device=device)
        np.testing.assert_allclose(
            there.action_scores(codes, bought), here.action_scores(codes, bought), atol=1e-5
        )


def test_a_device_without_networks_is_refused():
    with pytest.raises(ValueError, match="device='torch'"):
        DatumwiseClassifier(scoring="bins", device="torch").fit([[0.0], [1.0]], [0, 1])
