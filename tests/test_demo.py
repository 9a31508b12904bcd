"""The demonstration: four questions, one page."""

import numpy as np
import pytest
from click.testing import CliRunner

from rlselect import demo
from rlselect.datumwise import PolicyIteration


@pytest.fixture(scope="module")
def biopsies():
    """The slowest part, in few iterations."""
    return demo.biopsy_report(search=PolicyIteration(n_iter=1))


def run(page, *options):
    result = CliRunner().invoke(demo.main, ["--html", str(page), *options])
    assert result.exit_code == 0, result.output
    return result.stdout, page.read_text()


def test_four_questions_on_one_page(tmp_path, biopsies, monkeypatch):
    monkeypatch.setattr(demo, "biopsy_report", lambda seed: biopsies)
    printed, page = run(tmp_path / "demo.html")
    assert "R² on the other 498 communities: 0.6" in printed
    assert "LassoCV: " in printed
    for k, question in enumerate(("For everyone", "For this case", "For this decision", "At this moment"), 1):
        assert f"{k}. {question}\n" in printed
        answer = page.split(f"<h2>{question}: ")[1].split("<h2>")[0]
        assert "<svg" in answer, question
    assert "http" not in page


def test_the_rules_that_made_the_trial_are_found():
    report = demo.trial_report()
    curve = report["sections"][-1]["curves"][0]
    assert abs(curve["x"][np.argmin(np.abs(curve["y"]))]) < 0.3
    assert curve["y"][0] < 0 < curve["y"][-1]
    text = str(report["sections"])
    assert "go on if response > " in text
    assert "drug if severity > " in text
    assert "income" not in text


def test_without_the_peer_and_without_what_curves_need(tmp_path, biopsies, monkeypatch):
    monkeypatch.setattr(demo, "biopsy_report", lambda seed: biopsies)
    monkeypatch.setattr(demo, "trial_report", lambda seed: biopsies)
    monkeypatch.setattr(demo, "crime_report", lambda seed, compare: {**biopsies, "title": f"peer: {compare}"})
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    printed, page = run(tmp_path / "demo.html", "--no-compare")
    assert "rlselect[temporal]" in printed
    assert "4. " not in printed
    assert "At this moment" not in page
    assert "<h2>peer: False</h2>" in page
