"""Runs many trials in parcels and writes the table: trials, right, clear error, bad by estimator.

``python tests/fuzz/run.py --trials 20000 --seed 0 --jobs 2`` is what `make fuzz` runs.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "benchmarks/results/fuzz.md"
PARCEL = 1000


def run_parcel(seed, trials):
    """Trials of one seed, one line of JSON each; a line is written before a trial, too, should it crash."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from modes import MODES
    from trials import Outcome, run
    from trials import trials as drawn

    settled = settings(
        max_examples=trials // len(MODES),
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    for k, mode in enumerate(sorted(MODES)):

        @seeded(1000 * seed + k)
        @settled
        @given(drawn(mode))
        def one(trial):
            print(json.dumps({"trial": asdict(trial), "owner": MODES[trial.mode].owner}), flush=True)
            start = time.perf_counter()
            try:
                outcome = run(trial)
            except Exception as error:
                # the fuzzer's own fault, which must not end the parcel
                outcome = Outcome("bad", repr(error), "judge")
            seconds = time.perf_counter() - start
            said = {"verdict": outcome.verdict, "why": outcome.why, "where": outcome.where}
            print(json.dumps({**said, "seconds": seconds}), flush=True)

        one()


def collect(seed, trials):
    """Run a parcel in a process of its own, so that a crash is one more outcome."""
    command = [sys.executable, str(Path(__file__)), "--parcel", "--seed", str(seed), "--trials", str(trials)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    outcomes = []
    for line in lines:
        if "trial" in line:
            why = f"crash {done.returncode}: {done.stderr[-300:]}"
            outcomes.append({**line, "verdict": "bad", "why": why, "where": "crash"})
        else:
            outcomes[-1].update(line)
    if done.returncode and not any(o["where"] == "crash" for o in outcomes):
        raise RuntimeError(done.stderr[-2000:])
    return outcomes


def table_of(outcomes, command, seconds):
    owners = sorted({o["owner"] for o in outcomes})
    counts = Counter((o["owner"], o["verdict"]) for o in outcomes)
    lines = [
        "# Fuzzing",
        "",
        "Random problems, sound and with one or two faults, for every estimator and its modes; a trial may",
        "be fitted twice, in other words, and the two answers have to agree. *Right*: a valid answer, the",
        "same in other words, that finds a plain effect in a sound problem. *Clear error*: a ValueError,",
        "TypeError, ImportError or FileNotFoundError of ours with a sentence. *Bad*: anything else (a",
        "foreign exception, a NumPy warning, a number that is none, two answers, no end, a crash). Trials",
        "for which no table could be built at all are not counted.",
        "",
        f"`{command}` ({seconds / 60:.0f} minutes)",
        "",
        "| Estimator | Trials | Right | Clear error | Bad |",
        "|---|---:|---:|---:|---:|",
    ]
    for owner in [*owners, None]:
        row = [
            sum(c for (o, v), c in counts.items() if (owner is None or o == owner) and v == verdict)
            for verdict in ("right", "refused", "bad")
        ]
        name = "**all**" if owner is None else f"`{owner}`"
        lines.append(f"| {name} | {sum(row)} | {row[0]} | {row[1]} | {row[2]} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--parcel", action="store_true", help="run these trials here, one line each")
    parser.add_argument("--keep", help="file for every outcome, as JSON lines")
    parser.add_argument("--table", default=str(TABLE), help="where the table is written")
    chosen = parser.parse_args()
    if chosen.parcel:
        sys.path.insert(0, str(HERE))
        run_parcel(chosen.seed, chosen.trials)
        return 0
    start = time.perf_counter()
    sizes = [min(PARCEL, chosen.trials - k) for k in range(0, chosen.trials, PARCEL)]
    seeds = range(1000 * chosen.seed, 1000 * chosen.seed + len(sizes))
    outcomes = []
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for k, parcel in enumerate(pool.map(collect, seeds, sizes)):
            outcomes += parcel
            bad = sum(o["verdict"] == "bad" for o in outcomes)
            print(f"parcel {k + 1} of {len(sizes)}: {len(outcomes)} trials, {bad} bad", flush=True)
            for one in parcel:
                if one["verdict"] == "bad":
                    print("   ", one["where"], one["why"], one["trial"], flush=True)
    if chosen.keep:
        Path(chosen.keep).write_text("".join(json.dumps(o) + "\n" for o in outcomes), encoding="utf-8")
    command = f"python tests/fuzz/run.py --trials {chosen.trials} --seed {chosen.seed}"
    page = table_of(outcomes, command, time.perf_counter() - start)
    Path(chosen.table).write_text(page, encoding="utf-8")
    print(page)
    return int(any(o["verdict"] == "bad" for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
