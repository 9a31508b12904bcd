"""Whether the actions of a stage can be compared: who could have taken which, and whether weights balance."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rlselect._compat import user_level
from rlselect.regimes._never_taken import find_never_taken
from rlselect.regimes._propensity import estimated_probabilities, log_losses
from rlselect.regimes._stages import StageData

__all__ = ["OverlapReport", "report_overlap", "warn_of_poor_overlap"]

# An action is out of reach for a subject below this probability, and below a share of how often it is taken
# by all: arms that are rare by design are not.
_RARE, _OF_FREQUENCY = 0.05, 1.0 / 3.0
# Share of subjects with an action out of reach from which overlap is poor.
_MANY = 0.05
# Subjects of an action below which values that lean on them have no interval to speak of, where others have
# more than twice as many: of small trials all intervals are wide.
_FEWEST, _OF_EQUAL = 5, 0.5
# Paired standard errors by which the history must predict actions better than what was said of them.
_CONTRADICTED = 3.0
# The same for estimated probabilities, beside plain frequencies, to be taken at their word.
_PREDICTED = 2.0
# smallest probability of a class of doses
_LEAST_CLASS = 0.01


@dataclass(frozen=True)
class OverlapReport:
    """Whether a stage's actions can be compared.

    Attributes
    ----------
    stage : int
    counts : dict
        Subjects by action.
    poor : bool
        Whether an action was out of reach for more than 5 % of the subjects, half of the subjects of an
        action are lost by weighting, nobody in a part of the history took it, or it was taken by fewer than
        five and by fewer than half of an equal share.
    contradicted : bool
        Whether the history predicts actions better than the probabilities that were given for them, or
        nobody in a part of it took an action though these let all do so.
    smallest : float
        Smallest probability of a feasible action for a subject.
    rare_share : float
        Share of subjects for whom a feasible action was out of reach: its probability is below 0.05, and
        below a third of the share of all subjects who took it.
    effective_size : dict
        By action: effective number of subjects after weighting by inverse probability.
    balance : dict
        By history column, or label of one: how much means differ between actions, in standard deviations,
        before and after weighting by inverse probability.
    largest_imbalance : tuple of (str, float)
        The entry of ``balance`` that is largest before weighting.
    smallest_remaining : float
        Smallest estimated probability of remaining among those who stayed; 1 unless ``leaving="weights"``.
    advice : str
    probabilities : (m, K) array
        Probability of each action for each subject present.
    taken : (m,) int array
        Positions of the actions that were taken.
    never_taken : tuple of str
        Who never took an action though by chance some would have: "none of the 40 subjects with age above 71
        took surgery".
    """

    stage: int
    counts: dict
    poor: bool
    contradicted: bool
    smallest: float
    rare_share: float
    effective_size: dict
    balance: dict[str, tuple[float, float]] = field(repr=False)
    largest_imbalance: tuple[str, float]
    smallest_remaining: float
    advice: str
    probabilities: np.ndarray = field(repr=False, compare=False)
    taken: np.ndarray = field(repr=False, compare=False)
    never_taken: tuple[str, ...] = ()

    def __str__(self) -> str:
        size = ", ".join(f"{k}: {v:.0f} of {self.counts[k]}" for k, v in self.effective_size.items())
        name, gap = self.largest_imbalance
        after = f", {self.balance[name][1]:.2f} after weighting" if name else ""
        return (
            f"stage {self.stage}: smallest probability {self.smallest:.3f}, an action out of reach for "
            f"{100 * self.rare_share:.0f} % of subjects, effective sizes {size}, largest imbalance {gap:.2f} "
            f"sd ({name}{after}). {self.advice}"
        )


def report_overlap(
    number: int, stage: StageData, chances: np.ndarray, remaining: np.ndarray, *, whole: bool = False
) -> OverlapReport:
    """The report of a stage.

    Parameters
    ----------
    number : int
        Of the stage, counted from 1.
    stage : StageData
    chances : (m, K) array
        Probability of each action for each subject present.
    remaining : array
        Probability of remaining of each subject who stayed.
    whole : bool
        Whether clusters of subjects had one action as a whole.
    """
    rows = np.flatnonzero(stage.present)
    whole |= stage.doses is not None
    if stage.doses is not None:
        stage, chances = _in_thirds(stage, chances)
    action = stage.action[rows]
    weights = 1.0 / chances[np.arange(len(rows)), action]
    counts, sizes = {}, {}
    for place, label in enumerate(stage.labels):
        mine = weights[action == place]
        counts[label] = len(mine)
        sizes[label] = float(mine.sum() ** 2 / np.square(mine).sum())
    possible = np.where(stage.allowed(stage.history[rows]), chances, 1.0)
    frequency = np.bincount(action, minlength=len(counts)) / len(rows)
    rare = float((possible < np.minimum(_RARE, _OF_FREQUENCY * frequency)).any(axis=1).mean())
    thin = any(size < 0.5 * counts[label] for label, size in sizes.items())
    least = min(_FEWEST, _OF_EQUAL * len(rows) / len(counts))
    few = [label for label, count in counts.items() if count < least]
    poor = bool(few) or ((rare > _MANY or thin) and _is_known(stage, chances, action, frequency))
    balance = _balance(stage, rows, action, weights)
    contradicted = _is_contradicted(stage, chances, action)
    never: tuple[str, ...] = ()
    if not (few or whole or isinstance(stage.propensity, np.ndarray)):
        never = tuple(map(str, find_never_taken(stage)))
    if isinstance(stage.propensity, str) and stage.propensity == "estimate":
        poor |= bool(never)
    else:
        contradicted |= bool(never)
    return OverlapReport(
        stage=number,
        counts=counts,
        poor=poor,
        contradicted=contradicted,
        smallest=float(possible.min()),
        rare_share=rare,
        effective_size=sizes,
        balance=balance,
        largest_imbalance=max(
            ((name, before) for name, (before, _) in balance.items()),
            key=lambda item: item[1],
            default=("", 0.0),
        ),
        smallest_remaining=float(remaining.min()),
        advice=_advice(stage, poor, few, contradicted, float(remaining.min()), never),
        probabilities=chances,
        taken=action,
        never_taken=never,
    )


def _in_thirds(stage: StageData, chances: np.ndarray) -> tuple[StageData, np.ndarray]:
    """Doses as three classes of equal size, with their probabilities (m, 3): these are to be compared."""
    assert stage.doses is not None
    low, high = np.quantile(stage.dose[stage.present], [1 / 3, 2 / 3])
    labels = (f"up to {low:.3g}", f"up to {high:.3g}", f"above {high:.3g}")
    action = np.where(stage.present, np.digitize(stage.dose, [low, high], right=True), -1)
    third = np.digitize(stage.doses.grid, [low, high], right=True)
    shares = np.column_stack([chances[:, third == k].sum(axis=1) for k in range(3)])
    shares = np.maximum(shares, _LEAST_CLASS)
    known = stage.propensity if isinstance(stage.propensity, str) else "estimate"
    classes = replace(stage, labels=labels, action=action, doses=None, propensity=known)
    return classes, shares / shares.sum(axis=1, keepdims=True)


def warn_of_poor_overlap(reports: Sequence[OverlapReport]) -> None:
    """Tell the user which stages cannot answer what is asked of them."""
    for report in reports:
        if report.poor or report.contradicted:
            warnings.warn(f"Stage {report.stage}: {report.advice}", UserWarning, stacklevel=user_level())


def _is_known(stage: StageData, chances: np.ndarray, action: np.ndarray, frequency: np.ndarray) -> bool:
    """Whether probabilities were given, or a model of the history is better than plain frequencies."""
    if not (isinstance(stage.propensity, str) and stage.propensity == "estimate"):
        return True
    gain = -np.log(frequency[action]) - log_losses(chances, action)
    return bool(gain.mean() * np.sqrt(len(gain)) > _PREDICTED * gain.std(ddof=1))


def _is_contradicted(stage: StageData, chances: np.ndarray, action: np.ndarray) -> bool:
    """Whether a model of the history is better than given probabilities, by paired log losses."""
    if isinstance(stage.propensity, str) and stage.propensity == "estimate":
        return False
    gain = log_losses(chances, action) - log_losses(estimated_probabilities(stage, quick=True), action)
    return bool(gain.mean() * np.sqrt(len(gain)) > _CONTRADICTED * gain.std(ddof=1))


def _balance(
    stage: StageData, rows: np.ndarray, action: np.ndarray, weights: np.ndarray
) -> dict[str, tuple[float, float]]:
    """Largest difference of means between actions in standard deviations, before and after weighting."""
    found = {}
    taken = np.eye(len(stage.labels))[action]
    shares = [one / one.sum(axis=0) for one in (taken, taken * weights[:, None])]
    for column, values in zip(stage.columns, stage.history[rows].T, strict=True):
        if column.kind == "action":
            continue
        # of a category, how often each of its labels is seen
        parts = {column.name: values}
        if column.labels:
            parts = {f"{column.name} = {label}": values == k for k, label in enumerate(column.labels)}
        for name, part in parts.items():
            spread = part.std()
            if spread > 1e-12 * max(1.0, abs(part.mean())):
                before, after = (float(np.ptp((part - part.mean()) @ share) / spread) for share in shares)
                found[name] = (before, after)
    return found


def _advice(
    stage: StageData,
    poor: bool,
    few: Sequence,
    contradicted: bool,
    smallest_remaining: float,
    never: Sequence[str],
) -> str:
    seen = "; ".join(never)
    if contradicted and never:
        return (
            f"{seen[:1].upper()}{seen[1:]}. With the probabilities given for the actions some would have: "
            "they were not randomised like that. Say whom an action was not for by `feasible`, or have them "
            "estimated."
        )
    if contradicted:
        return (
            "The history predicts the actions better than the probabilities given for them: they were not "
            "randomised like that. Correct `propensity`, or have it estimated."
        )
    if few:
        return (
            f"Fewer than {_FEWEST} subjects took {', '.join(map(str, few))}: what that does for others is a "
            "guess, whatever the interval. Join it with another action, or leave these subjects out."
        )
    if poor and never:
        return (
            f"Overlap is poor: {seen}. What it would have done to them is a guess of the model. Limit "
            "`feasible` to actions that were real choices, or read the value of the regime for the other "
            "subjects only."
        )
    if poor:
        return (
            "Overlap is poor: for some subjects an action was almost never taken, and what it would have "
            "done to them is a guess of the model. Limit `feasible` to actions that were real choices, or "
            "read the value of the regime for the other subjects only."
        )
    if smallest_remaining < _RARE:
        return (
            f"Some of those who stayed had a probability of remaining of only {smallest_remaining:.3f}: few "
            "stand for many who were lost. Read values with care, or count leaving as an end "
            "(leaving='ends') if it is."
        )
    if isinstance(stage.propensity, str) and stage.propensity == "estimate":
        return (
            "Overlap is fine. Probabilities are estimated: the comparison of actions is causal only if the "
            "history holds everything that moved both the choice and the outcome; in a randomised trial give "
            "the known probabilities."
        )
    return "Overlap is fine."
