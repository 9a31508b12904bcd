"""Every code block of the README and of the documentation runs and prints what the page says it prints.

The blocks of a page run in order in one namespace. A ``python`` block that prints is followed by a ``text``
block with its output; a ``console`` block holds ``$ rlselect ...`` commands with theirs. Times in seconds may
differ, other numbers with a point by a few percent, everything else not at all.

``python tests/test_docs.py`` writes the outputs into the pages again.
"""

import contextlib
import io
import math
import os
import re
import shlex
import sys
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from rlselect.cli import _main as cli

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts),
]

# pages whose examples take six seconds and more: `make test-pages` runs them
LONG = {
    *(f"docs/{name}.md" for name in ("acp", "datumwise", "datumwise_results", "regimes")),
    *(f"docs/howto/{name}.md" for name in ("cases", "decide", "pictures", "responses", "summary")),
}

# packages for users; the others serve these
ROOMS = ("subset", "datumwise", "regimes", "temporal", "preflight", "datasets", "simulate")

_BLOCK = re.compile(
    r"^```(python|console)\n(.*?)^```\n(?:\n*```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
_SECONDS = re.compile(r"\d+(\.\d+)? s\b")
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*\.\d+(?:e[+-]\d+)?")
_TOLERANCE = 0.05


@dataclass
class Block:
    """A block of code, its output on the page, and where that output stands."""

    kind: str
    code: str
    shown: str | None
    line: int
    where: tuple[int, int]


def page_case(page):
    name = page.relative_to(ROOT).as_posix()
    return pytest.param(page, id=name, marks=pytest.mark.slow if name in LONG else ())


def read_blocks(text):
    blocks = []
    for match in _BLOCK.finditer(text):
        kind, code, shown = match.groups()
        line = text.count("\n", 0, match.start()) + 2
        if kind == "console":
            blocks.append(Block(kind, code, code, line, match.span(2)))
        else:
            blocks.append(Block(kind, code, shown, line, match.span(3)))
    return blocks


def run_python(block, page, names):
    out = io.StringIO()
    # blank lines before the code make tracebacks point at the line of the page
    code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
    with contextlib.redirect_stdout(out):
        exec(code, names)
    return out.getvalue()


def run_console(block):
    """Run the commands of this package, leave others alone, and return the block as it should be."""
    written = []
    for line in block.code.splitlines():
        if not line.startswith("$ "):
            continue
        written.append(line)
        program, *arguments = shlex.split(line[2:])
        if program != "rlselect":
            continue
        runner = CliRunner()
        result = runner.invoke(cli.main, arguments, prog_name="rlselect")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        written += [row.rstrip() for row in result.output.splitlines()]
    return "\n".join(written) + "\n"


def run_page(page):
    """Run the blocks of a page in the current folder; yields each with what it printed."""
    names = {"__name__": "__main__"}
    for block in read_blocks(page.read_text(encoding="utf-8")):
        yield block, run_console(block) if block.kind == "console" else run_python(block, page, names)


def shape_of(text):
    """Text without what may differ: times, numbers with a point, widths of columns."""
    text = _NUMBER.sub("#", _SECONDS.sub("# s", text))
    return re.sub(r"\s+", " ", re.sub(r"([-─=])\1+", r"\1", text)).strip()


def numbers_of(text):
    return [float(n.replace(",", "")) for n in _NUMBER.findall(_SECONDS.sub("", text))]


def same(shown, printed):
    return shape_of(shown) == shape_of(printed) and all(
        math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
        for a, b in zip(numbers_of(shown), numbers_of(printed), strict=True)
    )


@pytest.mark.parametrize("page", [page_case(page) for page in PAGES])
def test_page_runs_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("COLUMNS", "80")
    for block, printed in run_page(page):
        where = f"{page.relative_to(ROOT)}, line {block.line}"
        if printed or block.shown:
            assert block.shown is not None, f"{where} prints, but shows no output:\n{printed}"
            assert same(block.shown, printed), f"{where} shows\n{block.shown}\nbut prints\n{printed}"


def test_every_how_to_has_code():
    for page in PAGES:
        if page.parent.name == "howto":
            assert read_blocks(page.read_text(encoding="utf-8")), page


@pytest.mark.parametrize("room", ["", *(f".{name}" for name in ROOMS)])
def test_every_public_name_is_in_the_reference(room):
    text = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
    told = {name.rsplit(".", 1)[-1] for name in re.findall(r"auto(?:class|function)::\s+(\S+)", text)}
    # the package of reports has a page of its own
    public = set(import_module(f"rlselect{room}").__all__) - {"__version__", "report"}
    assert not public - told, f"rlselect{room}: name these in docs/api"


def test_pictures_and_links_of_the_gallery_have_their_example():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        used = re.findall(
            r"auto_(examples|guides)/(?:(\w+)/)?images/(?:thumb/)?sphx_glr_(\w+?)_(?:\d+|thumb)", text
        )
        used += re.findall(r"[`<]/?auto_(examples|guides)/(?:(\w+)/)?(\w+)[`>]", text)
        for gallery, folder, stem in used:
            source = ROOT / "examples" if gallery == "examples" else ROOT / "docs" / "guides"
            assert stem == "index" or (source / folder / f"{stem}.py").is_file(), (page.name, folder, stem)


def test_comparison_with_other_tools_quotes_its_tables():
    """Every figure of two or more digits stands in a table that its row names, up to rounding."""
    results = [ROOT / room / "results" for room in ("benchmarks", "experiments")]
    rows = (ROOT / "docs" / "other_tools.md").read_text(encoding="utf-8").splitlines()
    checked = 0
    for row in [line for line in rows if line.startswith("|") and ".md`" in line]:
        files = [folder / name for name in re.findall(r"`(\w+\.md)`", row) for folder in results]
        tables = " ".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
        values = [float(n) for n in re.findall(r"\d+\.\d+", tables)]
        for figure in re.findall(r"(?<![\w.])\d*\.\d{2,}", row):
            half = 0.5 * 10.0 ** -len(figure.split(".")[1])
            assert any(abs(float(figure) - v) <= half * 1.0001 for v in values), f"{figure} in {row[:60]}"
            checked += 1
    assert checked > 40


def test_links_of_the_readme_lead_to_files():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all((ROOT / link).exists() for link in re.findall(r"\]\((?!https?://)([^)#]+)\)", text))


def test_every_page_is_in_the_contents():
    contents = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").splitlines()
    pages = {page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in PAGES[1:]} - {"index"}
    assert not pages - set(contents)


def test_comparison_of_outputs():
    assert same("Time: 0.10 s, 25 of 25, 0.998", "Time: 9.99 s, 25 of 25, 0.991")
    assert not same("25 of 25", "24 of 25")
    assert not same("0.998", "0.899")
    assert not same("floor", "area")
    assert same("| a   |\n|-----|", "| a |\n|---|")


def _rewrite(page):
    """Put what the blocks print today into the page."""
    text = page.read_text(encoding="utf-8")
    for block, printed in reversed(list(run_page(page))):
        if block.shown is not None and not same(block.shown, printed):
            start, stop = block.where
            text = text[:start] + "\n".join(row.rstrip() for row in printed.splitlines()) + "\n" + text[stop:]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"
    for path in [Path(p).resolve() for p in sys.argv[1:]] or PAGES:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            _rewrite(path)
