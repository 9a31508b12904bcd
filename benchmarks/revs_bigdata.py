"""REVS and its peers on half a million rows in memory, single precision."""

from functools import partial

import numpy as np

import _runner
from _tables import Column, first_fit, mean, median, significant
from peers import BIGDATA, revs
from rlselect.simulate import make_revs, make_weak

STRUCTURES = ("block", "banded", "sparse")


def cells(n):
    """Easy linear cells, weak signals, strong and faint ones with a gap between them, and logistic cells."""
    out = [
        _runner.Cell(
            f"linear-{structure}-{p}", "gaussian", partial(_paper_design, n, p, structure, "gaussian")
        )
        for p in (200, 800)
        for structure in STRUCTURES
    ]
    out += [
        _runner.Cell(f"{name}-{p}", "gaussian", partial(_weak_design, n, p, design))
        for name, design in (("weak", "levels"), ("gap", "gap"))
        for p in (400, 800)
    ]
    out += [
        _runner.Cell(
            f"logistic-{structure}-200", "binomial", partial(_paper_design, n, 200, structure, "binomial")
        )
        for structure in STRUCTURES
    ]
    return out


def _paper_design(n, p, structure, family, seed):
    return make_revs(n, p, structure=structure, family=family, dtype=np.float32, random_state=seed)


def _weak_design(n, p, design, seed):
    return make_weak(n, p, design=design, dtype=np.float32, random_state=seed)


def _times_revs(fits, summary):
    """How many times the processor time of REVS: median over replicates of the ratio on the same data.

    Everything is in memory and on one thread, so this is the ratio of waiting times on an idle core, and a
    busy machine does not blur it.
    """
    ours = {f.seed: f.cpu_seconds for f in summary.of(fits[0].cell, revs.NAME)}
    ratios = [f.cpu_seconds / ours[f.seed] for f in fits if ours.get(f.seed, 0.0) > 0.0]
    ratios = [r for r in ratios if np.isfinite(r)]
    return significant(np.median(ratios)) if ratios else "-"


def _rows_read(fits, summary):
    shares = [100.0 * f.rows_read / f.n for f in fits if np.isfinite(f.rows_read)]
    return f"{np.mean(shares):.1f}" if shares else "-"


COLUMNS = [
    Column("#", lambda fits, _: mean(fits, "n_selected")),
    Column("TPR %", lambda fits, _: mean(fits, "tpr", 100)),
    Column("PPV %", lambda fits, _: mean(fits, "ppv", 100)),
    Column("F1", lambda fits, _: mean(fits, "f1", 1, 3)),
    Column("exact %", lambda fits, _: mean(fits, "exact", 100, 0)),
    Column("rows read %", _rows_read),
    Column("s", lambda fits, _: median(fits, "seconds")),
    Column("cpu s", lambda fits, _: median(fits, "cpu_seconds")),
    Column("first fit s", first_fit),
    Column("cpu s / REVS", _times_revs),
]


def main():
    parser = _runner.parser(__doc__, replicates=3)
    parser.add_argument("--n", type=int, default=500_000, help="rows")
    args = parser.parse_args()
    title = f"REVS and peers, {args.n:,} rows in memory (float32)"
    _runner.run(args, title, cells(args.n), BIGDATA, COLUMNS)


if __name__ == "__main__":
    main()
