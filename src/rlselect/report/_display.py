"""What all displays share: axes, and where they are kept after a picture is drawn."""

from typing import Any, Self

import numpy as np

__all__ = ["Display", "PanelDisplay", "pyplot"]


def pyplot() -> Any:
    """Matplotlib's pyplot, or a sentence on how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("Displays need matplotlib; run pip install 'rlselect[plot]'.") from None
    return plt


class Display:
    """A picture on one pair of axes.

    A display holds what is drawn, is made by a classmethod such as ``from_estimator``, and adds `_draw`.

    Attributes
    ----------
    ax_, figure_
        Matplotlib's axes and figure, after `plot`.
    """

    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""
        return (6.0, 4.0)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw into axes, new ones by default.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        Display
            This one.
        """
        if ax is None:
            ax = pyplot().subplots(figsize=self._size(), layout="constrained")[1]
        self._draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError


class PanelDisplay:
    """A picture on several axes, in rows and columns.

    Attributes
    ----------
    axes_ : list
        Matplotlib's axes, row by row, after `plot`.
    figure_
        Their figure.
    """

    def _panels(self) -> tuple[int, int]:
        """Number of panels, and how many of them stand in a row."""
        raise NotImplementedError

    def _panel_size(self) -> tuple[float, float]:
        """Width and height of one panel of a new figure, in inches."""
        return (4.5, 3.5)

    def plot(self, *, axes: Any = None) -> Self:
        """Draw into axes, new ones by default.

        Parameters
        ----------
        axes : sequence of matplotlib axes, optional
            One for each panel, row by row.

        Returns
        -------
        PanelDisplay
            This one.
        """
        count, columns = self._panels()
        if axes is None:
            rows = -(-count // columns)
            width, height = self._panel_size()
            size = (width * columns, height * rows)
            _, axes = pyplot().subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
            for ax in axes.flat[count:]:
                ax.set_axis_off()
        every = list(np.ravel(axes))
        if len(every) < count:
            raise ValueError(f"axes holds {len(every)} axes; this picture has {count} panels.")
        self.axes_ = every[:count]
        self._draw(self.axes_)
        self.figure_ = self.axes_[0].figure
        return self

    def _draw(self, axes: list[Any]) -> None:
        raise NotImplementedError
