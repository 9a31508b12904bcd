"""How fast a batch of networks is trained: NumPy and torch beside a loop over scikit-learn's.

    python benchmarks/acp_networks.py                 # this machine's CPU, one thread; CUDA if torch sees it
    python benchmarks/acp_networks.py --output benchmarks/results/acp_networks.md

All ways train the same networks on the same rows: one hidden layer, Adam on all rows, 300 epochs, no early
end. The first run of a shape, in which a graph is recorded, is shown apart; the usual one is the median of
the others. The CPU's ways are timed on a part of the networks and scaled up.
"""

import argparse
import os
import platform
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402

from _tables import command_line  # noqa: E402
from rlselect.kernels._networks import Training, network_outputs, start_networks, train_networks  # noqa: E402

EPOCHS = 300
SHAPES = [(64, 140, 50, 128), (512, 140, 50, 128), (64, 1400, 400, 128)]


def problem(m: int, n: int, p: int, h: int, seed: int) -> tuple:
    """Networks on random halves of the columns, and the rows they learn from."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)).astype(np.float32)
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.standard_normal(n)
    y = ((y - y.mean()) / y.std()).astype(np.float32)
    masks = rng.random((m, p)) < 0.5
    A = np.empty((m, n, p + 1), dtype=np.float32)
    A[:, :, :-1] = X * masks[:, None]
    A[:, :, -1] = 1.0
    uniform = tuple(rng.uniform(-1, 1, s).astype(np.float32) for s in ((p + 1, h), (h + 1, 1)))
    start = start_networks(uniform, np.tile(np.arange(p), (m, 1)), masks.sum(axis=1))
    weight = np.full((m, n), 1.0 / n, dtype=np.float32)
    return X, y, masks, A, start, weight


def by_scikit_learn(X: np.ndarray, y: np.ndarray, masks: np.ndarray, h: int) -> None:
    """The loop that everybody writes first."""
    from sklearn.neural_network import MLPRegressor

    for mask in masks:
        MLPRegressor(
            hidden_layer_sizes=(h,), learning_rate_init=0.01, max_iter=EPOCHS, n_iter_no_change=EPOCHS
        ).fit(X[:, mask], y)


def seconds(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Time of the first run, and the median of the others."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return times[0], statistics.median(times[1:])


def measure(shape: tuple[int, int, int, int], repeats: int, part: int) -> list[dict]:
    """All ways on one shape; the CPU's ways on a part of the networks, scaled up."""
    m, n, p, h = shape
    X, y, masks, A, start, weight = problem(m, n, p, h, seed=1000)
    training = Training(epochs=EPOCHS, patience=EPOCHS)
    few = slice(0, min(part, m))
    share = m / len(masks[few])
    rows = []

    def add(way: str, work: Callable[[], object], runs: int, scale: float) -> None:
        first, usual = seconds(work, runs)
        rows.append({"way": way, "first": first * scale, "usual": usual * scale})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        add("scikit-learn loop", lambda: by_scikit_learn(X, y, masks[few], h), 1, share)
    Y = y[:, None]
    small = (A[few], Y, weight[few], start.part(few), training)
    add("NumPy, CPU", lambda: train_networks(*small), 1, share)
    expected = network_outputs(A[few], train_networks(*small)[0])
    for device in _devices():
        from rlselect.subset.acp.masked._torch import TorchTrainer

        trainer = TorchTrainer(device)
        if device == "cuda":
            add("torch, CUDA", lambda t=trainer: t.train(A, Y, weight, start, training), repeats, 1.0)
        else:
            add("torch, CPU", lambda t=trainer: t.train(*small), 1, share)
        got = network_outputs(A[few], trainer.train(*small)[0])
        rows[-1]["far"] = float(np.abs(got - expected).mean())
    return [{"networks": m, "n": n, "p": p, "hidden": h, **row} for row in rows]


def _devices() -> list[str]:
    try:
        import torch
    except ImportError:
        return []
    torch.set_num_threads(1)
    return ["torch", "cuda"] if torch.cuda.is_available() else ["torch"]


def table(rows: list[dict]) -> str:
    """Markdown, with the speed relative to the loop where there is one."""
    lines = [
        "| networks | n | p | hidden | way | first run, ms | usual run, ms | loop / this | from NumPy |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    loops = {(r["networks"], r["n"], r["p"]): r["usual"] for r in rows if r["way"].startswith("scikit")}
    for r in rows:
        loop = loops.get((r["networks"], r["n"], r["p"]))
        ratio = "" if loop is None else f"{loop / r['usual']:.1f}x"
        far = f"{r['far']:.1e}" if "far" in r else ""
        lines.append(
            f"| {r['networks']} | {r['n']} | {r['p']} | {r['hidden']} | {r['way']} "
            f"| {1e3 * r['first']:.0f} | {1e3 * r['usual']:.1f} | {ratio} | {far} |"
        )
    return "\n".join(lines)


def machine() -> str:
    """What the figures were measured on."""
    words = [f"NumPy {np.__version__}, {platform.machine()}, one CPU thread"]
    if _devices():
        import torch

        words.append(f"torch {torch.__version__}")
        words += [torch.cuda.get_device_name()] if torch.cuda.is_available() else []
    return ", ".join(words)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--part", type=int, default=8, help="networks the CPU's ways are timed on")
    parser.add_argument("--shapes", type=int, default=len(SHAPES), help="how many of the shapes, small first")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    rows = []
    for shape in SHAPES[: options.shapes]:
        rows += measure(shape, options.repeats, options.part)
        print(table(rows), flush=True)
    text = f"{machine()}; {EPOCHS} epochs. Made by\n`{command_line()}`.\n\n{table(rows)}\n"
    if options.output is not None:
        options.output.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
