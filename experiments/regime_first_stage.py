"""What can be found at the first stage: columns that act through the second stage alone, settings I and II.

The response of the first stage is R1 plus the value of the second stage. Here it is exact (no second-stage
model), so that what is missed is missed because of the trial and not because of what was fitted before.

python experiments/regime_first_stage.py --out experiments/results/regime_first_stage.md
"""

import argparse
from pathlib import Path

import numpy as np
from _regimes_common import deliver

from rlselect import QLearning, TrialData
from rlselect.simulate import make_regime_trial
from rlselect.simulate._regimes import _folded, first_stage_two

HALF = {-1: 0.5, 1: 0.5}
# By setting: the number of columns of the optimal Q-function at stage 1, and those without a direct effect
# that are hard to find.
COLUMNS = {"I": 5, "II": 4}
INDIRECT = [0, 1]


def q_function(setting, X, action):
    """Optimal Q-function at stage 1; the first columns of X are X1_1, X1_2, ..."""
    if setting == "II":
        return first_stage_two(X, action)
    outcome = 2.0 * X[:, 2] * action + 1.5 * X[:, 3]
    return outcome + _folded(2.0 * X[:, 0] + 1.5 * X[:, 1] + outcome, 1.0) + X[:, 4] ** 2


def exact_response(setting, columns):
    """R1 plus the value of the second stage of each subject under the optimal regime."""
    c = columns
    if setting == "I":
        return c["R1"] + np.abs(2.0 * c["X1_1"] + 1.5 * c["X1_2"] + c["R1"]) + c["X1_5"] ** 2
    contrast = 0.5 + 1.5 * c["R1"] + 1.5 * c["A1"] + 2.0 * (c["X2_1"] - c["X2_2"])
    return c["R1"] + np.abs(contrast) + c["X2_3"]


def draw(setting, n, p, seed):
    """Covariates, action and exact response of a simulated trial."""
    simulated = make_regime_trial(setting, n, p, random_state=seed)
    c = simulated.columns
    X = np.column_stack([c[f"X1_{j + 1}"] for j in range(p)])
    return X, c["A1"], exact_response(setting, c)


def without(setting, X, action, column):
    """Mean of the Q-function over one column."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    total = np.zeros(len(X))
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        Z = X[:, :5].copy()
        Z[:, column] = node
        total += weight * q_function(setting, Z, action)
    return total


def effects(setting, n):
    """By column: variance that only it explains, all of it and with the action alone, as shares of noise."""
    X, action, y = draw(setting, n, 5, 0)
    base = q_function(setting, X, action)
    noise = np.var(y - base)
    rows = []
    for j in range(COLUMNS[setting]):
        whole = np.mean(np.square(base - without(setting, X, action, j))) / noise
        edges = np.quantile(X[:, j], np.linspace(0.0, 1.0, 51)[1:-1])
        cells = np.digitize(X[:, j], edges) + 50 * (action > 0)
        means = np.bincount(cells, base, 100) / np.bincount(cells, minlength=100)
        alone = np.mean([means[:50].var(), means[50:].var()]) / noise
        rows.append((f"X1_{j + 1}", whole, alone))
    return rows


def oracle(setting, n, p, replicates, seed):
    """How often each hard column, and both, fit better than every noise column put in their place.

    The rest of the Q-function and the shape of the column's effect are known; which column it is, is not.
    """
    wins = []
    for s in range(seed, seed + replicates):
        X, action, y = draw(setting, n, p, s)
        won = []
        for j in INDIRECT:
            losses = []
            for k in [j, *range(COLUMNS[setting], p)]:
                Z = X[:, :5].copy()
                Z[:, j] = X[:, k]
                losses.append(np.mean(np.square(y - q_function(setting, Z, action))))
            rest = np.mean(np.square(y - without(setting, X, action, j)))
            won.append(losses[0] < min([rest, *losses[1:]]))
        wins.append([*won, all(won)])
    return np.mean(wins, axis=0)


def ours(setting, n, p, replicates, seed):
    """Share of replicates without a miss, of direct features and of all, on the exact response."""
    found = []
    for s in range(seed, seed + replicates):
        simulated = make_regime_trial(setting, n, p, random_state=s)
        columns = dict(simulated.columns) | {"R1": exact_response(setting, simulated.columns)}
        stage = simulated.stages[0] | {"propensity": HALF}
        learner = QLearning(random_state=s).fit(TrialData.from_wide(columns, [stage]))
        missed = [simulated.missed(learner.selected_[0], 1, kind=kind) for kind in ("direct", "outcome")]
        found.append([count == 0 for count in missed])
    return np.mean(found, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=100_000, help="for the size of effects")
    parser.add_argument("--replicates", type=int, default=100, help="of the oracle")
    parser.add_argument("--ours", type=int, default=10, help="replicates of ours on the exact response")
    parser.add_argument("--seed", type=int, default=4000)
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    lines = [
        f"Size of effects at stage 1 in the exact response ({args.subjects} subjects), in units of its noise "
        "variance: what is lost without the column, and what can be seen of it together with the action "
        "alone (the rest are interactions with other covariates).",
        "",
        "| setting | column | lost without it | seen with the action alone | 200 x lost | 200 x seen |",
        "|---|---|---|---|---|---|",
    ]
    for setting in COLUMNS:
        for name, whole, alone in effects(setting, args.subjects):
            lines.append(
                f"| {setting} | {name} | {whole:.3f} | {alone:.3f} | {200 * whole:.1f} | {200 * alone:.1f} |"
            )
    lines += [
        "",
        f"200 subjects, exact response, seeds from {args.seed}. Oracle ({args.replicates} replicates): "
        "everything is known but which column it is; X1_1 (X1_2) counts as found when it fits better than no "
        f"column and than every noise column in its place. Ours ({args.ours} replicates): no miss.",
        "",
        "| setting | p | oracle X1_1 | oracle X1_2 | oracle both | ours, direct | ours, all |",
        "|---|---|---|---|---|---|---|",
    ]
    for setting in COLUMNS:
        for p in (10, 30, 50):
            known = oracle(setting, 200, p, args.replicates, args.seed)
            direct, every = ours(setting, 200, p, args.ours, args.seed)
            shares = " | ".join(f"{share:.2f}" for share in [*known, direct, every])
            lines.append(f"| {setting} | {p} | {shares} |")
    deliver(lines, args.out)


if __name__ == "__main__":
    main()
