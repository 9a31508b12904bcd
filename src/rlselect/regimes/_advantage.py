"""Advantage learning: only the difference that an action makes is modelled."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone

from rlselect._clock import present_clock, time_is_up, undisturbed
from rlselect._limits import seconds_for
from rlselect._options import NONE, anything, one_of
from rlselect._random import RandomState, as_generator
from rlselect.kernels import loo_residuals
from rlselect.machines import KernelState
from rlselect.regimes._anova_kernel import ActionAnovaState, ContrastState
from rlselect.regimes._column_machine import ColumnMachine, columns_of
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._estimates import RegimeValue, from_scores
from rlselect.regimes._estimation import q_functions
from rlselect.regimes._evaluation import Evaluation
from rlselect.regimes._learner import BackwardLearner, PartDone
from rlselect.regimes._selection import FAMILIES, StageSelection, choose_machine
from rlselect.regimes._stage_machine import StageMachine
from rlselect.regimes._stage_rfe import BY_VALUE, StageRFE, as_selection
from rlselect.regimes._trial import TrialData
from rlselect.regimes._value import regime_value

__all__ = ["AdvantageLearning"]

# the value takes five times as long as the regime, and Q-functions of the regime
_FOLDS_AND_Q_FUNCTIONS = 6
# n^3 operations of a smooth main effect
_MAIN_EFFECT = 16.0


class ContrastMachine(StageMachine):
    """A kernel machine of the contrast alone: every term is multiplied with the action's code."""

    def _gaussian_state(self, bandwidth: float, groups: Sequence[int] | None) -> KernelState:
        e = self.encoder
        state = ContrastState(self.X, e.groups, e.action, bandwidth, main=False)
        if groups is not None:
            state.drop([g for g in state.active if g not in set(groups)])
        return state

    def _anova_state(self, width: float | None) -> ActionAnovaState:
        e = self.encoder
        return ActionAnovaState(self.X, e.groups, e.past, e.action, width, contrast_only=True, main=False)

    def q_values(self, history: np.ndarray) -> np.ndarray:
        """Advantage of each action over the average of all: (m, K) array."""
        contrast = super().q_values(history)
        return contrast - contrast.mean(axis=1, keepdims=True)

    def _limited(self, fitted: np.ndarray) -> np.ndarray:
        # a contrast of actions is no response, and may be larger
        return fitted

    def values(self, q: np.ndarray, chosen: np.ndarray, taken: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Responses plus what the chosen action would have added to the one that was taken."""
        return y + q[np.arange(len(q)), chosen] - (q * taken).sum(axis=1)


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
    selection : {"loo", "rfe", "rfe-test", None} or StageRFE, default="loo"
        As for :class:`QLearning`, but for those by value, which need Q-functions.
    discount, maximize, level, time_budget, n_jobs, random_state
        As for :class:`QLearning`.

    Attributes
    ----------
    selected_, tailoring_ : list of lists of str
        By stage: columns of the contrast; every one of them is a decision feature.
    faint_, prognostic_ : lists of lists of str
        Empty lists: every selected column decides, and the outcome is not modelled.
    value_ : RegimeValue
        Cross-fitted doubly robust value; selection is repeated in each fold.
    history_names_in_, support_, ranking_, actions_, observed_, overlap_, regime_, path_, stop_reason_
        As for :class:`QLearning`.
    model_, tailoring_effects_
        As for :class:`QLearning`.
    n_stages_ : int
    stage_names_ : list of str

    Notes
    -----
    Chapter 4 of the dissertation that `QLearning.paper` follows has no method of this kind, so that there is
    no ``paper`` here.

    References
    ----------
    .. [1] S. A. Murphy (2003), "Optimal dynamic treatment regimes", Journal of the Royal Statistical Society,
       Series B 65.

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

    _options: ClassVar = BackwardLearner._options | {
        "model": one_of("auto", *FAMILIES),
        "selection": NONE
        | one_of("loo", "rfe", "rfe-test")
        | anything(
            "a StageRFE with one of the last two (QLearning knows those by value, which need Q-functions)",
            lambda value: isinstance(value, StageRFE) and value.algorithm not in BY_VALUE,
        ),
    }

    def __init__(
        self,
        *,
        model: Literal["auto", "anova", "rbf", "linear"] = "auto",
        selection: Literal["loo", "rfe", "rfe-test"] | StageRFE | None = "loo",
        discount: float = 1.0,
        maximize: bool = True,
        level: float = 0.95,
        time_budget: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.model = model
        self.selection = selection
        self.discount = discount
        self.maximize = maximize
        self.level = level
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit_stage(
        self,
        trial: TrialData,
        t: int,
        subjects: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray,
        rng: np.random.Generator,
        deal: np.ndarray,
    ) -> tuple[StageMachine, StageSelection]:
        stage = trial.stages[t]
        encoder = HistoryEncoder(stage.columns, stage.history[subjects], stage.labels, stage.codes)
        X = encoder.encode(stage.history[subjects], stage.shares(subjects))
        remainder = _without_main_effect(encoder, X, y, weights)
        places = np.searchsorted(np.flatnonzero(stage.present), subjects)
        X[:, encoder.action] -= trial.action_probabilities(t + 1)[places] @ encoder.codes
        selection = as_selection(self.selection)
        paper = selection if isinstance(selection, StageRFE) else None
        machines = [
            ContrastMachine(encoder, X, remainder, weights, kind, paper=paper, subjects=subjects)
            for kind in (FAMILIES if self.model == "auto" else [self.model])
        ]
        return choose_machine(machines, selection, np.random.default_rng(int(rng.integers(2**31))), deal)

    def _describe_decisions(self, evaluation: Evaluation, part_done: PartDone) -> None:
        self.tailoring_ = [list(names) for names in self.selected_]
        self.faint_, self.prognostic_ = [[] for _ in self.selected_], [[] for _ in self.selected_]
        for _ in evaluation.trial.stages:
            part_done()

    def _tree_machines(self, evaluation: Evaluation, rng: np.random.Generator) -> list[StageMachine]:
        # contrasts alone say nothing of what an action is worth; out of time, lines do for scores
        model = "linear" if time_is_up() else "anova"
        return q_functions(evaluation, self._decide_for(evaluation.trial), model, rng)

    def _estimate_value(self, evaluation: Evaluation, seconds: float) -> RegimeValue:
        seed = int(as_generator(self.random_state).integers(2**31))
        learner, left = clone(self).set_params(time_budget=None), present_clock().left
        if left is None or left > _FOLDS_AND_Q_FUNCTIONS * seconds:
            return regime_value(evaluation.trial, learner, level=self.level, random_state=seed)
        quick: dict[str, Any] = {"method": "ipw", "n_folds": 2, "level": self.level}
        try:
            return regime_value(evaluation.trial, learner, random_state=seed, **quick)
        except ValueError:
            # nobody followed the regimes of the two folds
            return from_scores(np.full(evaluation.trial.n_subjects, np.nan), "ipw", self.level)

    def _value_notes(self) -> list[str]:
        # selection is repeated without each fold
        return []

    def advantages(self, history: Any, stage: int | str = 1) -> np.ndarray:
        """What each action adds to the average of all actions, one column per action of ``actions_``.

        Parameters
        ----------
        history, stage
            As for :meth:`predict`.

        Returns
        -------
        (n, K) array
        """
        return self._signed_q_values(history, stage)


def _without_main_effect(
    encoder: HistoryEncoder, X: np.ndarray, y: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Response less its leave-one-out prediction from the history; by lines where no time would be left."""
    alone, left = X.copy(), present_clock().left
    alone[:, encoder.action] = 0.0
    if left is None or seconds_for(_MAIN_EFFECT * float(len(y)) ** 3) <= left:
        return _left_out(StageMachine(encoder, alone, y, weights, "anova"))
    with undisturbed():
        if columns_of(encoder, "linear") > len(y):
            return _left_out(StageMachine(encoder, alone, y, weights, "linear"))
        lines = ColumnMachine(encoder, alone, y, weights, "linear").make_problem()
        lines.refresh()
    return lines.residuals


def _left_out(machine: StageMachine) -> np.ndarray:
    """Leave-one-out residuals of a machine on all groups."""
    problem = machine.make_problem()
    problem.refresh()
    coefficients = problem.coefficients[:, 0]
    return loo_residuals(coefficients, problem.inverse.diagonal(), problem.ridge, machine.weights)
