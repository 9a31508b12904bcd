"""Files are written whole or not at all; text for terminals is printable."""

import errno
import json
import os
import threading

import pytest

from rlselect.report import Summary, printable, to_json, to_markdown, write_whole


def test_printable_escapes_every_character_that_moves_something():
    every = "".join(map(chr, range(0x110000)))
    shown = printable(every)
    assert all(c.isprintable() or c in "\u00a0\u2007\u202f\u3000" for c in shown)
    assert printable("plain, ünï çödé, 日本語, 🙂") == "plain, ünï çödé, 日本語, 🙂"
    assert printable("a\nb") == "a\\nb"
    assert printable("a\nb\r", lines=True) == "a\nb\\r"
    assert printable("\udc80") == "\\udc80"


def test_summaries_hold_no_control_characters_but_their_values_do():
    name = "x\x1b[31m\u202e\nz"
    report = {"title": name, "variables": [{"name": name, "coef": {name: 1.0}}], "notes": [name]}
    report["facts"] = {name: name}
    text = str(Summary(report))
    assert {c for c in text if not c.isprintable()} <= {"\n", "\u00a0"}
    assert repr(Summary(report)) == text == to_markdown(report)
    written = to_json(report)
    assert {c for c in written if not c.isprintable()} == {"\n"}
    assert json.loads(written)["title"] == name
    sections = {
        "sections": [{"title": name, "columns": [name], "rows": [[name]], "text": name, "note": name}]
    }
    assert {c for c in to_markdown(sections) if not c.isprintable()} <= {"\n"}


@pytest.mark.parametrize("moment", ["open", "fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_beside_it(moment, tmp_path, monkeypatch):
    path = tmp_path / "out.html"
    path.write_text("old")

    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    where = {"open": "pathlib.Path.open", "fsync": "os.fsync", "replace": "os.replace"}[moment]
    monkeypatch.setattr(where, fail)
    with pytest.raises(
        OSError, match=r"cannot be written: No space left on device\. Give a file in a folder"
    ):
        write_whole(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.html"]


def test_an_interrupt_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "out.html"
    path.write_text("old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.html"]


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(OSError, match=r"no/x.json' cannot be written: No such file or directory"):
        Summary({"title": "T"}).save(tmp_path / "no" / "x.json")


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "text")
    reader.join(5)
    assert got == ["text"]
    assert pipe.is_fifo()
