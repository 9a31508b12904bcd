"""Replicates that can be broken off and taken up again: one line of JSON each, written when it is done."""

import argparse
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path

__all__ = ["Records", "collect", "deliver", "make_parser", "seeds_of"]


def make_parser(description: str, replicates: int, seed: int) -> argparse.ArgumentParser:
    """The options of all such runs: how many, from which seed, where records and the table go."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=replicates)
    parser.add_argument("--seed", type=int, default=seed, help="seed of the first replicate")
    parser.add_argument("--records", type=Path, default=None, help="JSON lines; known ones are kept")
    parser.add_argument("--out", type=Path, default=None)
    return parser


def _known(path: Path | None) -> list[dict]:
    """The records of a file, if there is one."""
    if path is None or not path.exists():
        return []
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]


def _add(path: Path | None, record: dict) -> None:
    """One more record in a file, which is made where it is missing."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


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
    cells, found = list(cells), _known(args.records)
    for seed in range(args.seed, args.seed + args.replicates):
        for cell in cells:
            mine = {**cell, "seed": seed}
            if any(mine.items() <= record.items() for record in map(_plain, found)):
                continue
            found.append(mine | one(**mine))
            _add(args.records, found[-1])
    return found


def _plain(record: dict) -> dict:
    """The parts of a record that it may be known by."""
    return {name: value for name, value in record.items() if isinstance(value, str | int)}


class Records:
    """Runs, each named by a tuple, and what each gave.

    Parameters
    ----------
    path : Path or None
        The file; runs in it are not repeated.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[tuple, dict] = {tuple(record.pop("run")): record for record in _known(path)}

    def collect(self, runs: Iterable[tuple], one: Callable[..., dict], seconds: float = float("inf")) -> None:
        """Add what ``one(*run)`` gives for each run; none begins after so many CPU seconds."""
        for run in runs:
            if run in self.known or time.process_time() > seconds:
                continue
            self.known[run] = one(*run)
            print(run, self.known[run], flush=True)
            _add(self.path, {"run": run, **self.known[run]})

    def of(self, *names: object) -> list[dict]:
        """Records of the runs whose names begin with these."""
        return [record for run, record in self.known.items() if run[: len(names)] == names]


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
