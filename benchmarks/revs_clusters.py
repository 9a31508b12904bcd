"""REVS on rows that belong together: 30 clusters of correlation .3, and rows in the order of time.

50 variables, every second one the same for all rows of a cluster (`-rows`: none, `-levels`: all). Cells named
`15x10` or `alike.5` have other numbers of clusters or correlations, `unequal` clusters of 1 to 28 rows.
"told" knows of the clusters (`fit(groups=)`) or of the order (`time_ordered=True`), "not told" takes every
row for itself, and "independent rows" is REVS on the same columns with noise of the same size that is not
shared. There all rows speak of a variable that is the same throughout a cluster; in "as clear" they are
independent, too, and its effect is as many standard errors as clusters leave of it.
"""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

import _runner
from _tables import Column, mean, median

P, CLUSTERS, ALIKE = 50, 30, 0.3
N_TIME, MEMORY = 300, 0.6
# of variables that differ within a cluster, and of those that do not
EFFECTS = {
    "gaussian": (0.3, 0.7),
    "binomial": (0.8, 1.6),
    "poisson": (0.3, 0.6),
    "multinomial": (0.7, 1.4),
    "ordinal": (0.7, 1.4),
    "cox": (0.7, 1.4),
}
# variance of a row's own noise on the scale of the linear predictor; of counts that of what .3 of is shared
OWN = {
    "gaussian": 0.7,
    "binomial": np.pi**2 / 3,
    "poisson": 0.36 * (1 - ALIKE) / ALIKE,
    "multinomial": np.pi**2 / 6,
    "ordinal": np.pi**2 / 3,
    "cox": np.pi**2 / 6,
}
SIZES = (5, 10, 20)
COLUMNS = [
    Column("runs", lambda fits, _: str(len(fits))),
    Column("false", lambda fits, _: f"{np.mean([_false(f) for f in fits]):.2f}"),
    Column("any false %", lambda fits, _: f"{100 * np.mean([_false(f) > 0 for f in fits]):.0f}"),
    Column("TPR %", lambda fits, _: mean(fits, "tpr", 100)),
    Column("F1", lambda fits, _: mean(fits, "f1", 1, 3)),
    Column("cpu s", lambda fits, _: median(fits, "cpu_seconds")),
]


def _false(fit):
    hits = round(fit.tpr * fit.n_true) if fit.n_true else 0
    return fit.n_selected - hits


class Responses(NamedTuple):
    """With noise that rows share, with as much that they do not, with as clear effects; None: neighbours."""

    shared: np.ndarray
    independent: np.ndarray
    clear: np.ndarray
    groups: np.ndarray | None


@dataclass
class Data:
    """One data set."""

    X: np.ndarray
    y: Responses
    support: np.ndarray


def shared_size(family, alike):
    """Standard deviation of the noise that rows share."""
    return np.sqrt(alike if family == "gaussian" else alike / (1 - alike) * OWN[family])


