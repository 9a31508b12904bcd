"""The examples and guides of the gallery: they run, say what they are there to say, and use names that exist.

``make docs`` runs all of them with warnings as errors. Here the quick ones run in every suite and the others
among the slow checks; what all of them import and pass is looked up without running them.
"""

import ast
import importlib
import inspect
import re
import runpy
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*(ROOT / "examples").glob("*/*.py"), *(ROOT / "docs" / "guides").glob("*.py")])
# with checks of their own below
CHECKED = {"missing_values", "products", "triage", "crime"}
QUICK = {"save_and_load", "survival", "zeros", "irregular_visits", "two_groups", "curves"}


def named(pages):
    return [pytest.param(page, id=f"{page.parent.name}/{page.stem}") for page in pages]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")

    def run(page):
        with warnings.catch_warnings(), plt.rc_context({"figure.constrained_layout.use": True}):
            names = runpy.run_path(str(page), run_name="__main__")
        return names, capsys.readouterr().out

    yield run
    plt.close("all")


def example(name):
    return next(page for page in PAGES if page.stem == name)


def library_calls(tree):
    """Calls of names that were imported from the library, with what they are."""
    known = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rlselect":
            module = importlib.import_module(node.module)
            known |= {alias.asname or alias.name: getattr(module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            known |= {a.name: importlib.import_module(a.name) for a in node.names if a.name == "rlselect"}

    def value_of(node):
        if isinstance(node, ast.Name):
            return known.get(node.id)
        if isinstance(node, ast.Attribute) and (owner := value_of(node.value)) is not None:
            return getattr(owner, node.attr)
        return None

    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (called := value_of(node.func)) is not None:
            yield called, node


@pytest.mark.parametrize("page", named(PAGES))
def test_names_and_options_exist(page):
    text = page.read_text(encoding="utf-8")
    count = 0
    for called, node in library_calls(ast.parse(text)):
        taken = inspect.signature(called).parameters
        free = any(p.kind is p.VAR_KEYWORD for p in taken.values())
        unknown = {k.arg for k in node.keywords if k.arg} - set(taken)
        assert free or not unknown, (
            f"{page.name}, line {node.lineno}: {called.__qualname__} takes no {unknown}"
        )
        count += 1
    assert count > 0


@pytest.mark.parametrize("page", named(PAGES))
def test_pages_have_a_title_a_picture_and_links_that_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    title, line, blank, *_ = ast.get_docstring(ast.parse(text)).splitlines()
    assert len(line) == len(title)
    assert set(line) == {"="}
    assert not blank
    assert "plt.subplots(" in text or "Display.from_" in text
    for target in [part.split("`")[0] for part in text.split(":doc:`")[1:]]:
        target = target.split("<")[-1].rstrip(">")
        if target.startswith("/auto_examples/"):
            found = ROOT / "examples" / target.removeprefix("/auto_examples/")
            assert found.with_suffix(".py").exists() or found.name == "index", target
        else:
            folder = ROOT / "docs" if target.startswith("/") else page.parent
            found = folder / target.lstrip("/")
            assert found.with_suffix(".md").exists() or found.with_suffix(".py").exists(), target


def test_the_gallery_knows_all_pages(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    order = importlib.import_module("gallery").ORDER
    sys.modules.pop("gallery")
    assert sorted(order) == sorted(page.stem for page in PAGES)


@pytest.mark.parametrize("page", named(p for p in PAGES if p.stem in QUICK))
def test_quick_pages_run(run, page):
    _, printed = run(page)
    assert printed
    assert plt.get_fignums()


@pytest.mark.slow
@pytest.mark.parametrize("page", named(p for p in PAGES if p.stem not in QUICK | CHECKED))
def test_pages_run(run, page):
    _, printed = run(page)
    assert printed
    assert plt.get_fignums()


def test_categories_gaps_and_exposures(run):
    names, printed = run(example("missing_values"))
    assert set(names["model"].get_feature_names_out()) == {"age", "power", "region"}
    assert "Not selected: fuel colour mileage" in printed
    assert re.search(r"power .*\n.*per unit .*\n.*missing ", printed)
    assert names["share"] == pytest.approx(2.0, rel=0.25)


@pytest.mark.slow
def test_triage(run):
    names, printed = run(example("triage"))
    ours, all_tests, none = names["mean_costs"].values()
    assert ours < all_tests < none
    assert 0.2 < names["bought"][:, 4].mean() < 0.8
    assert "please measure" in printed


def test_products(run):
    names, printed = run(example("products"))
    assert "REVS: dose, age\n" in printed
    assert "ActorCriticPredictor: dose, age, enzyme, inhibitor\n" in printed
    assert names["policy"].predictor_.name == "kernel"


@pytest.mark.slow
def test_crime(run):
    names, printed = run(example("crime"))
    assert "| Variable " in printed
    assert "PctIlleg" in names["names"]
    assert names["model"].score(names["others"], names["target"]) > 0.55
