"""Probabilities of the actions that were taken and of remaining, and how far they can be trusted."""

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._stages import StageData

__all__ = ["OverlapReport", "remaining_probabilities", "report_overlap", "stage_probabilities"]

# Estimated probabilities are kept away from 0 and 1 by this much.
_FLOOR = 0.01
_RARE = 0.05
# Ridge penalties tried for the logistic model (their inverse); plain frequencies are tried as well.
_STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0)


def _logistic(X: np.ndarray, labels: np.ndarray, n_labels: int) -> np.ndarray:
    """Out-of-fold probabilities of all labels from a ridge logistic model: (n, n_labels) array."""
    counts = np.bincount(labels, minlength=n_labels)
    chances = np.tile(counts / len(labels), (len(labels), 1))
    smallest = int(counts.min())
    if X.shape[1] == 0 or smallest < 4:
        return chances
    folds = list(StratifiedKFold(min(5, smallest), shuffle=True, random_state=0).split(X, labels))
    best = (_log_loss(chances, labels), chances)
    for strength in _STRENGTHS:
        guess = np.empty_like(chances)
        for train, test in folds:
            model = LogisticRegression(C=strength, max_iter=1000).fit(X[train], labels[train])
            guess[test] = model.predict_proba(X[test])
        best = min(best, (_log_loss(guess, labels), guess), key=lambda item: item[0])
    return np.clip(best[1], _FLOOR, 1.0)


def _log_loss(chances: np.ndarray, labels: np.ndarray) -> float:
    return float(-np.log(np.maximum(chances[np.arange(len(labels)), labels], 1e-12)).mean())


def stage_probabilities(stage: StageData) -> np.ndarray:
    """Probability of each action for each subject present, in their order: (m, K) array."""
    rows = np.flatnonzero(stage.present)
    action, K = stage.action[rows], len(stage.labels)
    counts = np.bincount(action, minlength=K)
    chances = np.tile(counts / len(rows), (len(rows), 1))
    if isinstance(stage.propensity, np.ndarray):
        # Only the action taken has a known probability; the others share the rest by their frequencies.
        own = stage.propensity[rows]
        chances[np.arange(len(rows)), action] = 0.0
        chances *= ((1.0 - own) / chances.sum(axis=1))[:, None]
        chances[np.arange(len(rows)), action] = own
    elif not isinstance(stage.propensity, str):
        chances[:] = [stage.propensity[label] for label in stage.labels]
    elif stage.propensity == "estimate":
        encoder = HistoryEncoder(stage.columns, stage.history[rows], stage.labels)
        X = encoder.encode(stage.history[rows], action)[:, : -len(encoder.action)]
        chances = _logistic(X, action, K)
    if stage.feasible is not None and isinstance(stage.propensity, str):
        chances = np.where(stage.allowed(stage.history[rows]), chances, 0.0)
        chances /= chances.sum(axis=1, keepdims=True)
    return chances


def remaining_probabilities(stage: StageData, present_next: np.ndarray) -> np.ndarray:
    """Probability of each subject of being at the next stage, where some of those present here are."""
    chances = np.ones(len(stage.action))
    rows = np.flatnonzero(stage.present)
    stays = present_next[rows]
    if stays.all():
        return chances
    encoder = HistoryEncoder(stage.columns, stage.history[rows], stage.labels)
    reward = stage.reward[rows] - stage.reward[rows].mean()
    X = np.column_stack(
        [encoder.encode(stage.history[rows], stage.action[rows]), reward / (reward.std() or 1)]
    )
    chances[rows] = _logistic(X, stays.astype(int), 2)[:, 1]
    return chances