def make(family, sizes, kind, seed, alike=ALIKE):
    """Clusters of these sizes; `kind` is "noise", "effects", "rows" where all columns differ, or "levels"."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.standard_normal((len(groups), P))
    level = ((np.arange(P) % 2 == 1) & (kind != "rows")) | (kind == "levels")
    X[:, level] = rng.standard_normal((len(sizes), level.sum()))[groups]
    coef = np.zeros(P)
    if kind != "noise":
        within, between = EFFECTS[family]
        coef[:6] = np.where(level[:6], between, within) * rng.choice([-1.0, 1.0], 6)
    shared = rng.standard_normal(len(sizes))[groups]
    # standard errors of a level beside rows of its cluster, over those of as many rows for themselves
    left = np.where(level, 1.0 / np.sqrt(1.0 + np.mean(sizes) * alike / (1.0 - alike)), 1.0)
    return _data(rng, X, coef, family, shared_size(family, alike), shared, groups, left)


def make_series(family, kind, seed):
    """Columns and noise that remember .6 of what they were."""
    rng = np.random.default_rng(seed)
    series = _remembering(rng, P + 1)
    coef = np.zeros(P)
    if kind != "noise":
        coef[:6] = EFFECTS[family][0] * rng.choice([-1.0, 1.0], 6)
    # all of the noise of a series is shared where it is linear, as a cluster's is not
    size = 1.0 if family == "gaussian" else shared_size(family, ALIKE)
    return _data(rng, series[:, :P], coef, family, size, series[:, P], None, np.ones(P))


def _remembering(rng, columns):
    steps = rng.standard_normal((N_TIME + 100, columns)) * np.sqrt(1 - MEMORY**2)
    for t in range(1, len(steps)):
        steps[t] += MEMORY * steps[t - 1]
    return steps[100:]


def _data(rng, X, coef, family, size, shared, groups, left):
    alone = rng.standard_normal(len(X))
    own, chance = rng.standard_normal(len(X)), rng.random(len(X))
    responses = []
    if family == "multinomial":
        return _classes(rng, X, coef, size, groups, left)
    for eta in (X @ coef + size * shared, X @ coef + size * alone, X @ (coef * left)):
        if family == "gaussian":
            responses.append(eta + np.sqrt(1 - size**2) * own)
        elif family == "binomial":
            responses.append((chance < 1 / (1 + np.exp(-eta))).astype(int))
        elif family == "ordinal":
            latent = eta + np.log(chance / (1 - chance))
            responses.append(np.digitize(latent, np.quantile(latent, [0.25, 0.5, 0.75])))
        elif family == "cox":
            # about two of three times end with their event
            time = -np.log(chance) * np.exp(-eta)
            end = rng.exponential(1.2 * np.quantile(time, 0.7), len(X))
            y = np.zeros(len(X), dtype=[("event", bool), ("time", float)])
            y["event"], y["time"] = time <= end, np.minimum(time, end)
            responses.append(y)
        else:
            responses.append(rng.poisson(np.exp(0.5 + eta)))
    return Data(X, Responses(*responses, groups), coef != 0)


def _classes(rng, X, coef, size, groups, left):
    """Three classes; effects as long as -d, 0, d in a random direction, a level per class."""
    way = rng.standard_normal((len(coef), 3))
    way -= way.mean(axis=1, keepdims=True)
    way *= np.sqrt(2.0) * coef[:, None] / np.linalg.norm(way, axis=1, keepdims=True)
    eta = X @ way
    noise = rng.gumbel(size=eta.shape)
    alone = rng.standard_normal(eta.shape)
    together = _remembering(rng, 3) if groups is None else rng.standard_normal((groups.max() + 1, 3))[groups]
    labels = np.array(["a", "b", "c"], dtype=object)
    every = (eta + size * together, eta + size * alone, X @ (left[:, None] * way))
    return Data(X, Responses(*(labels[np.argmax(e + noise, axis=1)] for e in every), groups), coef != 0)


class Method:
    """REVS on one of the responses, told or not told what rows share."""

    FAMILIES = tuple(EFFECTS)

    def __init__(self, name, told, response):
        self.NAME, self.told, self.response = name, told, response

    @staticmethod
    def available():
        return True

    def select(self, X, y, family, *, seed):
        from rlselect import REVS

        in_time = self.told and y.groups is None
        model = REVS(family=family, time_ordered=in_time, random_state=seed)
        return model.fit(X, getattr(y, self.response), groups=y.groups if self.told else None).support_


METHODS = {
    "told": Method("told", True, "shared"),
    "not-told": Method("not told", False, "shared"),
    "independent": Method("independent rows", False, "independent"),
    "as-clear": Method("independent rows, as clear", False, "clear"),
}


# other numbers of clusters, correlations and sizes; the last has clusters of 1, 2, ..., 28 rows
OTHERS = {
    "15x10": ((10,) * 15, ALIKE),
    "100x5": ((5,) * 100, ALIKE),
    "30x10-alike.1": ((10,) * 30, 0.1),
    "30x10-alike.5": ((10,) * 30, 0.5),
    "unequal": (tuple(range(1, 29)), ALIKE),
}


def cells():
    """Clusters of three sizes without and with effects, series, then other clusters."""
    out = []
    for kind in ("noise", "effects", "rows"):
        for family in EFFECTS:
            for size in SIZES:
                name = f"{family}-{CLUSTERS}x{size}-{kind}"
                out.append(_runner.Cell(name, family, partial(make, family, (size,) * CLUSTERS, kind)))
    for kind in ("noise", "effects"):
        out += [_runner.Cell(f"time-{f}-{kind}", f, partial(make_series, f, kind)) for f in EFFECTS]
    for family in EFFECTS:
        for name, (sizes, alike) in OTHERS.items():
            data = partial(make, family, sizes, "effects", alike=alike)
            out.append(_runner.Cell(f"{family}-{name}-effects", family, data))
        data = partial(make, family, (10,) * CLUSTERS, "levels")
        out.append(_runner.Cell(f"{family}-{CLUSTERS}x10-levels", family, data))
    return out


def main():
    args = _runner.parser(__doc__, replicates=50).parse_args()
    title = "Clusters and series: what is selected that should not be"
    _runner.run(args, title, cells(), METHODS, COLUMNS)


if __name__ == "__main__":
    main()
