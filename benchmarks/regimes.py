r"""Value, misses, coverage and seconds of regimes: ours, lasso and forest Q-learning, econml, OWL.

python benchmarks/regimes.py --replicates 10 --seed 2970000 --records benchmarks/results/regimes.jsonl \
    --out benchmarks/results/regimes.md
"""

import time
import warnings
from importlib.util import find_spec

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LassoCV

from _records import collect, deliver, make_parser, seeds_of
from _regime_designs import DESIGNS
from rlselect import QLearning, TrialData
from rlselect.regimes import outcome_weighted_regime

COMMAND = (
    "python benchmarks/regimes.py --replicates 10 --seed 2970000 --records benchmarks/results/regimes.jsonl "
    "--out benchmarks/results/regimes.md"
)
FRESH = 20_000


def own(model):
    """A method of ours: what it recommends, its decisive columns, and the interval of its value."""

    def learn(trial, seed):
        learner = QLearning(model=model, random_state=seed).fit(trial)
        return learner.predict, learner.tailoring_, learner.value_.interval

    return learn


def rules(trial, seed):
    """The short rules of ours."""
    learner = QLearning(random_state=seed).fit(trial)
    return learner.regime_.predict, None, learner.regime_.value_.interval


def weighted(trial, seed):
    """Backward outcome-weighted learning with a linear kernel."""
    regime = outcome_weighted_regime(trial, random_state=seed)
    return regime.predict, None, regime.value_.interval


class PlainQ:
    """Q-learning with a regression on the history, the actions and their products, refitted nowhere."""

    def __init__(self, make, products):
        self.make, self.products, self.fitted, self.labels = make, products, {}, {}

    def _design(self, table, stage, action):
        H = np.column_stack([np.asarray(table[name], dtype=float) for name in self.names[stage]])
        dummies = (action[:, None] == np.asarray(self.labels[stage][1:])).astype(float)
        blocks = [H, dummies]
        if self.products:
            blocks += [H * dummy[:, None] for dummy in dummies.T]
        return np.column_stack(blocks)

    def _q(self, table, stage, n):
        return np.column_stack(
            [
                self.fitted[stage].predict(self._design(table, stage, np.full(n, label)))
                for label in self.labels[stage]
            ]
        )

    def fit(self, trial):
        self.names = {t + 1: stage.names for t, stage in enumerate(trial.stages)}
        future = np.zeros(trial.n_subjects)
        for t in reversed(range(trial.n_stages)):
            stage, number = trial.stages[t], t + 1
            table, self.labels[number] = trial.history(number), stage.labels
            action = np.asarray(stage.labels)[stage.action]
            y = stage.reward + future
            self.fitted[number] = self.make().fit(self._design(table, number, action), y)
            future = self._q(table, number, len(y)).max(axis=1)
        return self

    def predict(self, table, stage):
        q = self._q(table, stage, len(next(iter(table.values()))))
        return np.asarray(self.labels[stage])[q.argmax(axis=1)]


class CausalForest(PlainQ):
    """econml's doubly robust forest for the contrasts of each stage, backwards."""

    def _columns(self, table, stage):
        return np.column_stack([np.asarray(table[name], dtype=float) for name in self.names[stage]])

    def _gains(self, table, stage):
        H = self._columns(table, stage)
        first = self.labels[stage][0]
        effects = [self.fitted[stage].effect(H, T0=first, T1=label) for label in self.labels[stage][1:]]
        return np.column_stack([np.zeros(len(H)), *effects])

    def fit(self, trial):
        from econml.dr import ForestDRLearner

        self.names = {t + 1: stage.names for t, stage in enumerate(trial.stages)}
        future = np.zeros(trial.n_subjects)
        for t in reversed(range(trial.n_stages)):
            stage, number = trial.stages[t], t + 1
            table, self.labels[number] = trial.history(number), stage.labels
            action = np.asarray(stage.labels)[stage.action]
            y = stage.reward + future
            forest = ForestDRLearner(
                model_regression=RandomForestRegressor(min_samples_leaf=5, random_state=0),
                n_estimators=500,
                random_state=0,
                n_jobs=1,
            )
            self.fitted[number] = forest.fit(y, action, X=self._columns(table, number))
            gains = self._gains(table, number)
            # the outcome, plus what the best action would have added to the one that was taken
            future = y + gains.max(axis=1) - gains[np.arange(len(y)), stage.action]
        return self

    def predict(self, table, stage):
        return np.asarray(self.labels[stage])[self._gains(table, stage).argmax(axis=1)]


