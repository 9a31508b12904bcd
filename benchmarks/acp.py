"""The Actor-Critic-Predictor, nothing set by hand, and its peers: six truths with 50 columns, four with more.

python benchmarks/acp.py --replicates 20 --out benchmarks/results/acp
RLSELECT_DATA=folder python benchmarks/acp.py --real --replicates 3 --out benchmarks/results/acp_real
"""

import _runner
from _acp import NAMES, SCORES, cell
from _real import REAL_HELP, run_real
from _tables import Column, mean
from peers import ACP, RANKINGS

CELLS = [
    *(cell(name, 200, 50) for name in NAMES),
    *(cell(name, n, 300) for n in (100, 200) for name in ("linear", "correlated", "interaction")),
    *(cell(name, 200, 1000) for name in ("linear", "correlated")),
]

# What we hold ourselves to: F1 at least, CPU seconds at most.
GOALS = {
    **{f"f{i}-{name}-p50-n200": (0.98, 3.0) for i, name in enumerate(NAMES[:2], 1)},
    **{f"f{i}-{name}-p50-n200": (0.98, 10.0) for i, name in enumerate(NAMES[2:4], 3)},
    **{f"f{i}-{name}-p50-n200": (0.95, 10.0) for i, name in enumerate(NAMES[4:], 5)},
    **{f"f{i}-{name}-p300-n{n}": (0.97, 5.0) for n in (100, 200) for i, name in enumerate(NAMES[:2], 1)},
    **{f"f3-interaction-p300-n{n}": (0.95, float("nan")) for n in (100, 200)},
    **{f"f{i}-{name}-p1000-n200": (0.98, 20.0) for i, name in enumerate(NAMES[:2], 1)},
}


def goal(name):
    score, seconds = GOALS[name]
    return {"goal": {"F1": f">= {score:.2f}", "cpu s": f"<= {seconds:.0f}" if seconds == seconds else ""}}


def against_goals(summary):
    """One line per cell: is the default where it should be, and who is ahead of it?"""
    lines = ["| cell | F1 | goal | cpu s | goal | best other | F1 |", "|---|---:|---:|---:|---:|---|---:|"]
    for name in summary.cells:
        ours = summary.of(name, "ACP")
        if not ours:
            continue
        others = {m: mean(summary.of(name, m), "f1", 1, 3) for m in summary.methods(name) if m != "ACP"}
        best = max(others, key=lambda m: float(others[m]), default="")
        score, seconds = GOALS[name]
        limit = f"{seconds:.0f}" if seconds == seconds else ""
        lines.append(
            f"| {name} | {mean(ours, 'f1', 1, 3)} | {score} | {mean(ours, 'cpu_seconds')} | {limit} "
            f"| {best} | {others.get(best, '')} |"
        )
    return lines


def main():
    parser = _runner.parser(__doc__.splitlines()[0], replicates=20)
    parser.add_argument("--real", action="store_true", help=REAL_HELP)
    args = parser.parse_args()
    if args.real:
        run_real(args, RANKINGS)
        return
    columns = [*SCORES, Column("exact %", lambda fits, _: mean(fits, "exact", 100, 0))]
    title = "ACP and peers, eight true columns"
    _runner.run(args, title, CELLS, ACP, columns, reference=goal, footer=against_goals)


if __name__ == "__main__":
    main()
