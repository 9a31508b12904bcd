"""Random command lines on messy files: a right answer or a sentence of ours, never a traceback.

``python tests/fuzz/commands.py 2000 0`` runs 2,000 of them from seed 0 on.
"""

import gzip
import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner

from rlselect.cli import main

NAMES = [
    "y",
    "a",
    "b b",
    "Größe (m²)",
    "it's",
    "x=1",
    "id",
    "day",
    "-w",
    "`t`",
    "é,è",
    "week",
    "arm",
    "--seed",
]
_WORDS = ["red", "blau", "", "NA", "n/a", "k.A.", "a,b", 'say "so"', "é", "1,5", "0"]
# what a sentence on the command line has no use for
_PYTHON = re.compile(r"(?<![\w.])(missing|family|time_budget|random_state|sample_weight|max_features)=")


def _written(value, decimal, thousands):
    text = f"{value:,.2f}" if thousands else f"{value:.2f}"
    return text.replace(",", "|").replace(".", decimal).replace("|", thousands or "")


def _column(rng, n, marks):
    kinds = ["number"] * 6 + ["count", "two"] * 3 + ["text", "id", "date", "constant", "big"]
    kind = rng.choice(kinds)
    scale = 10.0 ** rng.integers(-3, 6)
    values = {
        "number": lambda: [_written(v, *marks) for v in scale * rng.normal(size=n)],
        "count": lambda: [str(v) for v in rng.poisson(3, size=n)],
        "two": lambda: [str(v) for v in rng.choice(["yes", "no"], n)],
        "text": lambda: [str(v) for v in rng.choice(_WORDS, n)],
        "id": lambda: [f"P{v:04d}" for v in range(n)],
        "date": lambda: [f"2024-{1 + v % 12:02d}-{1 + v % 28:02d}" for v in rng.integers(0, 300, n)],
        "constant": lambda: ["7"] * n,
        "big": lambda: [str(v) for v in rng.choice(["1e300", "-1e300", "3", "0"], n)],
    }[kind]()
    if rng.random() < 0.2:
        gap = rng.choice(["", "NA", "-999", "?"])
        values = [gap if rng.random() < 0.2 else v for v in values]
    return values


def make_file(rng, folder):
    """A file of a few columns, and the flags that could be right for it."""
    n = int(rng.choice([0, 1, 2, 3, 5, 12, 30, 60], p=[0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.35, 0.4]))
    marks = [(".", ""), (".", ""), (",", ""), (",", "."), (".", ",")][rng.integers(5)]
    separator = str(rng.choice([",", ";", "\t"]))
    names = list(rng.permutation(NAMES)[: rng.integers(2, 7)])
    if rng.random() < 0.02:
        names[-1] = names[0]
    table = {k: _column(rng, n, marks) for k in range(len(names))}
    encoding = str(rng.choice(["utf-8", "utf-8", "utf-8-sig", "cp1252", "utf-16"]))

    def quote(cell):
        return '"' + cell.replace('"', '""') + '"' if re.search('[,;\t"\n]', cell) else cell

    lines = [separator.join(map(quote, names))]
    lines += [separator.join(quote(table[k][i]) for k in range(len(names))) for i in range(n)]
    if n and rng.random() < 0.02:
        lines[-1] = lines[-1].split(separator)[0]
    content = str(rng.choice(["\n", "\r\n"])).join([*lines, ""]).encode(encoding, errors="replace")
    kind = rng.choice(["csv"] * 12 * 2 + ["txt", "csv.gz", "parquet", "parquet", "jsonl", "jsonl", "zip"])
    path = folder / f"some data.{kind}"
    if kind == "csv.gz":
        path.write_bytes(gzip.compress(content))
    elif kind == "parquet" and len(set(names)) == len(names):
        frame = pd.DataFrame(table).rename(columns=dict(enumerate(names)))
        frame.apply(lambda c: pd.to_numeric(c, errors="coerce") if rng.random() < 0.6 else c).to_parquet(path)
    elif kind == "jsonl":
        rows = ({name: table[k][i] for k, name in enumerate(names)} for i in range(n))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        path.write_bytes(content)
    flags = ["--decimal", marks[0]] if rng.random() < 0.9 else []
    flags += ["--thousands", marks[1]] if marks[1] and rng.random() < 0.9 else []
    flags += ["--encoding", encoding.removesuffix("-sig")] if rng.random() < 0.95 else []
    flags += ["--na", str(rng.choice(["?", "-999", "k.A."]))] if rng.random() < 0.3 else []
    return path, names, flags if kind in ("csv", "txt", "csv.gz") or rng.random() < 0.02 else []


