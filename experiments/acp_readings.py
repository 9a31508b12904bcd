"""ACP, Table 3: what each reading of the paper's silent passages finds, with both of its predictors.

Runs that are in the file of replicates are not repeated; --seconds stops before the next run that would begin
later. The table holds what there is.

    python experiments/acp_readings.py --replicates 20 --out experiments/results/acp_readings.md
    python experiments/acp_readings.py --replicates 20 --out experiments/results/acp_readings.md \\
        --readings 'network, literal' 'network, published' --device cuda
"""

import time
from functools import partial

import numpy as np
from _kept_runs import readings_parser, run_readings

from rlselect import ActorCriticPredictor
from rlselect.simulate import make_acp

PUBLISHED = {"reading": "published"}
READINGS = {
    "literal": {},
    "published": PUBLISHED,
    "published, no ridge": {**PUBLISHED, "ridge": 0.0},
    "published, ridge 100": {**PUBLISHED, "ridge": 100.0},
    "published, steps half as long": {**PUBLISHED, "step": 0.05},
    "published, steps a fifth as long": {**PUBLISHED, "step": 0.02},
    "published, 2,000 iterations": {**PUBLISHED, "max_iter": 2000},
    "published, 256 subsets in a batch": {**PUBLISHED, "batch_size": 256},
    "published, half of the rows judge": {**PUBLISHED, "validation": 0.5},
    "published, selected above .975": {**PUBLISHED, "threshold": 0.975},
    "Adam, rewards standardised, ridge 20": {"actor": "adam", "rewards": "standardised", "ridge": 20.0},
    "network, literal": {"predictor": "network"},
    "network, published": {"predictor": "network", **PUBLISHED},
}
# printed lines, above the first reading of each predictor
PRINT = {
    "literal": "| print, linear | 50 | 0.969 | 0.507 | 0.664 |  |",
    "network, literal": "| print, network | 50 | 0.971 | 0.900 | 0.927 |  |",
}
NETWORKS = [name for name in READINGS if name.startswith("network")]


def one(name, seed, device="cpu"):
    """F1, precision, recall and seconds of one fit."""
    made = make_acp(200, 50, function="interaction", random_state=seed)
    start = time.process_time()
    settings = {"predictor": "linear", "device": device, **READINGS[name]}
    found = ActorCriticPredictor.paper(random_state=seed, **settings)
    support = found.fit(made.X, made.y).support_
    hits = int((support & made.support).sum())
    return {
        "f1": 2.0 * hits / int(support.sum() + made.support.sum()),
        "precision": hits / max(int(support.sum()), 1),
        "recall": hits / int(made.support.sum()),
        "seconds": time.process_time() - start,
    }


def table(records):
    lines = ["| reading | replicates | precision | recall | F1 | s |", "|---|---|---|---|---|---|"]
    for name in READINGS:
        if name in PRINT:
            lines.append(PRINT[name])
        runs = records.of(name)
        if runs:
            means = [
                float(np.mean([r[key] for r in runs])) for key in ("precision", "recall", "f1", "seconds")
            ]
            shown = " | ".join(f"{value:.3f}" for value in means[:3])
            lines.append(f"| {name} | {len(runs)} | {shown} | {means[3]:.1f} |")
    return lines


def main():
    parser = readings_parser(__doc__, seed=7100)
    quick = [name for name in READINGS if name not in NETWORKS]
    parser.add_argument("--readings", nargs="+", default=quick, choices=list(READINGS))
    parser.add_argument("--device", default="cpu", help="where networks are trained")
    args = parser.parse_args()
    plan = ((name, args.seed + r) for r in range(args.replicates) for name in args.readings)
    title = ["ACP, Table 3 (n = 200, p = 50) by readings of Algorithm 2,"]
    remarks = [
        "The reward is the error on one random split, without a price for a column: one whose harm is",
        "smaller than the noise of a split is not sent away once it is in. Shorter steps let fewer of them",
        "in by luck; longer searches let in more.",
    ]
    run_readings(args, __doc__, plan, partial(one, device=args.device), table, title=title, remarks=remarks)


if __name__ == "__main__":
    main()
