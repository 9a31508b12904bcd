import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_walk_through_writes_all_figures_and_tables(tmp_path):
    script = ROOT / "examples" / "adherence.py"
    command = [sys.executable, str(script), "--out", str(tmp_path), "--draws", "100"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    figures = {f"figure_2.{k:02d}.png" for k in range(1, 14)}
    assert figures <= {path.name for path in tmp_path.iterdir()}
    text = (tmp_path / "tables.md").read_text()
    assert "Table 2.1" in text
    assert "Table 2.2" in text
    assert "Week 3 left out: separation" in text
