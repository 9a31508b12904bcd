"""Case study 4 on real images: which blocks of a digit's image matter, with the chi-squared kernel on
histograms?

scikit-learn's 8 x 8 digits, 3 against 8: the image is cut into sixteen 2 x 2 blocks, each described by a
histogram of four grey levels; the four bins of a block are one group.

    python experiments/digit_histograms.py --out experiments/results/digit_histograms.md
"""

import numpy as np
from _risk_rfe_common import arguments, write
from sklearn.datasets import load_digits

from rlselect import RiskRFE


def block_histograms(images, n_bins=4):
    """Columns: the bins of block 0, of block 1, ... row by row."""
    level = np.minimum((images / 16.0 * n_bins).astype(int), n_bins - 1)
    columns = []
    for top in range(0, 8, 2):
        for left in range(0, 8, 2):
            block = level[:, top : top + 2, left : left + 2].reshape(len(images), -1)
            columns += [np.mean(block == b, axis=1) for b in range(n_bins)]
    return np.column_stack(columns)


def main():
    args = arguments(__doc__.splitlines()[0], replicates=3).parse_args()
    digits = load_digits()
    chosen = np.isin(digits.target, (3, 8))
    X, y = block_histograms(digits.images[chosen]), digits.target[chosen]
    groups = np.repeat(np.arange(16), 4)
    lines = [
        "Digits 3 against 8, 16 block histograms of 4 bins, chi-squared kernel, hinge loss, 200 training "
        f"rows. Made by `{__doc__.splitlines()[-1].strip()}`.",
        "",
        "| seed | blocks kept | test accuracy | with all 16 | kept (row, column) |",
        "|---|---|---|---|---|",
    ]
    for seed in range(args.seed, args.seed + args.replicates):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:200], order[200:]
        options = {"loss": "hinge", "kernel": "chi2", "feature_groups": groups}
        selector = RiskRFE(**options).fit(X[train], y[train])
        everything = RiskRFE(stopping=64, **options).fit(X[train], y[train])
        kept = np.unique(groups[selector.support_])
        places = " ".join(f"({b // 4}, {b % 4})" for b in kept)
        lines.append(
            f"| {seed} | {len(kept)} | {selector.score(X[test], y[test]):.3f} "
            f"| {everything.score(X[test], y[test]):.3f} | {places} |"
        )
    write(lines, args.out)


if __name__ == "__main__":
    main()
