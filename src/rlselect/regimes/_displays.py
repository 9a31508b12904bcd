"""Pictures of learnt regimes: which history matters, and how that was found."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rlselect.regimes._contrasts import TailoringEffect
from rlselect.report import (
    GREY,
    TEXT,
    Display,
    NotDrawnError,
    colour,
    draw_names,
    label_axes,
    name_room,
    names_height,
    short_names,
    shown_of,
)

__all__ = ["StageObjectiveDisplay", "TailoringDisplay"]


class TailoringDisplay(Display):
    """What was selected, and how sure: the history columns of each stage, and how decisions lean on them.

    A point is the slope of the advantage of an action on a column, per standard deviation, with an interval
    that holds for all columns of the stage together; a cross stands for a column that matters for the outcome
    only. Use :meth:`from_estimator`.

    Parameters
    ----------
    effects : list of lists of TailoringEffect
        By stage.
    others : list of lists of str
        By stage: columns without such an effect.
    stage_names : list of str
    n_columns : int
        History columns of all stages.
    most : int, default=25
        Rows that are drawn at most.
    """

    def __init__(
        self,
        effects: list[list[TailoringEffect]],
        others: list[list[str]],
        stage_names: list[str],
        n_columns: int,
        most: int = 25,
    ) -> None:
        self.effects, self.others, self.stage_names = effects, others, stage_names
        self.n_columns, self.most = n_columns, most

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None, most: int = 25
    ) -> Self:
        """Draw a fitted learner.

        Parameters
        ----------
        estimator : QLearning or AdvantageLearning
            Fitted.
        X, y : ignored
            The fit tells all.
        ax : matplotlib axes or figure, optional
            Where to draw.
        most : int, default=25
            Rows that are drawn at most.

        Returns
        -------
        TailoringDisplay
        """
        check_is_fitted(estimator)
        effects = estimator.tailoring_effects_
        # an effect of a label is named after its column
        told = [
            {name for one in stage for name in (one.column, one.column.split(" = ")[0])} for stage in effects
        ]
        others = [
            [name for name in names if name not in known]
            for names, known in zip(estimator.selected_, told, strict=True)
        ]
        n_columns = sum(map(len, estimator.history_names_in_))
        return cls(effects, others, estimator.stage_names_, n_columns, most).plot(ax=ax)

    def _rows(self) -> list[tuple[str, str, float, float, float]]:
        """Name, actions where there are several, slope and interval (NaN: none); the steepest first."""
        rows = []
        for stage, (effects, others) in enumerate(zip(self.effects, self.others, strict=True)):
            prefix = f"{self.stage_names[stage]}: " if len(self.effects) > 1 else ""
            several = len({(one.action, one.reference) for one in effects}) > 1
            for one in sorted(effects, key=lambda one: -abs(one.slope)):
                pair = " v. ".join(short_names([one.action, one.reference], 16)) if several else ""
                rows.append((f"{prefix}{one.column}", pair, one.slope, *one.interval))
            rows += [(f"{prefix}{name}", "", np.nan, np.nan, np.nan) for name in others]
        return rows

    def _panel_size(self) -> tuple[float, float]:
        rows = self._rows()
        return (5.4, names_height((1 + any(row[1] for row in rows)) * min(self.most, len(rows)) + 2))

    def _draw(self, axes: list[Any]) -> None:
        (ax,) = axes
        rows = self._rows()
        count = min(len(rows), self.most, name_room(ax) // (1 + any(row[1] for row in rows)) or 1)
        for place, (_, _, slope, low, high) in enumerate(rows[:count]):
            if np.isnan(slope):
                ax.plot(0.0, place, "x", color=GREY)
            else:
                ax.plot([low, high], [place, place], color=colour(0), linewidth=2.0)
                ax.plot(slope, place, "o", color=colour(0))
        draw_names(ax, [row[0] for row in rows[:count]], [row[1] for row in rows[:count]])
        ax.axvline(0.0, color="0.3", linewidth=0.8, zorder=0)
        pairs = {(one.action, one.reference) for effects in self.effects for one in effects}
        of = "an action" if len(pairs) != 1 else "{} against {}".format(*next(iter(pairs)))
        note = "(cross: matters for the outcome only)" if any(map(len, self.others)) else ""
        kept = sum(
            len({one.column for one in e}) + len(o) for e, o in zip(self.effects, self.others, strict=True)
        )
        label_axes(
            ax,
            f"slope of the advantage of {of}, per sd\n{note}".rstrip(),
            title=f"{kept} of {self.n_columns} history columns matter{shown_of(count, len(rows))}",
        )


class StageObjectiveDisplay(Display):
    """How it was found: the objective of the elimination at each stage (Figures 4.3 to 4.11).

    Use :meth:`from_estimator`; ``axes_`` holds one axes per stage after :meth:`plot`.

    Parameters
    ----------
    removed, objective : lists of arrays, one per stage
    n_removed : list of int
        How many columns the learner removed.
    label : str
        What the objective is.
    """

    def __init__(
        self,
        removed: list[NDArray],
        objective: list[NDArray],
        n_removed: list[int],
        label: str = "regularised risk",
    ) -> None:
        self.removed, self.objective, self.n_removed, self.label = removed, objective, n_removed, label

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None) -> Self:
        """Draw a fitted learner.

        Parameters
        ----------
        estimator : QLearning or AdvantageLearning
            Fitted with a selection.
        X, y : ignored
            The fit tells all.
        ax : matplotlib axes, a sequence of them, or a figure, optional
            Where to draw.

        Returns
        -------
        StageObjectiveDisplay
        """
        check_is_fitted(estimator)
        paths = [path for path in estimator.path_ if path is not None]
        if len(paths) < estimator.n_stages_:
            raise NotDrawnError(
                "The learner has eliminated nothing at some stage (selection=None, or rewards that are all "
                "the same): there is no elimination to draw."
            )
        sizes = [path["n_features"] for path in paths]
        # Algorithm 28 judges no set out of sample
        label = "regularised risk" if "risk" in paths[0] else "fitted stage-1 value"
        kept = [len(names) for names in estimator.selected_]
        return cls(
            [size[0] - size for size in sizes],
            [path["objective"] for path in paths],
            [int(size[0] - k) for size, k in zip(sizes, kept, strict=True)],
            label,
        ).plot(ax=ax)

    def _panels(self) -> tuple[int, int]:
        return len(self.removed), 1

    def _panel_size(self) -> tuple[float, float]:
        return (4.8, 2.5)

    def _draw(self, axes: list[Any]) -> None:
        for stage, ax in enumerate(axes):
            ax.plot(self.removed[stage], self.objective[stage], "o-", markersize=3, color=colour(0))
            ax.axvline(self.n_removed[stage], color=colour(1), linestyle="--", label="selected")
            label_axes(ax, "columns removed" if ax is axes[-1] else "", self.label, f"stage {stage + 1}")
            ax.legend(fontsize=TEXT)
