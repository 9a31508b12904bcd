"""How fast a datum-wise policy is learned: rollouts per second, and seconds per iteration.

    python benchmarks/datumwise_speed.py                 # all tables, into benchmarks/results
    python benchmarks/datumwise_speed.py rollouts --features 60 --prices 0.01
    python benchmarks/datumwise_speed.py screening whole

`rollouts` plays every purchase in every sampled state of an iteration, with the policy of a fit; a rollout is
one such episode from its first purchase to its answer, so that dear features (short episodes) give more of
them a second. Policies learned without folds buy more than is good, and their episodes are long. `iteration`
times whole iterations (states, rollouts, regressions, evaluation) with 500 features, 3,000 states and a
budget of 10. `screening` compares accuracy and time of a fit for numbers of features that are learned about.
`whole` times fits as they come, from a table of 2,000 columns to a policy of networks, with two threads.
CPU seconds of one process; set OMP_NUM_THREADS=1. Tables that are not asked for stay as they are.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np

from rlselect import DatumwiseClassifier
from rlselect.datumwise import PolicyIteration
from rlselect.datumwise._encoding import make_encoder
from rlselect.datumwise._policy_iteration import iterate_policies
from rlselect.datumwise._problem import PurchaseProblem
from rlselect.datumwise._rollout import play_states
from rlselect.datumwise._rules import PurchaseRules
from rlselect.datumwise._states import distinct, sample_states

RESULTS = Path(__file__).parent / "results" / "datumwise_speed.md"


def make_problem(n_rows, n_features, price, budget=None, seed=0, n_bins=5):
    """Two classes by a sum of eight features with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = (X[:, :8].sum(axis=1) + rng.normal(size=n_rows) > 0).astype(np.intp)
    groups = [np.array([j]) for j in range(n_features)]
    prices = np.full(n_features, price)
    rules = PurchaseRules(list(range(n_features)), groups, prices, 1 - np.eye(2), budget=budget)
    encoder = make_encoder("bins", n_bins).fit(X, np.ones(n_rows))
    closed = np.zeros(X.shape, dtype=bool)
    return PurchaseProblem(rules, encoder, encoder.encode(X), closed, y, np.ones(n_rows))


def rollout_rate(n_rows, n_features, n_states, price, n_folds):
    problem = make_problem(n_rows, n_features, price)
    settings = PolicyIteration(n_iter=5, n_restarts=1, states_per_row=8, screen=None, n_folds=n_folds)
    policy = iterate_policies(problem, settings, np.random.default_rng(0)).policy
    last = policy.run(problem.codes, problem.closed).bought
    rng = np.random.default_rng(1)
    bought, spent = sample_states(problem.rules, problem.closed, n_states, last, 0.5, rng)
    states = distinct(
        problem.rules,
        np.repeat(np.arange(n_rows), n_states),
        bought.reshape(-1, n_features),
        spent.ravel(),
    )
    start = time.process_time()
    played = play_states(
        policy,
        problem.codes,
        problem.closed,
        states.row,
        states.bought,
        states.spent,
    ).n_rollouts
    seconds = time.process_time() - start
    return played, seconds, float(last.sum(axis=1).mean())


def screening(n_features, screens, n_rows=400, n_test=2000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows + n_test, n_features))
    y = X[:, :8].sum(axis=1) + rng.normal(size=len(X)) > 0
    for screen in screens:
        model = DatumwiseClassifier(feature_cost=0.02, search=PolicyIteration(screen=screen), random_state=0)
        start = time.process_time()
        model.fit(X[:n_rows], y[:n_rows])
        seconds = time.process_time() - start
        kept = int(model.learned_units_[:8].sum())
        learned = int(model.learned_units_.sum())
        yield learned, kept, model.score(X[n_rows:], y[n_rows:]), model.unit_inclusion_.sum(), seconds