@dataclass(frozen=True)
class OverlapReport:
    """Whether a stage's actions can be compared.

    Attributes
    ----------
    stage : int
    counts : dict
        Subjects by action.
    smallest : float
        Smallest probability of an action that was taken.
    rare_share : float
        Share of subjects whose action had a probability below 0.05.
    effective_size : dict
        By action: effective number of subjects after weighting by inverse probability.
    largest_imbalance : tuple of (str, float)
        The history column, or the label of one, whose means differ most between actions, in standard
        deviations.
    smallest_remaining : float
        Smallest estimated probability of remaining among those who stayed; 1 unless ``leaving="weights"``.
    advice : str
    """

    stage: int
    counts: dict
    smallest: float
    rare_share: float
    effective_size: dict
    largest_imbalance: tuple[str, float]
    smallest_remaining: float
    advice: str

    def __str__(self) -> str:
        size = ", ".join(f"{k}: {v:.0f} of {self.counts[k]}" for k, v in self.effective_size.items())
        name, gap = self.largest_imbalance
        return (
            f"stage {self.stage}: smallest probability {self.smallest:.3f}, effective sizes {size}, largest "
            f"imbalance {gap:.2f} sd ({name}). {self.advice}"
        )


def report_overlap(
    number: int, stage: StageData, chances: np.ndarray, remaining: np.ndarray
) -> OverlapReport:
    """The report of a stage.

    Parameters
    ----------
    number : int
        Of the stage, counted from 1.
    stage : StageData
    chances : (m,) array
        Probability of the action each present subject took.
    remaining : array
        Probability of remaining of each subject who stayed.
    """
    rows = np.flatnonzero(stage.present)
    action = stage.action[rows]
    counts, sizes = {}, {}
    for place, label in enumerate(stage.labels):
        weights = 1.0 / chances[action == place]
        counts[label] = int((action == place).sum())
        sizes[label] = float(weights.sum() ** 2 / np.square(weights).sum())
    rare, smallest = float(np.mean(chances < _RARE)), float(remaining.min())
    return OverlapReport(
        stage=number,
        counts=counts,
        smallest=float(chances.min()),
        rare_share=rare,
        effective_size=sizes,
        largest_imbalance=_largest_imbalance(stage, rows, action),
        smallest_remaining=smallest,
        advice=_advice(stage, rare, counts, sizes, smallest),
    )


def _largest_imbalance(stage: StageData, rows: np.ndarray, action: np.ndarray) -> tuple[str, float]:
    """The column, or the label of one, whose means differ most between actions, in standard deviations."""
    largest = ("", 0.0)
    for column, values in zip(stage.columns, stage.history[rows].T, strict=True):
        if column.kind == "action":
            continue
        # of a category, how often each of its labels is seen
        parts = {column.name: values}
        if column.labels:
            parts = {f"{column.name} = {label}": values == k for k, label in enumerate(column.labels)}
        for name, part in parts.items():
            spread = part.std()
            if spread <= 1e-12 * max(1.0, abs(part.mean())):
                continue
            means = [part[action == place].mean() for place in range(len(stage.labels))]
            largest = max(largest, (name, float(np.ptp(means) / spread)), key=lambda item: item[1])
    return largest


def _advice(stage: StageData, rare: float, counts: dict, sizes: dict, smallest: float) -> str:
    thin = [label for label, size in sizes.items() if size < 0.5 * counts[label]]
    if rare > 0.02 or thin:
        return (
            "Overlap is poor: for some subjects an action was almost never taken. Limit `feasible` to "
            "actions that were real choices, or read the value of the regime for those subjects only."
        )
    if smallest < _RARE:
        return (
            f"Some of those who stayed had a probability of remaining of only {smallest:.3f}: few stand for "
            "many who were lost. Read values with care, or count leaving as an end (leaving='ends') if it is."
        )
    if isinstance(stage.propensity, str) and stage.propensity == "estimate":
        return (
            "Overlap is fine. Probabilities are estimated: the comparison of actions is causal only if the "
            "history holds everything that moved both the choice and the outcome; in a randomised trial give "
            "the known probabilities."
        )
    return "Overlap is fine."
