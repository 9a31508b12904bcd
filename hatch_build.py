"""What only a build knows of the package: where the project lives, and so its links on the package index.

A build on GitHub names the repository in GITHUB_SERVER_URL and GITHUB_REPOSITORY. Then the project gets its
addresses, and links of the README, which the package index shows without the repository, lead there: to the
tag that is built, or to the newest state. Elsewhere both stay as they are.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

# targets of links and pictures that lead neither to a site nor to a place on the page
_LINK = re.compile(r"(!?)(\[[^\]\n]*\]\()(?![a-z][a-z0-9+.-]*:|[#/])([^)\s]+)(?=\))")


def home_of(environment: Mapping[str, str]) -> str | None:
    """Address of the repository, if the environment names one."""
    server, name = environment.get("GITHUB_SERVER_URL", ""), environment.get("GITHUB_REPOSITORY", "")
    if not server or not name:
        return None
    if not re.fullmatch(r"https://[\w.-]+(:\d+)?", server) or not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise ValueError(
            f"GITHUB_SERVER_URL={server!r} and GITHUB_REPOSITORY={name!r} were given; they must be as "
            "https://github.com and owner/name. Unset them to build without addresses."
        )
    return f"{server}/{name}"


def state_of(environment: Mapping[str, str]) -> str:
    """Tag that is built, or the newest state."""
    return environment["GITHUB_REF_NAME"] if environment.get("GITHUB_REF_TYPE") == "tag" else "HEAD"


def urls_of(home: str, state: str) -> dict[str, str]:
    """Addresses that the package index shows beside the project."""
    return {
        "Homepage": home,
        "Documentation": f"{home}/blob/{state}/docs/index.md",
        "Source": home,
        "Issues": f"{home}/issues",
        "Changelog": f"{home}/blob/{state}/CHANGELOG.md",
    }


def with_absolute_links(text: str, home: str, state: str) -> str:
    """The README as it can be read anywhere; blocks of code in it stay as they are."""

    def lead(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        return f"{picture}{words}{home}/{'raw' if picture else 'blob'}/{state}/{target}"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(lead, part) for part in parts)


class ReleaseMetadata(MetadataHookInterface):
    """Puts addresses and the README into the metadata; `pyproject.toml` calls it."""

    def update(self, metadata: dict) -> None:
        """Set `readme`, and `urls` where an address is known."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        home = home_of(os.environ)
        if home is not None:
            state = state_of(os.environ)
            text = with_absolute_links(text, home, state)
            metadata["urls"] = urls_of(home, state)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
