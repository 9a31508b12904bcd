"""Advantage learning: only the difference that an action makes is modelled."""

from typing import Any

import numpy as np
from sklearn.base import clone

from rlselect.kernels import loo_residuals
from rlselect.regimes._anova_kernel import ActionAnovaState, ContrastState
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._learner import BackwardLearner
from rlselect.regimes._rules import Regime
from rlselect.regimes._stage_machine import ANOVA_WIDTH, StageMachine, choose_machine
from rlselect.regimes._value import best_feasible, regime_value

__all__ = ["AdvantageLearning"]

_FAMILIES = ("anova", "rbf", "linear")


class ContrastMachine(StageMachine):
    """A kernel machine of the contrast alone: every term is multiplied with the action's code."""

    def build_state(self, X: np.ndarray, bandwidth: float) -> Any:
        """Kernel on encoded rows."""
        e = self.encoder
        if self.kind == "rbf":
            return ContrastState(X, e.groups, e.action, bandwidth, main=False)
        width = ANOVA_WIDTH if self.kind == "anova" else None
        return ActionAnovaState(X, e.groups, e.past, e.action, width, contrast_only=True, main=False)

    def q_values(self, history: np.ndarray) -> np.ndarray:
        """Advantage of each action over the average of all: (m, K) array."""
        contrast = super().q_values(history)
        return contrast - contrast.mean(axis=1, keepdims=True)


class AdvantageLearning(BackwardLearner):
    r"""Treatment regimes from a model of the contrast between actions only (A-learning).

    The part of the outcome that does not depend on the action, :math:`m_t(h)`, is removed by leave-one-out
    predictions; what is left is regressed on the action's code less its expectation,

    .. math:: y - m_t(H) \approx f_t(H)'\{c(A) - E\, c(A \mid H)\},

    so that the decision is right when the probabilities of the actions are, even if :math:`m_t` is not. The
    value handed to the stage before is the outcome plus what the best action would have added.

    Parameters
    ----------
    model : {"auto", "anova", "rbf", "linear"}, default="auto"
        Kernel of the contrast.
    selection : {"loo", "rfe", "rfe-test", None}, default="loo"
    discount, maximize, n_jobs, random_state
        As for :class:`QLearning`.

    Attributes
    ----------
    selected_, tailoring_ : list of lists of str
        By stage: columns of the contrast; every one of them is a decision feature.
    prognostic_ : list of lists of str
        Empty lists: the outcome is not modelled.
    value_ : RegimeValue
        Cross-fitted doubly robust value; selection is repeated in each fold.
    observed_, regime_, path_, model_, stop_reason_, n_stages_
        As for :class:`QLearning`.

    Examples
    --------
    >>> from rlselect import AdvantageLearning, TrialData
    >>> from rlselect.simulate import make_regime_trial
    >>> simulated = make_regime_trial("I", 150, 5, random_state=0)
    >>> trial = TrialData.from_wide(simulated.columns, simulated.stages)
    >>> learner = AdvantageLearning(model="linear", random_state=0).fit(trial)
    >>> {"X1_1", "X1_2", "R1"} <= set(learner.tailoring_[1])
    True
    """

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.model, str) or self.model == "trees":
            raise ValueError(
                f"model={self.model!r}: the contrast is a kernel machine; use 'auto' or one of "
                f"{list(_FAMILIES)}"
            )
        if self.selection == "rfe-vpred":
            raise ValueError(
                "selection='rfe-vpred' needs Q-functions; use QLearning, or 'loo', 'rfe', 'rfe-test' or None"
            )

    def _fit_stage(self, stage, rows, y, weights, chances, rng):
        encoder = HistoryEncoder(stage.columns, stage.history[rows], stage.labels)
        X = encoder.encode(stage.history[rows], stage.action[rows])
        remainder = _without_main_effect(encoder, X, y, weights)
        X[:, encoder.action] -= chances @ encoder.codes
        paper = self.selection not in ("loo", None)
        families = _FAMILIES if self.model == "auto" else (self.model,)
        machines = [ContrastMachine(encoder, X, remainder, weights, f, paper) for f in families]
        return choose_machine(machines, self.selection, np.random.default_rng(int(rng.integers(2**31))))

    def _next_values(self, stage, t, y):
        values = np.zeros(len(stage.action))
        here = np.flatnonzero(stage.present)
        q = self._machines[t].q_values(stage.history[here])
        rows = np.arange(len(here))
        chosen = best_feasible(q, stage.allowed(stage.history[here]))
        values[here] = y[here] + q[rows, chosen] - q[rows, stage.action[here]]
        return values

    def _describe_decisions(self, trial, evaluation, told):
        self.tailoring_ = [list(names) for names in self.selected_]
        self.prognostic_ = [[] for _ in self.selected_]
        rules = []
        for t, stage in enumerate(trial.stages):
            history = stage.history[self._machines[t].rows]
            rules.append(self._rule(t, stage, history, stage.allowed(history)))
            told()
        self.regime_ = Regime(rules)

    def _estimate_value(self, trial, evaluation):
        seed = int(np.random.default_rng(self.random_state).integers(2**31))
        self.value_ = regime_value(trial, clone(self), random_state=seed)

    def advantages(self, history: Any, stage: int = 1) -> np.ndarray:
        """What each action adds to the average of all actions, one column an action.

        Parameters
        ----------
        history, stage
            As for :meth:`predict`.
        """
        t, rows = self._history(history, stage)
        return self._sign * self._machines[t].q_values(rows)


def _without_main_effect(encoder, X, y, weights):
    """Response less its leave-one-out prediction from the history."""
    alone = X.copy()
    alone[:, encoder.action] = 0.0
    problem = StageMachine(encoder, alone, y, weights, "anova").make_problem()
    problem.refresh()
    return loo_residuals(problem.coefficients, problem.inverse.diagonal(), problem.ridge, weights)
