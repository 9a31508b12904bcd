"""REVS and peers on classes, ordered classes and censored times: 5 of 100 variables, correlation .5.

`--rows` are the numbers of rows, 400 unless given. `--harder` has other designs: more classes, rare ones,
many ties, few events, more columns than rows, columns that are nearly alike, effects down to .12. Peers that
need another environment add their fits to the same table: run this with --resume in each.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

import _runner
from _outcome_peers import OUTCOME_PEERS
from _tables import Column, mean, median

TRUE = 5
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


@dataclass(frozen=True)
class Design:
    """One cell: rows, columns and their correlation; classes and shares of each; what is seen of times.

    `ended` is a quantile of the times, 1.2 times which is the mean time at which one is censored; `values` is
    the number of distinct times to which they are rounded. Effects are of size .5 to 1, or of `least` to 1 on
    the scale of logarithms.
    """

    name: str
    family: str
    n: int = 400
    p: int = 100
    rho: float = 0.5
    classes: int = 4
    shares: tuple[float, ...] | None = None
    ended: float = 0.7
    values: int | None = None
    least: float | None = None

    def sizes(self, rng, shape):
        """Sizes of effects."""
        if self.least is None:
            return rng.uniform(0.5, 1.0, shape)
        return np.exp(rng.uniform(np.log(self.least), 0.0, shape))


def usual(n):
    """One cell per family."""
    return [
        Design(f"multinomial-{n}", "multinomial", n=n, classes=3),
        Design(f"ordinal-{n}", "ordinal", n=n),
        Design(f"cox-{n}", "cox", n=n),
    ]


HARDER = [
    Design("multinomial-7-classes", "multinomial", classes=7),
    Design("multinomial-rare", "multinomial", classes=3, shares=(0.8, 0.15, 0.05)),
    Design("ordinal-3-levels", "ordinal", classes=3),
    Design("ordinal-10-levels", "ordinal", classes=10),
    Design("ordinal-rare", "ordinal", shares=(0.8, 0.1, 0.06, 0.04)),
    Design("cox-5-times", "cox", values=5),
    Design("cox-80%-censored", "cox", ended=0.2),
    *(
        Design(f"{d.family}-{name}", d.family, classes=d.classes, **options)
        for name, options in (
            ("faint", {"least": 0.12}),
            ("150x500", {"n": 150, "p": 500}),
            ("alike.9", {"rho": 0.9}),
        )
        for d in usual(400)
    ),
]


def make(design, n_true, seed):
    """Columns of an autoregressive design; effects of random sign."""
    rng = np.random.default_rng(seed)
    n, p = design.n, design.p
    root = np.linalg.cholesky(design.rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p))))
    X = rng.standard_normal((n, p)) @ root.T
    support = np.zeros(p, dtype=bool)
    support[rng.choice(p, n_true, replace=False)] = True
    if design.family == "multinomial":
        return Data(X, _classes(rng, X, support, design), support)
    coef = np.zeros(p)
    coef[support] = rng.choice([-1.0, 1.0], n_true) * design.sizes(rng, n_true)
    if design.family == "ordinal":
        latent = X @ coef + rng.logistic(size=n)
        shares = design.shares or (1.0 / design.classes,) * design.classes
        return Data(X, np.digitize(latent, np.quantile(latent, np.cumsum(shares[:-1]))), support)
    time = rng.exponential(np.exp(-X @ coef))
    end = rng.exponential(1.2 * np.quantile(time, design.ended), n)
    y = np.zeros(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = time <= end, np.minimum(time, end)
    if design.values:
        cuts = np.quantile(y["time"], np.arange(1, design.values) / design.values)
        y["time"] = 1.0 + np.digitize(y["time"], cuts)
    return Data(X, y, support)


def _classes(rng, X, support, design):
    """Effects as long as -d, 0, d with d of that size, in a random direction."""
    C, n_true = design.classes, int(support.sum())
    coef = np.zeros((len(support), C))
    way = rng.standard_normal((n_true, C))
    way -= way.mean(axis=1, keepdims=True)
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    coef[support] = way * np.sqrt(2.0) * design.sizes(rng, (n_true, 1))
    noise = -np.log(-np.log(rng.random((len(X), C))))
    level = np.log(design.shares) if design.shares else 0.0
    labels = np.array([chr(ord("a") + c) for c in range(C)], dtype=object)
    return labels[np.argmax(X @ coef + level + noise, axis=1)]


def cells(designs, n_true):
    """One cell per design."""
    return [_runner.Cell(d.name, d.family, partial(make, d, n_true)) for d in designs]


def _of_one_path(summary):
    """What the seconds of a method that reads another's path mean."""
    both = {"L1, CV", "relaxed L1, CV"} <= set(summary.methods())
    return ["Relaxed L1 reads the path of L1, whose seconds are those of both."] if both else []


def main():
    out = _runner.parser(__doc__, replicates=20)
    out.add_argument("--noise", action="store_true", help="responses without signal")
    out.add_argument("--harder", action="store_true", help="other designs")
    out.add_argument("--rows", type=int, nargs="+", default=[400], metavar="N", help="of the usual designs")
    args = out.parse_args()
    designs = HARDER if args.harder else [d for n in args.rows for d in usual(n)]
    if args.noise:
        title = "Classes, ordered classes and times without signal: how often nothing is selected"
        _runner.run(args, title, cells(designs, 0), OUTCOME_PEERS, NOISE_COLUMNS)
    else:
        rows = ", ".join(map(str, args.rows))
        what = "other designs" if args.harder else f"5 of 100 variables, n = {rows}"
        title = f"Classes, ordered classes and times: {what}"
        _runner.run(args, title, cells(designs, TRUE), OUTCOME_PEERS, COLUMNS, footer=_of_one_path)


if __name__ == "__main__":
    main()
