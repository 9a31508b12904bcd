"""REVS and peers on classes, ordered classes and censored times: 5 of 100 variables, correlation .5, n = 400.

Peers that need another environment add their fits to the same table: run this with --resume in each.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

import _runner
from _outcome_peers import FAMILIES, OUTCOME_PEERS
from _tables import Column, mean, median

N, P, TRUE, RHO = 400, 100, 5, 0.5
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


@dataclass
class Data:
    """One data set."""

    X: np.ndarray
    y: np.ndarray
    support: np.ndarray


def make(family, n, n_true, seed):
    """Columns of an autoregressive design; effects of random sign and size .5 to 1."""
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(RHO ** np.abs(np.subtract.outer(np.arange(P), np.arange(P))))
    X = rng.standard_normal((n, P)) @ root.T
    support = np.zeros(P, dtype=bool)
    support[rng.choice(P, n_true, replace=False)] = True
    if family == "multinomial":
        coef = np.zeros((P, 3))
        way = rng.standard_normal((n_true, 3))
        way -= way.mean(axis=1, keepdims=True)
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        # as long as -d, 0, d with d of .5 to 1, in a random direction
        coef[support] = way * np.sqrt(2.0) * rng.uniform(0.5, 1.0, (n_true, 1))
        noise = -np.log(-np.log(rng.random((n, 3))))
        return Data(X, np.array(["a", "b", "c"], dtype=object)[np.argmax(X @ coef + noise, axis=1)], support)
    coef = np.zeros(P)
    coef[support] = rng.choice([-1.0, 1.0], n_true) * rng.uniform(0.5, 1.0, n_true)
    if family == "ordinal":
        latent = X @ coef + rng.logistic(size=n)
        return Data(X, np.digitize(latent, np.quantile(latent, [0.25, 0.5, 0.75])), support)
    time = rng.exponential(np.exp(-X @ coef))
    end = rng.exponential(1.2 * np.quantile(time, 0.7), n)
    y = np.zeros(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = time <= end, np.minimum(time, end)
    return Data(X, y, support)


def cells(n_true):
    """One cell per family."""
    return [_runner.Cell(f"{f}-{N}", f, partial(make, f, N, n_true)) for f in FAMILIES]


def main():
    title = f"Classes, ordered classes and times: {TRUE} of {P} variables, n = {N}"
    noise = "Classes, ordered classes and times without signal: how often nothing is selected"
    _runner.run_with_noise(__doc__, OUTCOME_PEERS, cells, TRUE, title, COLUMNS, noise, NOISE_COLUMNS)


if __name__ == "__main__":
    main()
