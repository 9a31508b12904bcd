"""Pictures that selectors of one subset share: the variables, the search, what variables are worth."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from rlselect.data import open_table
from rlselect.report._display import (
    TEXT,
    Display,
    NotDrawnError,
    below_axes,
    draw_names,
    label_axes,
    name_room,
    names_height,
    shown_of,
    whole_ticks,
    wrap_words,
)
from rlselect.report._names import short_name
from rlselect.report._palette import FAINT, GREY, PALETTE, colour

__all__ = [
    "GainDisplay",
    "PathDisplay",
    "PathWords",
    "PerformanceDisplay",
    "SelectionDisplay",
    "Sureness",
    "judging_machine",
]

Array = NDArray[np.float64]


class PathWords(NamedTuple):
    """How an estimator calls what its `path_` holds.

    Attributes
    ----------
    step : str
        What a step is.
    columns : mapping
        Keys of `path_` to words, in the order in which they are drawn.
    """

    step: str
    columns: Mapping[str, str]


class Sureness(NamedTuple):
    """How sure a selection is of each feature.

    Attributes
    ----------
    values : array of shape (n_features,)
        NaN where nothing is known.
    words : str
        What they are.
    errors : array of shape (n_features,), optional
        Their standard errors.
    """

    values: Array
    words: str = "inclusion"
    errors: Array | None = None


class SelectionDisplay(Display):
    """What was selected, and how sure: a bar for each of the best features, pale where it was not selected.

    Features that stand in for one another (`credible_groups_` of a `REVS`) share a colour, and the chance
    that one of them matters stands beside it. Use :meth:`from_estimator`.

    Parameters
    ----------
    names : list of str
        Features, the best first.
    sureness : Sureness
        Of the same features.
    selected : bool array of shape (n_features,)
        Which are selected.
    n_selected, n_features : int, optional
        How many are selected, and how many there are, in all.
    groups : list of dicts, optional
        ``features`` and ``inclusion`` of sets of features of which one is in the model.
    """

    def __init__(
        self,
        names: list[str],
        sureness: Sureness,
        selected: NDArray[np.bool_],
        n_selected: int | None = None,
        n_features: int | None = None,
        groups: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.names, self.sureness, self.selected = names, sureness, selected
        self.n_selected = int(selected.sum()) if n_selected is None else n_selected
        self.n_features = len(names) if n_features is None else n_features
        self.groups = [group for group in groups if len(group["features"]) > 1]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None, most: int = 25
    ) -> Self:
        """Draw a fitted selector.

        Parameters
        ----------
        estimator : selector
            Such as REVS or RiskRFE.
        X, y : ignored
            The fit tells all.
        ax : matplotlib axes or figure, optional
            Where to draw.
        most : int, default=25
            Features that are drawn at most.

        Returns
        -------
        SelectionDisplay
        """
        check_is_fitted(estimator)
        known = estimator._sureness()
        first = np.argsort(estimator.ranking_, kind="stable")[:most]
        names = [str(estimator.encoder_.feature_names[j]) for j in first]
        errors = None if known.errors is None else known.errors[first]
        return cls(
            names,
            Sureness(known.values[first], known.words, errors),
            estimator.support_[first],
            int(estimator.support_.sum()),
            len(estimator.support_),
            getattr(estimator, "credible_groups_", ()),
        ).plot(ax=ax)

    def _panel_size(self) -> tuple[float, float]:
        return (5.4, names_height(len(self.names) + 2 * (len(self._drawn_groups(self.names)) > 0)))

    def _drawn_groups(self, names: list[str]) -> list[Mapping[str, Any]]:
        """Sets of which something is seen, as many as there are colours for."""
        seen = [group for group in self.groups if set(group["features"]) & set(names)]
        return seen[: len(PALETTE) - 1]

    def _draw(self, axes: list[Any]) -> None:
        (ax,) = axes
        count = min(len(self.names), name_room(ax))
        names, selected = self.names[:count], self.selected[:count]
        values = np.nan_to_num(self.sureness.values[:count], posinf=0.0, neginf=0.0)
        places = range(count)
        groups = self._drawn_groups(names)
        # sets that stand in for one another: the first colour is for those that stand for themselves
        owner = {name: k for k, group in reversed(list(enumerate(groups))) for name in group["features"]}
        tones = [colour(1 + owner[name]) if name in owner else colour(0) for name in names]
        shades = [tone if is_in else _paler(tone) for tone, is_in in zip(tones, selected, strict=True)]
        ax.barh(places, values, 0.7, color=shades)
        if self.sureness.errors is not None:
            half = 2.0 * np.nan_to_num(self.sureness.errors[:count])
            ax.errorbar(values, places, xerr=half, fmt="none", ecolor="0.25", elinewidth=1.0, capsize=2)
        draw_names(ax, names)
        if np.all((values >= 0.0) & (values <= 1.0)) and self.sureness.errors is None:
            ax.set_xlim(0.0, 1.0)
        whiskers = "" if self.sureness.errors is None else "; whiskers: 2 standard errors"
        title = f"{self.n_selected:,} of {self.n_features:,} selected"
        title += f", the best {count:,} shown" if count < self.n_features else ""
        label_axes(ax, f"{self.sureness.words}\n(pale: not selected{whiskers})", title=title)
        self._draw_legend(ax, groups)

    def _draw_legend(self, ax: Any, groups: list[Mapping[str, Any]]) -> None:
        from matplotlib.patches import Patch

        handles = [
            Patch(
                color=colour(1 + k),
                label=f"{len(group['features'])} that stand in for one another: {group['inclusion']:.2f}",
            )
            for k, group in enumerate(groups)
        ]
        if handles:
            below_axes(ax, 0.55, handles=handles, title="one of them matters: chance that it does")


def _paler(tone: str) -> tuple[float, ...]:
    from matplotlib.colors import to_rgb

    return tuple(0.35 * part + 0.65 for part in to_rgb(tone))


class PathDisplay(Display):
    """How it was found: what a search kept track of, step by step, one panel below the other.

    Use :meth:`from_estimator`. What was the same at all steps is told below, not drawn.

    Parameters
    ----------
    path : dict of arrays
        Words -> one number per step.
    step : str, default="step"
        What a step is.
    stop_reason : str, optional
        Why it ended.
    """

    def __init__(self, path: Mapping[str, Any], step: str = "step", stop_reason: str = "") -> None:
        self.path = {words: np.asarray(values, dtype=float) for words, values in path.items()}
        self.step, self.stop_reason = step, stop_reason

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None) -> Self:
        """Draw the `path_` of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Such as REVS or DatumwiseClassifier.
        X, y : ignored
            The fit tells all.
        ax : matplotlib axes, a sequence of them, or a figure, optional
            Where to draw.

        Returns
        -------
        PathDisplay
        """
        check_is_fitted(estimator)
        words, reason = estimator._path_words, str(estimator.stop_reason_)
        path = {text: estimator.path_[key] for key, text in words.columns.items()}
        if not all(map(len, path.values())):
            raise NotDrawnError(f"There was nothing to search ({reason}): there is no path to draw.")
        return cls(path, words.step, reason).plot(ax=ax)

    def _varying(self) -> list[str]:
        """What changes along the path; the first one if nothing does."""
        some = [words for words, values in self.path.items() if len(np.unique(values)) > 1]
        return some or list(self.path)[:1]

    def _panels(self) -> tuple[int, int]:
        return len(self._varying()), 1

    def _panel_size(self) -> tuple[float, float]:
        return (5.0, 1.5 if len(self._varying()) > 2 else 1.9)

    def size(self) -> tuple[float, float]:
        """Width and height that the picture wants, in inches."""
        width, height = super().size()
        return width, height + 0.7

    def _draw(self, axes: list[Any]) -> None:
        for k, (ax, words) in enumerate(zip(axes, self._varying(), strict=True)):
            values = self.path[words]
            steps = np.arange(1, len(values) + 1)
            whole = np.all(values == np.round(values))
            dots = {"marker": "o", "markersize": 3} if len(values) <= 40 else {}
            ax.plot(
                steps,
                values,
                color=colour(k),
                linewidth=1.4,
                drawstyle="steps-post" if whole else "default",
                **dots,
            )
            label_axes(ax, "", title=words)
            whole_ticks(ax.xaxis)
            if whole:
                whole_ticks(ax.yaxis)
            if ax is not axes[-1]:
                ax.sharex(axes[-1])
                ax.tick_params(labelbottom=False)
        fixed = [
            f"{words}: {_number(values[0])}"
            for words, values in self.path.items()
            if words not in self._varying()
        ]
        ended = [f"ended: {self.stop_reason}"] if self.stop_reason else []
        axes[-1].set_xlabel("\n".join([self.step, *fixed, *map(wrap_words, ended)]), fontsize=TEXT + 1)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"


class GainDisplay(Display):
    """What it means: the held-out loss that each selected variable saves, and which way it works.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    names : list of str
        Selected variables, the most valuable first.
    gain : array
        What each saves.
    sign : int array, optional
        1 where the target rises with a variable, -1 where it falls, 0 where that is no single number.
    words : list of str, optional
        Written at the ends of the bars, such as coefficients with their errors.
    total : int, optional
        How many are selected.
    outcome : str, default="the target"
        What rises or falls with a variable.
    """

    def __init__(
        self,
        names: list[str],
        gain: Array,
        sign: NDArray[np.intp] | None = None,
        words: list[str] | None = None,
        total: int | None = None,
        outcome: str = "the target",
    ) -> None:
        self.names, self.gain, self.sign = names, np.asarray(gain, dtype=float), sign
        self.words = [""] * len(names) if words is None else words
        self.total = len(names) if total is None else total
        self.outcome = outcome

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None, most: int = 25
    ) -> Self:
        """Draw a fitted selector.

        Parameters
        ----------
        estimator : REVS or ActorCriticPredictor
            Fitted.
        X, y : ignored
            The fit tells all.
        ax : matplotlib axes or figure, optional
            Where to draw.
        most : int, default=25
            Variables that are drawn at most.

        Returns
        -------
        GainDisplay
        """
        check_is_fitted(estimator)
        chosen = np.flatnonzero(estimator.support_)
        if not len(chosen):
            raise NotDrawnError("No variable was selected: the model is a constant.")
        # of several responses, the one to which a variable is worth most
        gain = np.nan_to_num(np.atleast_2d(estimator.gain_), nan=-np.inf).max(axis=0)
        order = chosen[np.argsort(-gain[chosen], kind="stable")][:most]
        names = [str(estimator.encoder_.feature_names[j]) for j in order]
        sign, words = _directions(estimator, order)
        return cls(names, gain[order], sign, words, len(chosen), _outcome(estimator)).plot(ax=ax)

    def _panel_size(self) -> tuple[float, float]:
        return (5.4, names_height(len(self.names) + 1))

    def _draw(self, axes: list[Any]) -> None:
        (ax,) = axes
        count = min(len(self.names), name_room(ax))
        gain = np.nan_to_num(self.gain[:count], neginf=0.0)
        sign = np.zeros(count, dtype=int) if self.sign is None else self.sign[:count]
        what = short_name(self.outcome)
        kinds = {1: (f"{what} rises with it", colour(0)), -1: (f"{what} falls with it", colour(1))}
        kinds[0] = ("", colour(0)) if self.sign is None else ("several columns or classes", GREY)
        for one, (label, tone) in kinds.items():
            places = np.flatnonzero(sign == one)
            if len(places):
                ax.barh(places, gain[places], 0.7, color=tone, label=label)
        draw_names(ax, self.names[:count])
        ax.axvline(0.0, color="0.3", linewidth=0.8)
        for place, (value, text) in enumerate(zip(gain, self.words, strict=False)):
            ax.annotate(
                text,
                (max(value, 0.0), place),
                (4, 0),
                textcoords="offset points",
                fontsize=TEXT,
                va="center",
                color="0.2",
            )
        if any(self.words):
            # room for what stands at the ends of the bars
            low, high = gain.min(initial=0.0), gain.max(initial=0.0)
            span = (high - low) or 1.0
            ax.set_xlim(low - 0.03 * span, high + 0.45 * span)
        beside = "\n(at the bars: coefficient ± standard error)" if any(self.words) else ""
        title = f"What each is worth{shown_of(count, self.total)}"
        label_axes(ax, f"held-out loss that it saves{beside}", title=title)
        if self.sign is not None:
            below_axes(ax, 0.6)


def _outcome(estimator: Any) -> str:
    """What a positive coefficient raises."""
    if getattr(estimator, "family_", None) == "cox":
        return "the risk"
    classes: Any = getattr(estimator, "classes_", [])
    return f"chance of {classes[1]}" if len(classes) == 2 else estimator._target_words


def _directions(
    estimator: Any, features: NDArray[np.intp]
) -> tuple[NDArray[np.intp] | None, list[str] | None]:
    """Which way each feature works, and its coefficient in words, where the fit has them."""
    coef, errors = getattr(estimator, "coef_", None), getattr(estimator, "_errors", None)
    if coef is None or errors is None:
        return None, None
    column_feature = np.asarray(estimator.encoder_.column_feature_)
    sign, words = np.zeros(len(features), dtype=np.intp), [""] * len(features)
    for k, feature in enumerate(features):
        columns = np.flatnonzero(column_feature == feature)
        if coef.ndim == 1 and len(columns) == 1:
            sign[k] = int(np.sign(coef[columns[0]]))
            words[k] = f"{coef[columns[0]]:.3g} ± {errors[columns[0]]:.2g}"
    return sign, words


class PerformanceDisplay(Display):
    """What it means: how good a learner is against the number of variables, best ranks first.

    With rows, cross-validated performance of a learner; the rows that chose the variables also judge them
    unless ``X`` and ``y`` are other rows: then the picture is honest. Without rows, the out-of-sample risk
    that an elimination has met on its way.

    Parameters
    ----------
    sizes : int array
    mean, spread : arrays
        Mean, and standard deviation over folds (standard error of a risk).
    n_selected : int
    metric : str
    """

    def __init__(
        self, sizes: NDArray[np.intp], mean: Array, spread: Array, n_selected: int, metric: str
    ) -> None:
        self.sizes, self.mean, self.spread = sizes, mean, spread
        self.n_selected, self.metric = n_selected, metric

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        ax: Any = None,
        sizes: Sequence[int] | None = None,
        learner: Any = None,
        cv: Any = 5,
    ) -> Self:
        """Judge the first ranks of any fitted selector.

        Parameters
        ----------
        estimator : selector
            With ``ranking_`` and ``encoder_``.
        X, y : optional
            Rows as for ``fit``, best others. Needed unless the selector is an elimination, such as RiskRFE.
        ax : matplotlib axes or figure, optional
            Where to draw.
        sizes : sequence of int, optional
            Numbers of variables; up to twelve between 1 and twice the selected ones by default.
        learner : estimator, optional
            A Gaussian support vector machine by default, all columns and numbers standardised.
        cv : int or splitter, default=5
            Folds.

        Returns
        -------
        PerformanceDisplay
        """
        check_is_fitted(estimator)
        n_selected = int(estimator.support_.sum())
        if X is None:
            path = getattr(estimator, "path_", {})
            if "risk" not in path:
                raise NotDrawnError(
                    "What more variables are worth is judged on rows: give X and y, best others than those "
                    "of fit."
                )
            risk = (path["n_features"], path["risk"], path["standard_error"])
            return cls(*risk, n_selected, "out-of-sample risk").plot(ax=ax)
        if np.ndim(y) > 1:
            raise NotDrawnError("What more variables are worth is judged for one response; give y of one.")
        table = open_table(X, y, encoder=estimator.encoder_)
        if table.y is None:
            raise ValueError("X was given without y; give the target of the rows as well.")
        sizes = _sizes(n_selected, len(estimator.ranking_)) if sizes is None else sizes
        classes = getattr(estimator, "task_", None) == "classification" or hasattr(estimator, "classes_")
        learner = judging_machine(classes) if learner is None else learner
        scores = _scores(estimator, table, sizes, learner, cv)
        metric = "accuracy" if is_classifier(learner) else "R squared"
        mean, spread = np.mean(scores, axis=1), np.std(scores, axis=1)
        return cls(np.asarray(sizes), mean, spread, n_selected, metric).plot(ax=ax)

    def _draw(self, axes: list[Any]) -> None:
        (ax,) = axes
        order = np.argsort(self.sizes)
        ax.errorbar(
            self.sizes[order],
            self.mean[order],
            yerr=self.spread[order],
            marker="o",
            markersize=4,
            capsize=2,
            color=colour(0),
            ecolor=FAINT if len(order) > 60 else colour(0),
        )
        ax.axvline(self.n_selected, color=colour(1), linestyle="--", label=f"selected ({self.n_selected})")
        label_axes(ax, "number of variables, the best first", self.metric)
        whole_ticks(ax.xaxis)
        ax.legend(fontsize=TEXT)


def judging_machine(classes: bool) -> Any:
    """A Gaussian support vector machine on standardised columns, and on a standardised target of numbers."""
    # loaded for those who draw only
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    # its margin and its penalty are for a target of standard deviation 1
    numbers = TransformedTargetRegressor(SVR(gamma="auto"), transformer=StandardScaler())
    return make_pipeline(StandardScaler(), SVC(gamma="auto") if classes else numbers)


def _sizes(n_selected: int, n_features: int) -> list[int]:
    last = min(max(2 * n_selected, 5), n_features)
    return np.unique(np.linspace(1, last, 12).round().astype(int)).tolist()


def _scores(estimator: Any, table: Any, sizes: Sequence[int], learner: Any, cv: Any) -> list[Array]:
    """Scores of the folds (sizes, folds) of a learner on the first ranks."""
    from sklearn.model_selection import cross_val_score

    design = table.take().X
    design = np.asarray(design.toarray() if table.is_sparse else design, dtype=np.float64)
    order = np.argsort(estimator.ranking_)
    column_feature = np.asarray(estimator.encoder_.column_feature_)
    return [
        cross_val_score(clone(learner), design[:, np.isin(column_feature, order[:size])], table.y, cv=cv)
        for size in sizes
    ]
