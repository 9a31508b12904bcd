"""Rules for subsets: a largest size, one of each group, signs, and products beside their columns (order=2).

The truth of "best-5" cells is the subset of least squares, found by trying all of them; elsewhere it is the
model that made the data. Terms of "pairs" and "noise" cells are columns and all their products. Peers that
need another environment add their fits to the same table: run this with --resume in each.
"""

from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

import _runner
from _tables import Column, mean, median
from peers._installed import installed

COLUMNS = [
    Column("runs", lambda fits, _: str(len(fits))),
    Column("#", lambda fits, _: mean(fits, "n_selected", 1, 2)),
    Column("TPR %", lambda fits, _: mean(fits, "tpr", 100)),
    Column("PPV %", lambda fits, _: mean(fits, "ppv", 100)),
    Column("F1", lambda fits, _: mean(fits, "f1", 1, 3)),
    Column("exact %", lambda fits, _: mean(fits, "exact", 100, 0)),
    Column("cpu s", lambda fits, _: median(fits, "cpu_seconds")),
]
KINDS = ("pairs", "noise", "signs", "best-5", "groups")
GROUP = 4


@dataclass
class Data:
    """One data set."""

    X: np.ndarray
    y: np.ndarray
    support: np.ndarray


def columns(rng, n, p, rho):
    """An autoregressive design."""
    root = np.linalg.cholesky(rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p))))
    return rng.standard_normal((n, p)) @ root.T


def products(X):
    """All products of two columns about their means, after the columns."""
    first, second = np.triu_indices(X.shape[1], 1)
    about = X - X.mean(axis=0)
    return np.column_stack([X, about[:, first] * about[:, second]])


