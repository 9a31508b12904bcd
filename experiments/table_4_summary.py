"""Tables 4.1 to 4.3 in one: a row a cell of ours, with the dissertation's figures beside, from the records.

python experiments/table_4_summary.py --out experiments/results/table_4_summary.md
"""

import argparse
from pathlib import Path

import numpy as np
import table_4_1
import table_4_2
import table_4_3
from _regimes_common import RESULTS, Records, covered, deliver, gain, with_error

from rlselect.simulate import make_regime_trial

PAPERS = {"I": table_4_1.PAPER, "II": table_4_2.PAPER, "III": table_4_3.PAPER}
HEAD = (
    "| setting | n | p | replicates | no miss | dissertation | exact | earlier, direct | dissertation | "
    "earlier, all | decision | dissertation | value | optimal | gain from selection | cover | s per stage |"
)


def shares(truth, runs, key, kind="outcome", exact=False):
    """Share of replicates without a miss (and without a surplus column), one per stage."""
    found = []
    for t in range(len(truth.stages)):
        sets = [set(r[key][t]) for r in runs]
        good = [truth.missed(s, t + 1, kind=kind) == 0 for s in sets]
        if exact:
            good = [g and truth.extra(s, t + 1, kind=kind) == 0 for g, s in zip(good, sets, strict=True)]
        found.append(float(np.mean(good)))
    return found


def printed(paper, method, n, p, pick):
    """The dissertation's figure for stages, through ``pick``."""
    if p not in (10, 30, 50) or n not in paper[method]:
        return ""
    return f"{pick([stage[[10, 30, 50].index(p)] for stage in paper[method][n]]):g}"


def row(records, n, p):
    """A cell."""
    paper, runs = PAPERS[records.setting], records.of(n, p, "ours")
    truth = make_regime_trial(records.setting, 1, p, random_state=0)
    both = [
        " / ".join(printed(paper, method, n, p, pick) for method in ("rfe", "rfe-test"))
        for pick in (lambda stages: stages[-1], lambda stages: min(stages[:-1]))
    ]
    direct, every = (min(shares(truth, runs, "selected", kind)[:-1]) for kind in ("direct", "outcome"))
    value, seconds = (np.mean([r[key] for r in runs]) for key in ("value", "seconds"))
    cells = [
        records.setting,
        n,
        p,
        len(runs),
        f"{shares(truth, runs, 'selected')[-1]:.2f}",
        both[0],
        f"{shares(truth, runs, 'selected', exact=True)[-1]:.2f}",
        f"{direct:.2f}",
        both[1],
        f"{every:.2f}",
        f"{min(shares(truth, runs, 'tailoring', 'decision')):.2f}",
        printed(paper, "rfe-vpred", n, p, min),
        f"{value:.2f}",
        f"{truth.optimal_value:.2f}",
        with_error(gain(records, n, p)),
        f"{covered(runs) / len(runs):.2f}",
        f"{seconds:.1f}",
    ]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def judged(records, n, p, method):
    """Share without a miss, at the last stage or, for RFE_Vpred, among decisions at the worst; and value."""
    runs = records.of(n, p, method)
    if not runs:
        return ["", ""]
    truth = make_regime_trial(records.setting, 1, p, random_state=0)
    decides = method == "rfe-vpred"
    found = shares(truth, runs, "selected", "decision" if decides else "direct")
    pick = min if decides else (lambda stages: stages[-1])
    value = np.mean([r["value"] for r in runs])
    return [
        f"{pick(found):.2f} ({printed(PAPERS[records.setting], method, n, p, pick)}), {len(runs)}",
        f"{value:.2f}",
    ]


def reproduced_row(records, n, p):
    """The dissertation's methods in a cell, and what their regimes are worth."""
    ours = np.mean([r["value"] for r in records.of(n, p, "ours")])
    cells = [cell for method in ("rfe", "rfe-test", "rfe-vpred") for cell in judged(records, n, p, method)]
    return "| " + " | ".join([records.setting, str(n), str(p), *cells, f"{ours:.2f}"]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1000, help="seed of the first replicate")
    parser.add_argument("--records", type=Path, default=RESULTS / "table_4_replicates.jsonl")
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    every = [Records(setting, args.records, args.seed) for setting in PAPERS]
    cells = [(r, n, p) for r in every for n, p in r.cells() if r.of(n, p, "ours")]
    wide = [gain(r, n, p) for r, n, p in cells if p >= 30]
    runs = [run for r, n, p in cells for run in r.of(n, p, "ours")]
    deliver([
        f"Ours, seeds from {args.seed}, without safeguard; the dissertation's figures (20 replicates, with "
        "its 5 % safeguard) are those of RFE / RFE_test, for decisions those of RFE_Vpred. No miss and exact "
        "set: last stage. Earlier, direct and all: the earlier stage with the most misses, among columns "
        "that act through the stage's own reward and among all columns of the optimal Q-function. Decision: "
        "the stage with the most misses in `tailoring_`. Gain: value with selection less value without it, "
        "with its paired standard error. Cover: 95 % intervals of `value_` that hold the value of a regime.",
        "",
        HEAD,
        "|" + "---|" * 17,
        *[row(*cell) for cell in cells],
        "",
        f"Gain from selection pooled over p >= 30: {with_error(np.concatenate(wide))}. Intervals cover in "
        f"{covered(runs)} of {len(runs)} replicates.",
        "",
        "The dissertation's methods as implemented here, with its safeguard: share of replicates without a "
        "miss at the last stage, among columns that act there (RFE, RFE_test), or among decision features at "
        "the stage with the most misses (RFE_Vpred); in brackets as printed, then the number of replicates; "
        "and the value of their regimes, ours at the end.",
        "",
        "| setting | n | p | RFE | value | RFE_test | value | RFE_Vpred, decisions | value | ours: value |",
        "|" + "---|" * 10,
        *[reproduced_row(*cell) for cell in cells],
    ], args.out)  # fmt: skip


if __name__ == "__main__":
    main()
