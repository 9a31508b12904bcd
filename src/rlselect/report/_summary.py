"""A report that shows itself."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlselect.report._files import write_whole
from rlselect.report._page import to_html, to_notebook
from rlselect.report._write import to_json, to_markdown

_WRITERS = {".html": to_html, ".htm": to_html, ".md": to_markdown, ".json": to_json}


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

    def save(self, path: str | Path) -> Path:
        """Write the account as a page, as text or as values, by the ending of the name: whole, or not at all.

        Parameters
        ----------
        path : str or Path
            Ends in .html, .md or .json.

        Returns
        -------
        Path
        """
        path = Path(path)
        if path.suffix.lower() not in _WRITERS:
            raise ValueError(f"path={str(path)!r} was given; its name must end in {', '.join(_WRITERS)}.")
        write_whole(path, _WRITERS[path.suffix.lower()](self.report))
        return path

    def __str__(self) -> str:
        return to_markdown(self.report)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return to_notebook(self.report)
