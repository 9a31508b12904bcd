"""What `rlselect.check` says a fit takes, and what it takes: seconds and memory over a grid of sizes.

Each cell is run by itself, in a process of its own and on one thread; cells whose line is in the file of
records are not run again, and --seconds begins no cell later. "seconds" is CPU time, so that other work on
the machine does not count; "memory" is what the process has at most beside what it has when the fit begins.
The constants in src/rlselect/preflight/_cost.py come from seeds 0 to 9, the table from others.

    python benchmarks/check_estimates.py --seed 100 --out benchmarks/results/check_estimates.md
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
RECORDS = RESULTS / "check_estimates.jsonl"
# method, what y is, rows and columns; of trials rows are subjects times stages
GRID = [
    ("REVS", "number", 100, 20),
    ("REVS", "number", 200, 200),
    ("REVS", "number", 1000, 50),
    ("REVS", "number", 1000, 400),
    ("REVS", "number", 4000, 100),
    ("REVS", "number", 20_000, 50),
    ("REVS", "number", 200_000, 30),
    ("REVS", "two classes", 200, 20),
    ("REVS", "two classes", 500, 150),
    ("REVS", "two classes", 3000, 50),
    ("REVS", "two classes", 50_000, 30),
    ("REVS", "count", 300, 30),
    ("REVS", "count", 2000, 60),
    ("REVS", "classes", 300, 15),
    ("REVS", "classes", 1500, 30),
    ("REVS", "crime", 1993, 100),
    ("ActorCriticPredictor", "number", 150, 12),
    ("ActorCriticPredictor", "number", 400, 60),
    ("ActorCriticPredictor", "number", 2000, 20),
    ("ActorCriticPredictor", "two classes", 400, 20),
    ("QLearning", "number", 300, 8),
    ("QLearning", "number", 400, 25),
    ("QLearning", "number", 1000, 8),
    ("TemporalProcessRegression", "number", 2000, 3),
    ("TemporalProcessRegression", "number", 20_000, 6),
    ("DatumwiseClassifier", "two classes", 100, 6),
    ("DatumwiseClassifier", "two classes", 300, 10),
]


def make(method, outcome, n, p, seed):
    """A table with y, and what else a fit needs."""
    import numpy as np
    import pandas as pd

    from rlselect.datasets import load_crime
    from rlselect.simulate import make_acp, make_regime_trial

    rng = np.random.default_rng(seed)
    if outcome == "crime":
        crime = load_crime()
        return pd.DataFrame(crime.data).add_prefix("x").assign(y=crime.target), None
    if method == "QLearning":
        made = make_regime_trial("I", n // 2, p, random_state=seed)
        return made.columns, [stage | {"propensity": {-1: 0.5, 1: 0.5}} for stage in made.stages]
    X = rng.standard_normal((n, p))
    if method == "TemporalProcessRegression":
        subjects = n // 20
        time_ = np.tile(np.arange(20), subjects)
        y = X[:, 0] * np.sin(time_ / 5) + rng.standard_normal(n)
        frame = pd.DataFrame({f"x{j}": X[:, j] for j in range(p)})
        return frame.assign(id=np.repeat(np.arange(subjects), 20), time=time_, y=y), None
    if method == "ActorCriticPredictor":
        X = make_acp(n, p, function="interaction", random_state=seed).X
        eta = 2.0 * X[:, 0] * X[:, 1] + X[:, 2] + 2.0 * np.abs(X[:, 3])
        eta = 2.0 * (eta - eta.mean())
    else:
        true = rng.choice(p, min(6, p), replace=False)
        eta = X[:, true] @ rng.choice([-0.8, -0.4, 0.4, 0.8], len(true))
    y = {
        "number": lambda: eta + rng.standard_normal(n),
        "two classes": lambda: (eta + rng.logistic(size=n) > 0).astype(int),
        "count": lambda: rng.poisson(np.exp(np.clip(0.5 + eta / 2, -4, 4))),
        "classes": lambda: np.array(["a", "b", "c"])[np.digitize(eta + rng.logistic(size=n), [-1.0, 1.0])],
    }[outcome]()
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(p)]).assign(y=y), None


def memory_now():
    """Bytes in use, from which on the largest number counts anew."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def memory_most():
    """The most bytes in use since then."""
    return _status("VmHWM")


def _status(what):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(what))


