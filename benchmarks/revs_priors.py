"""REVS where its priors are learnt: counts, logistic effects, tied effects and kinds of noise."""

from functools import partial
from itertools import product
from types import SimpleNamespace

import numpy as np

import _runner
from _tables import Column, mean, median
from peers import LEARNT, revs
from revs_highdim import PAPER, SIZES
from rlselect.simulate import make_revs


def correlated(n, p, rho, rng):
    """Normal columns, neighbours correlated by `rho`."""
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1.0 - rho**2) * X[:, j]
    return X


def few(n, p, k, size, rho, rng):
    """Columns, and k effects of one size and any sign at random places."""
    X, coef = correlated(n, p, rho, rng), np.zeros(p)
    coef[rng.choice(p, k, replace=False)] = size * rng.choice([-1.0, 1.0], k)
    return X, coef


def counts(kind, extra, n, p, size, seed):
    """Counts: Poisson's, times a gamma or lognormal factor of variance `extra`, or a share of zeros."""
    rng = np.random.default_rng(seed)
    X, coef = few(n, p, 5, size, 0.5, rng)
    mean_count = np.exp(1.0 + X @ coef)
    if kind == "gamma":
        mean_count *= rng.gamma(1.0 / extra, extra, n)
    elif kind == "lognormal":
        spread = np.log1p(extra)
        mean_count *= np.exp(np.sqrt(spread) * rng.standard_normal(n) - 0.5 * spread)
    elif kind == "zeros":
        mean_count *= rng.random(n) > extra
    return SimpleNamespace(X=X, y=rng.poisson(mean_count).astype(float), support=coef != 0)


def classes(n, p, k, size, rho, seed, intercept=0.0):
    """A logistic model of few effects."""
    rng = np.random.default_rng(seed)
    X, coef = few(n, p, k, size, rho, rng)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-X @ coef - intercept))).astype(int)
    return SimpleNamespace(X=X, y=y, support=coef != 0)


def blocks(n, p, size, per, rho, effect, seed):
    """Classes: `per` effects in each of six blocks of columns correlated by `rho`; six blocks have none."""
    rng = np.random.default_rng([seed, size, per])
    X, coef = rng.standard_normal((n, p)), np.zeros(p)
    for block in range(12):
        inside = slice(block * size, (block + 1) * size)
        X[:, inside] *= np.sqrt(1.0 - rho)
        X[:, inside] += np.sqrt(rho) * rng.standard_normal((n, 1))
        if block < 6:
            coef[block * size : block * size + per] = effect * rng.choice([-1.0, 1.0])
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-X @ coef))).astype(int)
    return SimpleNamespace(X=X, y=y, support=coef != 0)


def signs(n, p, seed):
    """Five runs of five neighbours, correlated by .8, whose effects alternate in sign: nothing is shared."""
    rng = np.random.default_rng(seed)
    X, coef = correlated(n, p, 0.8, rng), np.zeros(p)
    for start in range(0, 50, 10):
        coef[start : start + 5] = [1.0, -1.0, 1.0, -1.0, 1.0]
    return SimpleNamespace(X=X, y=X @ coef + rng.standard_normal(n), support=coef != 0)


def copies(n, p, seed):
    """Five effects, each of whose columns has four copies with a correlation of .95."""
    rng = np.random.default_rng(seed)
    X, coef = rng.standard_normal((n, p)), np.zeros(p)
    for start in range(0, 25, 5):
        X[:, start + 1 : start + 5] *= np.sqrt(1.0 - 0.95**2)
        X[:, start + 1 : start + 5] += 0.95 * X[:, [start]]
        coef[start] = 1.0
    return SimpleNamespace(X=X, y=X @ coef + rng.standard_normal(n), support=coef != 0)


def by_group(X, eta, noise, rng):
    """A column of 0 and 1 says which rows have 400 times the variance of the others."""
    X = np.column_stack([X[:, 0] > 0, X[:, 1:]]).astype(float)
    return X, 0.5 * noise * np.where(X[:, 0] > 0, 20.0, 1.0)


# how uneven noise may be, and what of X says so
UNEVEN = {
    "uneven": lambda X, eta, noise, rng: (X, noise * np.exp(1.5 * X[:, 0])),
    "mildly": lambda X, eta, noise, rng: (X, noise * np.exp(0.5 * X[:, 0])),
    "away": lambda X, eta, noise, rng: (X, 0.5 * noise * np.exp(1.2 * np.abs(X[:, 0]))),
    "fitted": lambda X, eta, noise, rng: (X, 0.3 * noise * np.exp(0.6 * np.abs(eta))),
    "groups": by_group,
    "drift": lambda X, eta, noise, rng: (X, noise * np.geomspace(0.1, 5.0, len(X))),
    "several": lambda X, eta, noise, rng: (X, noise * np.exp(0.9 * X[:, :3].sum(axis=1))),
    "tails": lambda X, eta, noise, rng: (X, rng.standard_t(2, len(X)) * np.exp(1.2 * X[:, 0])),
}


