"""From a user's table and options to units, a numeric response and what may move."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rlselect.data import (
    DataSource,
    FeatureUnits,
    Table,
    Units,
    all_finite,
    as_numbers,
    class_like,
    common_value,
    find_task,
    find_twins,
    lone_number,
    read_features,
    read_units,
)
from rlselect.kernels import Levels
from rlselect.subset.revs._dependence import Belonging
from rlselect.subset.revs._outcome_kind import OUTCOMES, OutcomeKind, read_survival
from rlselect.subset.revs._structure import Structure
from rlselect.subset.revs.evidence import JointSubset

# beside larger ones the prior of the coefficients is lost in rounding
_MOST_COUNTS = 1e12
# share of all counts from which on one row is worth a word, of so many rows: cells of small tables are heavy
_HEAVY, _MANY_ROWS = 0.25, 20
# of which the first ones settle whether many are alike
_MANY_NUMBERS = 5000
FAMILIES = ("auto", "gaussian", "binomial", "poisson", "negative_binomial", *OUTCOMES)
COUNTS = ("poisson", "negative_binomial")
# from which probability on a unit is selected: at even odds, and at three to one where rows belong together.
# These leave more units in doubt, of which even odds let in more false ones, for no better F1 of 30 clusters
# (benchmarks/results/revs_clusters_cuts.md)
_EVEN, _SURE = 0.5, 0.75


class JointRows(Protocol):
    """Rows with several responses."""

    def state(self, units: Units, columns: NDArray[np.intp] | None = None) -> JointSubset:
        """The empty subset of all responses together; of some design columns only, where these are given."""


@dataclass
class Problem:
    """What a search works on.

    Attributes
    ----------
    table : DataSource
        The rows; its y is the numeric response.
    family : str
        One of `FAMILIES`, no longer "auto".
    classes : array or None
        The labels of classes; of "cox" those of the strata.
    groups : FeatureUnits
        What enters and leaves together.
    allowed, always : bool array over units
        What may move, and what stays in whatever happens.
    twin_of : array of int
        For a unit that repeats another one, the one that represents both; itself otherwise.
    outcome : OutcomeKind, optional
        What makes a likelihood of the response, where that is none of numbers, two classes or counts.
    time_ordered : bool
        Whether rows that follow each other may be alike.
    structure : Structure, optional
        Rules that subsets have to follow, where not all may be selected.
    joint : JointRows, optional
        Several responses that one subset is to serve.
    class_like : list of float
        The numbers of a response that was taken as a number, where they may be names of classes; one number
        where all are alike.
    common : tuple of float, optional
        The number that most rows of a response of numbers share, and their share.
    lone : tuple of float, optional
        The number or count of a row that has most of all squares, and its share.
    """

    table: DataSource
    family: str
    classes: NDArray | None
    groups: FeatureUnits
    allowed: NDArray[np.bool_]
    always: NDArray[np.bool_]
    twin_of: NDArray[np.intp]
    outcome: OutcomeKind | None = None
    time_ordered: bool = False
    structure: Structure | None = None
    joint: "JointRows | None" = None
    class_like: list[float] = field(default_factory=list)
    common: tuple[float, float] | None = None
    lone: tuple[float, float] | None = None

    @cached_property
    def belonging(self) -> Belonging:
        """Which rows belong together."""
        return Belonging.of(self.table, self.time_ordered)

    @property
    def levels(self) -> Levels | None:
        """What rows share beside the columns, None where each stands for itself."""
        return self.belonging.levels

    @property
    def together(self) -> NDArray[np.intp] | None:
        """Which rows are left out together, None where each stands for itself."""
        return self.belonging.together

    @property
    def cut(self) -> float:
        """Probability above which the rule "auto" takes a unit."""
        return _EVEN if self.levels is None else _SURE

    @property
    def units(self) -> Units:
        """What enters and leaves together."""
        return self.groups.units

    def to_features(self, unit_values: NDArray) -> NDArray:
        """Values of units as values of input features; zero for features without columns."""
        return self.groups.to_features(unit_values)

    def columns_of(self, unit_mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Design columns of some units, in order."""
        return np.flatnonzero(unit_mask[self.units.unit_of])

    @property
    def is_limited(self) -> bool:
        """Whether there is a largest number of anything."""
        return self.structure is not None and self.structure.is_limited

    def wrong_unit(self, columns: NDArray[np.intp], coef: NDArray, errors: NDArray) -> int | None:
        """A unit with a coefficient of the wrong sign, the clearest first; None if all are right."""
        if self.structure is None or not self.structure.is_signed:
            return None
        return self.structure.wrong_unit(self.units, columns, coef, errors)

    def detectable(self, sizes: NDArray | None) -> NDArray[np.float64]:
        """Sizes of effects per column as sizes per input feature: the largest of its columns, or NaN."""
        out = np.full(len(self.table.encoder.feature_names), np.nan)
        if sizes is not None:
            features = self.table.encoder.column_feature_
            np.fmax.at(out, features, sizes[: len(features)])
        return out


