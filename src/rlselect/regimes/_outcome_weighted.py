r"""Outcome-weighted learning: regimes as weighted classifiers of the actions that went well.

A rule that agrees with the actions of subjects in proportion to their rewards, over the probabilities of
these actions, has a large value. BOWL finds the rules from the last stage back, each from the subjects who
then followed the later ones; SOWL finds the rules of all stages at once. With one stage both are OWL.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from rlselect._options import check_value, flag, one_of
from rlselect._random import RandomState, as_generator
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._estimates import RegimeValue
from rlselect.regimes._estimation import decisions_of_halves, estimate_value
from rlselect.regimes._evaluation import Evaluation
from rlselect.regimes._history import read_history
from rlselect.regimes._joint_margins import joint_margins
from rlselect.regimes._learner import LEVEL, check_trial
from rlselect.regimes._stage_names import find_stage
from rlselect.regimes._stages import StageFrame
from rlselect.regimes._trial import TrialData

__all__ = ["OutcomeWeightedRegime", "outcome_weighted_regime"]

_ALLOWED = {
    "algorithm": one_of("bowl", "sowl"),
    "kernel": one_of("linear", "rbf"),
    "residuals": flag(),
    "level": LEVEL,
}
# costs of a subject of weight one that are tried, and folds they are judged on
_COSTS, _FOLDS, _VALUE_FOLDS = (0.01, 0.1, 1.0), 4, 5
# share of the objective that machines which are only judged may lack
_ROUGHLY = 1e-3


class StageRule(NamedTuple):
    """The rule of one stage: the second action where a machine is positive, the first elsewhere.

    ``rows`` are the encoded histories (n, c) of the machine and ``coefficients`` its own (n,).
    """

    frame: StageFrame
    encoder: HistoryEncoder
    kernel: str
    rows: np.ndarray
    coefficients: np.ndarray

    def decide(self, history: np.ndarray) -> np.ndarray:
        """Positions of the actions for rows of the stage's history, feasible ones."""
        X = self.encoder.encode_history(history)
        wanted = (_gram(X, self.rows, self.kernel) @ self.coefficients > 0.0).astype(int)
        allowed = self.frame.allowed(history)
        return np.where(allowed[np.arange(len(wanted)), wanted], wanted, 1 - wanted)


@dataclass(frozen=True, repr=False)
class OutcomeWeightedRegime:
    """A regime found by outcome-weighted learning; see :func:`outcome_weighted_regime`.

    :func:`regime_value` takes it as it takes a learner that was fitted.

    Attributes
    ----------
    algorithm : {"bowl", "sowl"}
    costs_ : list of float
        By stage: the cost of errors that was chosen (for "sowl" the same at all stages).
    value_ : RegimeValue
        Cross-fitted doubly robust value: subjects are judged by rules that were learnt without their fold.
    """

    algorithm: str
    stages: list[StageRule]
    costs_: list[float]
    value_: RegimeValue

    def predict(self, history: Any, stage: int | str = 1) -> np.ndarray:
        """Recommended action for each row of a history.

        Parameters
        ----------
        history : data frame, Arrow table, dict of columns, path of a file, array or TrialData
            A table needs all columns of the stage's history.
        stage : int or str, default=1
            Counted from 1, or its name.

        Returns
        -------
        (n,) array
        """
        rule = self.stages[find_stage(stage, [one.frame.name for one in self.stages]) - 1]
        if isinstance(history, TrialData):
            data = history.stage(stage)
            rows = data.history[data.present]
        else:
            rows = read_history(history, rule.frame, rule.frame.names)
        return np.array(rule.frame.labels)[rule.decide(rows)]

    def __repr__(self) -> str:
        return f"OutcomeWeightedRegime({self.algorithm}, {len(self.stages)} stage(s), value {self.value_})"


