r"""Coverage of the intervals of learnt regimes and their rules, also where actions are equally good.

python experiments/regime_nonregular.py --records experiments/results/regime_nonregular.jsonl \
    --replicates 120 --seed 20000 --models linear --out experiments/results/regime_nonregular.md

python experiments/regime_nonregular.py --records experiments/results/regime_nonregular_default.jsonl \
    --replicates 300 --seed 2971000 --models auto --out experiments/results/regime_nonregular_default.md
"""

import numpy as np
from _regimes_common import collect, deliver, make_parser, seeds_of

from rlselect import QLearning, TrialData

N, P = 300, 5
HALF = {-1: 0.5, 1: 0.5}
STAGES = [
    {"history": [f"x{j}" for j in range(P)], "action": "A1", "reward": "R1", "propensity": HALF},
    {"history": ["z"], "action": "A2", "reward": "R2", "propensity": HALF},
]
# second-stage effect of a subject, given its history
EFFECTS = {
    "null: no effect for anyone": lambda table: 0.0 * table["x0"],
    "no effect for three quarters": lambda table: ((table["x0"] > 0) & (table["A1"] > 0)).astype(float),
    "regular: 0.3 + 0.8 z": lambda table: 0.3 + 0.8 * table["z"],
}


def draw(effect, n, rng, policy=None):
    """Columns of a trial; actions by `policy(history, stage)`, or at random."""
    X, coin = rng.normal(size=(n, P)), rng.choice([-1, 1], size=(2, n))
    table = {f"x{j}": X[:, j] for j in range(P)}
    table["A1"] = coin[0] if policy is None else np.asarray(policy(table, 1))
    table["R1"] = 0.5 * X[:, 1] + 0.5 * rng.normal(size=n)
    table["z"] = 0.5 * X[:, 0] + rng.normal(size=n)
    table["A2"] = coin[1] if policy is None else np.asarray(policy(table, 2))
    table["R2"] = table["z"] + 0.5 * X[:, 2] + table["A2"] * effect(table) + rng.normal(size=n)
    return table


def one(effect, model, seed):
    """Of the regime, of its rules and of what the regime gains: ends of the interval, value, standard error.

    The first three are less the truth.
    """
    effect = EFFECTS[effect]
    trial = TrialData.from_wide(draw(effect, N, np.random.default_rng(seed)), STAGES)
    learner = QLearning(model=model, random_state=seed).fit(trial)
    found = []
    for policy, values in (
        (learner.predict, (learner.value_, learner.value_.less(learner.observed_))),
        (learner.regime_.predict, (learner.regime_.value_,)),
    ):
        fresh = draw(effect, 5_000, np.random.default_rng(10_000 + seed), policy)
        # the main effects have mean 0, and so has what was done; what is left of them is noise
        truth = float(np.mean(fresh["A2"] * effect(fresh)))
        found += [[*(np.array([*v.interval, v.value]) - truth).round(5), v.standard_error] for v in values]
    return {"found": found}


def line(name, model, place, runs):
    """One row of the table: of the regimes, of what they gain or of their rules."""
    low, high, error, own = np.array([run[place] for run in runs], dtype=float).T
    share = np.mean((low <= 0) & (high >= 0))
    margin = 2.0 * np.sqrt(share * (1.0 - share) / len(runs))
    of = ("the regime", "the regime less what was done", "its rules")[place]
    return (
        f"| {name} | {model} | {of} | {len(runs)} | {share:.3f} ({margin:.3f}) | {np.mean(low > 0):.3f} | "
        f"{np.mean(high < 0):.3f} | {error.mean():+.3f} | {error.std():.3f} | {own.mean():.3f} |"
    )


def command_of(args):
    """What makes the table again."""
    return (
        f"python experiments/regime_nonregular.py --records {args.records} --replicates {args.replicates} "
        f"--seed {args.seed} --models {' '.join(args.models)} --out {args.out}"
    )


def main():
    parser = make_parser(__doc__, replicates=40, seed=9000)
    parser.add_argument("--models", nargs="+", default=["linear"])
    args = parser.parse_args()
    cells = [{"effect": name, "model": model} for name in EFFECTS for model in args.models]
    records = collect(args, cells, one)
    lines = [
        f"Two-stage trials, n = {N}, {P} covariates at stage 1 and one at stage 2, {seeds_of(records)}: "
        "coverage of 95 % intervals with twice its standard error, share of intervals above and below the "
        "truth, bias, spread of the estimates and mean standard error.",
        "",
        f"`{command_of(args)}`",
        "",
        "| second-stage effect | model | value of | trials | coverage | above | below | bias | spread | "
        "standard error |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in EFFECTS:
        for model in sorted({record["model"] for record in records}):
            runs = [r["found"] for r in records if (r["effect"], r["model"]) == (name, model)]
            lines += [line(name, model, place, runs) for place in range(3) if runs]
    deliver(lines, args.out)


if __name__ == "__main__":
    main()
