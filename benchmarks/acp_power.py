"""How many logistic data sets of 100 rows can be told from noise at all, by several tests?

    python benchmarks/acp_power.py --out benchmarks/results/acp_power.md

ACP answers with no variable where straight lines explain the response no better than they do pure noise in
1.8 % of the data sets (nine tenths of `false_alarm`; with up to 100 columns, where it looks for other shapes,
too, half of it). Whoever promises that can select something in no more data sets than this test, or a
better one, tells from noise. Each statistic is computed for data of pure noise, which give its limit, and for
the truth of Table 4, eight columns with coefficient 1. The peers of that table promise nothing of the kind:
how often they select something from noise stands below.

    python benchmarks/acp_power.py --known --sets 12 --out benchmarks/results/acp_power_known.md

With 400 columns: F1 by the share of pure noise that is answered, of ACP and of who knows that eight of them
have coefficients of 1 or -1, and nothing else (`_known_form.py`): no test that has the same false alarms can
expect to tell more from noise, nor a selection that always answers a larger F1.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.special import expit
from scipy.stats import chi2

from _known_form import known_form
from _tables import command_line
from peers import ACP
from rlselect.subset.acp import _chance, _stages

ROWS, COLUMNS, TRUE = 100, (100, 200, 400), 8
# responses for each set of columns
NOISE, TRUTHS = 75, 15
FALSE_ALARM = 0.02
STEPS = 16
# of the sums of some largest squared correlations the one that surprises most counts, of others their mean
ADAPTIVE = "sum of the 1, 2, 4, ... 32 largest squared correlations, the most surprising"
# the lasso's penalties (times rows), rounds at each, and folds
PENALTIES, ROUNDS, FOLDS = (0.25, 0.2, 0.15, 0.1), 25, 5
# columns for those who know the form of the truth, and shares of noise that may be answered
WIDEST, SHARES = 400, (0.05, 0.1, 0.2, 0.5, 1.0)
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


def ridge_left_out(X, Y, shares=(0.1, 0.2, 0.4, 0.6)):
    """Log of the leave-one-out error of a ridge regression on all columns, the least over the penalties."""
    values, vectors = np.linalg.eigh(X @ X.T / X.shape[1])
    errors = []
    for share in shares:
        inverse = (vectors / (share * values + 1.0 - share)) @ vectors.T
        errors.append(np.log(np.square(Y @ inverse / np.diag(inverse)).sum(axis=1)))
    return -np.min(errors, axis=0)


def lasso_left_out(X, Y):
    """Held-out log likelihood of logistic models with an L1 penalty, the largest over the penalties."""
    classes, fold = (Y > 0).astype(float).T, np.arange(len(X)) % FOLDS
    gained = np.zeros((len(PENALTIES), len(Y)))
    for k in range(FOLDS):
        inside, y = X[fold != k], classes[fold != k]
        share = np.clip(y.mean(axis=0), 0.02, 0.98)
        base = np.log(share / (1.0 - share))
        step = 4.0 / np.linalg.eigvalsh(inside @ inside.T)[-1]
        coef = np.zeros((X.shape[1], len(Y)))
        for i, penalty in enumerate(PENALTIES):
            ahead, known = coef, coef
            for turn in range(ROUNDS):
                coef = ahead + step * (inside.T @ (y - expit(base + inside @ ahead)))
                coef = np.sign(coef) * np.maximum(np.abs(coef) - step * penalty * len(inside), 0.0)
                ahead, known = coef + turn / (turn + 3.0) * (coef - known), coef
            sides = 2.0 * classes[fold == k] - 1.0
            gained[i] -= np.logaddexp(0.0, -sides * (base + X[fold == k] @ coef)).sum(axis=0)
    return gained.max(axis=0)


def higher_criticism(squares):
    """Largest excess of small p-values of single columns, in standard deviations, over the better half."""
    p = squares.shape[1]
    tails, expected = np.sort(chi2.sf(squares, 1), axis=1)[:, : p // 2], np.arange(1, p // 2 + 1) / p
    return (np.sqrt(p) * (expected - tails) / np.sqrt(tails * (1.0 - tails))).max(axis=1)


def largest_together(squares, counts=(1, 2, 4, 8, 16, 32)):
    """Sums of the one, two, four, ... largest squared correlations."""
    sums = np.cumsum(-np.sort(-squares, axis=1), axis=1)
    return sums[:, np.array(counts) - 1]


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
        ADAPTIVE: largest_together(squares),
        "higher criticism": higher_criticism(squares / len(X)),
        "ridge, evidence": ridge_evidence(X, Y),
        "ridge, leave-one-out error": ridge_left_out(X, Y),
        "logistic lasso, held-out likelihood": lasso_left_out(X, Y),
    }


def split(first, second, share):
    """Surprise by two statistics that divide the false alarms: this share is for the first."""
    tails = []
    for values, part in ((first, share), (second, 1.0 - share)):
        noise = np.sort(values[:, :NOISE], axis=None)
        tails.append((len(noise) - np.searchsorted(noise, values)) / part)
    # ties of ranks are broken by the values themselves
    return -np.minimum(*tails) + 1e-6 * (first + second)


def shares(p, seed, sets):
    """Share of the true responses above the limit of each statistic."""
    rng = np.random.default_rng([seed, p])
    known = [statistics(*data(p, (NOISE, TRUTHS), rng)) for _ in range(sets)]

    def of(name):
        values = np.array([some[name] for some in known])
        noise = values[:, :NOISE].reshape(-1, *values.shape[2:])
        values = (values - noise.mean(axis=0)) / noise.std(axis=0)
        values = values.reshape(*values.shape[:2], -1)
        values = values.max(axis=2) if name == ADAPTIVE else values.mean(axis=2)
        return values / values[:, :NOISE].std()

    found = {name: of(name) for name in known[0]}
    together, apart, greedy, largest = list(found.values())[:4]
    found = {
        "ACP's: the sum of the next two": together + apart,
        **found,
        "the sum of forward selection and few columns": greedy + apart,
        "either of spike and slab and few columns, half of the false alarms each": split(
            together, apart, 0.5
        ),
        "spike and slab with three quarters of them, or the largest correlation": split(
            together, largest, 0.75
        ),
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


def judged(seed, sets):
    """Statistics of all responses, F1 of selections from the truths, and which noise the peers answer.

    Each is a dictionary of arrays with a row for each set of columns.
    """
    rng = np.random.default_rng([seed, WIDEST, 2])
    statistic = {key: [] for key in ("form", "acp")}
    scores, answered = {key: [] for key in (*statistic, *PEERS)}, {key: [] for key in PEERS}
    for _ in range(sets):
        X, Y = data(WIDEST, (NOISE, TRUTHS), rng)
        classes = (Y > 0).astype(float)
        truths, probable = known_form(X, classes[NOISE:], TRUE, rng, probable=True)
        statistic["form"].append(np.concatenate([known_form(X, classes[:NOISE], TRUE, rng)[0], truths]))
        evidence = _chance._Columns(X).statistics(Y[:, :, None])
        noise = evidence[:NOISE]
        statistic["acp"].append(((evidence - noise.mean(axis=0)) / noise.std(axis=0)).sum(axis=1))
        scores["form"].append([f1(likely_subset(q)) for q in probable])
        always = [ACP["acp"].fitted(X, y > 0, "binomial", seed, false_alarm=1.0) for y in Y[NOISE:]]
        scores["acp"].append([f1(fit.support_) for fit in always])
        for key in PEERS:
            found = [ACP[key].select(X, y > 0, "binomial", seed=seed) for y in Y[NOISE - TRUTHS :]]
            answered[key].append([bool(some.any()) for some in found[:TRUTHS]])
            scores[key].append([f1(some) for some in found[TRUTHS:]])
    return tuple(
        {key: np.array(some) for key, some in part.items()} for part in (statistic, scores, answered)
    )


def above(values, share):
    """Which responses of the truth pass a limit that this share of those of noise, which come first, does."""
    return values[:, NOISE:] > np.quantile(values[:, :NOISE], 1.0 - share)


def price_of_a_promise(seed, sets):
    """The page about F1 by the share of noise that is answered, of ACP and of who knows the form."""
    statistic, scores, answered = judged(seed, sets)
    count = sets * TRUTHS
    told = {key: above(values, level(WIDEST)) for key, values in statistic.items()}
    parts = [*told.values(), *scores.values(), *(told[key] * scores[key] for key in told)]
    error = max(part.mean(axis=1).std(ddof=1) for part in parts) / np.sqrt(sets)
    yield from (
        f"# What a promise about noise costs, {WIDEST} columns",
        "",
        f"100 rows of two classes; {TRUE} columns have coefficients of 1. Data sets are answered where a "
        "statistic is above the limit that so many of pure noise pass. Who knows that eight columns have "
        "coefficients of 1 or -1 and nothing else has the odds of that as the best test there is, and "
        "selects the subset of largest expected F1: but for the error of the chains that give the odds "
        "nobody else can expect to answer more with as many false alarms. ACP has its own statistic, its "
        "limit from the same noise and its own selection (`false_alarm=1`); its default lets "
        f"{level(WIDEST):.1%} pass. The peers promise nothing. Shares of {count} data sets and mean F1 over "
        f"all of them, nothing being 0; {sets * NOISE} responses of noise ({count} for the peers), {sets} "
        f"sets of columns, seed {seed}. Standard errors over sets of columns are up to {error:.3f}. Made by "
        f"`{command_line()}`.",
        "",
        "| noise answered | knowing the form, answers | F1 | ACP, answers | F1 |",
        "|---:|---:|---:|---:|---:|",
    )
    for share in (level(WIDEST), *SHARES):
        told = {key: above(values, share) for key, values in statistic.items()}
        means = (f"{some.mean():.3f} | {np.mean(some * scores[key]):.3f}" for key, some in told.items())
        yield f"| {share:.3f} | " + " | ".join(means) + " |"
    yield from ("", "| peer | noise answered | answers with a true column | F1 |", "|---|---:|---:|---:|")
    for key in PEERS:
        means = f"{np.mean(answered[key]):.3f} | {np.mean(scores[key] > 0):.3f} | {scores[key].mean():.3f}"
        yield f"| {ACP[key].NAME} | {means} |"


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
    parser.add_argument("--seed", type=int, default=5400000)
    parser.add_argument("--sets", type=int, default=40, help="sets of columns, each with many responses")
    parser.add_argument("--known", action="store_true", help="F1 by the share of noise that is answered")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    page = (price_of_a_promise if given.known else tests_compared)(given.seed, given.sets)
    text = "\n".join(page) + "\n"
    print(text)
    if given.out is not None:
        given.out.write_text(text)


if __name__ == "__main__":
    main()
