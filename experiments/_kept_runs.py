"""Experiments that go on where they stopped: the records of the benchmarks, and pages of readings."""

import argparse
import sys
from pathlib import Path

# The records live with the benchmarks; a second copy would drift.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from _records import Records

__all__ = ["Records", "readings_parser", "run_readings"]


def readings_parser(doc, seed):
    """The options of a page of readings; the first line of a file's docstring describes it."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=3)
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="CPU seconds after which no run begins"
    )
    parser.add_argument("--out", type=Path, default=None, help="Markdown; the replicates beside it are kept")
    return parser


def run_readings(args, doc, plan, one, table, *, title, remarks):
    """Run what is missing, and write a page of all there is.

    ``plan`` names the runs, ``one(*run)`` does one of them, ``table(records)`` gives the lines of the table;
    the last paragraph of a file's docstring has the commands.
    """
    records = Records(None if args.out is None else args.out.with_suffix(".jsonl"))
    records.collect(plan, one, args.seconds)
    known = f"replicates from seed {args.seed}, as many as are named. Made by"
    commands = doc.split("\n\n")[-1].splitlines()
    lines = [*title, known, "", *commands, "", *table(records), "", *remarks]
    print("\n".join(lines))
    if args.out is not None:
        args.out.write_text("\n".join(lines) + "\n")