def terms(p, mains, pairs):
    """Mask of some columns and products."""
    place = np.zeros((p, p), dtype=int)
    place[np.triu_indices(p, 1)] = p + np.arange(p * (p - 1) // 2)
    mask = np.zeros(p + p * (p - 1) // 2, dtype=bool)
    mask[list(mains)] = True
    mask[[place[min(a, b), max(a, b)] for a, b in pairs]] = True
    return mask


def make_pairs(n, p, noise, only_product, seed):
    """x1 + x2 + x1 x2, or the product alone, whose columns belong to the truth all the same."""
    rng = np.random.default_rng(seed)
    X = columns(rng, n, p, 0.3)
    a, b = rng.choice(p, 2, replace=False)
    mean = X[:, a] * X[:, b] + (0.0 if only_product else X[:, a] + X[:, b])
    return Data(X, mean + noise * rng.standard_normal(n), terms(p, [a, b], [(a, b)]))


def make_noise(n, p, seed):
    """Nothing to find."""
    rng = np.random.default_rng(seed)
    return Data(columns(rng, n, p, 0.3), rng.standard_normal(n), terms(p, [], []))


def make_signs(n, p, seed):
    """Six small positive effects."""
    rng = np.random.default_rng(seed)
    X = columns(rng, n, p, 0.5)
    support = np.zeros(p, dtype=bool)
    support[rng.choice(p, 6, replace=False)] = True
    return Data(X, X[:, support] @ rng.uniform(0.3, 0.6, 6) + rng.standard_normal(n), support)


def make_best(n, p, size, seed):
    """Twelve effects of falling size; the best subset of a smaller size is asked for."""
    rng = np.random.default_rng(seed)
    X = columns(rng, n, p, 0.8)
    coef = np.zeros(p)
    coef[rng.choice(p, 12, replace=False)] = rng.choice([-1.0, 1.0], 12) * np.geomspace(1.0, 0.2, 12)
    y = X @ coef + rng.standard_normal(n)
    A, v = X - X.mean(axis=0), y - y.mean()
    every = np.array(list(combinations(range(p), size)))
    gram, cross = A.T @ A, A.T @ v
    inside = gram[every[:, :, None], every[:, None, :]]
    solved = np.linalg.solve(inside, cross[every][:, :, None])[:, :, 0]
    best = every[np.argmax((solved * cross[every]).sum(axis=1))]
    return Data(X, y, np.isin(np.arange(p), best))


def make_groups(n, p, seed):
    """Groups of four columns that are alike; one of each of five groups has an effect."""
    rng = np.random.default_rng(seed)
    common = np.repeat(rng.standard_normal((n, p // GROUP)), GROUP, axis=1)
    X = np.sqrt(0.9) * common + np.sqrt(0.1) * rng.standard_normal((n, p))
    support = np.zeros(p, dtype=bool)
    support[GROUP * rng.choice(p // GROUP, 5, replace=False) + rng.integers(GROUP, size=5)] = True
    return Data(X, X[:, support] @ rng.uniform(0.5, 1.0, 5) + rng.standard_normal(n), support)


def one_of_each(p):
    return {tuple(range(start, start + GROUP)): 1 for start in range(0, p, GROUP)}


class Revs:
    """REVS with the rule of the cell."""

    NAME, FAMILIES = "REVS", KINDS

    @staticmethod
    def available():
        return installed("pyarrow")

    @staticmethod
    def select(X, y, family, *, seed):
        from rlselect import REVS

        p = X.shape[1]
        options = {
            "signs": {"signs": "+"},
            "best-5": {"max_features": 5},
            "groups": {"at_most": one_of_each(p)},
        }.get(family, {"order": 2})
        fitted = REVS(random_state=seed, **options).fit(X, y)
        if "order" not in options:
            return fitted.support_
        names = [f"x{j}" for j in range(p)]
        pairs = [
            [names.index(name) for name in pair["features"]]
            for pair in fitted.interactions_
            if pair["selected"]
        ]
        return terms(p, np.flatnonzero(fitted.support_), pairs)


class Free:
    """REVS without the rule."""

    NAME, FAMILIES = "REVS, no rule", ("signs", "groups")

    available = Revs.available

    @staticmethod
    def select(X, y, family, *, seed):
        from rlselect import REVS

        return REVS(random_state=seed).fit(X, y).support_


class Abess:
    """Best-subset splicing on columns and all products; sizes 0-20 by extended BIC, or the size asked for."""

    NAME, FAMILIES = "abess, EBIC", ("pairs", "noise", "signs", "best-5", "groups")

    @staticmethod
    def available():
        return installed("abess")

    @staticmethod
    def select(X, y, family, *, seed):
        import abess

        D = products(X) if family in ("pairs", "noise") else X
        sizes = [5] if family == "best-5" else range(21)
        model = abess.LinearRegression(support_size=sizes, ic_type="ebic", thread=1)
        return np.asarray(model.fit(D, y).coef_) != 0


class Lasso:
    """L1 with five-fold cross-validation on columns and all products; positive where signs are asked for."""

    NAME, FAMILIES = "L1, CV", ("pairs", "signs", "groups")

    @staticmethod
    def available():
        return installed("sklearn")

    @staticmethod
    def select(X, y, family, *, seed):
        from sklearn.linear_model import LassoCV

        D = products(X) if family == "pairs" else X
        D = (D - D.mean(axis=0)) / D.std(axis=0)
        return LassoCV(cv=5, alphas=30, positive=family == "signs").fit(D, y).coef_ != 0


METHODS = {"revs": Revs, "free": Free, "abess": Abess, "lasso-cv": Lasso}
CELLS = [
    _runner.Cell("pairs-50", "pairs", partial(make_pairs, 300, 50, 1.0, False)),
    _runner.Cell("pairs-100", "pairs", partial(make_pairs, 300, 100, 1.0, False)),
    _runner.Cell("pairs-100-faint", "pairs", partial(make_pairs, 300, 100, 2.5, False)),
    _runner.Cell("product-alone-100", "pairs", partial(make_pairs, 300, 100, 1.0, True)),
    _runner.Cell("pairs-200", "pairs", partial(make_pairs, 300, 200, 1.0, False)),
    _runner.Cell("noise-50", "noise", partial(make_noise, 300, 50)),
    _runner.Cell("noise-100", "noise", partial(make_noise, 300, 100)),
    _runner.Cell("signs-50", "signs", partial(make_signs, 100, 50)),
    _runner.Cell("best-5-of-20", "best-5", partial(make_best, 500, 20, 5)),
    _runner.Cell("one-of-each-group", "groups", partial(make_groups, 150, 60)),
]


def main():
    args = _runner.parser(__doc__, replicates=10).parse_args()
    title = "Rules for subsets: products beside their columns, signs, a largest size, one of each group"
    _runner.run(args, title, CELLS, METHODS, COLUMNS)


if __name__ == "__main__":
    main()