def noisy(kind, n, p, seed, size=0.6):
    """Ten effects; noise that is normal, has heavy tails, is spoilt in some rows or ruled by a column."""
    rng = np.random.default_rng(seed)
    X, coef = few(n, p, 10, size, 0.5, rng)
    noise = rng.standard_normal(n)
    if kind == "student":
        noise = rng.standard_t(2, n)
    elif kind == "cauchy":
        noise = 0.7 * rng.standard_cauchy(n)
    elif kind == "laplace":
        noise = rng.laplace(size=n)
    elif kind == "spoilt":
        noise *= np.where(rng.random(n) < 0.1, 10.0, 1.0)
    elif kind in UNEVEN:
        X, noise = UNEVEN[kind](X, X @ coef, noise, rng)
    return SimpleNamespace(X=X, y=X @ coef + noise, support=coef != 0)


def nothing(family, columns, n, p, seed):
    """A response that depends on no column; these are independent, correlated by .8, or have heavy tails."""
    rng = np.random.default_rng([seed, n, p])
    X = correlated(n, p, 0.8 if columns == "banded" else 0.0, rng)
    if columns == "heavy":
        X = rng.standard_t(2, (n, p))
    respond = {
        "gaussian": lambda: rng.standard_normal(n),
        "binomial": lambda: rng.integers(2, size=n),
        "poisson": lambda: rng.poisson(2.0, n).astype(float),
        # a variance of mean + mean^2 / 2
        "mixed": lambda: rng.poisson(2.0 * rng.gamma(2.0, 0.5, n)).astype(float),
    }
    return SimpleNamespace(X=X, y=respond[family](), support=np.zeros(p, dtype=bool))


def table(structure, p, n, family, n_nonzero, seed):
    """The designs of the paper."""
    return make_revs(n, p, structure=structure, family=family, n_nonzero=n_nonzero, random_state=seed)


def cells():
    """Every cell: its name, family and data."""
    out = {
        "counts-poisson": ("poisson", partial(counts, "none", 0.0, 300, 100, 0.4)),
        "counts-gamma-0.5": ("poisson", partial(counts, "gamma", 0.5, 500, 200, 0.3)),
        "counts-gamma-1": ("poisson", partial(counts, "gamma", 1.0, 300, 100, 0.5)),
        "counts-lognormal-1": ("poisson", partial(counts, "lognormal", 1.0, 300, 100, 0.5)),
        "counts-zeros-0.4": ("poisson", partial(counts, "zeros", 0.4, 300, 100, 0.5)),
        "counts-nothing": ("poisson", partial(counts, "gamma", 1.0, 200, 100, 0.0)),
        "logistic-1.5": ("binomial", partial(classes, 500, 200, 10, 1.5, 0.5)),
        "logistic-1.5-wide": ("binomial", partial(classes, 150, 600, 5, 1.5, 0.3)),
        "logistic-0.5": ("binomial", partial(classes, 500, 200, 10, 0.5, 0.5)),
        "logistic-2-few": ("binomial", partial(classes, 60, 100, 3, 2.0, 0.3)),
        "logistic-2-many": ("binomial", partial(classes, 120, 2500, 4, 2.0, 0.0)),
        "logistic-1-rare": ("binomial", partial(classes, 400, 100, 5, 1.0, 0.3, intercept=-4.0)),
        "blocks-one-of-5": ("binomial", partial(blocks, 300, 200, 5, 1, 0.6, 1.0)),
        "blocks-two-of-5": ("binomial", partial(blocks, 300, 200, 5, 2, 0.6, 0.8)),
        "blocks-all-of-4": ("binomial", partial(blocks, 300, 200, 4, 4, 0.6, 0.7)),
        "blocks-copies": ("binomial", partial(blocks, 300, 200, 5, 1, 0.95, 1.2)),
        "logistic-nothing-few": ("binomial", partial(classes, 60, 100, 3, 0.0, 0.3)),
        "logistic-nothing": ("binomial", partial(classes, 200, 200, 5, 0.0, 0.8)),
    }
    for structure in ("block", "banded", "sparse"):
        for p in (200, 400, 800):
            out[f"table3-{structure}-{p}"] = ("binomial", partial(table, structure, p, 200, "binomial", None))
    for structure in ("block", "banded", "sparse"):
        out[f"linear-{structure}-800"] = ("gaussian", partial(table, structure, 800, 200, "gaussian", None))
    out |= {
        "linear-signs": ("gaussian", partial(signs, 200, 200)),
        "linear-copies": ("gaussian", partial(copies, 200, 200)),
        "linear-nothing": ("gaussian", partial(table, "banded", 200, 200, "gaussian", 0)),
    }
    for kind in ("normal", "student", "cauchy", "laplace", "spoilt", *UNEVEN):
        out[f"noise-{kind}"] = ("gaussian", partial(noisy, kind, 200, 200))
    for kind in ("student", *UNEVEN):
        out[f"noise-{kind}-nothing"] = ("gaussian", partial(noisy, kind, 200, 200, size=0.0))
    return [_runner.Cell(name, family, make) for name, (family, make) in out.items()]


