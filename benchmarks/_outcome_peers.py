"""Methods for classes, ordered classes and censored times; each loads what it needs when asked.

They are as those of `peers`, and apart from them: abess may live in an environment without rlselect.
"""

import numpy as np

from peers._installed import installed

FAMILIES = ("multinomial", "ordinal", "cox")
LARGEST = 20
FOLDS, PATH, LAST = 5, 40, 0.01
# steps of the proximal gradient at one penalty, and the change of the coefficients at which they end
STEPS, CHANGE = 300, 1e-4


class Revs:
    """REVS as it is."""

    NAME, FAMILIES = "REVS", FAMILIES

    @staticmethod
    def available():
        return installed("rlselect")

    @staticmethod
    def select(X, y, family, *, seed):
        from rlselect import REVS

        return REVS(family=family, random_state=seed).fit(X, y).support_


class Abess:
    """Best-subset splicing over sizes 0-20, size by its extended BIC."""

    NAME, FAMILIES = "abess, EBIC", FAMILIES

    @staticmethod
    def available():
        return installed("abess")

    @staticmethod
    def select(X, y, family, *, seed):
        import abess

        kind = {
            "multinomial": abess.MultinomialRegression,
            "ordinal": abess.OrdinalRegression,
            "cox": abess.CoxPHSurvivalAnalysis,
        }[family]
        model = kind(support_size=range(LARGEST + 1), ic_type="ebic", thread=1)
        if family == "cox":
            y = np.column_stack([y["time"], y["event"]])
        elif family == "multinomial":
            y = (np.asarray(y)[:, None] == np.unique(y)).astype(float)
        coef = np.asarray(model.fit(X, y).coef_)
        return np.any(coef.reshape(X.shape[1], -1) != 0, axis=1)


class LassoCV:
    """L1 penalty (of groups for classes), its size by five-fold cross-validated likelihood."""

    NAME, FAMILIES = "L1, CV", FAMILIES

    @staticmethod
    def available():
        return installed("rlselect")

    @staticmethod
    def select(X, y, family, *, seed):
        return _both(X, y, family, seed)[0]


class RelaxedLasso:
    """Subsets of the L1 path, refitted without a penalty, chosen by their cross-validated likelihood."""

    NAME, FAMILIES = "relaxed L1, CV", FAMILIES

    @staticmethod
    def available():
        return installed("rlselect")

    @staticmethod
    def select(X, y, family, *, seed):
        return _both(X, y, family, seed)[1]


OUTCOME_PEERS = {"revs": Revs, "abess": Abess, "lasso-cv": LassoCV, "relaxed-lasso": RelaxedLasso}

# the last path, and the data it is of: both of its users ask for the same one
_known = [None, None]


def _both(X, y, family, seed):
    if _known[0] is not y:
        _known[:] = y, _paths(X, y, family, seed)
    return _known[1]


def _make(y, family):
    from rlselect.kernels import ClassOutcome, CoxOutcome, OrdinalOutcome

    n = len(y)
    if family == "cox":
        return CoxOutcome(y["time"], y["event"], np.ones(n), np.zeros(n))
    classes, codes = np.unique(y, return_inverse=True)
    if family == "multinomial":
        return ClassOutcome(codes, len(classes), np.ones(n))
    return OrdinalOutcome(codes, len(classes), np.ones(n), np.zeros(n))


def _paths(X, y, family, seed):
    """Supports that the two rules choose."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    whole = _make(y, family)
    point = whole.at(whole.start(), np.zeros((whole.n_predictors, len(y))))
    columns = Z.T if whole.order is None else Z.T[:, whole.order]
    top = np.linalg.norm(columns @ point.score.T, axis=1).max() / len(y)
    penalties = np.geomspace(top, LAST * top, PATH)
    folds = np.random.default_rng(seed).permutation(len(y)) % FOLDS
    losses = np.zeros((2, PATH))
    for fold in range(FOLDS):
        inside, outside = folds != fold, folds == fold
        fits = _path(Z[inside], _make(y[inside], family), penalties)
        judge = _make(y[outside], family)
        judged = Z[outside] if judge.order is None else Z[outside][judge.order]
        for i, (own, coef) in enumerate(fits):
            losses[0, i] -= judge.at(own, coef.T @ judged.T).value
            own, coef = _refit(Z[inside], _make(y[inside], family), coef.any(axis=1))
            losses[1, i] -= judge.at(own, coef.T @ judged.T).value
    supports = [coef.any(axis=1) for _, coef in _path(Z, whole, penalties)]
    return tuple(supports[int(np.argmin(loss))] for loss in losses)


def _path(Z, outcome, penalties):
    """Accelerated proximal gradient steps, from one penalty to the next."""
    columns = np.ascontiguousarray(Z.T if outcome.order is None else Z.T[:, outcome.order])
    n, q = columns.shape[1], outcome.n_predictors
    own, coef = outcome.start(), np.zeros((len(columns), q))
    size, fits = 1.0, []

    def loss(own, coef):
        return -outcome.at(own, coef.T @ columns).value / n

    for penalty in penalties:
        ahead_own, ahead, momentum = own, coef, 1.0
        for _ in range(STEPS):
            point = outcome.at(ahead_own, ahead.T @ columns)
            here = -point.value / n
            by_own, by_coef = -point.own_score / n, -(columns @ point.score.T) / n
            while True:
                next_own, moved = ahead_own - size * by_own, ahead - size * by_coef
                norm = np.maximum(np.linalg.norm(moved, axis=1), 1e-300)
                moved = moved * np.maximum(1.0 - size * penalty / norm, 0.0)[:, None]
                step_own, step = next_own - ahead_own, moved - ahead
                bound = here + by_own @ step_own + (by_coef * step).sum()
                bound += (step_own @ step_own + (step * step).sum()) / (2.0 * size)
                if loss(next_own, moved) <= bound + 1e-10:
                    break
                size *= 0.5
            change = np.abs(moved - coef).max()
            after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            push = (momentum - 1.0) / after
            ahead, ahead_own = moved + push * (moved - coef), next_own + push * (next_own - own)
            if np.any(np.diff(ahead_own) <= 0) and not hasattr(outcome, "contrasts"):
                ahead_own = next_own
            own, coef, momentum = next_own, moved, after
            if change < CHANGE:
                break
        size *= 1.5
        fits.append((own, coef))
    return fits


def _refit(Z, outcome, support):
    from rlselect.subset.revs.evidence import outcome_mode

    columns = np.ascontiguousarray((Z.T if outcome.order is None else Z.T[:, outcome.order])[support])
    f, q = outcome.n_own, outcome.n_predictors
    coef = np.zeros((len(support), q))
    if support.sum() * q > len(Z) // 3:
        return outcome.start(), coef
    start = np.concatenate([outcome.start(), np.zeros(len(columns) * q)])
    # next to no penalty: separated rows must not stop a benchmark
    mode = outcome_mode(outcome, columns, 1e4, start)
    coef[support] = mode.coef[f:].reshape(-1, q)
    return mode.coef[:f], coef
