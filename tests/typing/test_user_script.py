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


def check_types(folder, *scripts):
    """Run mypy as a user would, strictly on the scripts, and without a word about the library's inside."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    settings = folder / "mypy.ini"
    settings.write_text(
        "[mypy]\nstrict = True\nignore_missing_imports = True\n"
        "[mypy-rlselect.*]\nfollow_imports = silent\nignore_errors = True\n"
    )
    # a cache beside that of `make lint`, so that only the first run takes long
    cache = SOURCE.parents[1] / ".mypy_cache" / "user"
    command = [sys.executable, "-m", "mypy", f"--config-file={settings}", f"--cache-dir={cache}", *scripts]
    env = {**os.environ, "MYPYPATH": str(SOURCE.parent)}
    return subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=False).stdout


def test_py_typed_ships():
    assert (SOURCE / "py.typed").is_file()


def test_user_script_passes_and_a_mistake_does_not(tmp_path):
    wrong = tmp_path / "wrong.py"
    # an option that is none, and a call of the package of reports without fits
    script = SCRIPT.read_text().replace('missing="error"', 'missing="forget"')
    wrong.write_text(script.replace("rlselect.report([selector, short])", "rlselect.report()"))
    told = [line for line in check_types(tmp_path, str(SCRIPT), str(wrong)).splitlines() if "error:" in line]
    assert len(told) == 2, told
    assert all(line.startswith("wrong.py:") for line in told)
    assert "forget" in told[0]
    assert '"fits"' in told[1]


def test_user_script_runs(tmp_path, capsys):
    runpy.run_path(str(SCRIPT))["main"](tmp_path)
    assert capsys.readouterr().out.splitlines() == ["report.html", "['drug', 'rest']", "(5, 4)"]
