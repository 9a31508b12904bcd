"""Result -> plain dict -> HTML, Markdown, JSON."""

from rlselect.report._format import COLUMNS, LEGEND, fact_rows, variable_rows
from rlselect.report._svg import inclusion_svg, search_svg
from rlselect.report._write import to_html, to_json, to_markdown

__all__ = [
    "COLUMNS",
    "LEGEND",
    "fact_rows",
    "inclusion_svg",
    "search_svg",
    "to_html",
    "to_json",
    "to_markdown",
    "variable_rows",
]
