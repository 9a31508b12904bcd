r"""Figures 4.3 to 4.11: objectives of RFE, RFE_test and RFE_Vpred along eliminations, in one trial each.

python experiments/figures_4.py --figures 4.4 4.9 --records experiments/results/figures_4.jsonl \
    --device cuda --out experiments/results/figures_4

Eliminations go into the records; pictures are drawn where there is an ``--out``, also from records that were
made on another machine.
"""

import time

import numpy as np
from _regimes_common import collect, make_parser

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


def one(figure, method, seed, device):
    """Sizes and objectives of the eliminations by stage, the number of columns kept and of true ones."""
    setting, n, p = FIGURES[figure]
    simulated = make_regime_trial(setting, n, p, random_state=seed)
    stages = [stage | {"propensity": {-1: 0.5, 1: 0.5}} for stage in simulated.stages]
    trial = TrialData.from_wide(simulated.columns, stages)
    started = time.perf_counter()
    learner = QLearning.paper(algorithm=method, device=device, random_state=seed)
    # the eliminations alone are of interest, not the value of the regime
    learner._fit_rows(trial, np.ones(n, dtype=bool))
    seconds = time.perf_counter() - started
    print(figure, method, f"{seconds:.1f} s", flush=True)
    found = [
        {
            "sizes": path["n_features"].tolist(),
            "objective": path["objective"].tolist(),
            "kept": len(learner.selected_[t]),
            "true": len(simulated.outcome_features[t]),
        }
        for t, path in enumerate(learner.path_)
    ]
    return {"stages": found, "device": device, "seconds": round(seconds, 1)}


def draw(name, records, seed, folder):
    """One figure: methods by stages, with the number of columns that stay marked."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    setting, n, p = FIGURES[name]
    n_stages = len(records[0]["stages"])
    figure, axes = plt.subplots(
        len(records), n_stages, figsize=(4 * n_stages, 2.6 * len(records)), squeeze=False
    )
    for row, record in zip(axes, records, strict=True):
        for t, (axis, path) in enumerate(zip(row, record["stages"], strict=True)):
            sizes, objective = np.array(path["sizes"]), np.array(path["objective"])
            axis.plot(sizes[0] - sizes, objective, ".-", markersize=3)
            axis.axvline(sizes[0] - path["kept"], color="tab:red", linewidth=0.8)
            axis.axvline(sizes[0] - path["true"], color="0.6", linestyle=":", linewidth=0.8)
            axis.set_title(f"{TITLES[record['method']]}, stage {t + 1}", fontsize=9)
            axis.set_xlabel("columns removed", fontsize=8)
            finite = objective[np.isfinite(objective)]
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
    parser = make_parser(__doc__, replicates=1, seed=1000)
    parser.add_argument("--figures", nargs="+", default=list(FIGURES), choices=list(FIGURES))
    parser.add_argument("--methods", nargs="+", default=list(TITLES), choices=list(TITLES))
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    cells = [{"figure": figure, "method": method} for figure in args.figures for method in args.methods]
    records = collect(args, cells, lambda **cell: one(**cell, device=args.device))
    for name in args.figures if args.out is not None else ():
        mine = [r for r in records if (r["figure"], r["seed"]) == (name, args.seed)]
        draw(name, mine, args.seed, args.out)


if __name__ == "__main__":
    main()