def pose_problem(
    table: DataSource,
    *,
    family: str,
    feature_groups: Any,
    always_select: Any,
    never_select: Any,
    ties: str = "efron",
    time_ordered: bool = False,
    order: list[Any] | None = None,
    signed: bool = False,
) -> Problem:
    """Read the options of a selector.

    Parameters
    ----------
    table : DataSource
        The open table, with its raw y.
    family, feature_groups, always_select, never_select, ties, time_ordered
        As the user gave them.
    order : list, optional
        Labels of y in their order, where its type says one.
    signed : bool, default=False
        Whether coefficients must have signs: then x and -x are two things.

    Returns
    -------
    Problem
    """
    names, asked = table.encoder.feature_names, family
    outcome: OutcomeKind | None = None
    classes: NDArray | None
    if family == "cox":
        assert isinstance(table, Table)
        outcome, numbers, classes = read_survival(table.targets(), table.extra, ties)
    else:
        family, classes, numbers = read_response(table.targets(), family, order)
        if family in OUTCOMES and classes is not None:
            _require_classes(table, classes, numbers)
            outcome = OutcomeKind(family, len(classes))
    table.set_response(Response(family, classes), numbers)
    groups = read_units(table.encoder, feature_groups)
    units, unit_of_feature = groups.units, groups.unit_of_feature
    always = _unit_mask(always_select, names, unit_of_feature, units, "always_select")
    never = _unit_mask(never_select, names, unit_of_feature, units, "never_select")
    if np.any(always & never):
        both = [names[f] for f in np.flatnonzero((always & never)[unit_of_feature] & (unit_of_feature >= 0))]
        raise ValueError(
            f"always_select and never_select both name {', '.join(map(repr, both[:5]))}; drop one of the two."
        )
    twin_of = _represent(find_twins(table, units, turned=not signed), always, never)
    allowed = ~always & ~never & (twin_of == np.arange(units.n_units))
    doubted = _class_like(numbers) if asked == "auto" and family == "gaussian" else []
    if outcome is None and len(numbers) and numbers.min() == numbers.max():
        doubted = numbers[:1].tolist()
    posed = Problem(table, family, classes, groups, allowed, always, twin_of, outcome, time_ordered)
    posed.class_like = doubted
    weight = getattr(table, "sample_weight", None)
    counted = numbers if weight is None else numbers[weight > 0]
    if family == "gaussian" and not doubted:
        posed.common = _common(counted)
    if family == "gaussian" or family in COUNTS:
        posed.lone = lone_number(counted)
    return posed


