"""The line on the terminal that says what goes on, seen through a pseudo-terminal."""

import os
import select
import subprocess
import sys
import time

import numpy as np
import pytest

from rlselect._clock import Clock
from rlselect._watch import tell, watched_by
from rlselect.cli import _progress

pty = pytest.importorskip("pty")


def on_a_terminal(code, *, columns=80, **environment):
    """What a program writes to a terminal, as one text; its standard output is no part of it."""
    master, slave = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {**os.environ, "TERM": "xterm", **environment}
    process = subprocess.Popen([sys.executable, "-c", code], stderr=slave, stdout=subprocess.PIPE, env=env)
    os.close(slave)
    text, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([master], [], [], 0.05)[0]:
            try:
                piece = os.read(master, 4096)
            except OSError:  # all of its ends are closed
                break
            if not piece:
                break
            text += piece
    os.close(master)
    out = process.communicate(timeout=60)[0]
    assert process.returncode == 0, (text, out)
    return text.decode(), out.decode()


def screen(text, columns=80):
    """The lines that a terminal shows after a text of printable signs, line ends and carriage returns."""
    lines, place = [[]], 0
    for sign in text:
        if sign == "\r":
            place = 0
        elif sign == "\n":
            lines.append([])
        else:
            line = lines[-1]
            line.extend(" " * (place + 1 - len(line)))
            line[place] = sign
            place += 1
            assert place < columns, "a line that is too long would stay on the screen"
    return ["".join(line).rstrip() for line in lines]


WORK = """
import time
from rlselect._watch import tell
from rlselect.cli._progress import shown_progress
with shown_progress("reading"{budget}):
    tell(rows=1200)
    time.sleep(0.6)
    tell(doing="fold\\x1b[2J 2 of 5", share=0.25, features=3, rows=8000, best=-0.5)
    tell(best=-0.75)
    time.sleep(0.3)
print("the result")
"""


def test_rows_share_and_the_best_so_far_are_shown_and_wiped():
    text, out = on_a_terminal(WORK.format(budget=""), columns=100)
    assert out == "the result\n"
    frames = [frame.rstrip() for frame in text.split("\r")]
    assert any(frame.endswith("reading  1,200 rows") for frame in frames)
    best = "fold\\x1b[2J 2 of 5  [##--------] 25%  3 variables  8,000 rows  best -0.5"
    assert any(frame.endswith(best) for frame in frames)
    assert screen(text) == [""]


def test_a_narrow_terminal_cuts_the_line():
    text, _ = on_a_terminal(WORK.format(budget=""), columns=20)
    assert screen(text, 20) == [""]
    assert max(map(len, text.split("\r"))) == 19


def test_a_budget_fills_the_bar():
    text, _ = on_a_terminal(WORK.format(budget=", 0.8"))
    assert "] 25%" not in text
    assert any(f"] {share}" in text for share in range(75, 101))


@pytest.mark.parametrize("how", ["dumb", "quiet", "no terminal"])
def test_nothing_is_drawn_where_it_is_not_wanted(how):
    code = WORK.format(budget="").replace("time.sleep(0.3)", "")
    if how == "quiet":
        code = (
            "import click\nctx = click.Context(click.Command('x'))\nctx.meta['rlselect.quiet'] = True\n"
            + ("with ctx:\n" + "".join(f"    {line}\n" for line in code.split("\n")))
        )
    if how == "no terminal":
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        text, out = told.stderr, told.stdout
    else:
        text, out = on_a_terminal(code, TERM="dumb" if how == "dumb" else "xterm")
    assert (text, out) == ("", "the result\n")


def test_a_command_on_a_terminal_ends_with_a_clean_screen(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=150)
    rows = "\n".join(",".join(f"{v:.5f}" for v in (*x, t)) for x, t in zip(X, y, strict=True))
    path = tmp_path / "d.csv"
    path.write_text(",".join([*(f"x{j}" for j in range(6)), "y"]) + "\n" + rows + "\n")
    code = f"""
from rlselect.cli import _progress, main
_progress._PATIENCE, _progress._EVERY = 0.0, 0.01
main(["select", {str(path)!r}, "--target", "y", "--method", "acp", "--json", {str(tmp_path / "o.json")!r}])
"""
    text, out = on_a_terminal(code, columns=400)
    assert "x0" in out
    assert "variables" in text
    assert "best" in text
    assert screen(text, 400) == [f"Wrote {tmp_path / 'o.json'}", ""]


def test_clocks_tell_how_far_the_work_is():
    told = []
    with watched_by(told.append), Clock(None, 8) as clock:
        clock.tick()
        with clock.part(0.5) as part:
            part.tick()
        clock.tick()
    assert told == [{"share": 0.125}, {"share": 0.25}]


def test_new_work_makes_what_was_told_void_and_the_best_stays():
    line = _progress._Line("reading", None)
    with watched_by(line.note):
        tell(rows=5)
        tell(best=1.0)
        tell(best=0.5)
        assert line._facts == {"doing": "reading", "rows": 5, "best": 1.0}
        tell(doing="next")
        assert line._facts == {"doing": "next"}
        tell(best=-2.0)
        assert line._facts == {"doing": "next", "best": -2.0}
