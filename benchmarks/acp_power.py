"""How many logistic data sets of 100 rows can be told from noise at all, by several tests?

    python benchmarks/acp_power.py --out benchmarks/results/acp_power.md

ACP answers with no variable where a response of pure noise would look as good in one of 75 data sets (two
thirds of `false_alarm`). Whoever promises that can select something in no more data sets than this test, or a
better one, tells from noise. Each statistic is computed for data of pure noise, which give its limit, and for
the truth of Table 4, eight columns with coefficient 1.
"""

import argparse
from pathlib import Path

import numpy as np

from _tables import command_line
from rlselect.subset.acp import _chance

ROWS, COLUMNS, TRUE = 100, (100, 200, 400), 8
LEVEL = 0.02 * 2 / 3
STEPS = 16


def standardised(values):
    values = values - values.mean(axis=0)
    return values / values.std(axis=0)


def data(p, signal, rng):
    X = rng.standard_normal((ROWS, p))
    eta = X[:, :TRUE].sum(axis=1) if signal else np.zeros(ROWS)
    return standardised(X), standardised((rng.logistic(size=ROWS) < eta).astype(float))


def ridge_evidence(X, y, shares=(0.1, 0.2, 0.4, 0.6)):
    """Log evidence of coefficients that are all alike, averaged over the share they explain."""
    values, vectors = np.linalg.eigh(X @ X.T / X.shape[1])
    squares = np.square(vectors.T @ y)[1:]
    logs = []
    for share in shares:
        variance = (share * values + 1.0 - share)[1:]
        scale = np.mean(squares / variance)
        logs.append(-0.5 * (np.log(variance).sum() + len(squares) * np.log(scale)))
    return np.logaddexp.reduce(logs)


def spike_and_slab(X, y, expected, slab=0.03, rounds=12):
    """Variational bound of the evidence of few coefficients, with an expected number and variance."""
    n, p = X.shape
    share, noise = expected / p, 1.0
    mean, inside, residual = np.zeros(p), np.full(p, share), y.copy()
    order = np.argsort(-np.abs(X.T @ y))
    for _ in range(rounds):
        variance = noise / (n + noise / slab)
        for j in order:
            before = inside[j] * mean[j]
            mean[j] = (X[:, j] @ residual + n * before) * variance / noise
            odds = np.log(share / (1 - share)) + 0.5 * np.log(variance / slab) + mean[j] ** 2 / (2 * variance)
            inside[j] = 1 / (1 + np.exp(-odds))
            residual -= (inside[j] * mean[j] - before) * X[:, j]
        unsure = (inside * (mean**2 + variance) - (inside * mean) ** 2).sum()
        noise = max((residual @ residual + n * unsure) / n, 0.05)
    a = np.clip(inside, 1e-12, 1 - 1e-12)
    prior = (a * np.log(a / share) + (1 - a) * np.log((1 - a) / (1 - share))).sum()
    slabs = 0.5 * (a * (1 + np.log(variance / slab) - (mean**2 + variance) / slab)).sum()
    return -0.5 * n * np.log(noise) - prior + slabs


def statistics(X, y):
    search, Y = _chance._Forward(X, STEPS), y[None, :, None]
    squares = np.square(X.T @ y)
    return {
        "forward": search.gains(Y)[0],
        "few columns, each by itself": search.crowd(Y)[0],
        "largest correlation": squares.max(),
        "sum of squared correlations": squares.sum(),
        "ridge, evidence": ridge_evidence(X, y),
        "spike and slab, 4 expected": spike_and_slab(X, y, 4.0),
        "spike and slab, 20 expected": spike_and_slab(X, y, 20.0),
    }


def shares(p, seed, n_noise, n_true):
    """Share of the true data sets above the limit of each statistic."""
    rng = np.random.default_rng([seed, p])
    noise = [statistics(*data(p, False, rng)) for _ in range(n_noise)]
    true = [statistics(*data(p, True, rng)) for _ in range(n_true)]

    def of(name):
        values = np.array([found[name] for found in [*noise, *true]])
        return (values - values[:n_noise].mean(axis=0)) / values[:n_noise].std(axis=0)

    forward = of("forward").mean(axis=1)
    forward /= forward[:n_noise].std()
    found = {name: of(name) for name in noise[0] if name != "forward"}
    single = found["few columns, each by itself"]
    found = {"ACP's: the sum of the next two": forward + single, "forward selection": forward, **found}
    limits = {name: np.quantile(values[:n_noise], 1 - LEVEL) for name, values in found.items()}
    return {name: float(np.mean(values[n_noise:] > limits[name])) for name, values in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=7300)
    parser.add_argument("--noise", type=int, default=750, help="data sets of noise, for the limits")
    parser.add_argument("--true", type=int, default=200, help="data sets with the truth")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = {p: shares(p, given.seed, given.noise, given.true) for p in COLUMNS}
    lines = [
        "# Logistic data told from noise",
        "",
        f"Share of {given.true} data sets (100 rows, eight columns with coefficient 1) whose statistic is "
        f"above the limit that pure noise passes in 1 of 75 data sets ({given.noise} data sets of noise). "
        f"Seed {given.seed}. Made by `{command_line()}`.",
        "",
        "| statistic | " + " | ".join(f"p = {p}" for p in COLUMNS) + " |",
        "|---|" + "---:|" * len(COLUMNS),
    ]
    for name in found[COLUMNS[0]]:
        lines.append(f"| {name} | " + " | ".join(f"{found[p][name]:.3f}" for p in COLUMNS) + " |")
    text = "\n".join(lines) + "\n"
    print(text)
    if given.out is not None:
        given.out.write_text(text)


if __name__ == "__main__":
    main()
