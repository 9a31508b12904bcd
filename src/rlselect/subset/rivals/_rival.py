"""What the rivals share: how a table becomes units and a target, and what a fit keeps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect._capabilities import TABLES, Takes
from rlselect._estimator import Selector, rank
from rlselect._options import NONE, Allowed, number, one_of
from rlselect.data import (
    MISSING_MODES,
    FeatureUnits,
    Table,
    TableEncoder,
    open_table,
    read_numbers_or_classes,
    read_task,
    read_units,
    require_rows,
    selectable_units,
)
from rlselect.kernels import standardise
from rlselect.report import (
    SELECTION,
    PathDisplay,
    PerformanceDisplay,
    SelectionDisplay,
    Sureness,
    answer_selection,
    stopped_early,
)

Array = NDArray[np.float64]

_NOT_ASKED = (
    "This method does not ask what chance would do: where nothing matters it selects some variables all the "
    "same. REVS and ActorCriticPredictor ask."
)


@dataclass(frozen=True)
class RivalProblem:
    """Standardised columns, units and a target.

    Attributes
    ----------
    X : array of shape (n, p)
        Standardised design columns; constant ones are zero.
    y : array of shape (n,)
        Numbers, or the numbers of classes.
    classes : array or None
        Labels; None for a regression.
    units : FeatureUnits
        Which columns and features belong together.
    allowed : int array
        Units that can be selected: not constant, and not the copy of an earlier one.
    """

    X: Array
    y: NDArray
    classes: NDArray | None
    units: FeatureUnits
    allowed: NDArray[np.intp]

    def columns(self, chosen: Any) -> NDArray[np.intp]:
        """Design columns of some of the allowed units, given by their places among those."""
        columns = [self.units.units.columns[self.allowed[k]] for k in chosen]
        return np.concatenate(columns) if columns else np.empty(0, dtype=np.intp)

    def to_features(self, values: NDArray, fill: Any = 0) -> NDArray:
        """Values of the allowed units as values of features."""
        whole = np.full(self.units.units.n_units, fill, dtype=values.dtype)
        whole[self.allowed] = values
        return self.units.to_features(whole, fill)


class RivalSelector(Selector):
    """A selector that follows another paper; it adds its options, `_fit` and `_facts`."""

    _takes: ClassVar = Takes(
        outcomes=("numbers", "two classes", "several classes"),
        data=TABLES,
    )
    _options: ClassVar[Mapping[str, Allowed]] = {
        "missing": one_of(*MISSING_MODES),
        "time_budget": NONE | number("a positive number of seconds", above=0.0),
        "transform_as": one_of("columns", "design"),
    }
    missing: str
    stop_reason_: str
    path_: dict[str, NDArray]
    # the attribute that says what each feature is worth
    _worth_name: ClassVar[str] = "inclusion_"
    displays: ClassVar = (SelectionDisplay, PathDisplay, PerformanceDisplay)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "indicator"
        tags.target_tags.required = True
        return tags

    def _open(self, X: Any, y: Any, sample_weight: Any = None, encoder: TableEncoder | None = None) -> Table:
        name = type(self).__name__
        self._require_target(y)
        return open_table(
            X, y, sample_weight=sample_weight, missing=self.missing, owner=name, encoder=encoder
        )

    def _keep_table(self, table: Table, classes: NDArray | None = None) -> None:
        if classes is not None:
            self.classes_ = classes
        self.encoder_ = table.encoder
        self._keep_names(table.encoder.n_features_in_, table.encoder.feature_names_in_)

    def _keep_selection(self, problem: RivalProblem, chosen: NDArray[np.bool_], worth: Array) -> None:
        """Keep the selected ones of the allowed units, and what each is worth."""
        self.support_ = problem.to_features(chosen)
        setattr(self, self._worth_name, problem.to_features(worth, np.nan))
        # a feature that could not be selected comes last
        order = problem.to_features(worth, -np.inf)
        self.ranking_ = rank(order, support=self.support_)

    def _facts(self) -> dict[str, Any]:
        """What this method did, by words."""
        return {}

    def _asks_chance(self) -> bool:
        """Whether a set of useless variables is told from a useful one."""
        return True

    def _worth_words(self) -> str:
        """Head of the column of worths."""
        return "Share of votes"

    def _worth_note(self) -> str:
        """What the worths mean, in a sentence."""
        return "Share of votes: of the parts of the rows in which the variable was selected."

    def _sureness(self) -> Sureness:
        return Sureness(getattr(self, self._worth_name), self._worth_words().lower())

    def _searched(self) -> dict[str, Any]:
        """The search, where its steps have scores."""
        path, words = self.path_, self._path_words.columns
        if "score" not in path:
            return {}
        steps = {key: path[key].tolist() for key in ("size", "score")}
        stages = list(range(1, len(path["size"]) + 1))
        return {"path": {"stage": stages, **steps, "titles": [words["size"], words["score"]]}}

    def _report(self) -> dict[str, Any]:
        names = self.encoder_.feature_names
        worth = getattr(self, self._worth_name)
        chosen = sorted(np.flatnonzero(self.support_), key=lambda j: self.ranking_[j])
        values = [float(worth[j]) for j in chosen]
        return {
            **self._searched(),
            "title": SELECTION,
            "answer": answer_selection(
                self.n_features_in_,
                {"": [names[j] for j in chosen]},
                *stopped_early(self.stop_reason_),
            ),
            "stop_reason": self.stop_reason_,
            "facts": {"Selected": f"{len(chosen)} of {self.n_features_in_:,} variables", **self._facts()},
            "notes": [] if self._asks_chance() or not chosen else [_NOT_ASKED],
            "sections": [
                {
                    "title": "Selected variables",
                    "columns": ["Variable", self._worth_words()],
                    "rows": [[names[j], value] for j, value in zip(chosen, values, strict=True)],
                    # bars are shares
                    "bars": [(str(names[j]), value) for j, value in zip(chosen, values, strict=True)]
                    if all(0.0 <= value <= 1.0 for value in values)
                    else [],
                    "note": self._worth_note() if chosen else "No variable was selected.",
                }
            ],
        }


def read_problem(table: Table, task: str, owner: str) -> RivalProblem:
    """Standardise the columns and number what may be selected."""
    require_rows(table.n_rows, 3, owner)
    assert table.y is not None
    y, classes = read_numbers_or_classes(table.y, read_task(table.y, task))
    raw = table.take().X
    X, _, _, constant = standardise(raw.toarray() if sparse.issparse(raw) else raw)
    units = read_units(table.encoder)
    allowed = selectable_units(table, units.units, constant)
    return RivalProblem(X, y, classes, units, allowed)
