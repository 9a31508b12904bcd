"""Result -> plain dict -> HTML, Markdown, JSON."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from rlselect.report._answer import SELECTION, answer_selection, name_some, name_target, spell, stopped_early
from rlselect.report._cited import cited_works
from rlselect.report._display import (
    TEXT,
    Display,
    FitDisplay,
    NotDrawnError,
    below_axes,
    draw_names,
    label_axes,
    name_room,
    names_height,
    pyplot,
    shown_of,
    whole_ticks,
    wrap_words,
)
from rlselect.report._files import printable, replace_file, unwritable, write_whole
from rlselect.report._format import fact_rows, selection_table, short
from rlselect.report._made import how_made
from rlselect.report._names import short_name, short_names
from rlselect.report._page import to_html, to_notebook
from rlselect.report._palette import FAINT, GREY, PALETTE, colour, line_style
from rlselect.report._sections import section_rows
from rlselect.report._selection_displays import (
    GainDisplay,
    PathDisplay,
    PathWords,
    PerformanceDisplay,
    SelectionDisplay,
    Sureness,
    judging_machine,
)
from rlselect.report._side_by_side import Marked, Marks, side_by_side
from rlselect.report._summary import Summary, page_path
from rlselect.report._svg import curve_svg, search_curves
from rlselect.report._tree_picture import TreeBox, draw_tree, tree_size
from rlselect.report._write import to_json, to_markdown

__all__ = [
    "FAINT",
    "GREY",
    "PALETTE",
    "SELECTION",
    "TEXT",
    "Display",
    "FitDisplay",
    "GainDisplay",
    "Marked",
    "Marks",
    "NotDrawnError",
    "PathDisplay",
    "PathWords",
    "PerformanceDisplay",
    "Reports",
    "SelectionDisplay",
    "Summary",
    "Sureness",
    "TreeBox",
    "answer_selection",
    "below_axes",
    "cited_works",
    "colour",
    "curve_svg",
    "draw_names",
    "draw_tree",
    "fact_rows",
    "how_made",
    "judging_machine",
    "label_axes",
    "line_style",
    "name_room",
    "name_some",
    "name_target",
    "names_height",
    "page_path",
    "printable",
    "pyplot",
    "replace_file",
    "search_curves",
    "section_rows",
    "selection_table",
    "short",
    "short_name",
    "short_names",
    "shown_of",
    "side_by_side",
    "spell",
    "stopped_early",
    "to_html",
    "to_json",
    "to_markdown",
    "to_notebook",
    "tree_size",
    "unwritable",
    "whole_ticks",
    "wrap_words",
    "write_whole",
]


class Reports(ModuleType):
    """A package that puts fits side by side when it is called: ``rlselect.report([a, b], "both.html")``."""

    def __call__(
        self,
        fits: Mapping[str, Any] | Sequence[Any],
        path: str | Path | None = None,
        *,
        X: Any = None,
        y: Any = None,
    ) -> Summary:
        """As `side_by_side`."""
        return side_by_side(fits, path, X=X, y=y)


# the package and the function that users look for have one name
sys.modules[__name__].__class__ = Reports