def make_line(rng, path, names, cells, folder):
    """Words of a command for a file."""

    def some():
        return str(rng.choice(names if rng.random() < 0.98 else ["nowhere"]))

    def maybe(share, *words):
        return list(map(str, words)) if rng.random() < share else []

    out = maybe(0.3, "--json", folder / "r.json") + maybe(0.3, "--html", folder / "r.html")
    out += maybe(0.1, "--quiet") + maybe(0.15, "--drop", some())
    common = [*maybe(0.1, "--weight", some()), "--time-budget", "0.2", *maybe(0.5, "--save", folder / "m")]
    rows = maybe(0.7, "--drop-missing-target") + maybe(0.7, "--expand-dates")
    missing = maybe(0.85, "--missing", rng.choice(["drop", "indicator"]))
    target = ["--target", some()]
    command = str(
        rng.choice(["select"] * 5 + ["datumwise", "datumwise", "compare", "check", "regimes", "effects"])
    )
    if command == "select":
        two = maybe(0.1, "--target", f"{some()},{some()}") or target
        families = ["gaussian", "binomial", "poisson", "negative_binomial", "multinomial", "ordinal", "cox"]
        words = [*two, *maybe(0.15, "--family", rng.choice(families)), *maybe(0.05, "--event", some())]
        words += maybe(0.25, "--method", rng.choice(["acp", "risk-rfe", "thompson", "fuse", "fstd", "cfs"]))
        words += maybe(0.1, "--groups", some()) + maybe(0.1, "--time-ordered")
        words += maybe(0.1, "--inference", "split") + maybe(0.04, "--responses", "each")
        words += maybe(0.08, "--max-features", rng.integers(0, 4)) + maybe(0.08, "--order", 2)
        words += maybe(0.05, "--at-most", f"1:{some()},{some()}") + maybe(0.05, "--sign", f"{some()}=+")
        words += [*missing, *rows, *common]
    elif command == "datumwise":
        words = [*target, "--scoring", "bins", *rows, *common, *maybe(0.2, "--cost", f"{some()}=0.2")]
        words += maybe(0.2, "--budget", rng.integers(0, 3)) + maybe(
            0.3, "--test-share", rng.choice([0, 0.5, 0.9])
        )
    elif command == "compare":
        words = [*target, "--method", "cfs", "--folds", str(rng.integers(1, 6)), *missing, *rows]
    elif command == "check":
        words = maybe(0.8, *target)
        words += maybe(0.5, "--question", rng.choice(["everyone", "case", "decision", "moment"]))
    elif command == "regimes":
        words = [w for o in ("--id", "--stage", "--action", "--reward") for w in (o, some())]
        words += [*maybe(0.2, "--minimize"), "--time-budget", "0.3", *maybe(0.3, "--missing", "indicator")]
    else:
        words = ["--formula", f"`{some()}` ~ `{some()}`", "--id", some(), "--time", some()]
        words += maybe(0.3, "--visits", "bin", "--grid", 3) + maybe(0.2, "--link", "logit")
        out = (
            [word for word in out if word != "--drop"] if "--drop" not in out else out[: out.index("--drop")]
        )
    return [command, str(path), *words, *cells, *out]


def judge(result):
    """None for a right answer or a sentence of ours, else what is wrong."""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"traceback: {result.exception!r}"
    if result.exit_code not in (0, 2):
        return f"exit code {result.exit_code}"
    if result.exit_code == 2 and "Error: " not in result.stderr:
        return "refused without a sentence"
    if len(result.stderr) > 4000:
        return f"{len(result.stderr)} characters on stderr"
    found = _PYTHON.search(result.stderr)
    return f"words of Python: {found[0]}" if found and "Python interface" not in result.stderr else None


def run_command(seed):
    """One trial: the words, what is wrong (or None), and the exit code."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        path, names, cells = make_file(rng, folder)
        words = make_line(rng, path, names, cells, folder)
        result = CliRunner().invoke(main, words)
        wrong = judge(result)
        if wrong is None and result.exit_code == 0:
            wrong = _judge_files(folder, words, path, cells)
        return words, wrong, result


def _judge_files(folder, words, path, cells):
    """Whether what was written can be read, and the saved model be used on the rows it comes from."""
    if "--json" in words:
        json.loads((folder / "r.json").read_text(encoding="utf-8"))
    if "--html" in words and not (folder / "r.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html"):
        return "no page"
    if "--save" in words:
        dates = [word for word in words if word == "--expand-dates"]
        out = folder / "out.jsonl"
        for line in (["report", folder / "m"], ["predict", folder / "m", path, "--out", out, *dates, *cells]):
            wrong = judge(CliRunner().invoke(main, [str(word) for word in line]))
            if wrong is not None:
                return f"{line[0]}: {wrong}"
    return None


def run_many(trials, seed):
    """Trials from a seed on; prints what is wrong, and how many were right and refused."""
    codes = []
    for k in range(seed, seed + trials):
        words, wrong, result = run_command(k)
        codes.append(result.exit_code)
        if wrong is not None:
            print(f"{k}: {wrong}\n  {words}", flush=True)
    print(f"{trials} trials, {codes.count(0)} right, {codes.count(2)} refused")


if __name__ == "__main__":
    run_many(*map(int, sys.argv[1:3]))
