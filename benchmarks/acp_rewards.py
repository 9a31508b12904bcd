"""What the batched rewards of ActorCriticPredictor cost beside a scikit-learn loop.

The same 64 subsets are judged by one batch and by a loop over scikit-learn estimators: five-fold least
squares, leave-one-out kernel ridge (the loop has the kernel handed to it), and networks with 128 units for
300 epochs on 70 % of the rows. CPU times are process CPU seconds of one thread, the median of some runs.
Networks in torch, on the CPU and on a GPU, are measured by `acp_networks.py`.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \\
        python benchmarks/acp_rewards.py --out benchmarks/results/acp_rewards.md
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneOut, PredefinedSplit, cross_val_predict, cross_val_score
from sklearn.neural_network import MLPRegressor

from _tables import command_line, environment
from rlselect.kernels._arc_cosine import network_kernel
from rlselect.kernels._networks import Training
from rlselect.subset.acp.masked._kernel import MaskedKernel
from rlselect.subset.acp.masked._linear import MaskedLinear
from rlselect.subset.acp.masked._network import MaskedNetwork
from rlselect.subset.acp.masked._predictor import make_target

MASKS, EPOCHS, HIDDEN = 64, 300, 128
# scikit-learn's decay for 140 rows, and no early end
TRAINING = Training(epochs=EPOCHS, decay=1e-4 / 140, patience=EPOCHS)


def problem(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3:8].sum(axis=1) + 0.5 * rng.standard_normal(n)
    return X, make_target(y, False), rng


def draw(p, share, rng, count=MASKS):
    masks = rng.random((count, p)) < share
    masks[:, 0] = True
    return masks


def seconds(run, repeats, clock=time.process_time):
    times = []
    for _ in range(repeats):
        start = clock()
        value = run()
        times.append(clock() - start)
    return float(np.median(times)), value


def linear(masks, X, target, rng):
    predictor = MaskedLinear(X, target)
    predictor.redraw(rng)
    split = PredefinedSplit(predictor.folds)

    def loop():
        scores = [
            cross_val_score(
                LinearRegression(), X[:, m], target.Y[:, 0], cv=split, scoring="neg_mean_squared_error"
            )
            for m in masks
        ]
        return np.log(-np.mean(scores, axis=1))

    def batch():
        predictor._products = None
        return predictor.criterion(masks)

    return seconds(loop, 1), seconds(batch, 7)


def kernel(masks, X, target, rng):
    predictor = MaskedKernel(X, target, ridge=0.1)

    def loop():
        out = []
        for m in masks[:2]:
            K = network_kernel(X[:, m])
            machine = KernelRidge(alpha=0.1, kernel="precomputed")
            fitted = cross_val_predict(machine, K, target.Y[:, 0], cv=LeaveOneOut())
            out.append(np.log(np.mean(np.square(fitted - target.Y[:, 0]))))
        return np.array(out)

    (slow, value), fast = seconds(loop, 1), seconds(lambda: predictor.criterion(masks), 3)
    return (slow * len(masks) / 2, value), (fast[0], fast[1][:2])


def networks(masks, X, target, rng, loop_masks):
    n = len(X)
    train = np.zeros((len(masks), n), dtype=bool)
    train[:, : round(0.7 * n)] = True
    predictor = MaskedNetwork(X, target, hidden=HIDDEN, training=TRAINING)

    def loop():
        out = []
        for m in masks[:loop_masks]:
            model = MLPRegressor(
                hidden_layer_sizes=HIDDEN,
                learning_rate_init=0.01,
                max_iter=EPOCHS,
                n_iter_no_change=EPOCHS,
                tol=0.0,
                batch_size=int(train[0].sum()),
                random_state=0,
            ).fit(X[train[0]][:, m], target.Y[train[0], 0])
            out.append(np.mean(np.square(model.predict(X[~train[0]][:, m]) - target.Y[~train[0], 0])))
        return np.array(out)

    (slow, value), (fast, losses) = seconds(loop, 1), seconds(lambda: predictor.losses(masks, train), 1)
    held = losses[:loop_masks, ~train[0]].mean(axis=1)
    return (slow * len(masks) / loop_masks, value), (fast, held)


def cpu_table(loop_masks):
    lines = [
        "| reward, 64 subsets of 50 columns | rows | drawn with | loop, s | batch, s | ratio | agreement |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for n, share in ((200, 0.5), (200, 0.2)):
        X, target, rng = problem(n, 50)
        masks = draw(50, share, rng)
        cells = {
            "least squares, 5 folds": linear(masks, X, target, rng),
            "kernel ridge, leave-one-out": kernel(masks, X, target, rng),
            f"network, {EPOCHS} epochs": networks(masks, X, target, rng, loop_masks),
        }
        for name, ((slow, loop), (fast, batch)) in cells.items():
            if "network" in name:
                agree = f"rank correlation {spearmanr(loop, batch).statistic:.2f}"
            else:
                agree = f"largest difference {np.abs(loop - batch).max():.1e}"
            lines.append(
                f"| {name} | {n} | {share} | {slow:.3g} | {fast:.3g} | {slow / fast:.0f}x | {agree} |"
            )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, help="also write the table there")
    parser.add_argument("--loop-masks", type=int, default=16, help="networks of the loop (times are scaled)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    made = f"Made by `{command_line()}`. {environment()}"
    lines = ["# Batched rewards of ActorCriticPredictor", "", made, ""]
    text = "\n".join(lines + cpu_table(arguments.loop_masks)) + "\n"
    print(text)
    if arguments.out is not None:
        arguments.out.write_text(text)


if __name__ == "__main__":
    main()
