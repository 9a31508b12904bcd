"""Probabilities of actions and of remaining, known or estimated without the subject's own fold."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._stages import StageData

__all__ = ["estimated_probabilities", "log_losses", "remaining_probabilities", "stage_probabilities"]

# Estimated probabilities are kept away from 0 and 1 by this much.
_FLOOR = 0.01
# Ridge penalties tried for the logistic models (their inverse); plain frequencies are tried as well.
_STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0)
_QUICK = 0.1
# From three times as many rows on, so many say which penalty is best: it hardly matters there and takes most
# of the time. Whether the history says anything, and its squares do, is asked of all rows.
_SAMPLE = 4000


def _logistic(X: np.ndarray, labels: np.ndarray, n_labels: int, *, quick: bool = False) -> np.ndarray:
    """Out-of-fold probabilities of all labels from a ridge logistic model, with squares where these help:
    (n, n_labels) array. ``quick`` tries one model only.
    """
    counts = np.bincount(labels, minlength=n_labels)
    chances = np.tile(counts / len(labels), (len(labels), 1))
    if X.shape[1] == 0 or counts.min() < 4:
        return chances
    best = (float(log_losses(chances, labels).mean()), chances)
    designs = [X] if quick else [X, *_with_squares(X)]
    for design in designs:
        strengths = (_QUICK,) if quick else _worthwhile_strengths(design, labels, n_labels)
        best = min([best, *_judged(design, labels, strengths)], key=lambda item: item[0])
    return np.clip(best[1], _FLOOR, 1.0)


def _worthwhile_strengths(design: np.ndarray, labels: np.ndarray, n_labels: int) -> tuple[float, ...]:
    """The penalties to try: all of them, or with many rows the one that is best on some of the rows."""
    some = np.sort(np.random.default_rng(0).permutation(len(labels))[:_SAMPLE])
    if len(labels) < 3 * _SAMPLE or np.bincount(labels[some], minlength=n_labels).min() < 4:
        return _STRENGTHS
    losses = [loss for loss, _ in _judged(design[some], labels[some], _STRENGTHS)]
    return (_STRENGTHS[int(np.argmin(losses))],)


def _judged(
    design: np.ndarray, labels: np.ndarray, strengths: tuple[float, ...]
) -> list[tuple[float, np.ndarray]]:
    """Mean loss and out-of-fold probabilities (n, labels) of the logistic model with each penalty."""
    smallest = int(np.bincount(labels).min())
    folds = list(StratifiedKFold(min(5, smallest), shuffle=True, random_state=0).split(design, labels))
    guesses = np.empty((len(strengths), len(labels), int(labels.max()) + 1))
    for train, test in folds:
        mine, mine_labels, others = design[train], labels[train], design[test]
        for strength, guess in zip(strengths, guesses, strict=True):
            model = LogisticRegression(C=strength, max_iter=1000).fit(mine, mine_labels)
            guess[test] = model.predict_proba(others)
    return [(float(log_losses(guess, labels).mean()), guess) for guess in guesses]


def _with_squares(X: np.ndarray) -> list[np.ndarray]:
    """Columns and the standardised squares of those with more than two values; nothing where none has."""
    many = [j for j, column in enumerate(X.T) if len(np.unique(column)) > 2]
    if not many:
        return []
    squares = np.square(np.clip(X[:, many], -4.0, 4.0))
    return [np.column_stack([X, (squares - squares.mean(axis=0)) / np.maximum(squares.std(axis=0), 1e-12)])]


def log_losses(chances: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Minus the logarithm of the probability of each label that was seen: (n,) array."""
    return -np.log(np.maximum(chances[np.arange(len(labels)), labels], 1e-12))


def estimated_probabilities(stage: StageData, *, quick: bool = False) -> np.ndarray:
    """Probability of each action for each subject present, from a model of the history: (m, K) array."""
    rows = _by_content(stage)
    encoder = HistoryEncoder(stage.columns, stage.history[rows], stage.labels)
    X = encoder.encode(stage.history[rows], stage.action[rows])[:, : -len(encoder.action)]
    chances = np.empty((len(stage.action), len(stage.labels)))
    chances[rows] = _logistic(X, stage.action[rows], len(stage.labels), quick=quick)
    return _feasible_only(stage, chances[stage.present])


def _by_content(stage: StageData) -> np.ndarray:
    """Numbers of those present, sorted by what is known of them: folds are dealt by place, and rows may come
    in any order.
    """
    rows = np.flatnonzero(stage.present)
    return rows[np.lexsort([stage.reward[rows], stage.history[rows].sum(axis=1), stage.action[rows]])]


def _feasible_only(stage: StageData, chances: np.ndarray) -> np.ndarray:
    """Probabilities of those present, shared among the actions that are allowed."""
    if stage.feasible is None:
        return chances
    chances = np.where(stage.allowed(stage.history[stage.present]), chances, 0.0)
    return chances / chances.sum(axis=1, keepdims=True)


def stage_probabilities(stage: StageData) -> np.ndarray:
    """Probability of each action for each subject present, in their order: (m, K) array."""
    rows = np.flatnonzero(stage.present)
    if stage.doses is not None:
        return stage.doses.masses(stage.history[rows])
    action, K = stage.action[rows], len(stage.labels)
    counts = np.bincount(action, minlength=K)
    chances = np.tile(counts / len(rows), (len(rows), 1))
    if isinstance(stage.propensity, np.ndarray):
        # Only the action taken has a known probability; the others share the rest by their frequencies.
        own = stage.propensity[rows]
        chances[np.arange(len(rows)), action] = 0.0
        chances *= ((1.0 - own) / chances.sum(axis=1))[:, None]
        chances[np.arange(len(rows)), action] = own
        return chances
    if not isinstance(stage.propensity, str):
        chances[:] = [stage.propensity[label] for label in stage.labels]
        return chances
    if stage.propensity == "estimate":
        return estimated_probabilities(stage)
    return _feasible_only(stage, chances)


def remaining_probabilities(stage: StageData, present_next: np.ndarray) -> np.ndarray:
    """Probability of each subject of being at the next stage, where some of those present here are."""
    chances = np.ones(len(stage.action))
    rows = _by_content(stage)
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
