"""How often poor overlap is flagged, and how often a randomised trial is.

python experiments/regime_overlap.py --replicates 25 --seed 9000 --out experiments/results/regime_overlap.md
"""

import argparse
from pathlib import Path

import numpy as np
from _regimes_common import deliver

from rlselect import TrialData

N = 200
COMMAND = (
    "python experiments/regime_overlap.py --replicates 25 --seed 9000 "
    "--out experiments/results/regime_overlap.md"
)


def logistic(slope):
    """Two actions, the second one with probability expit(slope x1)."""

    def draw(X, rng):
        return (rng.uniform(size=len(X)) < 0.5 * (1.0 + np.tanh(0.5 * slope * X[:, 0]))).astype(int)

    return draw


def barred(X, rng):
    """The third of three arms is not for those above the mean."""
    arm = rng.integers(0, 3, len(X))
    return np.where((X[:, 0] > 0) & (arm == 2), rng.integers(0, 2, len(X)), arm)


def randomised(*shares):
    """As many actions as shares, whatever the history."""
    return lambda X, rng: rng.choice(len(shares), p=np.array(shares) / sum(shares), size=len(X))


POOR = {
    "slope 4": logistic(4.0),
    "slope 6": logistic(6.0),
    "slope 10": logistic(10.0),
    "a = (x > 0)": lambda X, rng: (X[:, 0] > 0).astype(int),
    "a = (abs(x) > 0.67)": lambda X, rng: (np.abs(X[:, 0]) > 0.67).astype(int),
    "three arms, one not for half": barred,
    "three arms, slope 4": lambda X, rng: np.where(rng.uniform(size=len(X)) < 0.3, 2, logistic(4.0)(X, rng)),
}
FINE = {
    "randomised 1:1": randomised(1, 1),
    "randomised 2:1": randomised(2, 1),
    "randomised 9:1": randomised(9, 1),
    "randomised 2:1:1": randomised(2, 1, 1),
    "randomised 1:1:1:1": randomised(1, 1, 1, 1),
}


def flagged(draw, p, seed, propensity="estimate"):
    """Whether a trial with so many covariates is said to have poor overlap, or not to be randomised."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, p))
    data = {f"x{j}": X[:, j] for j in range(p)}
    data |= {"A": draw(X, rng), "R": X[:, 0] + rng.normal(size=N)}
    stage = {"history": [f"x{j}" for j in range(p)], "action": "A", "reward": "R", "propensity": propensity}
    (report,) = TrialData.from_wide(data, [stage]).overlap()
    return report.poor or report.contradicted


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=40)
    parser.add_argument("--covariates", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--seed", type=int, default=7000)
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    lines = [
        f"Share of trials flagged by `TrialData.overlap` (poor or contradicted); n = {N}, {args.replicates} "
        f"trials per cell, seeds from {args.seed}, standard normal covariates of which the first alone moves "
        "the action. Probabilities are estimated, or said to be those of a randomised trial.",
        "",
        f"`{COMMAND}`",
        "",
        "| actions | probabilities | " + " | ".join(f"p = {p}" for p in args.covariates) + " |",
        "|---|---|" + "---|" * len(args.covariates),
    ]
    for name, draw in (POOR | FINE).items():
        for said in ("estimate", "randomized"):
            shares = []
            for p in args.covariates:
                seeds = range(args.seed, args.seed + args.replicates)
                shares.append(np.mean([flagged(draw, p, seed, said) for seed in seeds]))
            lines.append(f"| {name} | {said} | " + " | ".join(f"{share:.2f}" for share in shares) + " |")
    deliver(lines, args.out)


if __name__ == "__main__":
    main()
