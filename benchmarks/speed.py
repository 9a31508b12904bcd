"""CPU seconds of one fit of every estimator, for two installations side by side.

    export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
    python benchmarks/speed.py OLD_PYTHON NEW_PYTHON --rounds 2 --out benchmarks/results/speed.md

Each interpreter has its own version of the library. They take turns, every fit is repeated, and the least
seconds count, so that other work on the machine matters little.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np


def problems():
    """Name -> a fit, and how often it is repeated."""
    import rlselect as r
    from rlselect.simulate import make_regime_trial, make_revs

    rng = np.random.default_rng(0)
    linear = make_revs(n=200, p=400, structure="banded", random_state=0)
    logistic = make_revs(n=500, p=200, structure="block", family="binomial", random_state=0)
    X = rng.standard_normal((500_000, 200), dtype=np.float32)
    eta = X[:, :10] @ np.linspace(-1, 1, 10)
    y = (eta + rng.standard_normal(len(eta))).astype(np.float32)
    labels = (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(int)
    Z = rng.standard_normal((200, 30))
    product = Z[:, 0] + Z[:, 3] * Z[:, 7] + 0.3 * rng.standard_normal(200)
    U = rng.uniform(-2, 2, (200, 20))
    C = rng.standard_normal((400, 10))
    exclusive = ((C[:, 0] > 0) ^ (C[:, 1] > 0)).astype(int)
    simulated = make_regime_trial("I", 150, 10, random_state=1)
    trial = r.TrialData.from_wide(simulated.columns, simulated.stages)
    x = rng.standard_normal((400, 50, 3))
    binary = (1 + x[:, :, 0] + rng.standard_normal((400, 50)) > 0).astype(float)
    visits = {"id": np.repeat(np.arange(400), 50), "time": np.tile(np.arange(50), 400)}
    yield "REVS, n=200, p=400", lambda: r.REVS(random_state=0).fit(linear.X, linear.y), 5
    yield "REVS, logistic, n=500, p=200", lambda: r.REVS(random_state=0).fit(logistic.X, logistic.y), 3
    yield "REVS, 500,000 x 200", lambda: r.REVS(random_state=0).fit(X, y), 7
    yield "REVS, logistic, 500,000 x 200", lambda: r.REVS(random_state=0).fit(X, labels), 5
    yield "ActorCriticPredictor, 200 x 30", lambda: r.ActorCriticPredictor(random_state=0).fit(Z, product), 3
    yield "RiskRFE, 200 x 20", lambda: r.RiskRFE().fit(U, U[:, 1] * U[:, 4]), 5

    def datumwise():
        # a generator means the same to every version, a seed may not
        return r.DatumwiseClassifier(scoring="bins", random_state=np.random.default_rng(1)).fit(C, exclusive)

    yield "DatumwiseClassifier, 400 x 10", datumwise, 2
    yield "QLearning, 150 subjects, 2 stages", lambda: r.QLearning(random_state=0).fit(trial), 3

    def temporal():
        model = r.TemporalProcessRegression(link="logit")
        return model.fit(x.reshape(-1, 3), binary.ravel(), **visits)

    yield "TemporalProcessRegression, 400 x 50", temporal, 7


def measure():
    """Least CPU seconds of every problem, with the library of this interpreter."""
    warnings.simplefilter("ignore")
    least = {}
    for name, fit, repeats in problems():
        times = []
        for _ in range(repeats):
            start = time.process_time()
            fit()
            times.append(time.process_time() - start)
        least[name] = min(times)
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("interpreters", nargs="*", type=Path, help="old and new")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if not args.interpreters:
        print(json.dumps(measure()))
        return
    found = [{}, {}]
    for _ in range(args.rounds):
        for known, python in zip(found, args.interpreters, strict=True):
            text = subprocess.run([python, __file__], capture_output=True, text=True, check=True).stdout
            for name, seconds in json.loads(text).items():
                known[name] = min(seconds, known.get(name, np.inf))
    lines = [
        f"`python benchmarks/speed.py OLD NEW --rounds {args.rounds}`, one thread, least CPU seconds.",
        "",
        "| fit | old | new | new / old |",
        "|---|---|---|---|",
    ]
    for name, old in found[0].items():
        lines.append(f"| {name} | {old:.3f} | {found[1][name]:.3f} | {found[1][name] / old:.2f} |")
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if args.out:
        args.out.write_text(text)


if __name__ == "__main__":
    main()
