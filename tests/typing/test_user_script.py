"""The types that ship with the package serve those who check their own code."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import rlselect

SCRIPT = Path(__file__).with_name("user_script.py")
SOURCE = Path(rlselect.__file__).parent
ROOT = SOURCE.parents[1]
# what --strict asks of a script
STRICT = (
    "# mypy: disallow-any-generics, disallow-subclassing-any, disallow-untyped-calls, disallow-untyped-defs, "
    "disallow-untyped-decorators, warn-return-any, warn-unused-ignores, strict-equality, extra-checks\n"
)


def check_types(*scripts):
    """Run mypy as a user would, strictly on the scripts; the library is read as `make lint` has left it."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    # of other settings mypy would look at all of the library again
    command = [sys.executable, "-m", "mypy", "--config-file=pyproject.toml", *map(str, scripts)]
    env = {**os.environ, "MYPYPATH": str(SOURCE.parent)}
    return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_py_typed_ships():
    assert (SOURCE / "py.typed").is_file()


def test_user_script_passes_and_a_mistake_does_not(tmp_path):
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(STRICT + SCRIPT.read_text())
    # an option that is none, and a call of the package of reports without fits
    script = right.read_text().replace('missing="error"', 'missing="forget"')
    wrong.write_text(script.replace("rlselect.report([selector, short])", "rlselect.report()"))
    told = [line for line in check_types(right, wrong).splitlines() if "error:" in line]
    assert len(told) == 2, told
    assert all("wrong.py:" in line for line in told)
    assert "forget" in told[0]
    assert '"fits"' in told[1]


def test_user_script_runs(tmp_path, capsys):
    runpy.run_path(str(SCRIPT))["main"](tmp_path)
    assert capsys.readouterr().out.splitlines() == ["report.html", "['drug', 'rest']", "(5, 4)"]