def heaviest_row(table: DataSource) -> dict[str, float]:
    """The row of the largest weight, its weight and the sum of all; empty where it is one among many."""
    weight = getattr(table, "sample_weight", None)
    if weight is None or table.n_rows < _MANY_ROWS:
        return {}
    row, total = int(np.argmax(weight)), float(np.sum(weight))
    if weight[row] <= _HEAVY * total:
        return {}
    return {"row": row, "weight": float(weight[row]), "total": total}


def _class_like(numbers: NDArray[np.float64]) -> list[float]:
    # the first rows settle it nearly always
    if len(np.unique(numbers[:1000])) > 20:
        return []
    found = np.unique(numbers)
    return found.tolist() if class_like(len(found), bool(np.all(found == np.round(found)))) else []


def _common(numbers: NDArray[np.float64]) -> tuple[float, float] | None:
    # without sorting millions of numbers that differ
    few = len(numbers) > _MANY_NUMBERS and len(np.unique(numbers[:1000])) > 900
    return None if few else common_value(numbers)


def _require_classes(table: DataSource, classes: NDArray, codes: NDArray) -> None:
    """Refuse classes that no row counts for."""
    if isinstance(table, Table) and table.sample_weight is not None:
        totals = np.bincount(codes.astype(np.intp), table.sample_weight, minlength=len(classes))
        if not totals.all():
            raise ValueError(
                f"y has no row with a weight above zero of class {classes[int(np.argmin(totals))]}: leave "
                "out the rows of this class."
            )


def read_response(
    y: NDArray, family: str, order: list[Any] | None = None
) -> tuple[str, NDArray | None, NDArray[np.float64]]:
    """Family, class labels and numeric response.

    "auto" takes two distinct values, text and truth values as classes, of which three or more are
    "multinomial", or "ordinal" where they have an order, and other numbers as "gaussian". `order` is that of
    the labels, where their type says one.
    """
    if family == "auto" and order is not None and len(np.unique(y)) > 2:
        family = "ordinal"
    if family == "auto":
        family = "binomial" if find_task(y, labels="two values") == "classification" else "gaussian"
        if family == "binomial" and y.dtype.kind == "O" and len(np.unique(y)) > 2:
            family = "multinomial"
    if family in ("multinomial", "ordinal"):
        labels, numbers = _read_classes(y, family, order)
        # two classes are a model of one number
        return "binomial" if family == "multinomial" and len(labels) == 2 else family, labels, numbers
    if family == "binomial":
        classes, codes = np.unique(y, return_inverse=True)
        if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
            as_numbers(y, "y")
            raise ValueError("y contains NaN or infinity; drop or mend these rows.")
        if len(classes) != 2:
            found = ", ".join(repr(c) for c in classes[:5].tolist()) + (", ..." if len(classes) > 5 else "")
            kind = "only one class" if len(classes) == 1 else f"{len(classes)} classes"
            if y.dtype.kind == "f" and np.any(classes != np.round(classes)):
                kind = "continuous values"
            raise ValueError(
                f"y has {kind} ({found}), but family='binomial' needs exactly two. Only binary "
                "classification is supported by it: keep two classes, use family='multinomial' for more, or "
                "family='gaussian' for numbers."
            )
        return family, classes, codes.astype(np.float64)
    response = as_numbers(y, "y")
    if not all_finite(response):
        raise ValueError("y contains NaN or infinity; drop or mend these rows.")
    if family in COUNTS and response.min(initial=0.0) < 0:
        raise ValueError(
            f"family={family!r} needs counts of zero or more, but the smallest y is {response.min():g}."
        )
    if family in COUNTS and response.max(initial=0.0) > _MOST_COUNTS:
        raise ValueError(
            f"family={family!r} needs counts of at most {_MOST_COUNTS:.0e}, but the largest y is "
            f"{response.max():g}; count in larger units, or use family='gaussian' for quantities."
        )
    return family, None, response


def _reads_as_numbers(y: NDArray) -> bool:
    """Whether text is numbers that were read as text."""
    if y.dtype.kind not in "OU" or not len(y):
        return False
    try:
        return bool(np.isfinite(y.astype(np.float64)).all())
    except (TypeError, ValueError):
        return False


