"""Case study 3 on real sequences: which short words tell splice junctions from other DNA?

The primate splice-junction set of the UCI repository (file ``splice_uci.csv.gz``): 60 letters per row, the
place of the junction in their middle. Words before it and after it are columns of their own, counted as they
are and with one mismatch. Runs that are in the file of replicates are not repeated.

    RLSELECT_DATA=folder python experiments/splice_junctions.py --replicates 3 \\
        --out experiments/results/splice_junctions.md
"""

import os
import time
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from _kept_runs import Records
from _risk_rfe_common import arguments, coefficients, lasso_classifier, write
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from rlselect import MismatchFeatures, RiskRFE

ROWS, WORDS = (400, 1000), ((3, 0), (3, 1), (4, 0), (4, 1))
# of those kept, as many are named
NAMED = 16


@cache
def columns(k, m):
    """Counts of the words of both halves of a sequence, their names, and what stands between the halves."""
    frame = pd.read_csv(Path(os.environ["RLSELECT_DATA"]) / "splice_uci.csv.gz")
    halves = np.split(frame.drop(columns="target").to_numpy(), 2, axis=1)
    counter = MismatchFeatures(k=k, m=m, alphabet="ACGT").fit(halves[0])
    words = counter.get_feature_names_out()
    names = [*(f"{word}/" for word in words), *(f"/{word}" for word in words)]
    labels = np.where(frame["target"] == "N", "other", "junction")
    return sparse.hstack([counter.transform(half) for half in halves]).toarray(), names, labels


def one(rows, k, m, seed):
    """Held-out accuracies, the words that are kept, best first, and seconds of the elimination."""
    X, names, labels = columns(k, m)
    order = np.random.default_rng(seed).permutation(len(labels))
    train, test = order[:rows], order[rows:]
    start = time.process_time()
    selector = RiskRFE(kernel="linear").fit(X[train], labels[train])
    seconds = time.process_time() - start
    everything = RiskRFE(kernel="linear", stopping=X.shape[1]).fit(X[train], labels[train])
    scaler = StandardScaler().fit(X[train])
    lasso = lasso_classifier().fit(scaler.transform(X[train]), labels[train])
    return {
        "words": [names[j] for j in np.argsort(selector.ranking_)[: selector.n_features_]],
        "accuracy": float(selector.score(X[test], labels[test])),
        "all": float(everything.score(X[test], labels[test])),
        "lasso": float(lasso.score(scaler.transform(X[test]), labels[test])),
        "lasso words": int(np.count_nonzero(coefficients(lasso))),
        "seconds": seconds,
    }


def table(records):
    """A line for each number of rows and kind of words."""
    lines = [
        "| training rows | letters | mismatches | columns | splits | words kept | accuracy | all columns "
        "| lasso | its words | s | kept most often |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for rows, k, m in ((rows, *word) for rows in ROWS for word in WORDS):
        runs = records.of(rows, k, m)
        if not runs:
            continue
        mean = {key: np.mean([run[key] for run in runs]) for key in runs[0] if key != "words"}
        spread = np.std([run["accuracy"] for run in runs], ddof=min(1, len(runs) - 1))
        often = Counter(word for run in runs for word in run["words"]).most_common(NAMED)
        size = np.mean([len(run["words"]) for run in runs])
        lines.append(
            f"| {rows} | {k} | {m} | {2 * 4**k} | {len(runs)} | {size:.1f} "
            f"| {mean['accuracy']:.3f} ± {spread:.3f} | {mean['all']:.3f} | {mean['lasso']:.3f} "
            f"| {mean['lasso words']:.1f} | {mean['seconds']:.1f} "
            f"| {' '.join(word for word, _ in often)} |"
        )
    return lines


def main():
    parser = arguments(__doc__.splitlines()[0], replicates=3, seed=1216000)
    args = parser.parse_args()
    records = Records(None if args.out is None else args.out.with_suffix(".jsonl"))
    seeds = range(args.seed, args.seed + args.replicates)
    records.collect(((rows, *word, seed) for seed in seeds for word in WORDS for rows in ROWS), one)
    labels = columns(*WORDS[0])[2]
    lines = [
        f"Splice junctions against other DNA ({len(labels):,} sequences, {np.mean(labels == 'other'):.3f} of",
        'them without a junction): `RiskRFE(kernel="linear")` on counts of the words before (AG/) and after',
        f"(/GT) the middle, splits from seed {args.seed}, accuracy on the rows that were not learnt from.",
        "Introns begin with GT and end with AG. Made by",
        "",
        *__doc__.split("\n\n")[-1].splitlines(),
        "",
        *table(records),
    ]
    write(lines, args.out)


if __name__ == "__main__":
    main()
