"""What the temporal experiments share: a correlated study with a known truth, and tables on disk."""

import shlex
import sys
from pathlib import Path

import numpy as np
from scipy.special import expit, ndtr
from scipy.stats import poisson

RESULTS = Path(__file__).parent / "results"
LINKS = ("identity", "logit", "log")
KINDS = ("ids", "sds", "squared")


def curves(n_times):
    """True effects: intercept, an effect that fades, a constant effect."""
    s = np.linspace(0.0, 1.0, n_times)
    return np.stack([0.2 * np.cos(3 * s), 0.9 * np.exp(-3 * s), np.full(n_times, 0.4)])


def hidden(n_times):
    """Effects of the first covariate that a test should find: small ones, early ones, and both signs."""
    base = curves(n_times)
    early, sign, small = base.copy(), base.copy(), base.copy()
    early[1] = np.where(np.arange(n_times) < n_times // 8, 0.5, 0.0)
    sign[1] = 0.25 * np.sin(2 * np.pi * np.arange(n_times) / n_times)
    small[1] = 0.12
    return {"small and constant": small, "early only": early, "changing sign": sign}


def simulate(rng, n, n_times, link, truth, rho=0.8, missing=0.05):
    """Long arrays X, y, ids, times. Errors of a subject follow an AR(1); margins are exact at each time."""
    noise = np.empty((n, n_times))
    noise[:, 0] = rng.normal(size=n)
    for t in range(1, n_times):
        noise[:, t] = rho * noise[:, t - 1] + np.sqrt(1 - rho**2) * rng.normal(size=n)
    x = 0.6 * rng.normal(size=(n, 1)) + 0.8 * rng.normal(size=(n, n_times))
    z = np.repeat(rng.normal(size=(n, 1)), n_times, axis=1)
    return _observed(rng, link, truth, x, z, noise, missing)


def simulate_arms(rng, n, n_times, link, truth, size=None, missing=0.05):
    """The same with an arm of `size` (30 %), a skewed covariate, and errors that share a subject effect."""
    noise = np.sqrt(0.6) * rng.normal(size=(n, 1)) + np.sqrt(0.4) * rng.normal(size=(n, n_times))
    arm = rng.permutation(n) < (size or max(int(0.3 * n), 3))
    x = np.repeat(arm[:, None].astype(float), n_times, axis=1)
    z = rng.exponential(size=(n, n_times)) - 1.0
    return _observed(rng, link, truth, x, z, noise, missing)


def _observed(rng, link, truth, x, z, noise, missing):
    n, n_times = x.shape
    eta = truth[0] + truth[1] * x + truth[2] * z
    if link == "identity":
        y = eta + noise
    elif link == "logit":
        y = (ndtr(noise) < expit(eta)).astype(float)
    else:
        y = poisson.ppf(ndtr(noise), np.exp(eta))
    seen = (rng.random((n, n_times)) >= missing).ravel()
    ids, times = np.repeat(np.arange(n), n_times), np.tile(np.arange(n_times), n)
    design = np.column_stack([x.ravel(), z.ravel()])
    return design[seen], y.ravel()[seen], ids[seen], times[seen]


def write_table(name, title, columns, rows, notes=()):
    """Print a Markdown table and keep it, with the command that made it."""
    lines = [
        f"# {title}",
        "",
        f"Command: `python experiments/{shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])}`",
        "",
    ]
    lines += ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(_cell(v) for v in row) + " |" for row in rows]
    lines += ["", *notes] if notes else []
    text = "\n".join(lines) + "\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text)
    print(text)


def _cell(value):
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.3f}"
    return str(value)
