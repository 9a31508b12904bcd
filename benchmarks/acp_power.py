"""How many logistic data sets of 100 rows can be told from noise at all, by several tests?

    python benchmarks/acp_power.py --out benchmarks/results/acp_power.md

ACP answers with no variable where straight lines explain the response no better than they do pure noise in
1.8 % of the data sets (nine tenths of `false_alarm`; with up to 100 columns, where it looks for other shapes,
too, half of it). Whoever promises that can select something in no more data sets than this test, or a
better one, tells from noise. Each statistic is computed for data of pure noise, which give its limit, and for
the truth of Table 4, eight columns with coefficient 1. The peers of that table promise nothing of the kind:
how often they select something from noise stands below.

    python benchmarks/acp_power.py --known --sets 12 --out benchmarks/results/acp_power_known.md

With 400 columns: what can be reached by knowing that eight of them have coefficients of 1 or -1, and nothing
else (`_known_form.py`), which no selection can expect to surpass that has the same false alarms.
"""

import argparse
from pathlib import Path

import numpy as np

from _known_form import known_form
from _tables import command_line
from peers import ACP
from rlselect.subset.acp import _chance, _stages

ROWS, COLUMNS, TRUE = 100, (100, 200, 400), 8
# responses for each set of columns
NOISE, TRUTHS = 75, 15
FALSE_ALARM = 0.02
STEPS = 16
# columns for those who know the form of the truth, and data sets of each set of them for the peers beside
WIDEST, BESIDE = 400, 6
PEERS = ("forward", "relaxed-lasso")


def level(p):
    """Share of noise that ACP lets pass for straight lines."""
    return FALSE_ALARM * (_stages._LINES_ALONE if p > _stages._MANY_OTHERS else _stages._LINES)


def standardised(values):
    values = values - values.mean(axis=0)
    return values / values.std(axis=0)


def data(p, counts, rng):
    """Columns, and standardised responses of noise and of the truth, so many of each."""
    X = standardised(rng.standard_normal((ROWS, p)))
    eta = np.repeat([np.zeros(ROWS), X[:, :TRUE].sum(axis=1)], counts, axis=0)
    return X, standardised((rng.logistic(size=eta.shape) < eta).astype(float).T).T


def ridge_evidence(X, Y, shares=(0.1, 0.2, 0.4, 0.6)):
    """Log evidence of coefficients that are all alike, averaged over the share they explain."""
    values, vectors = np.linalg.eigh(X @ X.T / X.shape[1])
    squares = np.square(Y @ vectors)[:, 1:]
    logs = []
    for share in shares:
        variance = (share * values + 1.0 - share)[1:]
        scale = np.mean(squares / variance, axis=1)
        logs.append(-0.5 * (np.log(variance).sum() + squares.shape[1] * np.log(scale)))
    return np.logaddexp.reduce(logs)


def forward(X, y):
    """Log of the variance over what the first, the first two, ... of sixteen greedily taken columns leave."""
    logs, total = [], y @ y
    for _ in range(STEPS):
        size = np.square(X).sum(axis=0)
        free = size > 1e-9 * len(X)
        best = X[:, np.argmax(np.where(free, np.square(X.T @ y) / np.where(free, size, 1.0), 0.0))]
        best = best / np.linalg.norm(best)
        X, y = X - np.outer(best, best @ X), y - best * (best @ y)
        logs.append(np.log(total / (y @ y)))
    return np.array(logs)


def statistics(X, Y):
    """Statistics of some responses, each an array with a row for each of them."""
    together, apart = _chance._Columns(X).statistics(Y[:, :, None]).T
    squares = np.square(Y @ X)
    return {
        "spike and slab, small effects of many": together,
        "few columns, each by itself": apart,
        "forward selection": np.array([forward(X, y) for y in Y]),
        "largest correlation": squares.max(axis=1),
        "sum of squared correlations": squares.sum(axis=1),
        "ridge, evidence": ridge_evidence(X, Y),
    }


def shares(p, seed, sets):
    """Share of the true responses above the limit of each statistic."""
    rng = np.random.default_rng([seed, p])
    known = [statistics(*data(p, (NOISE, TRUTHS), rng)) for _ in range(sets)]

    def of(name):
        values = np.array([some[name] for some in known])
        noise = values[:, :NOISE].reshape(-1, *values.shape[2:])
        values = (values - noise.mean(axis=0)) / noise.std(axis=0)
        values = values.reshape(*values.shape[:2], -1).mean(axis=2)
        return values / values[:, :NOISE].std()

    found = {name: of(name) for name in known[0]}
    together, apart, greedy = list(found.values())[:3]
    found = {
        "ACP's: the sum of the next two": together + apart,
        **found,
        "the sum of forward selection and few columns": greedy + apart,
    }
    limits = {name: np.quantile(values[:, :NOISE], 1 - level(p)) for name, values in found.items()}
    return {name: float(np.mean(values[:, NOISE:] > limits[name])) for name, values in found.items()}


