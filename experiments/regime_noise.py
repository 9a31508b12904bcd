r"""Trials without any effect of an action: does a report claim that the regime is better, or that it tailors?

python experiments/regime_noise.py --replicates 20 --seed 9500 \
    --records experiments/results/regime_noise.jsonl --out experiments/results/regime_noise.md
"""

import numpy as np
from _regimes_common import collect, deliver, make_parser, seeds_of

from rlselect import QLearning, TrialData

COMMAND = (
    "python experiments/regime_noise.py --replicates 20 --seed 9500 "
    "--records experiments/results/regime_noise.jsonl --out experiments/results/regime_noise.md"
)
P = 10
HISTORY = [f"x{j}" for j in range(P)]
STAGE = {"history": HISTORY, "action": "arm", "reward": "y", "propensity": {"drug": 0.5, "placebo": 0.5}}
# subjects, and the slope of the outcome on the first column, whatever the arm
DESIGNS = {
    "60 subjects": (60, 0.0),
    "60 subjects, one predicts": (60, 1.0),
    "200 subjects, one predicts": (200, 1.0),
}


def one(design, seed):
    """What the report of a trial of noise says."""
    n, slope = DESIGNS[design]
    rng = np.random.default_rng(seed)
    table = dict(zip(HISTORY, rng.normal(size=(P, n)), strict=True))
    table["arm"] = rng.choice(["drug", "placebo"], size=n)
    table["y"] = slope * table["x0"] + rng.normal(size=n)
    learner = QLearning(random_state=seed).fit(TrialData.from_wide(table, [STAGE]))
    gain = learner.value_.less(learner.observed_)
    slopes = [effect.interval for effect in learner.tailoring_effects_[0]]
    return {
        "gain": gain.value,
        "error": gain.standard_error,
        "better": float(gain.interval[0] > 0.0),
        "worse": float(gain.interval[1] < 0.0),
        "tailors": float(bool(learner.tailoring_[0])),
        "sure": float(any(low > 0.0 or high < 0.0 for low, high in slopes)),
    }


def main():
    args = make_parser(__doc__, replicates=20, seed=9500).parse_args()
    records = collect(args, [{"design": name} for name in DESIGNS], one)
    lines = [
        f"One stage, two arms that do nothing, {P} covariates, {seeds_of(records)}: what the regime gains on "
        "what was done (in truth nothing), spread and mean standard error of it, share of trials told "
        "better or worse, that name a column to decide by, and where an interval of its slope leaves out 0.",
        "",
        f"`{COMMAND}`",
        "",
        "| trial | trials | gain | spread | standard error | better | worse | column named | slope is sure |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in DESIGNS:
        mine = [record for record in records if record["design"] == name]
        mean = {
            key: np.mean([record[key] for record in mine]) for key in mine[0] if key not in ("design", "seed")
        }
        spread = np.std([record["gain"] for record in mine])
        shares = " | ".join(f"{mean[key]:.2f}" for key in ("better", "worse", "tailors", "sure"))
        lines.append(
            f"| {name} | {len(mine)} | {mean['gain']:+.3f} | {spread:.3f} | {mean['error']:.3f} | {shares} |"
        )
    deliver(lines, args.out)


if __name__ == "__main__":
    main()