def outcome_weighted_regime(
    trial: TrialData,
    *,
    algorithm: Literal["bowl", "sowl"] = "bowl",
    kernel: Literal["linear", "rbf"] = "linear",
    residuals: bool | None = None,
    discount: float = 1.0,
    maximize: bool = True,
    level: float = 0.95,
    random_state: RandomState = None,
) -> OutcomeWeightedRegime:
    """Learn a regime by outcome-weighted learning (OWL, BOWL, SOWL), to compare others with.

    There is no selection and no model of rewards: support vector machines agree with the actions of subjects
    who did well. All stages need two actions.

    Parameters
    ----------
    trial : TrialData
    algorithm : {"bowl", "sowl"}, default="bowl"
        Backward, stage by stage, or all stages at once. With one stage both are OWL. "sowl" needs strong
        effects, see the notes.
    kernel : {"linear", "rbf"}, default="linear"
        Of the machines, on standardised columns.
    residuals : bool, optional
        "bowl": rewards less what a linear regression on the history expects, where those below it speak for
        the other action (the default); False takes rewards less the smallest one, as "sowl" always does.
    discount : float in [0, 1], default=1.0
        Weight of the next stage.
    maximize : bool, default=True
        Whether large rewards are good.
    level : float, default=0.95
        Of the interval of ``value_``.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the folds of the value, and of those on which costs of errors are judged.

    Returns
    -------
    OutcomeWeightedRegime

    Notes
    -----
    The loss of "sowl" counts a subject's worst stage. Where the best combination of actions is not worth
    more than all other combinations together (rewards less the smallest one), its minimum is at machines
    that are zero, and what it recommends is chance; with two stages and moderate effects this is the rule.

    References
    ----------
    .. [1] Y. Zhao, D. Zeng, A. J. Rush and M. R. Kosorok (2012), "Estimating individualized treatment rules
       using outcome weighted learning", Journal of the American Statistical Association 107, 1106-1118.
    .. [2] Y. Zhao, D. Zeng, E. B. Laber and M. R. Kosorok (2015), "New statistical learning methods for
       estimating optimal dynamic treatment regimes", Journal of the American Statistical Association 110,
       583-598.

    Examples
    --------
    >>> from rlselect.regimes import TrialData, outcome_weighted_regime
    >>> from rlselect.simulate import make_regime_trial
    >>> simulated = make_regime_trial("I", 150, 5, random_state=0)
    >>> trial = TrialData.from_wide(simulated.columns, simulated.stages)
    >>> regime = outcome_weighted_regime(trial, random_state=0)
    >>> regime.predict(trial, stage=2).shape
    (150,)
    """
    check_trial(trial)
    given: dict[str, Any] = {"algorithm": algorithm, "kernel": kernel, "level": level}
    if residuals is not None:
        given["residuals"] = residuals
    for name, one in given.items():
        check_value(name, one, _ALLOWED[name])
    if algorithm == "sowl" and residuals is not None:
        raise ValueError("residuals has no effect with algorithm='sowl'; leave it out.")
    for number, stage in enumerate(trial.stages, start=1):
        if len(stage.labels) != 2:
            what = "doses" if stage.doses is not None else f"{len(stage.labels)} actions"
            raise ValueError(
                f"stage {number} has {what}; outcome-weighted learning knows two: use QLearning or "
                "AdvantageLearning."
            )
    rng = as_generator(random_state)
    evaluation = Evaluation(trial, discount, 1.0 if maximize else -1.0, _VALUE_FOLDS, rng)
    seed = int(rng.integers(2**31))

    def learn(rows: np.ndarray) -> tuple[list[StageRule], list[float]]:
        make = _Backward(evaluation, kernel, residuals is not False, seed)
        return (make if algorithm == "bowl" else _Simultaneous(evaluation, kernel, False, seed)).learn(rows)

    parts = [learn(evaluation.folds != fold)[0] for fold in np.unique(evaluation.folds)]
    decisions = [_decide(rules) for rules in parts]
    pairs = decisions_of_halves(evaluation, lambda rows: _decide(learn(rows)[0]))
    value = estimate_value(evaluation, decisions, "dr", "anova", level, rng, pairs)
    rules, costs = learn(np.ones(trial.n_subjects, dtype=bool))
    return OutcomeWeightedRegime(algorithm, rules, costs, value)


def _decide(rules: Sequence[StageRule]) -> Callable[[int, np.ndarray], np.ndarray]:
    return lambda t, history: rules[t].decide(history)


def _gram(X: np.ndarray, Z: np.ndarray, kernel: str) -> np.ndarray:
    """Kernel of rows, with a constant for the intercept; of columns that leave it of the order of one."""
    width = max(X.shape[1], 1)
    if kernel == "linear":
        return 1.0 + X @ Z.T / width
    squares = np.square(X).sum(axis=1)[:, None] + np.square(Z).sum(axis=1) - 2.0 * X @ Z.T
    return 1.0 + np.exp(-np.maximum(squares, 0.0) / (2.0 * width))


