"""Replicates that can be broken off and taken up again: one line of JSON each, written when it is done."""

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path

__all__ = ["collect", "deliver", "make_parser", "seeds_of"]


def make_parser(description: str, replicates: int, seed: int) -> argparse.ArgumentParser:
    """The options of all such runs: how many, from which seed, where records and the table go."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=replicates)
    parser.add_argument("--seed", type=int, default=seed, help="seed of the first replicate")
    parser.add_argument("--records", type=Path, default=None, help="JSON lines; known ones are kept")
    parser.add_argument("--out", type=Path, default=None)
    return parser


def collect(args: argparse.Namespace, cells: Iterable[dict], one: Callable[..., dict]) -> list[dict]:
    """Records of the cells at all seeds asked for, and those that the file held already.

    Parameters
    ----------
    args : Namespace
        Of `make_parser`.
    cells : iterable of dict
        What a replicate is known by beside its seed, such as ``{"design": "curved", "method": "lasso Q"}``.
    one : callable
        ``one(seed=..., **cell)`` gives what was found, a dict that JSON can hold.
    """
    cells, found = list(cells), []
    if args.records is not None and args.records.exists():
        found = [json.loads(text) for text in args.records.read_text(encoding="utf-8").splitlines()]
    for seed in range(args.seed, args.seed + args.replicates):
        for cell in cells:
            mine = {**cell, "seed": seed}
            if any(mine.items() <= record.items() for record in map(_plain, found)):
                continue
            found.append(mine | one(**mine))
            if args.records is not None:
                args.records.parent.mkdir(parents=True, exist_ok=True)
                with args.records.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found[-1]) + "\n")
    return found


def _plain(record: dict) -> dict:
    """The parts of a record that it may be known by."""
    return {name: value for name, value in record.items() if isinstance(value, str | int)}


def seeds_of(records: Iterable[dict]) -> str:
    """The first and the last seed in words."""
    seeds = [record["seed"] for record in records]
    return f"seeds {min(seeds)} to {max(seeds)}"


def deliver(lines: Iterable[str], out: Path | None) -> None:
    """Lines into a file, or onto the screen without one."""
    text = "\n".join([*lines, ""])
    if out is None:
        print(text)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
