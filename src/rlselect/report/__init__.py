"""Result -> plain dict -> HTML, Markdown, JSON."""

from rlselect.report._answer import answer_selection, name_some, stopped_early
from rlselect.report._cited import cited_works
from rlselect.report._display import Display, PanelDisplay, pyplot
from rlselect.report._files import printable, replace_file, write_whole
from rlselect.report._format import COLUMNS, LEGEND, fact_rows, variable_rows
from rlselect.report._made import how_made
from rlselect.report._page import to_html, to_notebook
from rlselect.report._sections import section_rows
from rlselect.report._summary import Summary
from rlselect.report._svg import curve_svg, search_curves
from rlselect.report._write import to_json, to_markdown

__all__ = [
    "COLUMNS",
    "LEGEND",
    "Display",
    "PanelDisplay",
    "Summary",
    "answer_selection",
    "cited_works",
    "curve_svg",
    "fact_rows",
    "how_made",
    "name_some",
    "printable",
    "pyplot",
    "replace_file",
    "search_curves",
    "section_rows",
    "stopped_early",
    "to_html",
    "to_json",
    "to_markdown",
    "to_notebook",
    "variable_rows",
    "write_whole",
]