def empty_cells():
    """Responses of every family that depend on nothing."""
    out = []
    for kind, columns in product(("gaussian", "binomial", "poisson", "mixed"), ("free", "banded", "heavy")):
        family = "poisson" if kind == "mixed" else kind
        for n, p in ((50, 50), (50, 1000), (100, 500), (200, 200), (500, 50), (500, 1000)):
            make = partial(nothing, kind, columns, n, p)
            out.append(_runner.Cell(f"{kind}-{columns}-{n}x{p}", family, make))
    return out


def by_kind(summary):
    """Of all fits of a family and kind of columns: how many are empty, and what the others keep."""
    lines = ["| all of | fits | empty | most kept |", "|---|---:|---:|---:|"]
    kinds = dict.fromkeys(cell.split("-")[i] for i in (0, 1) for cell in summary.cells)
    for kind in kinds:
        fits = [f for f in summary.fits if kind in f.cell.split("-")]
        empty = sum(f.exact == 1.0 for f in fits)
        if fits:
            lines.append(f"| {kind} | {len(fits)} | {empty} | {max(f.n_selected for f in fits):.0f} |")
    return lines


def paper(cell):
    """What REVS has in Table 3 of the paper; TPR and F1 follow from the number, the PPV and 15 true ones."""
    kind, _, design = cell.partition("-")
    if kind != "table3":
        return {}
    structure, p = design.split("-")
    number, ppv, _ = PAPER[f"logistic-{structure}"][SIZES.index(int(p))]
    right, true = number * ppv / 100.0, 15
    figures = {"#": number, "TPR %": 100.0 * right / true, "PPV %": ppv}
    f1 = {"F1": f"{2.0 * right / (number + true):.3f}"}
    return {"REVS in the paper": {name: f"{value:.1f}" for name, value in figures.items()} | f1}


COLUMNS = [
    Column("runs", lambda fits, _: str(len(fits))),
    Column("#", lambda fits, _: mean(fits, "n_selected")),
    Column("TPR %", lambda fits, _: mean(fits, "tpr", 100)),
    Column("PPV %", lambda fits, _: mean(fits, "ppv", 100)),
    Column("F1", lambda fits, _: mean(fits, "f1", 1, 3)),
    Column("exact %", lambda fits, _: mean(fits, "exact", 100, 0)),
    Column("cpu s", lambda fits, _: median(fits, "cpu_seconds")),
]
EMPTY = [
    Column("runs", lambda fits, _: str(len(fits))),
    Column("empty %", lambda fits, _: mean(fits, "exact", 100)),
    Column("#", lambda fits, _: mean(fits, "n_selected", 1, 2)),
    Column("cpu s", lambda fits, _: median(fits, "cpu_seconds")),
]


def main():
    parser = _runner.parser(__doc__, replicates=10)
    parser.add_argument(
        "--before",
        action="store_true",
        help="only REVS, called 'REVS before': for a run with an earlier version",
    )
    parser.add_argument(
        "--empty", action="store_true", help="responses of pure noise: how often is nothing kept?"
    )
    args = parser.parse_args()
    if args.empty:
        title = "Responses that depend on nothing"
        _runner.run(args, title, empty_cells(), {"revs": revs}, EMPTY, footer=by_kind)
        return
    before = SimpleNamespace(
        NAME="REVS before", FAMILIES=revs.FAMILIES, available=revs.available, measure=revs.measure
    )
    methods = {"revs": before} if args.before else LEARNT
    _runner.run(args, "Priors that are learnt", cells(), methods, COLUMNS, reference=paper)


if __name__ == "__main__":
    main()
