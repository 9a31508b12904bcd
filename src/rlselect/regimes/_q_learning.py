"""Backward Q-learning with selection of history columns at every stage."""

from contextlib import suppress
from typing import Any, ClassVar, Literal, Self

import numpy as np

from rlselect._clock import OutOfTime
from rlselect._devices import find_device
from rlselect._options import NONE, instance, one_of, refuse_unused, take_settings
from rlselect._random import RandomState
from rlselect.regimes._column_machine import columns_pay
from rlselect.regimes._evaluation import Evaluation
from rlselect.regimes._in_time import stage_encoders, takes_kernels
from rlselect.regimes._learner import BackwardLearner
from rlselect.regimes._line_machine import prefer_lines
from rlselect.regimes._second_look import prune, recall, recall_pairs, recall_strong
from rlselect.regimes._selection import FAMILIES, StageSelection, fit_q_function
from rlselect.regimes._stage_machine import StageMachine
from rlselect.regimes._stage_rfe import ALGORITHMS, BY_VALUE, StageRFE, as_selection
from rlselect.regimes._trial import TrialData
from rlselect.regimes._value_elimination import (
    eliminate_by_stage_value,
    eliminate_by_value,
    make_stage,
)

__all__ = ["QLearning"]


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
        with actions, subjects weighted so that the history is balanced between actions where these were not
        randomised alike; "trees": extremely randomised trees. "auto" takes the one of the first three with
        the smallest leave-one-out risk after its own elimination, "rbf" only where it is better by more than
        a paired standard error and on held-out folds ("rbf" always for the dissertation's selections); with
        ``selection="loo"`` it then takes contrasts that are lines in all columns beside main effects that may
        bend, averaged over which slopes there are (a spike and a slab), where these are as good, to two
        standard errors on held-out folds (``model_`` says "lines").
    selection : {"loo", "rfe", "rfe-test", "rfe-vpred", "rfe-vstage", None} or StageRFE, default="loo"
        "loo": elimination by regularised risk, size by out-of-sample risk; then, by the same, surplus
        columns of the last stage leave, and columns that the next stage needs and past actions together with
        the covariate they act with are taken back; with three and more actions, also columns that are plain
        to see beside those that were kept. "rfe", "rfe-test" and "rfe-vpred" are Algorithms 25, 27 and 28 of
        [1]_ with its lambda, its bandwidths from 1 on, its stopping rules and its 5 % safeguard; "rfe-vstage"
        is what its Appendix C.1 proposes, elimination by the fitted value of each stage. `StageRFE` has their
        numbers. None keeps everything.
    discount : float in [0, 1], default=1.0
        Weight of the next stage.
    maximize : bool, default=True
        Whether large rewards are good.
    level : float, default=0.95
        Of the intervals of ``value_`` and ``observed_``.
    time_budget : float, optional
        Seconds after which the search stops: stages keep what their eliminations have found, columns whose
        part in the decision was not looked at count as decision features, and the value is that of two folds.
        Where it is too short for curves of some thousand subjects, lines alone are learnt, and of more
        subjects than there is time for a sample, spread over their actions; `stop_reason_` says so.
    n_jobs : int, optional
        Eliminations of the model families and of a split into folds, candidates of "rfe-vpred", splits for
        the decision features and folds of the value, at a time; see joblib. None leaves it to
        `joblib.parallel_config`. The answer does not depend on it.
    device : str, default="cpu"
        Where the dissertation's selections solve Gaussian machines: "cpu" with NumPy, "torch" with torch
        on the CPU, or any other device of torch such as "cuda", where batches of candidates are factorised at
        once. All else stays on the CPU, and a device is refused where nothing would use it.
    random_state : int, Generator, RandomState or None, default=None
        Folds of the value, the split of "rfe-test" and the trees.

    Attributes
    ----------
    history_names_in_ : list of arrays of str
        By stage: the history columns, in the order of ``TrialData.history(stage)``.
    selected_ : list of lists of str
        By stage: history columns of the Q-function; the stage's own action is always in and never listed.
    support_ : list of bool arrays
        By stage: the same as a mask, one entry per column of ``history_names_in_``.
    ranking_ : list of int arrays
        By stage: a permutation over these columns, 1 is best. Selected columns come first; within them, and
        within the others, the last to be eliminated does. Columns that were in no elimination (constant ones;
        all of them with ``selection=None``) are in the order of the history.
    actions_ : list of tuples
        By stage: the actions, in the order of the columns of :meth:`q_values`.
    tailoring_ : list of lists of str
        By stage: selected columns the decision depends on: the smallest set whose decisions are worth as
        much, to one standard error, as those of the best set by cross-fitted doubly robust value, and that
        holds the columns of the best set whose slope is sure (95 %, all columns of the stage together). Of
        lines, columns that change some action with a probability of .8 are added, and those that are not sure
        and change none with .5 taken away.
    faint_ : list of lists of str
        By stage: selected columns that the decision leans on a little though it is not shown to need them.
        Lines decide by the average over all slopes: columns that an action rather does not change with leave
        as long as all that do cost the regime no more than a hundredth of a standard error. Where many slopes
        are weak, none is clear and most stay; where there are none, some stay by chance. Empty for other
        models.
    prognostic_ : list of lists of str
        By stage: selected columns that matter for the outcome only, as far as is known.
    tailoring_effects_ : list of lists of TailoringEffect
        By stage: slope of the advantage of each action over the first one on each column of ``tailoring_``,
        with intervals that are wide enough for all columns of the stage, so that selection does not spoil
        them; rules of later stages are taken as known. Empty where actions are doses.
    value_ : RegimeValue
        Cross-fitted doubly robust value of the regime, with standard error and interval, on two splits into
        five folds (one where refits are slow). With ``selection="loo"`` columns are selected anew without
        each fold; the family of the kernel, lines or curves, and the values of later stages that eliminations
        are made on owe something to the fold. With other selections, estimators and where time is short,
        folds are refitted on the columns that were selected from everyone, which flatters the regime;
        ``regime_value(trial, QLearning(...))`` does everything anew in each fold. The standard error knows
        that other subjects would have taught another regime where actions are about equally good: regimes
        from two halves of the subjects tell how much that matters (``value_.learning_variance``).
    observed_ : RegimeValue
        Mean return of what was done, to compare with.
    overlap_ : list of OverlapReport
        By stage: whether the actions can be compared at all; `fit` warns where they cannot.
    regime_ : PolicyTree
        Short rules with a value of their own: :meth:`policy_tree` of depth two. :meth:`predict` is the full
        regime.
    path_ : list of dict or None
        By stage: the elimination as equally long arrays, one entry per set of columns on its way:
        ``n_features``, ``objective``, ``risk`` (out of sample; not by value) and ``eliminated``, a
        tuple of the columns that left to get there. None where nothing was eliminated.
    tailoring_path_ : list of TailoringPath or None
    model_ : list
        By stage: the model that was used.
    stop_reason_ : list of str
        By stage: why the elimination ended where it did; begins with "time budget" or "interrupted" where it
        was stopped.
    n_stages_ : int
    stage_names_ : list of str

    Notes
    -----
    Cost: O(d n^3) per elimination for d history columns and n subjects, and 10 to 40 eliminations per stage;
    "rfe-vpred" costs O(d^2 n^3) over all stages. Memory O(n^2): more subjects than fit are refused before
    work starts; use a sample of some thousand. "anova" and "linear" work on explicit columns (some
    eight or one per history column, times the actions they act with) where these are at most half as many as
    the subjects, from 500 subjects on where they are not more: cost and memory are linear in n. "auto" then
    tries "rbf", from 400 subjects on, on a sample of 400, without a `time_budget` and up to 2,000 subjects.
    Observational data: look at ``trial.overlap()`` and `OverlapDisplay` first.

    Differs from [1]_ (all of it is `QLearning.paper`): the action-ANOVA kernel, out-of-sample stopping and
    the second look at the set, decision features, rules and the value are ours.

    References
    ----------
    .. [1] S. Dasgupta (2014), "Non-parametric and semi-parametric methods for parsimonious statistical
       learning with complex data", dissertation, University of North Carolina at Chapel Hill, chapter 4.

    Examples
    --------
    >>> from rlselect import QLearning, TrialData
    >>> from rlselect.simulate import make_regime_trial
    >>> simulated = make_regime_trial("I", 150, 5, random_state=1)
    >>> trial = TrialData.from_wide(simulated.columns, simulated.stages)
    >>> learner = QLearning(model="anova", random_state=0).fit(trial)
    >>> sorted(learner.selected_[1])
    ['R1', 'X1_1', 'X1_2', 'X1_5']
    >>> learner.predict({name: [1.0] for name in learner.selected_[1]}, stage=2)
    array([1])
    """

    _takes_columns: ClassVar = True
    _options: ClassVar = BackwardLearner._options | {
        "selection": NONE | one_of("loo", *ALGORITHMS) | instance("a StageRFE", StageRFE),
        "device": instance("'cpu', 'torch' or the name of a device of torch", str),
    }

    def __init__(
        self,
        *,
        model: Any = "auto",
        selection: Literal["loo", "rfe", "rfe-test", "rfe-vpred", "rfe-vstage"] | StageRFE | None = "loo",
        discount: float = 1.0,
        maximize: bool = True,
        level: float = 0.95,
        time_budget: float | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: RandomState = None,
    ) -> None:
        self.model = model
        self.selection = selection
        self.discount = discount
        self.maximize = maximize
        self.level = level
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state

    @classmethod
    def paper(
        cls,
        *,
        algorithm: Literal["rfe", "rfe-test", "rfe-vpred", "rfe-vstage"] = "rfe",
        **changes: Any,
    ) -> Self:
        """Chapter 4 of the dissertation: Algorithm 25, 27 or 28 with a Gaussian kernel and its numbers.

        Parameters
        ----------
        algorithm : {"rfe", "rfe-test", "rfe-vpred", "rfe-vstage"}, default="rfe"
            RFE (Algorithm 25), RFE_test (27), RFE_Vpred (28), or the proposal of Appendix C.1.
        **changes
            Other parameters of `StageRFE`, where silences of the text are named, and of the constructor.

        Returns
        -------
        QLearning
            Unfitted.

        Notes
        -----
        Differs from the text: history columns are standardised; lambda is that of Cherkassky and Ma for the
        centred response, since the machines have an intercept; the change point is taken by least squares,
        and with fewer than four columns, where it does not exist, the size is the smallest within two
        standard errors of the best leave-one-out risk; of columns that are equally good the first one leaves.

        Examples
        --------
        >>> from rlselect import QLearning
        >>> QLearning.paper(algorithm="rfe-test", random_state=0).selection.safeguard
        0.05
        """
        given = take_settings(StageRFE, changes, option="selection")
        knobs = {"bandwidths": tuple(2.0**k for k in range(-2, 8)), **given}
        return cls(**{"model": "rbf", "selection": StageRFE(algorithm, **knobs), **changes})

    def _check_combinations(self) -> None:
        selection = as_selection(self.selection)
        if isinstance(selection, StageRFE):
            selection.check()
            if selection.algorithm in BY_VALUE and self.model not in ("auto", "rbf", "anova", "linear"):
                raise ValueError(
                    f"selection={selection.algorithm!r} refits kernel machines, and model={self.model!r} is "
                    "none; use model='auto', 'rbf', 'anova' or 'linear', or another selection."
                )
        if not isinstance(selection, StageRFE) or self.model not in ("auto", "rbf"):
            refuse_unused(
                self,
                ["device"],
                f"model={self.model!r} and selection={self.selection!r}",
                "leave it out, or use model='rbf' with one of the dissertation's selections",
            )
        if self.device != "cpu":
            find_device(self.device)

    def _uses_matrices(self, trial: TrialData) -> bool:
        if not takes_kernels(self.model):
            return False
        selection = as_selection(self.selection)
        paper = selection if isinstance(selection, StageRFE) else None
        kinds = [kind for kind in FAMILIES if kind != "rbf"] if self.model == "auto" else [self.model]
        return not all(
            columns_pay(encoder, present, kind, paper)
            for encoder, present in stage_encoders(trial)
            for kind in kinds
        )

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
        selection = as_selection(self.selection)
        if self.model == "linear" and not isinstance(selection, StageRFE):
            weights = weights * _balance(trial, t, subjects)
        stage = trial.stages[t]
        found = fit_q_function(stage, subjects, y, weights, self.model, selection, rng, self.device, deal)
        if isinstance(selection, StageRFE) and selection.algorithm == "rfe-vstage" and found[1].groups:
            machine, history = found[0], stage.history[subjects]
            value_stage = make_stage(machine, history, stage.allowed(history), self.device)
            chosen = eliminate_by_stage_value(value_stage, machine, selection.safeguard)
            return machine.fit(chosen.groups), chosen
        return found

    def _settle(
        self, machine: StageMachine, chosen: StageSelection, needed_next: list[str] | None
    ) -> tuple[StageMachine, StageSelection]:
        """Look again at what eliminations cannot see: surplus columns, lost pairs, the next stage."""
        if self.selection != "loo":
            return machine, chosen
        with suppress(OutOfTime):  # then it is what was found up to there
            if needed_next is None and machine.uses_kernel:
                # Earlier responses hold an estimated value, and what acts through it alone is weak.
                machine, chosen = prune(machine, chosen)
            if machine.uses_kernel and machine.kind != "rbf" and len(machine.encoder.labels) > 2:
                machine, chosen = recall_strong(machine, chosen)
            if needed_next and self.discount > 0.0:
                # Columns of the next stage's Q-function are part of this stage's response.
                names = machine.encoder.names
                known = [names.index(name) for name in needed_next if name in names]
                machine, chosen = recall(machine, chosen, [g for g in known if g not in machine.groups])
            if machine.uses_kernel and machine.kind == "anova":
                machine, chosen = recall_pairs(machine, chosen)
        return machine, chosen

    def _simplify(self, machine: StageMachine, chosen: StageSelection) -> tuple[StageMachine, StageSelection]:
        if self.model == "auto" and self.selection == "loo":
            with suppress(OutOfTime):
                return prefer_lines(machine, chosen)
        return machine, chosen

    def _takes_own_loss(self) -> bool:
        # the dissertation knows squared loss alone
        return not isinstance(as_selection(self.selection), StageRFE)

    def _revise(
        self, evaluation: Evaluation, machines: list[StageMachine], selections: list[StageSelection]
    ) -> tuple[list[StageMachine], list[StageSelection]]:
        """Algorithm 28 from the machines on the full histories, then a backward pass on what is left."""
        selection = as_selection(self.selection)
        if not (isinstance(selection, StageRFE) and selection.algorithm == "rfe-vpred"):
            return machines, selections
        chosen = eliminate_by_value(evaluation, machines, selection.safeguard, self.device)

        def fit(t: int, y: np.ndarray) -> StageMachine:
            machines[t].y = y[machines[t].subjects]
            return machines[t].fit(chosen[t].groups)

        return evaluation.backward(fit), chosen

    def q_values(self, history: Any, stage: int | str = 1) -> np.ndarray:
        """Q-value of each action (columns, in the order of ``actions_[stage - 1]``) for each row.

        Parameters
        ----------
        history, stage
            As for :meth:`predict`.

        Returns
        -------
        (n, K) array
        """
        return self._signed_q_values(history, stage)


def _balance(trial: TrialData, t: int, subjects: np.ndarray) -> np.ndarray:
    """Weights (m,), of mean 1 for each action, under which histories are alike whatever the action.

    They are in proportion to the inverse probability of the action taken over the sum of those of all: with
    two actions, to the probability of the other one. A linear contrast is then right when the probabilities
    are, even if the rest of the linear model is not; where actions were randomised alike for all, they are 1.
    """
    stage = trial.stages[t]
    if stage.doses is not None:
        return np.ones(len(subjects))
    places = np.searchsorted(np.flatnonzero(stage.present), subjects)
    chances = trial.action_probabilities(t + 1)[places]
    shares = np.divide(1.0, chances, out=np.zeros_like(chances), where=chances > 0.0)
    action = stage.action[subjects]
    found = shares[np.arange(len(subjects)), action] / shares.sum(axis=1)
    means = np.bincount(action, weights=found) / np.maximum(np.bincount(action), 1)
    return found / means[action]
