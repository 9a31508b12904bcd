"""What a fitted selector says about itself, as text, as a page and as plain values."""

from dataclasses import dataclass
from typing import Any

from rlselect.report import to_html, to_markdown

AFTER_SELECTION = (
    "Standard errors are those of a refit that does not know the variables were selected: they are too "
    "optimistic. For honest ones, refit the selected variables on rows that took no part in the selection."
)


@dataclass(frozen=True)
class Summary:
    """Readable account of a fit; ``str()`` for text, ``dict`` for the values behind it.

    Attributes
    ----------
    report : dict
        Plain values: title, family, sizes, effort, variables, path, notes.
    """

    report: dict[str, Any]

    @property
    def dict(self) -> dict[str, Any]:
        """The values behind the text."""
        return self.report

    def __str__(self) -> str:
        return to_markdown(self.report)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return to_html(self.report)
