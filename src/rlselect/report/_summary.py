"""A report that shows itself."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from rlselect.report._files import write_whole
from rlselect.report._page import to_html, to_notebook
from rlselect.report._write import to_json, to_markdown

_WRITERS = {".html": to_html, ".htm": to_html, ".md": to_markdown, ".json": to_json}


def page_path(path: str | PathLike[str]) -> Path:
    """Where a page is to be written; refused before anything is computed for it.

    Parameters
    ----------
    path : str or path-like
        Ends in .html, .md or .json.

    Returns
    -------
    Path
    """
    endings = ", ".join(_WRITERS)
    if not isinstance(path, str | PathLike):
        raise ValueError(
            f"path is a {type(path).__name__}; it must be the name of a file that ends in {endings}. "
            "Rows to report on are given by name, such as X=."
        )
    if Path(path).suffix.lower() not in _WRITERS:
        raise ValueError(f"path={str(path)!r} was given; its name must end in {endings}.")
    return Path(path)


@dataclass(frozen=True)
class Summary:
    """Readable account of a fit; ``str()`` for text, ``dict`` for the values behind it, a page in notebooks.

    Attributes
    ----------
    report : dict
        Plain values, see `to_html` for the keys.
    """

    report: dict[str, Any]

    @property
    def dict(self) -> dict[str, Any]:
        """The values behind the text."""
        return self.report

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the account as a page, as text or as values, by the ending of the name: whole, or not at all.

        Parameters
        ----------
        path : str or path-like
            Ends in .html, .md or .json.

        Returns
        -------
        Path
        """
        place = page_path(path)
        write_whole(place, _WRITERS[place.suffix.lower()](self.report))
        return place

    def __str__(self) -> str:
        return to_markdown(self.report)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return to_notebook(self.report)
