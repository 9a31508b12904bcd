import numpy as np
import pytest

from rlselect import TrialData
from rlselect.machines import EliminationPath, choose_size
from rlselect.regimes import StageRFE
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._selection import _rank_families, select_features
from rlselect.regimes._stage_machine import StageMachine, paper_regularization
from rlselect.simulate import make_regime_trial


def test_safeguard_adds_five_per_cent():

    wide = make_regime_trial("II", 80, 10, random_state=0)
    stage = TrialData.from_wide(wide.columns, wide.stages).stages[1]
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    X = encoder.encode(stage.history, stage.action)
    machine = StageMachine(encoder, X, stage.reward, np.ones(80), "rbf", paper=StageRFE())
    chosen = select_features(machine, StageRFE(), np.random.default_rng(0))
    size, _ = choose_size("change-point", chosen.path, "squared")
    assert len(chosen.groups) == size + 1  # floor(.05 * 22) = 1
    assert np.allclose(chosen.path.lam, paper_regularization(stage.reward))
    assert set(chosen.path.bandwidth) <= set(2.0 ** np.arange(8))
    assert paper_regularization(np.array([0.0, 2.0])) == pytest.approx(1 / 6)


def test_the_kernel_is_chosen_on_eliminations():

    rng = np.random.default_rng(0)
    base = rng.uniform(1.0, 2.0, size=400)

    def path(level):
        # All columns fit noise best; the price of columns looks through it.
        losses = [level * base * 0.97, level * base, 3.0 * base]
        return EliminationPath(sizes=[30, 2, 0], losses=losses, weights=np.ones(400))

    kinds = ["anova", "rbf", "linear"]
    assert _rank_families(kinds, [path(1.0), path(1.2), path(0.9)]) == [2, 0, 1]
    assert _rank_families(kinds, [path(1.0), path(0.5), path(0.9)]) == [1, 2, 0]
    noisy = path(0.99)
    noisy.losses[1] = noisy.losses[1] + rng.normal(scale=2.0, size=400)
    noisy.losses[1] += 0.995 * base.mean() - noisy.losses[1].mean()
    assert _rank_families(kinds, [path(1.0), noisy, path(1.5)]) == [0, 1, 2]
