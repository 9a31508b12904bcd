"""What all displays share: one way to make them, axes, and names that can be read."""

import textwrap
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rlselect.report._names import short_names
from rlselect.report._palette import PALETTE

__all__ = [
    "TEXT",
    "Display",
    "FitDisplay",
    "NotDrawnError",
    "below_axes",
    "draw_names",
    "label_axes",
    "name_room",
    "names_height",
    "pyplot",
    "shown_of",
    "whole_ticks",
    "wrap_words",
]

# points of the smallest text, and from one line of names to the next
TEXT, _LINE = 8.0, 12.5


class NotDrawnError(ValueError):
    """A fit alone does not hold what a picture shows; the message says what is needed."""


def pyplot() -> Any:
    """Matplotlib's pyplot, or a sentence on how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("Displays need matplotlib; run pip install 'rlselect[plot]'.") from None
    return plt


class Display:
    """A picture on one or several panels.

    A display holds what is drawn, is made by `from_estimator`, and drawn again by `plot`.

    Attributes
    ----------
    ax_ : matplotlib axes
        The first panel, after `plot`.
    axes_ : list of matplotlib axes
        All panels, row by row.
    figure_ : matplotlib figure
        What they stand on.
    """

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None) -> Self:
        """Draw a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted.
        X, y : optional
            Rows and their target, for pictures that show more with them, or need them.
        ax : matplotlib axes, a sequence of them, or a figure, optional
            Where to draw: axes that are divided into the panels, one for each panel, or a (sub)figure.

        Returns
        -------
        Display
        """
        raise NotImplementedError

    def _panels(self) -> tuple[int, int]:
        """Number of panels, and how many of them stand in a row."""
        return 1, 1

    def _panel_size(self) -> tuple[float, float]:
        """Width and height of one panel of a new figure, in inches."""
        return (5.0, 3.8)

    def size(self) -> tuple[float, float]:
        """Width and height that the picture wants, in inches."""
        count, columns = self._panels()
        width, height = self._panel_size()
        return width * columns, height * -(-count // columns)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw, on a new figure by default.

        Parameters
        ----------
        ax : matplotlib axes, a sequence of them, or a figure, optional
            Where to draw: axes that are divided into the panels, one for each panel, or a (sub)figure.

        Returns
        -------
        Display
            This one.
        """
        self.axes_ = self._find_axes(ax)
        for one in self.axes_:
            one.set_prop_cycle(color=PALETTE)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self._draw(self.axes_)
        return self

    def _draw(self, axes: list[Any]) -> None:
        raise NotImplementedError

    def _find_axes(self, given: Any) -> list[Any]:
        """Axes for the panels: new ones, those given, or parts of the one that is given."""
        count, columns = self._panels()
        grid = (-(-count // columns), columns)
        if given is None:
            given = pyplot().figure(figsize=self.size(), layout="constrained")
        if hasattr(given, "subplots"):
            every = given.subplots(*grid, squeeze=False)
        elif hasattr(given, "plot") and count > 1:
            every = _divided(given, *grid)
        else:
            every = given
        axes = list(np.ravel(every))
        if len(axes) < count:
            raise ValueError(f"ax holds {len(axes)} axes; this picture has {count} panels.")
        if every is not given:
            for spare in axes[count:]:
                spare.set_axis_off()
        return axes[:count]


def _divided(ax: Any, rows: int, columns: int) -> list[Any]:
    """Axes side by side in the place of one."""
    ax.set_axis_off()
    place = ax.get_subplotspec()
    if place is not None:
        parts = place.subgridspec(rows, columns)
        return [ax.figure.add_subplot(parts[r, c]) for r in range(rows) for c in range(columns)]
    wide, high = 1.0 / columns, 1.0 / rows
    return [
        ax.inset_axes([(c + 0.12) * wide, 1.0 - (r + 0.9) * high, 0.83 * wide, 0.78 * high])
        for r in range(rows)
        for c in range(columns)
    ]


def name_room(ax: Any) -> int:
    """How many lines of names stand one below the other beside axes."""
    box = ax.get_window_extent()
    # some of the height goes to the title and the axis below
    return max(1, int(0.85 * box.height / ax.figure.dpi * 72 / _LINE))


def names_height(count: int) -> float:
    """Height of a panel with so many names, in inches."""
    return max(2.6, 1.4 * count * _LINE / 72 + 1.1)


def draw_names(ax: Any, names: Sequence[Any], below: Sequence[str] = ()) -> None:
    """Write names at the places 0, 1, ... of the vertical axis, the first on top.

    Parameters
    ----------
    ax : matplotlib axes
    names : sequence
    below : sequence of str, optional
        A second line for each, which may be empty.
    """
    short = short_names(names)
    lines = ["\n".join(filter(None, pair)) for pair in zip(short, below, strict=True)] if below else short
    ax.set_yticks(range(len(names)), lines, fontsize=TEXT + 0.5)
    ax.set_ylim(max(len(names), 3) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)


def label_axes(ax: Any, x: str, y: str = "", title: str = "") -> None:
    """Write beside axes what they show, and take away the lines that frame them.

    Parameters
    ----------
    ax : matplotlib axes
    x, y, title : str
        What stands below, to the left and on top.
    """
    ax.set_xlabel(x, fontsize=TEXT + 1)
    ax.set_ylabel(y, fontsize=TEXT + 1)
    ax.set_title(title, fontsize=TEXT + 2)
    ax.tick_params(axis="both", labelsize=TEXT)
    ax.spines[["top", "right"]].set_visible(False)


def whole_ticks(axis: Any) -> None:
    """Numbers without decimals along an axis of counts."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator("auto", integer=True))


def below_axes(ax: Any, inches: float, **options: Any) -> None:
    """A legend so far below axes, where it covers nothing; long words take fewer columns than asked for."""
    from matplotlib.transforms import ScaledTranslation

    labels = [one.get_label() for one in options.get("handles", ())] or ax.get_legend_handles_labels()[1]
    letters = max(map(len, labels), default=0) + 6  # with the sign before it, and the space behind
    room = ax.get_window_extent().width / ax.figure.dpi * 72 / (0.55 * TEXT)
    options["ncols"] = max(1, min(options.get("ncols", 1), int(room / letters)))
    place = ax.transAxes + ScaledTranslation(0.0, -inches, ax.figure.dpi_scale_trans)
    options = {"fontsize": TEXT, "title_fontsize": TEXT, "frameon": False, **options}
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=place, **options)


def wrap_words(text: str, letters: int = 56) -> str:
    """A sentence in lines that fit below a panel."""
    return textwrap.fill(text, letters)


def shown_of(count: int, total: int) -> str:
    """How many of all are shown, as the end of a title; nothing where all are."""
    return "" if count >= total else f" ({count:,} of {total:,})"


class FitDisplay(Display):
    """The pictures of an estimator side by side: what was selected, how it was found, what it means.

    Made by :meth:`from_estimator`, or by the method ``plot`` of a fitted estimator. Where a picture needs
    rows that are not given, its place says so.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X, y : optional
        Rows and their target.
    columns : int, default=3
        Pictures in a row.

    Attributes
    ----------
    displays_ : list
        The displays, after `plot`; None for one that could not be drawn.
    """

    titles = ("What was selected, and how sure", "How it was found", "What it means")

    def __init__(self, estimator: Any, X: Any = None, y: Any = None, columns: int = 3) -> None:
        self.estimator, self.X, self.y, self.columns = estimator, X, y, columns

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None, columns: int = 3
    ) -> Self:
        """Draw all pictures of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted.
        X, y : optional
            Rows and their target; best others than those of ``fit``.
        ax : matplotlib figure, optional
            A (sub)figure to draw on.
        columns : int, default=3
            Pictures in a row; 1 stacks them, for a narrow page.

        Returns
        -------
        FitDisplay
        """
        check_is_fitted(estimator)
        return cls(estimator, X, y, columns).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw, on a new figure by default.

        Parameters
        ----------
        ax : matplotlib figure, optional
            A (sub)figure to draw on.

        Returns
        -------
        FitDisplay
            This one.
        """
        kinds = self.estimator.displays
        if not kinds:
            raise ValueError(f"{type(self.estimator).__name__} has no pictures.")
        if ax is not None and not hasattr(ax, "add_subfigure"):
            raise ValueError("ax must be a figure or a subfigure: three pictures do not share one axes.")
        columns = min(self.columns, len(kinds))
        rows = -(-len(kinds) // columns)
        # large enough for all names; the size is cut to what is drawn in the end
        large = (6.0 * columns, 8.0 * rows)
        figure = pyplot().figure(figsize=large, layout="constrained") if ax is None else ax
        grid = figure.add_gridspec(rows, columns)
        self.displays_: list[Display | None] = []
        sizes = np.full((rows, columns, 2), 2.6)
        for place, (kind, title) in enumerate(zip(kinds, self.titles, strict=True)):
            r, c = divmod(place, columns)
            part = figure.add_subfigure(grid[r, c])
            part.suptitle(title, fontsize=11, weight="bold")
            self.displays_.append(self._draw_one(kind, part))
            drawn = self.displays_[-1]
            sizes[r, c] = (4.0, 2.6) if drawn is None else drawn.size()
        widths, heights = sizes[..., 0].max(axis=0), sizes[..., 1].max(axis=1) + 0.4
        grid.set_width_ratios(widths)
        grid.set_height_ratios(heights)
        if ax is None:
            figure.set_size_inches(widths.sum(), heights.sum())
        self.axes_ = [one for display in self.displays_ if display is not None for one in display.axes_]
        self.ax_, self.figure_ = self.axes_[0], figure
        return self

    def _draw_one(self, kind: type[Display], part: Any) -> Display | None:
        try:
            return kind.from_estimator(self.estimator, self.X, self.y, ax=part)
        except NotDrawnError as why:
            part.text(0.5, 0.5, wrap_words(str(why), 44), ha="center", va="center", color="0.3")
            return None
