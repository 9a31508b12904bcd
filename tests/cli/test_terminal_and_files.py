"""What the command line shows cannot move a cursor, and what it writes never replaces what it reads."""

import os
import stat

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from rlselect.cli import main, show_report

# clear the screen, set a title, C1 escape, right-to-left override, isolate, line separator, carriage return
NASTY = [
    "\x1b[2J",
    "\x1b]0;owned\x07",
    "\x9b31m",
    "\u202e",
    "\u2066",
    "\u2028",
    "\r",
    "\n",
    "\x00",
    "\x7f",
    "\u200f",
]


def invoke(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def assert_harmless(text):
    bad = {c for c in text if not c.isprintable() and c not in "\n\u00a0"}
    assert not bad, [hex(ord(c)) for c in bad]


def table(rows=80, mark=""):
    rng = np.random.default_rng(0)
    x = rng.normal(size=rows)
    level = np.where(np.arange(rows) % 2, f"Os{mark}lo", f"Ro{mark}me")
    y = 2 * x + (np.arange(rows) % 2) + 0.1 * rng.normal(size=rows)
    return pa.table({f"si{mark}ze": x, f"ci{mark}ty": level, f"pri{mark}ce": y})


@pytest.mark.parametrize("mark", NASTY, ids=[repr(m) for m in NASTY])
def test_names_labels_and_files_are_shown_escaped(mark, tmp_path):
    name = f"d{mark}.parquet" if "\x00" not in mark else "d.parquet"
    path = tmp_path / name
    parquet.write_table(table(mark=mark), path)
    html, js = tmp_path / f"o{mark.replace(chr(0), '')}.html", tmp_path / "o.json"
    result = invoke("select", path, "--target", f"pri{mark}ce", "--html", html, "--json", js)
    assert result.exit_code == 0, result.output
    assert_harmless(result.output)
    assert "\\" in result.output
    assert_harmless(html.read_text(encoding="utf-8"))
    assert_harmless(js.read_text(encoding="utf-8"))
    # a name stays on its line, in the answer and in the table
    assert sum("si" in line and "ze" in line for line in result.output.splitlines()) == 2


@pytest.mark.parametrize("mark", ["\x1b[2J", "\u202e", "\udc80"])
def test_messages_are_escaped_too(mark, tmp_path):
    parquet.write_table(table(), tmp_path / "d.parquet")
    for arguments in (
        ("select", f"no{mark}thing.csv", "--target", "y"),
        ("select", tmp_path / "d.parquet", "--target", f"pri{mark}ce"),
        ("select", tmp_path / "d.parquet", f"more{mark}", "--target", "price"),
        ("select", tmp_path / "d.parquet", f"--o{mark}", "--target", "price"),
        (f"sel{mark}",),
        (f"--x{mark}",),
        ("select", tmp_path / "d.parquet", "--target", "price", "--seed", f"1{mark}"),
        ("select", tmp_path / "d.parquet", "--target", "price", "--json", f"no{mark}/o.json"),
    ):
        result = invoke(*arguments)
        assert result.exit_code == 2, result.output
        assert_harmless(result.output)


def links(path):
    """Other names of one file."""
    soft, hard = path.with_name("soft.json"), path.with_name("hard.json")
    soft.symlink_to(path)
    os.link(path, hard)
    (path.parent / "sub").mkdir()
    return [path, soft, hard, path.parent / "sub" / ".." / path.name]


@pytest.mark.parametrize("option", ["--json", "--html"])
@pytest.mark.parametrize("command", [("select", "--target", "price"), ("datumwise", "--target", "price")])
def test_the_data_are_never_written_over(command, option, tmp_path):
    path = tmp_path / "d.parquet"
    parquet.write_table(table(), path)
    before = path.read_bytes()
    for other in links(path):
        result = invoke(command[0], path, *command[1:], option, other)
        assert result.exit_code == 2
        assert "is the file of the data" in result.output
    assert path.read_bytes() == before


def test_pipes_are_no_files(tmp_path, monkeypatch):
    """A pipe was refused as broken Parquet; results went into a file called - or were lost."""
    monkeypatch.chdir(tmp_path)
    parquet.write_table(table(), "d.parquet")
    os.mkfifo("rows")
    os.mkfifo("rows.csv")
    for name in ("rows", "rows.csv"):
        for command in (("check", name), ("select", name, "--target", "price")):
            result = invoke(*command)
            assert result.exit_code == 2
            assert f"{name!r} is a pipe or a device, whose rows could be read once only" in result.output
    for name in ("-", "rows"):
        result = invoke("select", "d.parquet", "--target", "price", "--json", name)
        assert result.exit_code == 2
        assert result.output.endswith(
            f"{name!r} is no file: results are written to files, whole or not at all.\n"
        )
    assert sorted(os.listdir()) == ["d.parquet", "rows", "rows.csv"]


def test_one_name_for_two_outputs_is_refused(tmp_path):
    path = tmp_path / "d.parquet"
    parquet.write_table(table(), path)
    result = invoke("select", path, "--target", "price", "--json", tmp_path / "o", "--html", tmp_path / "o")
    assert result.exit_code == 2
    assert "is named for two outputs" in result.output


def test_a_folder_that_may_not_be_written_is_told_before_the_search(tmp_path, monkeypatch):
    path = tmp_path / "d.parquet"
    parquet.write_table(table(), path)
    monkeypatch.setattr(os, "access", lambda place, mode: mode != os.W_OK)
    result = invoke("select", path, "--target", "price", "--json", tmp_path / "o.json")
    assert result.exit_code == 2
    assert "may not be written to: permission denied" in result.output


def test_outputs_through_a_link_keep_the_link_and_the_mode(tmp_path):
    path = tmp_path / "d.parquet"
    parquet.write_table(table(), path)
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    assert invoke("select", path, "--target", "price", "--json", link).exit_code == 0
    assert link.is_symlink()
    assert real.read_text().startswith("{")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_tables_wider_than_the_terminal_are_shown_uncut(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    names = [f"column number {k}" for k in range(9)]
    rows = [[f"row {i}", *(f"cell {i} {k}" for k in range(1, 9))] for i in range(2)]
    show_report({"title": "Wide", "sections": [{"title": "Table", "columns": names, "rows": rows}]})
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    for words in (names[1:], rows[0][1:], rows[1][1:]):
        assert all(sum(word in line for line in lines) == 1 for word in words)
    assert sum("row 1" in line for line in lines) == sum(names[0] in line for line in lines) > 1
