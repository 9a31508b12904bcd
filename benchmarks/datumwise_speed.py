"""How fast a datum-wise policy is learned: rollouts a second, and seconds an iteration.

    python benchmarks/datumwise_speed.py
    python benchmarks/datumwise_speed.py --features 60 120 250 --rows 300

The first table plays every purchase in every sampled state of an iteration, with policies of the same fit; a
rollout is one such episode from its first purchase to its answer. The second table times whole iterations
(states, rollouts, regressions, evaluation) with 500 features, 3,000 states and a budget of 10. CPU seconds of
one process; the third table is the same with screening, as by default.
"""

import argparse
import time

import numpy as np

from rlselect.datumwise import PolicyIteration
from rlselect.datumwise._encoding import make_encoder
from rlselect.datumwise._rcpi import learn
from rlselect.datumwise._rollout import state_values
from rlselect.datumwise._rows import Problem
from rlselect.datumwise._states import sample_states
from rlselect.datumwise._structure import Structure


def make_problem(n_rows, n_features, price, budget=None, seed=0):
    """Two classes by a sum of eight features with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = (X[:, :8].sum(axis=1) + rng.normal(size=n_rows) > 0).astype(np.intp)
    groups = [np.array([j]) for j in range(n_features)]
    prices = np.full(n_features, price)
    rules = Structure(list(range(n_features)), groups, prices, 1 - np.eye(2), budget=budget)
    encoder = make_encoder("bins", 5).fit(X, np.ones(n_rows))
    closed = np.zeros(X.shape, dtype=bool)
    return Problem(rules, encoder, encoder.encode(X), closed, y, np.ones(n_rows))


def rollout_rate(n_rows, n_features, n_states, price):
    problem = make_problem(n_rows, n_features, price)
    settings = PolicyIteration(n_iter=6, n_folds=1, screen=None)
    policy = learn(problem, settings, np.random.default_rng(0)).policy
    last = policy.run(problem.codes, problem.closed).bought
    rng = np.random.default_rng(1)
    bought, spent = sample_states(problem.structure, problem.closed, n_states, last, 0.5, rng)
    start = time.process_time()
    played = state_values(policy, problem.codes, problem.closed, problem.labels, bought, spent)[2]
    seconds = time.process_time() - start
    return played, seconds, float(last.sum(axis=1).mean())


def iteration_seconds(n_features, n_states, budget, settings):
    problem = make_problem(n_states // settings.states_per_row, n_features, 0.005, budget)
    short = learn_seconds(problem, settings, 2)
    return (learn_seconds(problem, settings, 5) - short) / 3


def learn_seconds(problem, settings, n_iter):
    chosen = PolicyIteration(**{**settings.__dict__, "n_iter": n_iter})
    start = time.process_time()
    learn(problem, chosen, np.random.default_rng(0))
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--features", type=int, nargs="+", default=[60, 120, 250])
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--states", type=int, default=10)
    parser.add_argument("--price", type=float, default=0.01)
    options = parser.parse_args()
    print("| features | rollouts | bought a case | CPU s | million rollouts / s |")
    print("|---:|---:|---:|---:|---:|")
    for n_features in options.features:
        played, seconds, bought = rollout_rate(options.rows, n_features, options.states, options.price)
        rate = played / seconds / 1e6
        print(f"| {n_features} | {played:,} | {bought:.1f} | {seconds:.2f} | {rate:.2f} |", flush=True)
    print()
    print("| features | states | budget | folds | stages | CPU s an iteration |")
    print("|---:|---:|---:|---:|---:|---:|")
    for n_folds, n_stages in ((1, 1), (1, 4), (5, 4)):
        settings = PolicyIteration(
            n_restarts=1, states_per_row=10, n_folds=n_folds, n_stages=n_stages, screen=None
        )
        seconds = iteration_seconds(500, 3000, 10, settings)
        print(f"| 500 | 3,000 | 10 | {n_folds} | {n_stages} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
