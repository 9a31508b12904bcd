"""How good are the estimates of memory and time that refuse or warn before work starts?

    python benchmarks/size_estimates.py --out benchmarks/results/size_estimates.md

Each fit runs in a process of its own; its memory is the peak beyond what a small fit has left, its time that
of the processor. The estimates are those of `RiskRFE`, with all rows and from landmarks.
"""

import argparse
import multiprocessing
import resource
import time
import warnings
from pathlib import Path

import numpy as np

from rlselect import RiskRFE
from rlselect._limits import seconds_for
from rlselect._parallel import one_thread
from rlselect.subset.risk_rfe._landmark_problem import LandmarkProblem, choose_landmarks
from rlselect.subset.risk_rfe._problem import exact_cost, pass_seconds

COMMAND = "    python benchmarks/size_estimates.py --out benchmarks/results/size_estimates.md"
# loss, rows, columns
FITS = [
    ("squared", 600, 10),
    ("squared", 900, 30),
    ("squared", 1200, 10),
    ("squared_label, three classes", 600, 10),
    ("hinge", 400, 10),
    ("logistic", 400, 10),
    ("epsilon_insensitive", 400, 10),
]
# rows, columns, landmarks
PASSES = [(5000, 20, 300), (20_000, 20, 100), (50_000, 20, 50), (5000, 200, 150)]
SEED = 7


def problem(loss: str, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """A product and a square, as numbers or as classes."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((n, p))
    y = 2.0 * X[:, 0] * X[:, 1] + X[:, 2] ** 2 + 0.5 * rng.standard_normal(n)
    if "three" in loss:
        return X, np.digitize(y, [-1.0, 1.0])
    return X, (y > 0).astype(int) if loss in ("hinge", "logistic") else y


def fit(case: tuple[str, int, int]) -> tuple[float, float]:
    """Bytes and seconds of a fit."""
    loss, n, p = case
    X, y = problem(loss, n, p)
    model = RiskRFE(loss=loss.split(",")[0], n_landmarks=None)
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:60], y[:60])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
    return 1024.0 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before), seconds


def one_pass(n: int, p: int, landmarks: int) -> float:
    """Seconds of a machine from landmarks, judged."""
    X, y = problem("squared", n, p)
    kernel = RiskRFE()._plan().kernel
    groups = [np.array([j]) for j in range(p)]
    rows = choose_landmarks(X, landmarks)
    posed = LandmarkProblem(
        kernel, X, rows, y[:, None], np.ones(n), 1e-3, np.sqrt(2.0 * p), True, groups, "risk"
    )
    start = time.process_time()
    posed.refresh()
    return time.process_time() - start


def rows() -> list[list[str]]:
    """One row per size."""
    found = []
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for case in FITS:
            memory, seconds = pool.map(fit, [case])[0]
            loss, n, p = case
            expected = exact_cost(n, p, 3 if "three" in loss else 1, loss.startswith("squared"))
            row = [f"all rows, {loss}", f"{n} x {p}", f"{expected[0] / 2**20:.0f}", f"{memory / 2**20:.0f}"]
            found.append([*row, f"{expected[1]:.2f}", f"{seconds:.2f}", f"{seconds / expected[1]:.2f}"])
            print(" | ".join(found[-1]), flush=True)
    with one_thread():
        for n, p, landmarks in PASSES:
            expected_seconds, seconds = pass_seconds(n, p, landmarks), one_pass(n, p, landmarks)
            row = [f"one pass from {landmarks} landmarks", f"{n} x {p}", "", ""]
            row += [f"{expected_seconds:.2f}", f"{seconds:.2f}", f"{seconds / expected_seconds:.2f}"]
            found.append(row)
            print(" | ".join(row), flush=True)
    return found


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    head = ["machine", "rows x columns", "memory expected (MB)", "measured", "seconds expected", "measured"]
    head += ["measured / expected"]
    with one_thread():
        speed = 1e-9 / seconds_for(1.0)
    about = f"Seed {SEED}, one fit each, one thread, {speed:.0f} GFLOP/s in matrix products."
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows()]]
    if options.out is not None:
        text = f"# Estimates of size\n\n{COMMAND}\n\n{about}\n\n" + "\n".join(lines) + "\n"
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
