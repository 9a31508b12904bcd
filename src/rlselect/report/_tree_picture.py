"""Trees of questions and answers as pictures, from left to right, so that names have room."""

import re
import textwrap
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from rlselect.report._display import TEXT
from rlselect.report._names import short_name

__all__ = ["TreeBox", "draw_tree", "tree_size"]

# inches: from one level to the next, of the last one, of a line of text, and around a box
_LEVEL, _LAST, _TEXT_LINE, _AROUND = 2.45, 1.5, 0.135, 0.24
_COLOURS = {"question": "#dbe9f6", "answer": "#fbe9cf", "open": "#f2f2f2"}
# letters in a line of a box, and beside a branch
_BOX, _BRANCH = 19, 15


class TreeBox(NamedTuple):
    """A question, or what comes out in the end.

    Attributes
    ----------
    lines : sequence of str
        What it says; the first is a name that may be long.
    kind : {"question", "answer", "open"}
        An open one goes on, below what is drawn.
    branches : sequence of (str, TreeBox)
        What the question showed, and where that leads.
    share : float
        Of all cases; the line to the box is as thick.
    """

    lines: Sequence[str]
    kind: Literal["question", "answer", "open"] = "answer"
    branches: Sequence[tuple[str, "TreeBox"]] = ()
    share: float = 0.2

    @property
    def text(self) -> str:
        """The lines, none of them too long."""
        name, *others = self.lines
        return "\n".join([_wrapped(short_name(name, 5 * _BOX // 2), _BOX), *others])


class _Wrapper(textwrap.TextWrapper):
    """Lines may end after an underscore, too, as names have them in the place of spaces."""

    wordsep_re = re.compile(r"(\s+)|(?<=_)(?=.)")


def _wrapped(text: str, letters: int) -> str:
    return "\n".join(_Wrapper(letters, max_lines=3, placeholder=" …").wrap(text))


def _says(label: str) -> str:
    return _wrapped(label.replace("$", r"\$"), _BRANCH)


def _height(box: TreeBox, label: str = "") -> float:
    """Inches that a box and all that comes after it take."""
    lines = max(box.text.count("\n"), _says(label).count("\n")) + 1
    own = lines * _TEXT_LINE + _AROUND
    return max(own, sum(_height(below, text) for text, below in box.branches))


def _depth(box: TreeBox) -> int:
    return 1 + max((_depth(below) for _, below in box.branches), default=-1)


def tree_size(root: TreeBox) -> tuple[float, float]:
    """Width and height of a tree, in inches.

    Parameters
    ----------
    root : TreeBox

    Returns
    -------
    tuple of (float, float)
    """
    return _depth(root) * _LEVEL + _LAST, _height(root)


def draw_tree(ax: Any, root: TreeBox) -> None:
    """Draw a tree into axes, which it fills; one unit is an inch of `tree_size`.

    Parameters
    ----------
    ax : matplotlib axes
    root : TreeBox
    """
    width, height = tree_size(root)
    ax.set(xlim=(0.0, width), ylim=(-height, 0.0))
    ax.set_axis_off()
    _draw_box(ax, root, "", 0, 0.0)


def _draw_box(ax: Any, box: TreeBox, label: str, level: int, top: float) -> float:
    """Draw a box with what follows below `top`; the height at which its middle stands."""
    below, middles = top, []
    for text, branch in box.branches:
        middles.append(_draw_box(ax, branch, text, level + 1, below))
        below -= _height(branch, text)
    y = (middles[0] + middles[-1]) / 2 if middles else top - _height(box, label) / 2
    x = level * _LEVEL + _LAST / 2
    style = {"ha": "center", "va": "center", "fontsize": TEXT}
    for middle, (text, branch) in zip(middles, box.branches, strict=True):
        turn, end = x + _LAST / 2 + 0.08, x + _LEVEL
        thick = 0.8 + 4.0 * branch.share
        # from middle to middle: the boxes cover the ends
        ax.plot([x, turn, turn, end], [y, y, middle, middle], color="#b5b5b5", linewidth=thick, zorder=1)
        plain = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}
        ax.text((turn + end - _LAST / 2) / 2, middle, _says(text), bbox=plain, zorder=2, **style)
    frame = {"boxstyle": "round,pad=0.35", "fc": _COLOURS[box.kind], "ec": "0.45", "lw": 0.8}
    ax.text(x, y, box.text, bbox=frame, zorder=3, **style)
    return y
