"""REVS and a peer on several responses at once: 5 of 100 variables that all of them share, correlation .5."""

from dataclasses import dataclass
from functools import partial

import numpy as np

import _runner
from _tables import Column, mean, median
from peers._installed import installed

P, TRUE, RHO = 100, 5, 0.5
RUNS = Column("runs", lambda fits, _: str(len(fits)))
NUMBER = Column("#", lambda fits, _: mean(fits, "n_selected", 1, 2))
SECONDS = Column("cpu s", lambda fits, _: median(fits, "cpu_seconds"))
COLUMNS = [
    RUNS,
    NUMBER,
    Column("TPR %", lambda fits, _: mean(fits, "tpr", 100)),
    Column("PPV %", lambda fits, _: mean(fits, "ppv", 100)),
    Column("F1", lambda fits, _: mean(fits, "f1", 1, 3)),
    Column("exact %", lambda fits, _: mean(fits, "exact", 100, 0)),
    SECONDS,
]
NOISE_COLUMNS = [RUNS, Column("empty %", lambda fits, _: mean(fits, "exact", 100, 1)), NUMBER, SECONDS]
# rows, responses, correlation of their noise, sizes of the effects; classes are signs
DESIGNS = {
    "numbers-100": (100, 4, 0.0, (0.2, 0.5)),
    "numbers-200": (200, 3, 0.0, (0.1, 0.4)),
    "correlated-150": (150, 4, 0.8, (0.1, 0.4)),
    "copies-150": (150, 4, 0.99, (0.1, 0.4)),
    "classes-300": (300, 3, 0.5, (0.4, 0.8)),
}


@dataclass
class Data:
    """One data set."""

    X: np.ndarray
    y: np.ndarray
    support: np.ndarray


def make(name, n_true, seed):
    """Columns of an autoregressive design; effects of random sign, their own for every response."""
    n, responses, correlation, (least, most) = DESIGNS[name]
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(RHO ** np.abs(np.subtract.outer(np.arange(P), np.arange(P))))
    X = rng.standard_normal((n, P)) @ root.T
    support = np.zeros(P, dtype=bool)
    support[rng.choice(P, n_true, replace=False)] = True
    coef = np.zeros((P, responses))
    shape = (n_true, responses)
    coef[support] = rng.choice([-1.0, 1.0], shape) * rng.uniform(least, most, shape)
    common = rng.standard_normal((n, 1))
    noise = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * rng.standard_normal((n, responses))
    y = X @ coef + noise
    return Data(X, (y > 0).astype(int) if name.startswith("classes") else y, support)


class _Revs:
    FAMILIES = ("numbers", "classes")

    @staticmethod
    def available():
        return installed("rlselect")


class Shared(_Revs):
    """One selection for all responses."""

    NAME = "REVS, shared"

    @staticmethod
    def select(X, y, family, *, seed):
        from rlselect import REVS

        return REVS(random_state=seed).fit(X, y).support_


class Each(_Revs):
    """A selection for each response; a variable counts if any has it."""

    NAME = "REVS, each (any of them)"

    @staticmethod
    def select(X, y, family, *, seed):
        from rlselect import REVS

        return REVS(responses="each", random_state=seed).fit(X, y).support_


class MultiTask:
    """L2 penalty of the rows of coefficients, its size by five-fold cross-validation."""

    NAME, FAMILIES = "MultiTaskLassoCV", ("numbers",)

    @staticmethod
    def available():
        return installed("sklearn")

    @staticmethod
    def select(X, y, family, *, seed):
        from sklearn.linear_model import MultiTaskLassoCV

        return MultiTaskLassoCV(cv=5, max_iter=5000, alphas=50).fit(X, y).coef_.any(axis=0)


METHODS = {"shared": Shared, "each": Each, "multitask": MultiTask}


def cells(n_true):
    """One cell per design."""
    return [
        _runner.Cell(
            name, "classes" if name.startswith("classes") else "numbers", partial(make, name, n_true)
        )
        for name in DESIGNS
    ]


def main():
    title = f"Several responses at once: {TRUE} of {P} variables, the same for all"
    noise = "Several responses without signal: how often nothing is selected"
    _runner.run_with_noise(__doc__, METHODS, cells, TRUE, title, COLUMNS, noise, NOISE_COLUMNS)


if __name__ == "__main__":
    main()
