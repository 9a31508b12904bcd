"""How fast a datum-wise policy is learned: rollouts a second, and seconds an iteration.

    python benchmarks/datumwise_speed.py rollouts
    python benchmarks/datumwise_speed.py rollouts --features 60 120 250 --prices 0.005 0.02
    python benchmarks/datumwise_speed.py iteration
    python benchmarks/datumwise_speed.py screening

`rollouts` plays every purchase in every sampled state of an iteration, with the policy of a fit; a rollout is
one such episode from its first purchase to its answer, so that dear features (short episodes) give more of
them a second. `iteration` times whole iterations (states, rollouts, regressions, evaluation) with 500
features, 3,000 states and a budget of 10. `screening` compares accuracy and time of a fit for numbers of
features that are learned about. CPU seconds of one process; set OMP_NUM_THREADS=1.
"""

import argparse
import time

import numpy as np

from rlselect import DatumwiseClassifier
from rlselect.datumwise import PolicyIteration
from rlselect.datumwise._encoding import make_encoder
from rlselect.datumwise._rcpi import learn
from rlselect.datumwise._rollout import state_values
from rlselect.datumwise._rows import Problem
from rlselect.datumwise._states import distinct, sample_states
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
    settings = PolicyIteration(n_iter=5, n_restarts=1, n_folds=1, states_per_row=8, screen=None)
    policy = learn(problem, settings, np.random.default_rng(0)).policy
    last = policy.run(problem.codes, problem.closed).bought
    rng = np.random.default_rng(1)
    bought, spent = sample_states(problem.structure, problem.closed, n_states, last, 0.5, rng)
    states = distinct(
        problem.structure,
        np.repeat(np.arange(n_rows), n_states),
        bought.reshape(-1, n_features),
        spent.ravel(),
    )
    start = time.process_time()
    played = state_values(
        policy,
        problem.codes,
        problem.closed,
        problem.labels,
        states.row,
        states.bought,
        states.spent,
    )[2]
    seconds = time.process_time() - start
    return played, seconds, float(last.sum(axis=1).mean())


def screening(n_features, screens, n_rows=400, n_test=2000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows + n_test, n_features))
    y = X[:, :8].sum(axis=1) + rng.normal(size=len(X)) > 0
    for screen in screens:
        model = DatumwiseClassifier(
            feature_cost=0.02, learning=PolicyIteration(screen=screen), random_state=0
        )
        start = time.process_time()
        model.fit(X[:n_rows], y[:n_rows])
        seconds = time.process_time() - start
        kept = int(model.learned_units_[:8].sum())
        yield screen, kept, model.score(X[n_rows:], y[n_rows:]), model.usage_.sum(), seconds


def iteration_seconds(n_features, n_states, budget, settings):
    problem = make_problem(n_states // settings.states_per_row, n_features, 0.005, budget)
    short = learn_seconds(problem, settings, 1)
    return (learn_seconds(problem, settings, 3) - short) / 2


def learn_seconds(problem, settings, n_iter):
    chosen = PolicyIteration(**{**settings.__dict__, "n_iter": n_iter})
    start = time.process_time()
    learn(problem, chosen, np.random.default_rng(0))
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("table", choices=["rollouts", "iteration", "screening"])
    parser.add_argument("--features", type=int, nargs="+", default=[60, 120, 250])
    parser.add_argument("--prices", type=float, nargs="+", default=[0.02, 0.01])
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--states", type=int, default=10)
    options = parser.parse_args()
    if options.table == "rollouts":
        print("| features | price | bought a case | rollouts | CPU s | million rollouts / s |")
        print("|---:|---:|---:|---:|---:|---:|")
        for n_features in options.features:
            for price in options.prices:
                played, seconds, bought = rollout_rate(options.rows, n_features, options.states, price)
                rate = played / seconds / 1e6
                row = f"| {n_features} | {price} | {bought:.1f} | {played:,} | {seconds:.2f} | {rate:.2f} |"
                print(row, flush=True)
    elif options.table == "iteration":
        print("| features | states | budget | stages | CPU s an iteration |")
        print("|---:|---:|---:|---:|---:|")
        for n_stages in (1, 4):
            settings = PolicyIteration(
                n_restarts=1, states_per_row=10, n_folds=1, n_stages=n_stages, screen=None
            )
            seconds = iteration_seconds(500, 3000, 10, settings)
            print(f"| 500 | 3,000 | 10 | {n_stages} | {seconds:.2f} |", flush=True)
    else:
        print("| features | learned about | of the 8 true ones | accuracy | bought a case | CPU s |")
        print("|---:|---:|---:|---:|---:|---:|")
        for screen, kept, accuracy, bought, seconds in screening(100, (20, 40, None)):
            row = f"| 100 | {screen or 100} | {kept} | {accuracy:.3f} | {bought:.1f} | {seconds:.1f} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
