"""A report that shows itself."""

from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import check_is_fitted

from rlselect.report._write import to_html, to_markdown


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

    def __str__(self) -> str:
        return to_markdown(self.report)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return to_html(self.report)


class Summarised:
    """A fitted estimator that gives an account of itself: of what ``_report`` returns, see `to_html`."""

    def summary(self) -> Summary:
        """Readable account of the fit.

        Returns
        -------
        Summary
            ``str()`` gives text, ``dict`` the values behind it; notebooks show a page.
        """
        check_is_fitted(self)
        return Summary(self._report())

    def _report(self) -> dict[str, Any]:
        raise NotImplementedError
