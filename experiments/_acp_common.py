"""What the tables and figures of the ACP paper share: the peers of the benchmarks and published figures."""

import sys
from pathlib import Path

# The peers and the runner live with the benchmarks; a second copy would drift.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import _runner
from _acp import SCORES, cell
from _runner import Cell
from _tables import Column, median, spread
from peers import ACP, HIGHDIM, RANKINGS

__all__ = [
    "ACP",
    "RANKINGS",
    "RESULTS",
    "SCORES",
    "Cell",
    "Column",
    "cell",
    "measures",
    "median",
    "methods",
    "parse",
    "printed_table",
    "spread",
    "table",
]

RESULTS = Path(__file__).parent / "results"
# of Tables 2, 3 and A2
PRINTED = (
    *("acp", "acp-linear", "lasso-aic", "lasso-bic", "lasso-cv", "relaxed-lasso", "forest", "tvs"),
    *("cfs", "fstd", "fuse", "acp-literal", "acp-published"),
)


def methods(*names):
    """Some of the benchmarks' methods, in the order asked for."""
    return {name: ACP[name] if name in ACP else HIGHDIM[name] for name in names}


def measures(accuracy, precision, recall, f1):
    """A published line: each entry is (mean, standard deviation)."""
    entries = {"accuracy": accuracy, "precision": precision, "recall": recall, "F1": f1}
    return {heading: f"{mean:.3f} ± {sd:.3f}" for heading, (mean, sd) in entries.items()}


def parse(doc, replicates=20):
    """The arguments of the benchmarks; the first line of a file's docstring describes it."""
    return _runner.parser(doc.splitlines()[0], replicates=replicates)


def table(args, title, cells, chosen, *, paper=None, columns=SCORES, note=(), most=None):
    """Run the cells and put the published lines above ours; slow methods get ``most`` data sets."""

    def reference(name):
        return {f"{who} (paper)": known for who, known in (paper or {}).get(name, {}).items()}

    _runner.run(
        args, title, cells, chosen, columns, reference=reference, footer=lambda _: list(note), most=most
    )


def printed_table(doc, title, cells, paper):
    """A table that the paper prints by method; the last paragraph of the file's docstring stands below it."""
    note = [" ".join(doc.split("\n\n")[-1].split())]
    table(parse(doc).parse_args(), title, cells, methods(*PRINTED), paper=paper, note=note)