def plain(kind, *options):
    def learn(trial, seed):
        return kind(*options).fit(trial).predict, None, None

    return learn


METHODS = {
    "QLearning": own("auto"),
    "QLearning, linear": own("linear"),
    "rules of QLearning": rules,
    "lasso Q": plain(PlainQ, lambda: LassoCV(cv=5, random_state=0, max_iter=5000), True),
    "forest Q": plain(
        PlainQ, lambda: RandomForestRegressor(300, min_samples_leaf=5, random_state=0, n_jobs=1), False
    ),
    "econml forest": plain(CausalForest, None, False),
    "BOWL": weighted,
}


def one(design, method, seed):
    """Value on fresh subjects, misses per stage, whether the interval held it, and seconds."""
    design, rng = DESIGNS[design], np.random.default_rng(seed)
    trial = TrialData.from_wide(design.draw(design.n, rng), design.stages)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decide, tailoring, interval = METHODS[method](trial, seed)
    seconds = time.process_time() - started
    fresh = design.draw(FRESH, np.random.default_rng(10**6), lambda table, stage: decide(dict(table), stage))
    value = worth(design, fresh)
    missed = None
    if tailoring is not None:
        missed = float(
            np.mean([len(true - set(mine)) for true, mine in zip(design.decisive, tailoring, strict=True)])
        )
    inside = None if interval is None else bool(interval[0] <= value <= interval[1])
    return {"value": value, "missed": missed, "inside": inside, "seconds": seconds}


def worth(design, table):
    return float(sum(np.mean(table[stage["reward"]]) for stage in design.stages))


def table_of(records):
    """The records as lines of Markdown."""
    lines = [
        f"{seeds_of(records).capitalize()}. Value on {FRESH} fresh subjects, with the standard error of "
        "its mean over trials, and share of the optimum; decisive columns missed per stage; share of the 95 "
        "% intervals that held the value; processor seconds. BOWL knows two actions only.",
        "",
        f"`{COMMAND}` (econml is left out where it is not installed)",
        "",
        "| design | n | method | trials | value | of optimum | missed | coverage | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, design in DESIGNS.items():
        fresh = design.draw(FRESH, np.random.default_rng(10**6), design.best)
        best = worth(design, fresh)
        for method in METHODS:
            mine = [r for r in records if (r["design"], r["method"]) == (name, method)]
            if not mine:
                continue
            value = np.array([r["value"] for r in mine])
            error = value.std(ddof=1) / np.sqrt(len(value)) if len(value) > 1 else np.nan
            missed = [r["missed"] for r in mine if r["missed"] is not None]
            inside = [r["inside"] for r in mine if r["inside"] is not None]
            seconds = np.mean([r["seconds"] for r in mine])
            lines.append(
                f"| {name} | {design.n} | {method} | {len(mine)} | {value.mean():.3f} ({error:.3f}) | "
                f"{value.mean() / best:.3f} | {f'{np.mean(missed):.2f}' if missed else ''} | "
                f"{f'{np.mean(inside):.2f}' if inside else ''} | {seconds:.1f} |"
            )
    return lines


def known(design, method):
    """Whether a method can learn from a design here."""
    if method == "econml forest":
        return find_spec("econml") is not None
    return (design, method) != ("four arms", "BOWL")


def main():
    parser = make_parser(__doc__, replicates=10, seed=2970000)
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    args = parser.parse_args()
    cells = [{"design": d, "method": m} for d in args.designs for m in args.methods if known(d, m)]
    deliver(table_of(collect(args, cells, one)), args.out)


if __name__ == "__main__":
    main()