def one(method, outcome, n, p, seed):
    """Predicted and actual, in this process."""
    import rlselect
    from rlselect.preflight import check

    table, stages = make(method, outcome, n, p, seed)
    question = {
        "DatumwiseClassifier": "case",
        "QLearning": "decision",
        "TemporalProcessRegression": "moment",
    }.get(method, "everyone")
    if method == "QLearning":
        import pandas as pd

        # the look sees a row per subject and stage
        seen = pd.DataFrame({k: v for k, v in table.items() if k.startswith("X1_")})
        seen = pd.concat([seen, seen]).assign(y=0.0)
        seen["y"] = list(table["R1"]) + list(table["R2"])
        advice = check(seen, "y", question=question).recommendation
    else:
        advice = check(table, "y", question=question).recommendation
    getattr(rlselect, method)  # loads the room
    before = memory_now()
    began = time.process_time()
    if method == "QLearning":
        rlselect.QLearning(random_state=seed).fit(rlselect.TrialData.from_wide(table, stages))
    elif method == "TemporalProcessRegression":
        model = rlselect.TemporalProcessRegression("y ~ " + " + ".join(f"x{j}" for j in range(p)))
        model.fit(table, id="id", time="time").report()
    elif method == "REVS":
        family = {"number": "gaussian", "crime": "gaussian", "two classes": "binomial", "count": "poisson"}
        rlselect.REVS(family=family.get(outcome, "multinomial"), random_state=seed).fit(table, "y")
    else:
        getattr(rlselect, method)(random_state=seed).fit(table, "y")
    seconds = time.process_time() - began
    memory = memory_most() - before
    return {
        "cell": [method, outcome, n, p, seed],
        "advised": advice.method,
        "seconds": round(seconds, 3),
        "memory": memory,
    }


def read():
    lines = RECORDS.read_text().splitlines() if RECORDS.exists() else []
    return {tuple(record["cell"]): record for record in map(json.loads, lines)}


def write(records, seed, out):
    """A table of what there is, with what is predicted by now on this machine."""
    from rlselect.preflight._cost import cost_of

    rows, inside, near = [], 0, 0
    for cell in GRID:
        found = records.get((*cell, seed))
        if found is None:
            continue
        method, outcome, n, p = cell
        # the look counts the columns of subjects and times too
        width = p + 2 * (method == "TemporalProcessRegression")
        (low, high), memory = cost_of(method, "number" if outcome == "crime" else outcome, n, width)
        took = found["seconds"]
        inside += low <= took <= high
        near += low / 2 <= took <= 2 * high
        advised = "" if found["advised"] == method else f" (check says {found['advised']})"
        rows.append(
            f"| {method}{advised} | {outcome} | {n:,} | {p} | {low:.2f} to {high:.1f} | {took:.2f} | "
            f"{memory / 2**20:.0f} | {found['memory'] / 2**20:.0f} |"
        )
    lines = [
        f"What `rlselect.check` predicts and what a fit takes, seed {seed}, one thread; CPU seconds, and MB",
        f"beside the table. {inside} of {len(rows)} fits end in the predicted time, {near} within half and",
        f"twice of it. Made by `python benchmarks/check_estimates.py --seed {seed} --out",
        "benchmarks/results/check_estimates.md`, once or more. Columns are independent but for those of the",
        "crime data, which stand in for each other, and of trials.",
        "",
        "| method | y | rows | columns | predicted s | s | predicted MB | MB |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
        *rows,
    ]
    print("\n".join(lines))
    if out is not None:
        out.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=240.0, help="begin no cell after so long")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--one", nargs=5, default=None, help="one cell, in this process")
    args = parser.parse_args()
    if args.one:
        method, outcome, *numbers = args.one
        print(json.dumps(one(method, outcome, *map(int, numbers))))
        return
    done, began = read(), time.monotonic()
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    for cell in GRID:
        if (*cell, args.seed) in done or time.monotonic() - began > args.seconds:
            continue
        command = [sys.executable, "-W", "ignore", __file__, "--one", *map(str, (*cell, args.seed))]
        told = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **threads})
        if told.returncode:
            print(cell, told.stderr.strip().splitlines()[-1:], file=sys.stderr)
            continue
        with RECORDS.open("a") as file:
            file.write(told.stdout)
        print(told.stdout.strip(), flush=True)
    write(read(), args.seed, args.out)


if __name__ == "__main__":
    main()
