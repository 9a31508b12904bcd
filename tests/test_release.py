"""What the package index shows: addresses and links are known when GitHub builds, and are never invented."""

import re
import runpy
from pathlib import Path

import pytest

hatchling = pytest.importorskip("hatchling.metadata.core", reason="hatchling is not installed")
PluginManager = pytest.importorskip("hatchling.plugin.manager").PluginManager

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
VARIABLES = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_REF_TYPE", "GITHUB_REF_NAME")
ON_GITHUB = {"GITHUB_SERVER_URL": "https://example.org", "GITHUB_REPOSITORY": "someone/project"}


@pytest.fixture
def built(monkeypatch):
    def build(**variables):
        for name in VARIABLES:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return hatchling.ProjectMetadata(str(ROOT), PluginManager()).core

    return build


def test_no_address_is_invented(built):
    for variables in ({}, {"GITHUB_REPOSITORY": "someone/project"}):
        metadata = built(**variables)
        assert metadata.urls == {}
        assert metadata.readme == README
        assert metadata.readme_content_type == "text/markdown"


@pytest.mark.parametrize(
    ("variables", "state"),
    [
        ({"GITHUB_REF_TYPE": "branch", "GITHUB_REF_NAME": "main"}, "HEAD"),
        ({"GITHUB_REF_TYPE": "tag", "GITHUB_REF_NAME": "v0.1.0"}, "v0.1.0"),
    ],
)
def test_known_addresses_are_in_the_metadata_and_in_all_links(built, variables, state):
    home = "https://example.org/someone/project"
    metadata = built(**ON_GITHUB, **variables)
    assert metadata.urls == {
        "Homepage": home,
        "Documentation": f"{home}/blob/{state}/docs/index.md",
        "Source": home,
        "Issues": f"{home}/issues",
        "Changelog": f"{home}/blob/{state}/CHANGELOG.md",
    }
    links = re.findall(r"\]\(([^)]+)\)", metadata.readme)
    assert links
    assert all(link.startswith("https://") for link in links)
    # nothing else has changed, and every link leads to a file that is there
    assert metadata.readme.replace(f"{home}/blob/{state}/", "") == README
    own = [link.removeprefix(f"{home}/blob/{state}/") for link in links if link.startswith(home)]
    assert own
    assert all((ROOT / link).exists() for link in own)


def test_an_address_that_is_none_is_refused(built):
    with pytest.raises(ValueError, match=r"GITHUB_SERVER_URL='ftp://a'.*must be as https://github\.com"):
        _ = built(**{**ON_GITHUB, "GITHUB_SERVER_URL": "ftp://a"}).urls


def test_code_pictures_and_places_on_the_page():
    lead = runpy.run_path(str(ROOT / "hatch_build.py"))["with_absolute_links"]
    text = "[`a`](b.md) ![c](d.png) [e](#f) [g](http://h) [i](mailto:j)\n```sh\n[k](l)\n```\n[m](n/o.md#p)\n"
    assert lead(text, "H", "S") == (
        "[`a`](H/blob/S/b.md) ![c](H/raw/S/d.png) [e](#f) [g](http://h) [i](mailto:j)\n"
        "```sh\n[k](l)\n```\n[m](H/blob/S/n/o.md#p)\n"
    )
