r"""Trials with linear contrasts: is the default ever worse than linear or lasso Q-learning or than dWOLS?

python benchmarks/regimes_linear.py --replicates 20 --seed 3010000 \
    --records benchmarks/results/regimes_linear.jsonl --out benchmarks/results/regimes_linear.md \
    --methods QLearning "linear Q" "lasso Q" dWOLS
"""

import shlex
import sys
import time
import warnings

import numpy as np
from scipy.stats import norm
from sklearn.linear_model import LassoCV, LinearRegression, LogisticRegression

from _linear_trials import LINEAR_TRIALS
from _records import collect, deliver, make_parser, seeds_of
from regimes import PlainQ
from rlselect import QLearning


class DynamicWeights(PlainQ):
    """dWOLS: linear contrasts by least squares, weighted by the estimated probability of the other action."""

    def fit(self, trial):
        self.names = {t + 1: stage.names for t, stage in enumerate(trial.stages)}
        later = np.zeros(trial.n_subjects)
        for t in reversed(range(trial.n_stages)):
            stage, number = trial.stages[t], t + 1
            table, self.labels[number] = trial.history(number), stage.labels
            H = np.column_stack([np.asarray(table[name], dtype=float) for name in self.names[number]])
            chance = LogisticRegression(C=1e6, max_iter=1000).fit(H, stage.action).predict_proba(H)[:, 1]
            y = stage.reward + later
            action = np.asarray(stage.labels)[stage.action]
            design = self._design(table, number, action)
            self.fitted[number] = LinearRegression().fit(design, y, np.abs(stage.action - chance))
            q = self._q(table, number, len(y))
            # the outcome, plus what the best action would have added to the one that was taken
            later = y + q.max(axis=1) - q[np.arange(len(y)), stage.action]
        return self


def lasso():
    return LassoCV(cv=5, random_state=0, max_iter=5000)


METHODS = {
    "QLearning": lambda trial, seed: QLearning(random_state=seed).fit(trial),
    "QLearning, linear": lambda trial, seed: QLearning(model="linear", random_state=seed).fit(trial),
    "linear Q": lambda trial, seed: PlainQ(LinearRegression, True).fit(trial),
    "lasso Q": lambda trial, seed: PlainQ(lasso, True).fit(trial),
    "dWOLS": lambda trial, seed: DynamicWeights(LinearRegression, True).fit(trial),
}
OWN = ("QLearning", "QLearning, linear")
PEERS = METHODS.keys() - set(OWN)


def one(trial, method, seed):
    """Value on fresh subjects and processor seconds."""
    design = LINEAR_TRIALS[trial]
    data = design.trial(seed)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learnt = METHODS[method](data, seed)
    seconds = time.process_time() - started
    return {"value": design.value(lambda table, stage: learnt.predict(table, stage)), "seconds": seconds}


def table_of(records, methods):
    """Values, and the paired difference of each of ours from the best of the others, with standard errors."""
    own = [m for m in OWN if m in methods]
    command = shlex.join(["python", *sys.argv])
    lines = [
        f"Ten covariates, {seeds_of(records)}: share of what the best regime adds to action "
        "0, on 20000 fresh subjects (mean over trials), and the paired difference of ours from the best of "
        "the others by their means, with its standard error.",
        "",
        f"`{command}`. No rule was chosen on these seeds.",
        "",
        f"| trial | trials | {' | '.join([*methods, *(f'{m} less best other' for m in own)])} |",
        "|---" * (len(methods) + len(own) + 2) + "|",
    ]
    for name, design in LINEAR_TRIALS.items():
        best = design.value(_best(design))
        shares = {
            m: {r["seed"]: r["value"] / best for r in records if (r["trial"], r["method"]) == (name, m)}
            for m in methods
        }
        common = sorted(set.intersection(*(set(mine) for mine in shares.values())))
        if not common:
            continue
        values = {m: np.array([mine[s] for s in common]) for m, mine in shares.items()}
        means = {m: mine.mean() for m, mine in values.items()}
        peer = max(PEERS & set(methods), key=means.__getitem__)
        cells = [f"{mean:.3f}" for mean in means.values()]
        for m in own:
            away = values[m] - values[peer]
            error = away.std(ddof=1) / np.sqrt(len(away)) if len(away) > 1 else np.nan
            cells.append(f"{away.mean():+.4f} ({error:.4f}; {peer})")
        lines.append(f"| {name} | {len(common)} | {' | '.join(cells)} |")
    return lines


def _best(design):
    """Best actions; at the first of two stages nearly so: action 1 also adds to the second contrast."""

    def decide(table, stage):
        gain = design.contrast(table, stage)
        if stage < design.n_stages:
            # what action 1 opens at the second stage: mean of the positive part of a shifted normal variable
            low = 0.2 + 0.4 * table["x0"] - 0.5 * table["x1"]
            gain = gain + _positive(low + 0.4) - _positive(low)
        return (gain > 0).astype(int)

    return decide


def _positive(mean, spread=0.8):
    """Mean of the positive part of a normal variable."""
    return mean * norm.cdf(mean / spread) + spread * norm.pdf(mean / spread)


def main():
    parser = make_parser(__doc__, replicates=8, seed=300)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--trials", nargs="+", default=list(LINEAR_TRIALS))
    args = parser.parse_args()
    cells = [{"trial": name, "method": method} for name in args.trials for method in args.methods]
    deliver(table_of(collect(args, cells, one), args.methods), args.out)


if __name__ == "__main__":
    main()