def answers(key, seed, sets):
    """In how many data sets of pure noise a peer selects something, for each number of columns."""
    counts = []
    for p in COLUMNS:
        rng = np.random.default_rng([seed, p, 1])
        noise = (data(p, (1, 0), rng) for _ in range(sets))
        counts.append(
            sum(bool(np.any(ACP[key].select(X, Y[0] > 0, "binomial", seed=seed))) for X, Y in noise)
        )
    return counts


def likely_subset(probable):
    """The subset of largest expected F1, where the truth has so many columns."""
    order = np.argsort(-probable, kind="stable")
    expected = 2.0 * np.cumsum(probable[order]) / (np.arange(1, len(order) + 1) + TRUE)
    chosen = np.zeros(len(order), dtype=bool)
    chosen[order[: int(np.argmax(expected)) + 1]] = True
    return chosen


def f1(chosen):
    return 2.0 * chosen[:TRUE].sum() / (chosen.sum() + TRUE)


def knowing_the_form(seed, sets):
    """The page about what knowing the form reaches, beside the peers on some of the same data."""
    rng = np.random.default_rng([seed, WIDEST, 2])
    noise, truths, scores, peers = [], [], [], {key: [] for key in PEERS}
    for _ in range(sets):
        X, Y = data(WIDEST, (NOISE, TRUTHS), rng)
        classes = (Y > 0).astype(float)
        noise.append(known_form(X, classes[:NOISE], TRUE, rng)[0])
        odds, probable = known_form(X, classes[NOISE:], TRUE, rng, probable=True)
        truths.append(odds)
        scores += [f1(likely_subset(q)) for q in probable]
        for key, known in peers.items():
            known += [f1(ACP[key].select(X, y > 0, "binomial", seed=seed)) for y in Y[NOISE : NOISE + BESIDE]]
    told = np.array(truths) > np.quantile(np.concatenate(noise), 1 - level(WIDEST))
    error = told.mean(axis=1).std(ddof=1) / np.sqrt(sets)
    told = told.ravel()
    scores = np.array(scores)
    yield from (
        f"# Who knows the form of the truth, {WIDEST} columns",
        "",
        f"100 rows of two classes; {TRUE} columns have coefficients of 1. Who knows that {TRUE} have 1 or -1 "
        "has the odds of that as the best test there is, and selects the subset of largest expected F1. "
        f"Nobody else can expect more with as many false alarms, {level(WIDEST):.1%} "
        f"({sets * NOISE} responses of noise), but for the error of the chains that give the odds and of so "
        f"few sets of columns (a standard error of {error:.3f} in the share told from noise). The peers "
        "promise nothing about noise. "
        f"{sets} sets of columns, seed {seed}. Made by `{command_line()}`.",
        "",
        "| selection | data sets | told from noise (others: a true variable found) | F1 there | F1 |",
        "|---|---:|---:|---:|---:|",
    )
    for name, some in (("nothing where it may be noise", told), ("always", np.ones_like(told))):
        means = f"{some.mean():.3f} | {scores[some].mean():.3f} | {np.mean(scores * some):.3f}"
        yield f"| knowing the form, {name} | {len(scores)} | {means} |"
    for key, known in peers.items():
        known = np.array(known)
        some = known > 0
        means = f"{some.mean():.3f} | {known[some].mean():.3f} | {known.mean():.3f}"
        yield f"| {ACP[key].NAME} | {len(known)} | {means} |"


def tests_compared(seed, sets):
    """The page about all tests."""
    found = {p: shares(p, seed, sets) for p in COLUMNS}
    yield from (
        "# Logistic data told from noise",
        "",
        f"Share of {sets * TRUTHS} responses (100 rows, eight columns with coefficient 1) whose "
        "statistic is above the limit that pure noise passes as often as ACP lets it "
        f"({', '.join(f'{level(p):.1%}' for p in COLUMNS)}; {sets * NOISE} responses of noise, {sets} sets "
        f"of columns). Seed {seed}. "
        f"Made by `{command_line()}`.",
        "",
        "| statistic | " + " | ".join(f"p = {p}" for p in COLUMNS) + " |",
        "|---|" + "---:|" * len(COLUMNS),
    )
    for name in found[COLUMNS[0]]:
        yield f"| {name} | " + " | ".join(f"{found[p][name]:.3f}" for p in COLUMNS) + " |"
    yield from (
        "",
        f"Of {sets} data sets of pure noise, so many are answered with variables all the same:",
        "",
        "| peer | " + " | ".join(f"p = {p}" for p in COLUMNS) + " |",
        "|---|" + "---:|" * len(COLUMNS),
    )
    for key in PEERS:
        yield f"| {ACP[key].NAME} | " + " | ".join(map(str, answers(key, seed, sets))) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=949000)
    parser.add_argument("--sets", type=int, default=40, help="sets of columns, each with many responses")
    parser.add_argument("--known", action="store_true", help="what knowing the form of the truth reaches")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    page = (knowing_the_form if given.known else tests_compared)(given.seed, given.sets)
    text = "\n".join(page) + "\n"
    print(text)
    if given.out is not None:
        given.out.write_text(text)


if __name__ == "__main__":
    main()
