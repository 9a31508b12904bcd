"""Single pixels of MNIST: what the purchase that networks take for the best gains, beside a random one.

RLSELECT_DATA=... python experiments/datumwise_gains.py
"""

import itertools

import numpy as np
from _datumwise_common import Records, arguments, command_line, write

from rlselect import DatumwiseClassifier
from rlselect.datasets import load_local
from rlselect.datumwise import NetworkTraining

N_TRAIN, N_TEST, PIXELS, STEPS, PRICE = 4000, 1500, 100, 1000, 1e-3
REWARDS = ("probability", "log")
DEPTHS = (0, 1, 3, 6, 9, 12)
# pixels of the highest mean score, of which the best for all cases is taken
LEADING = 10


def run(reward, seed):
    """At several numbers of purchases: accuracy, and gains of the next one, expected and seen."""
    rng = np.random.default_rng(seed)
    bunch = load_local("mnist")
    train, test = rng.permutation(60_000)[:N_TRAIN], 60_000 + rng.permutation(10_000)[:N_TEST]
    X, y = np.asarray(bunch.data), np.asarray(bunch.target)
    search = NetworkTraining(screen=PIXELS, n_members=2, steps=STEPS, reward=reward, lookahead=False)
    model = DatumwiseClassifier(scoring="network", search=search, feature_cost=PRICE, random_state=seed)
    fitted = model.fit(X[train].astype(float), y[train])._fitted
    codes = fitted.episodes(X[test].astype(float))[0]
    labels = np.searchsorted(fitted.classes, y[test])
    return play(fitted.policy, codes, labels, reward, rng)


def play(policy, codes, labels, reward, rng):
    """Cases buy what looks best, whatever it costs; gains of that, of a random pixel and of one for all."""
    rows, n_units = np.arange(len(codes)), policy.rules.n_units
    bought = np.zeros((len(codes), n_units), dtype=bool)

    def worth(more=None):
        own = bought.copy()
        if more is not None:
            own[rows, more] = True
        shares = policy.probabilities(codes, own)
        true = shares[rows, labels]
        return (true if reward == "probability" else np.log(np.maximum(true, 1e-9))), shares

    out = []
    for depth in range(max(DEPTHS) + 1):
        cost = policy.score_of(float(policy.rules.prices.mean()))
        gains = policy.action_scores(codes, bought)[:, :n_units] + cost
        open_gains = np.where(bought, -np.inf, gains)
        best = open_gains.argmax(axis=1)
        if depth in DEPTHS:
            now, shares = worth()
            random = np.where(bought, -1.0, rng.random(bought.shape)).argmax(axis=1)
            leading = np.argsort(-np.where(bought, 0.0, gains).mean(axis=0))[:LEADING]
            found = [
                (shares.argmax(axis=1) == labels).mean(),
                gains[rows, best].mean(),
                (worth(best)[0] - now).mean(),
                (worth(random)[0] - now).mean(),
                max((worth(np.full(len(rows), j))[0] - now).mean() for j in leading.tolist()),
            ]
            out.append([round(float(value), 4) for value in found])
        bought[rows, best] = True
    return out


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_gains", replicates=1)
    args = parser.parse_args()
    records = Records(args.records, args.resume)
    for seed, reward in itertools.product(range(args.seed, args.seed + args.replicates), REWARDS):
        records.get((seed, reward), lambda reward=reward, seed=seed: run(reward, seed))
    write(table(args, records), args.out)


def table(args, records):
    """Lines of Markdown."""
    lines = [
        f"{N_TRAIN:,} digits to learn from, {N_TEST:,} others, two networks, {STEPS:,} steps, the {PIXELS} "
        "pixels that tell most, no lookahead. Every case buys what looks best, so many times. Gains of the "
        "next pixel, in the reward of the training, means over the cases: what is expected of the one that "
        "looks best, what it gains, what a random one gains, and what the best gains that is the same for "
        f"all, of the {LEADING} with the highest expectations. Seeds from {args.seed}, {args.replicates} "
        "for each reward.",
        "",
        command_line(),
        "",
        "| reward | bought | accuracy | expected of the best | it gains | random | the same for all |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for reward in REWARDS:
        found = np.mean([rows for (_, own), rows in records.done.items() if own == reward], axis=0)
        for depth, (accuracy, *gains) in zip(DEPTHS, found, strict=True):
            cells = [reward, depth, f"{100 * accuracy:.1f}", *(f"{gain:.4f}" for gain in gains)]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


if __name__ == "__main__":
    main()
