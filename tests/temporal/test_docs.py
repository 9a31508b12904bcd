import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "temporal.md"


@pytest.mark.filterwarnings("ignore::rlselect.temporal.FlaggedTimeWarning")
def test_every_block_of_the_page_runs(capsys):
    import matplotlib.pyplot as plt

    scope = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(blocks) >= 7
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)
    assert "separation" in capsys.readouterr().out
    plt.close("all")
