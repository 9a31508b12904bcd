"""Figure 8: MNIST in a 4 x 4 grid of blocks, where a block that touches a bought one is cheaper.

python experiments/datumwise_mnist.py
"""

import time

import numpy as np
from _datumwise_common import Records, arguments, write

from rlselect.datasets import load_local
from rlselect.datumwise import DatumwiseClassifier

SIDE, GRID = 16, 4


def shrink(images):
    """28 x 28 pixels in a margin of two, averaged by fours: 16 x 16."""
    padded = np.pad(images.reshape(-1, 28, 28).astype(float), ((0, 0), (2, 2), (2, 2)))
    return padded.reshape(-1, SIDE, 2, SIDE, 2).mean(axis=(2, 4)).reshape(len(images), -1)


def blocks():
    """Block of each pixel, row by row."""
    place = np.arange(SIDE) * GRID // SIDE
    return (place[:, None] * GRID + place[None, :]).ravel()


def touch(a, b):
    """Whether two blocks share an edge."""
    return abs(a // GRID - b // GRID) + abs(a % GRID - b % GRID) == 1


def contiguous(bought):
    """Whether the blocks of a case hang together."""
    rest = set(np.flatnonzero(bought))
    reached = {rest.pop()} if rest else set()
    frontier = list(reached)
    while frontier:
        a = frontier.pop()
        near = {b for b in rest if touch(a, b)}
        rest -= near
        frontier += near
    return not rest


def fit(args, price, unrelated, seed):
    data = load_local("mnist")
    rng = np.random.default_rng(seed)
    train = rng.permutation(data.n_train)[: args.n_train]
    test = data.n_train + rng.permutation(len(data.target) - data.n_train)[: args.n_test]
    X, X_test, y = shrink(data.data[train]), shrink(data.data[test]), data.target.astype(int)
    related = {} if unrelated is None else {"related": touch, "relation": "any", "unrelated_cost": unrelated}
    start = time.process_time()
    model = DatumwiseClassifier(
        scoring="bins",
        feature_cost=price,
        feature_groups=blocks(),
        n_bins=args.n_bins,
        random_state=seed,
        **related,
    )
    model.fit(X, y[train])
    return model, X_test, y[test], time.process_time() - start


def one(args, price, unrelated, seed):
    model, X, y, seconds = fit(args, price, unrelated, seed)
    labels, used = model.predict(X), model.acquire(X)
    groups = blocks()
    bought = np.column_stack([used[:, groups == g].any(axis=1) for g in range(GRID**2)])
    right = labels == y
    by_class = [
        float(bought[right & (y == c)].sum(axis=1).mean()) if (right & (y == c)).any() else 0.0
        for c in range(10)
    ]
    return {
        "accuracy": float(right.mean()),
        "blocks": float(bought.sum(axis=1).mean()),
        "together": float(np.mean([contiguous(row) for row in bought])),
        "by_class": by_class,
        "seconds": seconds,
    }


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_mnist", replicates=1)
    parser.add_argument("--n-train", type=int, default=3000)
    parser.add_argument("--n-test", type=int, default=5000)
    parser.add_argument("--prices", type=float, nargs="+", default=[0.01, 0.03])
    parser.add_argument(
        "--n-bins", type=int, default=3, help="bins of a pixel; most pixels are black or white"
    )
    parser.add_argument("--unrelated", type=float, default=0.15, help="price of a block that touches none")
    args = parser.parse_args()
    records, seeds = Records(args.records, args.resume), range(args.seed, args.seed + args.replicates)
    lines = [
        f"MNIST, {args.n_train} training and {args.n_test} test images, each 2 x 2 pixels averaged, 16 "
        f"blocks of 4 x 4 of those in {args.n_bins} bins, {args.replicates} runs from seed {args.seed}. "
        f"Contiguous: a block costs {args.unrelated:g} unless it shares an edge with a bought one (the first "
        "block costs the lower price). together: share of the cases whose blocks hang together. The paper "
        "prints pictures only; in its text a 1 needs the two central blocks, a 5 nearly all.",
        "",
        "| price | contiguous | accuracy | blocks per case | sparsity | together | "
        + " | ".join(f"blocks for {c}" for c in range(10))
        + " | s per fit |",
        "|" + "---|" * 17,
    ]
    for price in args.prices:
        for unrelated in (None, args.unrelated):
            key = (price, unrelated, args.n_train, args.n_test, args.n_bins)
            runs = [
                records.get((*key, s), lambda c=price, u=unrelated, s=s: one(args, c, u, s)) for s in seeds
            ]
            accuracy, bought, together, seconds = (
                np.mean([r[k] for r in runs]) for k in ("accuracy", "blocks", "together", "seconds")
            )
            by_class = np.mean([r["by_class"] for r in runs], axis=0)
            lines.append(
                f"| {price:g} | {'no' if unrelated is None else 'yes'} | {accuracy:.3f} | {bought:.2f} "
                f"| {1 - bought / 16:.3f} | {together:.3f} | "
                + " | ".join(f"{b:.1f}" for b in by_class)
                + f" | {seconds:.1f} |"
            )
    draw(args, args.out.with_suffix(".png"))
    write(lines, args.out)


def draw(args, path):
    """Use of the blocks by rightly named digits at the last price, with contiguity."""
    import matplotlib

    matplotlib.use("Agg")
    from rlselect.datumwise import BlockUseDisplay

    model, X, y, _ = fit(args, args.prices[-1], args.unrelated, args.seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    display = BlockUseDisplay.from_estimator(model, X, y, shape=(SIDE, SIDE))
    display.figure_.savefig(path, dpi=80)


if __name__ == "__main__":
    main()
