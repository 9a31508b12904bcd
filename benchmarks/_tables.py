"""Fits and the tables made of them: one CSV line per fit, one Markdown line for each cell and method."""

import csv
import os
import platform
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

NAN = float("nan")


@dataclass
class Fit:
    """One fit of one method to one data set."""

    cell: str
    method: str
    seed: int
    n: int
    p: int
    first: bool
    seconds: float = NAN
    cpu_seconds: float = NAN
    n_true: int = 0
    n_selected: float = NAN
    tpr: float = NAN
    ppv: float = NAN
    tnr: float = NAN
    f1: float = NAN
    exact: float = NAN
    rows_read: float = NAN
    note: str = ""

    def score(self, support, truth):
        """Compare a support with the true one.

        Undefined rates stay NaN: PPV of an empty selection, TPR and F1 where nothing is true. A selection
        that is empty although something is true has F1 = 0.
        """
        hits = int(np.sum(support & truth))
        self.n_true = int(truth.sum())
        self.n_selected = int(support.sum())
        if self.n_true:
            self.tpr = hits / self.n_true
            self.f1 = 2.0 * hits / (self.n_true + self.n_selected)
        if self.n_selected:
            self.ppv = hits / self.n_selected
        if self.n_true < len(truth):
            self.tnr = float(np.mean(~support[~truth]))
        self.exact = float(np.array_equal(support, truth))

    @property
    def accuracy(self):
        """Share of the columns that are rightly selected or rightly left out."""
        wrong = self.n_true * (1.0 - self.tpr)
        if self.n_true < self.p:
            wrong += (self.p - self.n_true) * (1.0 - self.tnr)
        return 1.0 - wrong / self.p

    def fail(self, truth):
        """No answer is a wrong answer: it counts in the means."""
        self.n_true = int(truth.sum())
        self.exact = 0.0
        if self.n_true:
            self.tpr = self.f1 = 0.0


FIELDS = [f.name for f in fields(Fit)]


@dataclass(frozen=True)
class Column:
    """A column of the summary: its heading, and its entry from the fits of one method in one cell."""

    heading: str
    entry: Callable[[list[Fit], "Summary"], str]


@dataclass
class Summary:
    """Everything a table is made of; rewritten as a whole whenever a fit is added."""

    title: str
    columns: list[Column]
    cells: list[str]
    preamble: str
    # Published figures of a cell: names, each with the entry under each heading that has one.
    reference: Callable[[str], dict[str, dict[str, str]]] | None = None
    footer: Callable[["Summary"], list[str]] | None = None
    fits: list[Fit] = field(default_factory=list)

    def of(self, cell=None, method=None):
        return [f for f in self.fits if cell in (None, f.cell) and method in (None, f.method)]

    def methods(self, cell=None):
        return list(dict.fromkeys(f.method for f in self.of(cell)))

    def markdown(self):
        lines = [f"# {self.title}", "", self.preamble, ""]
        headings = ["cell", "method", *(c.heading for c in self.columns)]
        lines += ["| " + " | ".join(headings) + " |", "|" + "---|" * 2 + "---:|" * len(self.columns)]
        for cell in self.cells:
            rows = [
                [cell, method, *(c.entry(self.of(cell, method), self) for c in self.columns)]
                for method in self.methods(cell)
            ]
            if rows and self.reference is not None:
                rows[:0] = [
                    [cell, name, *(known.get(c.heading, "") for c in self.columns)]
                    for name, known in self.reference(cell).items()
                ]
            lines += ["| " + " | ".join(row) + " |" for row in rows]
        if self.footer is not None:
            lines += ["", *self.footer(self)]
        notes = {f"{f.method}: {f.note}" for f in self.fits if f.note}
        lines += ["", *(f"- {note}" for note in sorted(notes))] if notes else []
        return "\n".join(lines) + "\n"


def mean(fits, name, scale=1.0, digits=1):
    """Mean over the fits where the quantity is defined; a dash where it nowhere is."""
    values = np.array([getattr(f, name) for f in fits], dtype=float)
    values = values[np.isfinite(values)]
    return f"{scale * values.mean():.{digits}f}" if values.size else "-"


def spread(fits, name, digits=3):
    """Mean and standard deviation over the fits where the quantity is defined."""
    values = np.array([getattr(f, name) for f in fits], dtype=float)
    values = values[np.isfinite(values)]
    if not values.size:
        return "-"
    return f"{values.mean():.{digits}f} ± {values.std(ddof=min(1, values.size - 1)):.{digits}f}"


def median(fits, name):
    values = np.array([getattr(f, name) for f in fits], dtype=float)
    values = values[np.isfinite(values)]
    return significant(np.median(values)) if values.size else "-"


def significant(value):
    """Three significant digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"


def first_fit(fits, summary):
    """Seconds of the first fit of this method in its process, shown in the cell where it happened."""
    values = [f.seconds for f in fits if f.first]
    return significant(values[0]) if values else ""


def environment():
    """Versions and machine, in one line."""
    packages = []
    for name in ("rlselect", "numpy", "scipy", "scikit-learn", "abess", "skglm", "boruta", "lassonet"):
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return f"Python {platform.python_version()}, {', '.join(packages)}; {_processor()}; one thread."


def command_line():
    """The command that is running, as it is given in the root of the repository."""
    path = Path(sys.argv[0]).resolve()
    return shlex.join(["python", f"{path.parent.name}/{path.name}", *sys.argv[1:]])


def _processor():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


class Store:
    """The files of a run: a CSV that grows by one line per fit, and the Markdown table, written anew."""

    def __init__(self, stem, *, resume):
        self.csv = stem.with_suffix(".csv")
        self.markdown = stem.with_suffix(".md")
        stem.parent.mkdir(parents=True, exist_ok=True)
        self.old = self._read() if resume and self.csv.exists() else []
        if not self.old:
            with self.csv.open("w", newline="") as handle:
                csv.writer(handle).writerow(FIELDS)

    def commands(self):
        """All command lines that the table was made by: those it names, if it goes on, and this one."""
        before, command = [], command_line()
        if self.old and self.markdown.exists():
            lines = self.markdown.read_text().splitlines()
            before = [line.strip() for line in lines if line.startswith("    ")]
        return [*before, *([] if command in before else [command])]

    def _read(self):
        types = {f.name: f.type for f in fields(Fit)}
        parse = {str: str, int: int, float: float, bool: lambda text: text == "True"}
        with self.csv.open(newline="") as handle:
            return [Fit(**{k: parse[types[k]](v) for k, v in row.items()}) for row in csv.DictReader(handle)]

    def append(self, fit):
        with self.csv.open("a", newline="") as handle:
            csv.writer(handle).writerow([_plain(getattr(fit, name)) for name in FIELDS])

    def write(self, text):
        # A reader, or an interrupt, never meets half a table.
        scratch = self.markdown.with_suffix(".md.part")
        scratch.write_text(text)
        os.replace(scratch, self.markdown)


def _plain(value):
    return f"{value:.6g}" if isinstance(value, float) else value