def _read_classes(y: NDArray, family: str, order: list[Any] | None) -> tuple[NDArray, NDArray[np.float64]]:
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ValueError("y contains NaN or infinity; drop or mend these rows.")
    if family == "ordinal" and y.dtype.kind == "O" and order is None:
        raise ValueError(
            f"y holds text ({y[0]!r}), whose order family='ordinal' cannot know: give ordered categories "
            "(pandas, Parquet) or an Enum (polars), code the classes by numbers that rise with them, or use "
            "family='multinomial'."
        )
    classes, codes = np.unique(y, return_inverse=True)
    if y.dtype.kind == "f" and np.any(classes != np.round(classes)):
        raise ValueError(
            f"y holds continuous values such as {classes[classes != np.round(classes)][0]:g}, but "
            f"family={family!r} needs classes; use family='gaussian' for numbers."
        )
    if len(classes) < 2 or 2 * len(classes) > len(y):
        what = "only one class" if len(classes) < 2 else f"{len(classes)} classes in {len(y)} rows"
        text = f" Make numbers of it: y holds text such as {y[0]!r}." if _reads_as_numbers(y) else ""
        raise ValueError(f"y has {what}; family={family!r} needs two or more, and two rows for each.{text}")
    if order is not None:
        strange = sorted(set(classes.tolist()) - set(order))
        if strange:
            raise ValueError(
                f"y holds {strange[0]!r}, which is none of its ordered categories "
                f"({', '.join(map(repr, order))}); give all of its parts the same categories."
            )
        by_order = np.argsort([order.index(label) for label in classes.tolist()])
        classes, codes = classes[by_order], np.argsort(by_order)[codes]
    return classes, codes.astype(np.float64)


@dataclass(frozen=True)
class Response:
    """Turns the y of rows that come later into numbers, as `read_response` did with the first ones.

    Attributes
    ----------
    family, classes
        What the first rows said.
    """

    family: str
    classes: NDArray | None

    def __call__(self, y: NDArray) -> NDArray[np.float64]:
        """Numbers for some rows."""
        if self.classes is None:
            return read_response(y, self.family)[2]
        text = self.classes.dtype.kind == "O"
        values = y.astype(str) if text else y
        labels = self.classes.astype(str) if text else self.classes
        # classes of a known order need not be sorted
        sorter = np.argsort(labels)
        codes = sorter[np.minimum(np.searchsorted(labels, values, sorter=sorter), len(labels) - 1)]
        strange = labels[codes] != values
        if not strange.any():
            return codes.astype(np.float64)
        other = y[strange][:1].tolist()[0]
        if len(labels) == 2:
            raise ValueError(
                f"y has a third value ({other!r}) beside {self.classes[0]!r} and "
                f"{self.classes[1]!r}, the two of the first rows read: keep two classes, or set "
                "family='gaussian' for numbers."
            )
        raise ValueError(
            f"y has the class {other!r}, which is not among the {len(labels)} of the rows read first: leave "
            "its rows out, or join it with another class."
        )


def _unit_mask(
    features: Any, names: list[str], unit_of_feature: NDArray[np.intp], units: Units, where: str
) -> NDArray[np.bool_]:
    mask = np.zeros(units.n_units, dtype=bool)
    which = unit_of_feature[read_features(features, names, where)]
    mask[which[which >= 0]] = True
    return mask


def _represent(
    twin_of: NDArray[np.intp], always: NDArray[np.bool_], never: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Let the first copy that may be selected represent all of them, or the first that has to be."""
    represent = np.arange(len(twin_of))
    firsts, copies = np.unique(twin_of, return_counts=True)
    for first in firsts[copies > 1]:
        same = np.flatnonzero((twin_of == first) & ~never)
        if len(same):
            represent[same] = same[np.argmax(always[same])]
    return represent
