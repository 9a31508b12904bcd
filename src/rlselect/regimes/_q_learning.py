"""Backward Q-learning with selection of history columns at every stage."""

from typing import Any

import numpy as np

from rlselect._devices import find_device
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._learner import BackwardLearner
from rlselect.regimes._second_look import prune, recall, recall_pairs
from rlselect.regimes._stage_machine import choose_machine, make_machine
from rlselect.regimes._value import Evaluation
from rlselect.regimes._vpred import eliminate_by_value

__all__ = ["QLearning", "nuisance_machines"]

_FAMILIES = ("anova", "rbf", "linear")


class QLearning(BackwardLearner):
    r"""Optimal dynamic treatment regime by Q-learning that knows which history matters.

    From the last stage back, the Q-function of a stage is a regression on history and action,

    .. math:: Q_t(h, a) = E\{R_t + \gamma \max_{a'} Q_{t+1}(H_{t+1}, a') \mid H_t = h, A_t = a\},

    and the recommended action is the one with the largest Q-value. At each stage history columns are
    eliminated that the Q-function does not need; among those that are left, the ones the *decision* needs are
    told apart from those that only predict the outcome.

    Parameters
    ----------
    model : {"auto", "anova", "rbf", "linear", "trees"} or regressor, default="auto"
        "anova": every column smoothly, alone and with the present and each past action; "rbf": a Gaussian
        kernel on everything, for interactions among covariates; "linear": linear effects and their products
        with actions; "trees": extremely randomised trees. "auto" takes the one of the first three with the
        smallest leave-one-out risk after its own elimination, "rbf" only where it is better by more than a
        paired standard error and on held-out folds ("rbf" always for the dissertation's selections).
    selection : {"loo", "rfe", "rfe-test", "rfe-vpred", None}, default="loo"
        "loo": elimination by regularised risk, size by out-of-sample risk; then, by the same, surplus
        columns of the last stage leave, and columns that the next stage needs and past actions together with
        the covariate they act with are taken back. "rfe", "rfe-test" and "rfe-vpred"
        are Algorithms 25, 27 and 28 of [1]_ with its lambda, its bandwidths from 1 on, its stopping rules and
        its 5 % safeguard. None keeps everything.
    discount : float in [0, 1], default=1.0
        Weight of the next stage.
    maximize : bool, default=True
        Whether large rewards are good.
    n_jobs : int, optional
        Eliminations of the model families and of a split into folds, candidates of "rfe-vpred", splits for
        the decision features and folds of the value, at a time; see joblib. None leaves it to
        `joblib.parallel_config`. The answer does not depend on it.
    device : str, default="cpu"
        Where "rfe", "rfe-test" and "rfe-vpred" solve Gaussian machines: "cpu" with NumPy, "torch" with torch
        on the CPU, or any other device of torch such as "cuda", where batches of candidates are factorised at
        once. All else stays on the CPU.
    random_state : int, Generator or None, default=None
        Folds of the value, the split of "rfe-test" and the trees.

    Attributes
    ----------
    selected_ : list of lists of str
        By stage: history columns of the Q-function; the stage's own action is always in and never listed.
    tailoring_ : list of lists of str
        By stage: selected columns the decision depends on: the smallest set whose decisions are worth as
        much, to one standard error, as those of the best set by cross-fitted doubly robust value.
    prognostic_ : list of lists of str
        By stage: selected columns that matter for the outcome only.
    value_ : RegimeValue
        Cross-fitted doubly robust value of the regime, averaged over three splits into ten folds (one for
        "trees" and estimators), with standard error and 95 % interval. Folds are refitted on the selected
        columns; ``regime_value(trial, QLearning())`` selects anew in each fold.
    observed_ : RegimeValue
        Mean return of what was done, to compare with.
    regime_ : Regime
        Short rules; ``print(learner.regime_)``. They imitate the regime, with their agreement;
        :meth:`predict` is the regime itself.
    path_ : list of dict or None
        By stage: the elimination (``n_features``, ``objective``, ``risk``, ``eliminated``).
    tailoring_path_ : list of TailoringPath or None
    model_ : list
        By stage: the model that was used.
    stop_reason_ : list of str
    n_stages_ : int

    Notes
    -----
    Cost: O(d n^3) an elimination for d history columns and n subjects, and 10 to 40 eliminations a stage;
    beyond some thousand subjects use ``model="linear"`` or an estimator with ``selection=None``. "rfe-vpred"
    costs O(d^2 n^3) over all stages.
    Observational data: look at ``trial.overlap()`` first.

    Differs from [1]_: the action-ANOVA kernel, out-of-sample stopping, decision features and the value are
    ours; the named selections follow the dissertation.

    References
    ----------
    .. [1] S. Dasgupta (2014), "Topics in statistical learning with a focus on large-scale data", chapter 4.

    Examples
    --------
    >>> from rlselect import QLearning, TrialData
    >>> from rlselect.simulate import make_regime_trial
    >>> simulated = make_regime_trial("I", 200, 10, random_state=1)
    >>> trial = TrialData.from_wide(simulated.columns, simulated.stages)
    >>> learner = QLearning(model="anova", random_state=0).fit(trial)
    >>> sorted(learner.selected_[1])
    ['R1', 'X1_1', 'X1_2', 'X1_5']
    >>> learner.predict({name: [1.0] for name in learner.selected_[1]}, stage=2)
    array([1])
    """

    def __init__(
        self,
        *,
        model="auto",
        selection="loo",
        discount=1.0,
        maximize=True,
        n_jobs=None,
        device="cpu",
        random_state=None,
    ):
        super().__init__(
            model=model,
            selection=selection,
            discount=discount,
            maximize=maximize,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.device = device

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.selection == "rfe-vpred" and self.model not in ("auto", "rbf", "anova", "linear"):
            raise ValueError(
                f"selection='rfe-vpred' refits kernel machines, and model={self.model!r} is none; use "
                "model='auto', 'rbf', 'anova' or 'linear', or another selection"
            )
        if self.device != "cpu":
            find_device(self.device)

    def _learn(self, trial, evaluation, rows, rng, told):
        super()._learn(trial, evaluation, rows, rng, told)
        if self.selection == "rfe-vpred":
            self._select_by_value(trial, evaluation, rows, rng)

    def _families(self) -> tuple:
        if isinstance(self.model, str) and self.model == "auto":
            return _FAMILIES if self.selection in ("loo", None) else ("rbf",)
        return (self.model,)

    def _fit_stage(self, stage, rows, y, weights, chances, rng):
        encoder = HistoryEncoder(stage.columns, stage.history[rows], stage.labels)
        X = encoder.encode(stage.history[rows], stage.action[rows])
        paper = self.selection not in ("loo", None)
        seed = int(rng.integers(2**31))
        machines = [
            make_machine(encoder, X, y, weights, f, paper, seed, self.device) for f in self._families()
        ]
        selection = None if self.selection == "rfe-vpred" else self.selection
        return choose_machine(machines, selection, np.random.default_rng(seed))

    def _settle(self, machine, chosen, needed_next):
        """Look again at what eliminations cannot see: surplus columns, lost pairs, the next stage."""
        if self.selection != "loo":
            return machine, chosen
        if needed_next is None and machine.uses_kernel:
            # Earlier responses hold an estimated value, and what acts through it alone is weak.
            machine, chosen = prune(machine, chosen)
        if needed_next and self.discount > 0.0:
            # Columns of the next stage's Q-function are part of this stage's response.
            names = machine.encoder.names
            known = [names.index(name) for name in needed_next if name in names]
            machine, chosen = recall(machine, chosen, [g for g in known if g not in machine.groups])
        if machine.uses_kernel and machine.kind == "anova":
            machine, chosen = recall_pairs(machine, chosen)
        return machine, chosen

    def _select_by_value(self, trial, evaluation, rows, rng):
        """Algorithm 28 from the machines on the full histories, then a backward pass on what is left."""
        subjects = [machine.rows for machine in self._machines]
        chosen = eliminate_by_value(
            self._machines,
            [stage.history[r] for stage, r in zip(trial.stages, subjects, strict=True)],
            [stage.allowed(stage.history[r]) for stage, r in zip(trial.stages, subjects, strict=True)],
            [self._sign * stage.reward[r] for stage, r in zip(trial.stages, subjects, strict=True)],
            subjects,
            self.discount,
            trial.n_subjects,
            self.device,
        )
        future = np.zeros(trial.n_subjects)
        for t in reversed(range(trial.n_stages)):
            stage, machine = trial.stages[t], self._machines[t]
            y = self._sign * stage.reward + self.discount * future
            machine.y = y[machine.rows]
            machine.fit(chosen[t].groups)
            future = self._next_values(stage, t, y)
        self._selections = chosen

    def q_values(self, history: Any, stage: int = 1) -> np.ndarray:
        """Q-value of each action (columns, in the order of the stage's sorted actions) for each row.

        Parameters
        ----------
        history, stage
            As for :meth:`predict`.
        """
        t, rows = self._history(history, stage)
        return self._sign * self._machines[t].q_values(rows)


def nuisance_machines(trial: Any, evaluation: Evaluation, model: Any, decide: Any, rng: Any) -> list:
    """Q-functions of a fixed regime on all history columns, tuned on everyone, ready to be refitted."""
    learner = QLearning(model=model, selection=None)
    learner._check_parameters()
    machines: list[Any] = [None] * trial.n_stages
    future = np.zeros(trial.n_subjects)
    for t in reversed(range(trial.n_stages)):
        stage = trial.stages[t]
        rows = np.flatnonzero(stage.present & ~evaluation.lost(t))
        y = evaluation.sign * stage.reward + evaluation.discount * future
        weights = 1.0 / evaluation.remaining[t][rows]
        machines[t], _ = learner._fit_stage(stage, rows, y[rows], weights, None, rng)
        machines[t].rows = rows
        here = np.flatnonzero(stage.present)
        q = machines[t].q_values(stage.history[here])
        chosen = decide(t, stage.history[here])
        future = np.zeros(trial.n_subjects)
        future[here] = q[np.arange(len(here)), chosen]
    return machines