class _Backward:
    """BOWL: the rule of each stage from those who followed the rules of later ones.

    Parameters
    ----------
    evaluation : Evaluation
    kernel : {"linear", "rbf"}
    residuals : bool
        Whether rewards are taken less what the history expects of them.
    seed : int
        Of the folds that judge costs.
    """

    def __init__(self, evaluation: Evaluation, kernel: str, residuals: bool, seed: int) -> None:
        self.evaluation, self.kernel, self.residuals, self.seed = evaluation, kernel, residuals, seed
        self.stages = evaluation.trial.stages
        # what a subject's own action counts for, at each stage
        self.own = [
            np.where(stage.present, kept * importance.sum(axis=1), 1.0)
            for stage, kept, importance in zip(
                self.stages, evaluation.kept, evaluation.importance, strict=True
            )
        ]

    def learn(self, rows: np.ndarray) -> tuple[list[StageRule], list[float]]:
        """Rules of all stages from some subjects (a bool array), and their costs of errors."""
        trial, sign = self.evaluation.trial, self.evaluation.sign
        total, weight = np.zeros(trial.n_subjects), trial.sample.weights.copy()
        rules, costs = [], []
        for t in reversed(range(trial.n_stages)):
            stage = self.stages[t]
            total = sign * stage.reward + self.evaluation.discount * total
            weight = weight * self.own[t]
            mine = np.flatnonzero(stage.present & rows & (weight > 0.0))
            if len(mine) < 2 * _FOLDS:
                raise ValueError(
                    f"{len(mine)} subject(s) are left for stage {t + 1} after those who did not follow later "
                    "rules; use algorithm='sowl' or more subjects."
                )
            encoder = HistoryEncoder(stage.columns, stage.history[mine], stage.labels)
            X = encoder.encode_history(stage.history[mine])
            gains = weight[mine] * self._advantage(X, total[mine], weight[mine])
            signs = np.where(stage.action[mine] == 1, 1.0, -1.0) * np.where(gains < 0.0, -1.0, 1.0)
            size = np.abs(gains) / max(float(np.abs(gains).mean()), 1e-300)
            gram = _gram(X, X, self.kernel)
            cost = _best_cost([gram], signs[None], size, np.random.default_rng(self.seed))
            coefficients = joint_margins([gram], signs[None], cost * size)[0]
            rule = StageRule(stage.frame(), encoder, self.kernel, X, coefficients)
            rules.append(rule)
            costs.append(cost)
            # who did otherwise from here on says nothing of the stages before
            here = np.flatnonzero(stage.present)
            weight[here] *= rule.decide(stage.history[here]) == stage.action[here]
        return rules[::-1], costs[::-1]

    def _advantage(self, X: np.ndarray, total: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Rewards less what is expected, or than the smallest of them."""
        if not self.residuals:
            return total - total.min()
        root = np.sqrt(weight)[:, None]
        design = np.column_stack([np.ones(len(X)), X])
        fitted = np.linalg.lstsq(root * design, root[:, 0] * total, rcond=1e-8)[0]
        return total - design @ fitted


class _Simultaneous(_Backward):
    """SOWL: the rules of all stages at once."""

    def learn(self, rows: np.ndarray) -> tuple[list[StageRule], list[float]]:
        """Rules of all stages from some subjects (a bool array), and their costs of errors."""
        trial, sign = self.evaluation.trial, self.evaluation.sign
        weight = trial.sample.weights * np.prod(self.own, axis=0)
        mine = np.flatnonzero(self.stages[0].present & rows & (weight > 0.0))
        total = sign * trial.returns(self.evaluation.discount)[mine]
        size = weight[mine] * (total - total.min())
        size = size / max(float(size.mean()), 1e-300)
        signs, grams, parts = np.zeros((trial.n_stages, len(mine))), [], []
        for t, stage in enumerate(self.stages):
            there = stage.present[mine]
            encoder = HistoryEncoder(stage.columns, stage.history[mine[there]], stage.labels)
            X = np.zeros((len(mine), int(encoder.action[0])))
            X[there] = encoder.encode_history(stage.history[mine[there]])
            signs[t, there] = np.where(stage.action[mine[there]] == 1, 1.0, -1.0)
            grams.append(_gram(X, X, self.kernel))
            parts.append((stage.frame(), encoder, self.kernel, X))
        cost = _best_cost(grams, signs, size, np.random.default_rng(self.seed))
        found = joint_margins(grams, signs, cost * size)
        rules = [StageRule(*part, coefficients) for part, coefficients in zip(parts, found, strict=True)]
        return rules, [cost] * trial.n_stages


def _best_cost(
    grams: Sequence[np.ndarray], signs: np.ndarray, size: np.ndarray, rng: np.random.Generator
) -> float:
    """The cost of errors with which held-out subjects, by their weights, are most often agreed with."""
    folds = rng.permutation(len(size)) % _FOLDS
    agreed = np.zeros(len(_COSTS))
    for fold in range(_FOLDS):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        some = [gram[np.ix_(train, train)] for gram in grams]
        for place, cost in enumerate(_COSTS):
            found = joint_margins(some, signs[:, train], cost * size[train], _ROUGHLY)
            functions = np.array(
                [gram[np.ix_(test, train)] @ mine for gram, mine in zip(grams, found, strict=True)]
            )
            right = ((signs[:, test] == 0) | (signs[:, test] * functions > 0.0)).all(axis=0)
            agreed[place] += size[test] @ right
    return _COSTS[int(np.argmax(agreed))]