def iteration_seconds(n_features, n_states, budget, settings, n_bins):
    problem = make_problem(n_states // settings.states_per_row, n_features, 0.005, budget, n_bins=n_bins)
    short = learn_seconds(problem, settings, 1)
    return (learn_seconds(problem, settings, 3) - short) / 2


def learn_seconds(problem, settings, n_iter):
    chosen = PolicyIteration(**{**settings.__dict__, "n_iter": n_iter})
    start = time.process_time()
    iterate_policies(problem, chosen, np.random.default_rng(0))
    return time.process_time() - start


def rollout_table(options):
    yield "| features | folds | price | bought per case | rollouts | CPU s | million rollouts / s |"
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    for n_features in options.features:
        for n_folds in options.folds:
            for price in options.prices:
                played, seconds, bought = rollout_rate(
                    options.rows, n_features, options.states, price, n_folds
                )
                cells = n_features, n_folds, price, f"{bought:.1f}", f"{played:,}", f"{seconds:.2f}"
                yield "| " + " | ".join(map(str, cells)) + f" | {played / seconds / 1e6:.2f} |"


def iteration_table(_):
    yield "| features | states | budget | bins | stages | CPU s an iteration |"
    yield "|---:|---:|---:|---:|---:|---:|"
    for n_bins, n_stages in ((5, 1), (5, 4), ((3, 5, 8), 4)):
        settings = PolicyIteration(n_restarts=1, states_per_row=10, n_folds=1, n_stages=n_stages, screen=None)
        seconds = iteration_seconds(500, 3000, 10, settings, n_bins)
        yield f"| 500 | 3,000 | 10 | {n_bins} | {n_stages} | {seconds:.2f} |"


def screening_table(_):
    yield "| features | learned about | of the 8 true ones | accuracy | bought per case | CPU s |"
    yield "|---:|---:|---:|---:|---:|---:|"
    for learned, kept, accuracy, bought, seconds in screening(100, (60, None)):
        yield f"| 100 | {learned} | {kept} | {accuracy:.3f} | {bought:.1f} | {seconds:.1f} |"


def whole_table(_):
    yield "| rows | features | learned about | scoring | CPU s | wall s | machine's load at the end |"
    yield "|---:|---:|---:|---|---:|---:|---:|"
    for n_rows in (400, 1000):
        rng = np.random.default_rng(5)
        X = rng.normal(size=(n_rows, 2000))
        y = X[:, :8].sum(axis=1) + rng.normal(size=n_rows) > 0
        start, work = time.perf_counter(), time.process_time()
        model = DatumwiseClassifier(random_state=0, n_jobs=2).fit(X, y)
        wall, work = time.perf_counter() - start, time.process_time() - work
        learned, load = int(model.learned_units_.sum()), os.getloadavg()[0]
        yield f"| {n_rows:,} | 2,000 | {learned} | {model.scoring_} | {work:.0f} | {wall:.0f} | {load:.1f} |"


TABLES = {
    "rollouts": rollout_table,
    "iteration": iteration_table,
    "screening": screening_table,
    "whole": whole_table,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tables", nargs="*", help=f"some of {', '.join(TABLES)}; else all")
    parser.add_argument("--features", type=int, nargs="+", default=[60, 120, 250])
    parser.add_argument("--prices", type=float, nargs="+", default=[0.01, 0.005])
    parser.add_argument("--folds", type=int, nargs="+", default=[5, 1])
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--states", type=int, default=10)
    options = parser.parse_args()
    head, *known = RESULTS.read_text().split("\n## ")
    parts = {part.split("\n")[0]: part.rstrip("\n") for part in known}
    for name in options.tables or TABLES:
        lines = [f"{name}\n"]
        for line in TABLES[name](options):
            print(line, flush=True)
            lines.append(line)
        parts[name] = "\n".join(lines)
    text = "\n\n## ".join([head.rstrip("\n"), *(parts[name] for name in TABLES if name in parts)])
    RESULTS.write_text(text + "\n")


if __name__ == "__main__":
    main()
