"""Settings that make no sense are refused when they are made."""

import pytest

from rlselect.datumwise import NetworkTraining, PaperIteration, PolicyIteration


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        (PolicyIteration, {"n_iter": 0}, "n_iter=0 was given; it must be an integer of at least 1"),
        (PolicyIteration, {"screen": 0}, "screen=0"),
        (PolicyIteration, {"inertia": 1.0}, "inertia=1.0 was given; it must be a number from 0 to below 1"),
        (PolicyIteration, {"on_policy": -1}, "on_policy=-1"),
        (PolicyIteration, {"ridge": 0}, "ridge=0"),
        (PaperIteration, {"alpha": 1.0}, "alpha=1.0"),
        (PaperIteration, {"keep": "first"}, "keep='first'"),
        (PaperIteration, {"n_rollouts": 0.5}, "n_rollouts=0.5"),
    ],
)
def test_errors_of_settings(kind, params, message):
    with pytest.raises(ValueError, match=message):
        kind(**params)


def test_it_is_yes_or_no():
    with pytest.raises(ValueError, match=r"soft_labels=.* must be True or False"):
        PolicyIteration(soft_labels=0.5)


def test_few_rows_have_smaller_networks_and_shorter_trainings():
    auto = NetworkTraining()
    assert (auto.lengths(200), auto.width(200)) == ([300, 1000], 64)
    assert (auto.lengths(201), auto.width(201)) == ([400, 1600], 128)
    said = NetworkTraining(steps=(90, 50), hidden=32)
    assert (said.lengths(10), said.width(1e6)) == ([50, 90], 32)
    assert NetworkTraining(steps=70).lengths(10) == [70]
    with pytest.raises(ValueError, match="hidden='wide' was given"):
        NetworkTraining(hidden="wide")
