"""Stages of Algorithm 28: the same values in one product, by factorisation, naively and in torch."""

import sys

import numpy as np
import pytest

from rlselect import QLearning, TrialData
from rlselect.machines._losses import SquaredLoss
from rlselect.machines._solve import solve_machine
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._stage_machine import StageMachine
from rlselect.regimes._stage_rfe import StageRFE
from rlselect.regimes._value_elimination import make_stage
from rlselect.simulate import make_regime_trial


def last_stage(kind):
    """A stage with three actions, not all allowed to everyone, a category among its columns, and weights."""
    rng = np.random.default_rng(4)
    simulated = make_regime_trial("I", 60, 5, random_state=4)
    columns = simulated.columns | {
        "A2": rng.choice(["a", "b", "c"], size=60),
        "X1_5": rng.choice(["low", "middle", "high"], size=60),
    }
    stage = TrialData.from_wide(columns, simulated.stages).stages[1]
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    X = encoder.encode(stage.history, stage.action)
    machine = StageMachine(encoder, X, stage.reward, rng.uniform(0.5, 2.0, size=60), kind, paper=StageRFE())
    allowed = np.column_stack([np.ones(60, dtype=bool), rng.random((60, 2)) < 0.7])
    return stage, machine, allowed


def naive(machine, stage, mine, groups, y):
    """Values on some groups, from a state that never had others."""
    lam = mine.ridge[0] * machine.weights[0] / machine.weights.sum()
    state = machine.make_state(mine.state.bandwidth, groups)
    fitted = solve_machine(state.gram(), y[:, None], machine.weights, lam, SquaredLoss())
    crosses = [state.cross(Z, groups) for Z in machine.encoder.each_action(stage.history)]
    q = np.column_stack([k @ fitted.coefficients[:, 0] + fitted.intercept[0] for k in crosses])
    return np.where(mine.allowed, q, -np.inf).max(axis=1)


def check_stage(kind, device):
    stage, machine, allowed = last_stage(kind)
    mine = make_stage(machine, stage.history, allowed, device)
    mine.drop(3)
    mine.drop(0)
    Y = np.column_stack([stage.reward, np.random.default_rng(1).normal(size=60)])
    for column, y in zip(mine.values(Y).T, Y.T, strict=True):
        np.testing.assert_allclose(column, naive(machine, stage, mine, mine.active, y), rtol=1e-7)
    some = mine.active[1:]
    assert max(len(machine.encoder.groups[g]) for g in some) == 2
    for column, group in zip(mine.values_without(Y[:, 0], some).T, some, strict=True):
        rest = [g for g in mine.active if g != group]
        np.testing.assert_allclose(column, naive(machine, stage, mine, rest, Y[:, 0]), rtol=1e-7)


@pytest.mark.parametrize("kind", ["rbf", "anova"])
def test_the_values_of_a_stage_are_those_of_naive_code(kind):
    check_stage(kind, "cpu")


def torch_devices():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    return ["torch", "cuda"] if torch.cuda.is_available() else ["torch"]


def test_torch_finds_the_same_values(monkeypatch):
    for device in torch_devices():
        check_stage("rbf", device)
        monkeypatch.setattr("rlselect.regimes._torch_kernels._BATCH_BYTES", 2 * 8 * 60**2)
        check_stage("rbf", device)
        # Other kernels stay where they were.
        check_stage("anova", device)


@pytest.mark.parametrize("selection", ["rfe", "rfe-test", "rfe-vpred"])
@pytest.mark.parametrize("setting", ["I", "III"])
def test_torch_eliminates_in_the_same_order(setting, selection):
    devices = torch_devices()
    simulated = make_regime_trial(setting, 70, 5, random_state=0)
    # A copy of a column: of equal candidates the first one leaves, wherever they are compared.
    columns = simulated.columns | {"X1_5": simulated.columns["X1_4"]}
    trial = TrialData.from_wide(columns, simulated.stages)
    here = QLearning(selection=selection, random_state=0).fit(trial)
    for device in devices:
        there = QLearning(selection=selection, device=device, random_state=0).fit(trial)
        assert there.selected_ == here.selected_
        for path, expected in zip(there.path_, here.path_, strict=True):
            assert path["eliminated"].tolist() == expected["eliminated"].tolist()
            for name in expected.keys() & {"objective", "risk"}:
                np.testing.assert_allclose(path[name], expected[name], rtol=1e-7)
        assert there.value_.value == pytest.approx(here.value_.value)


def test_a_device_that_is_not_there_is_refused_at_once(monkeypatch):
    simulated = make_regime_trial("I", 20, 5, random_state=0)
    trial = TrialData.from_wide(simulated.columns, simulated.stages)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'rlselect\[torch\]', or use device='cpu'"):
        QLearning(selection="rfe-vpred", device="cuda").fit(trial)
