r"""Figures 4.3 to 4.11: objectives of RFE, RFE_test and RFE_Vpred along eliminations, in one trial each.

python experiments/figures_4.py --figures 4.3 4.7 4.11 --methods rfe rfe-test rfe-vpred \
    --out experiments/results/figures_4
"""

import argparse
import time
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

from rlselect import QLearning, TrialData
from rlselect.simulate import make_regime_trial

FIGURES = {
    "4.3": ("I", 200, 50),
    "4.4": ("I", 800, 30),
    "4.5": ("I", 400, 10),
    "4.6": ("II", 400, 50),
    "4.7": ("II", 200, 30),
    "4.8": ("II", 800, 10),
    "4.9": ("III", 800, 50),
    "4.10": ("III", 400, 30),
    "4.11": ("III", 200, 10),
}
TITLES = {"rfe": "RFE", "rfe-test": "RFE_test", "rfe-vpred": "RFE_Vpred (value)"}


def draw(name, methods, seed, device, folder):
    """One figure: methods by stages, with the number of columns that stay marked."""
    setting, n, p = FIGURES[name]
    simulated = make_regime_trial(setting, n, p, random_state=seed)
    stages = [stage | {"propensity": {-1: 0.5, 1: 0.5}} for stage in simulated.stages]
    trial = TrialData.from_wide(simulated.columns, stages)
    figure, axes = plt.subplots(
        len(methods), trial.n_stages, figsize=(4 * trial.n_stages, 2.6 * len(methods)), squeeze=False
    )
    for row, method in zip(axes, methods, strict=True):
        started = time.process_time()
        learner = QLearning.paper(algorithm=method, device=device, random_state=seed).fit(trial)
        print(name, method, f"{time.process_time() - started:.1f} s", flush=True)
        for t, (axis, path) in enumerate(zip(row, learner.path_, strict=True)):
            sizes = path["n_features"]
            removed = sizes[0] - sizes
            axis.plot(removed, path["objective"], ".-", markersize=3)
            axis.axvline(sizes[0] - len(learner.selected_[t]), color="tab:red", linewidth=0.8)
            truth = len(simulated.outcome_features[t])
            axis.axvline(sizes[0] - truth, color="0.6", linestyle=":", linewidth=0.8)
            axis.set_title(f"{TITLES[method]}, stage {t + 1}", fontsize=9)
            axis.set_xlabel("columns removed", fontsize=8)
            finite = path["objective"][np.isfinite(path["objective"])]
            axis.set_ylim(finite.min() - 0.05 * np.ptp(finite), finite.max() + 0.05 * np.ptp(finite))
    figure.suptitle(
        f"Figure {name}: setting {setting}, n = {n}, p = {p}, seed {seed}; red: what is removed, dotted: all "
        "but the true columns",
        fontsize=9,
    )
    figure.tight_layout()
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"figure_{name.replace('.', '_')}.png", dpi=80)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figures", nargs="+", default=list(FIGURES), choices=list(FIGURES))
    parser.add_argument(
        "--methods", nargs="+", default=["rfe", "rfe-test", "rfe-vpred"], choices=list(TITLES)
    )
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("experiments/results/figures_4"))
    args = parser.parse_args()
    for name in args.figures:
        draw(name, args.methods, args.seed, args.device, args.out)


if __name__ == "__main__":
    main()
