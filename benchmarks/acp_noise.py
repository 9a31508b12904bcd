"""How often ActorCriticPredictor selects nothing from pure noise.

    export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
    python benchmarks/acp_noise.py --seeds 1020000 1020014 --rows 200 --seconds 900 \\
        --out benchmarks/results/acp_noise

Each call goes on where the last one stopped: the fits are kept in the file .jsonl, the table in .md.
`--seconds` is processor time, `--rows` leaves out longer data sets, which take longer. Odd seeds make two
classes of the response.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from rlselect import ActorCriticPredictor

COLUMNS = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "t with 3 degrees": lambda rng, size: rng.standard_t(3, size),
    "binary": lambda rng, size: rng.integers(0, 2, size).astype(float),
}
SIZES = ((100, 50), (100, 200), (100, 400), (200, 20), (200, 100), (400, 20), (400, 50), (400, 100))


def fit(kind, n, p, seed):
    rng = np.random.default_rng([seed, n, p])
    X, y = COLUMNS[kind](rng, (n, p)), rng.standard_normal(n)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ActorCriticPredictor(random_state=seed).fit(X, y > 0 if seed % 2 else y)
    return {
        "columns": kind,
        "n": n,
        "p": p,
        "seed": seed,
        "selected": int(found.support_.sum()),
        "predictor": found.predictor_.name,
        "seconds": round(time.process_time() - start, 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(6000, 6014))
    parser.add_argument("--seconds", type=float, default=280.0)
    parser.add_argument("--rows", type=int, default=max(SIZES)[0])
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    record = given.out.with_suffix(".jsonl")
    fits = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    done = {(f["columns"], f["n"], f["p"], f["seed"]) for f in fits}
    with record.open("a", encoding="utf-8") as file:
        for seed in range(*given.seeds):
            for n, p in SIZES:
                for kind in COLUMNS:
                    if n > given.rows or (kind, n, p, seed) in done or time.process_time() > given.seconds:
                        continue
                    fits.append(fit(kind, n, p, seed))
                    file.write(json.dumps(fits[-1]) + "\n")
                    file.flush()
    write(given, fits)


def write(given, fits):
    def share(some):
        return f"{sum(f['selected'] == 0 for f in some)} of {len(some)}"

    first, last = min(f["seed"] for f in fits), max(f["seed"] for f in fits)
    lines = [
        "# Pure noise",
        "",
        f"Seeds from {first} to at most {last}; odd ones have two classes, even ones numbers.",
        "",
        *__doc__.split("\n\n")[1].splitlines(),
        "",
        "| n | p | " + " | ".join(COLUMNS) + " | CPU s per fit |",
        "|---|---|" + "---|" * len(COLUMNS) + "---|",
    ]
    for n, p in SIZES:
        here = [f for f in fits if (f["n"], f["p"]) == (n, p)]
        if not here:
            continue
        cells = [share([f for f in here if f["columns"] == kind]) for kind in COLUMNS]
        seconds = np.mean([f["seconds"] for f in here])
        lines.append(f"| {n} | {p} | " + " | ".join(cells) + f" | {seconds:.1f} |")
    lines += ["", f"Empty in all: {share(fits)}."]
    given.out.with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
