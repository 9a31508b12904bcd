"""From a user's table and options to units, a numeric response and what may move."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.data import PartTable, Table, all_finite, as_numbers, unknown_column
from rlselect.predictors import Units

FAMILIES = ("auto", "gaussian", "binomial", "poisson")
_GLANCE = 256
_CELLS = 2**20


@dataclass
class Problem:
    """What a search works on.

    Attributes
    ----------
    table : Table or PartTable
        The rows; its y is the numeric response.
    family : str
        "gaussian", "binomial" or "poisson".
    classes : array or None
        The two labels of "binomial".
    units : Units
        What enters and leaves together.
    unit_of_feature : array of int
        Unit of each input feature, -1 for a feature without design columns.
    allowed, always : bool array over units
        What may move, and what stays in whatever happens.
    twin_of : array of int
        For a unit that repeats another one, the one that represents both; itself otherwise.
    """

    table: Table | PartTable
    family: str
    classes: NDArray | None
    units: Units
    unit_of_feature: NDArray[np.intp]
    allowed: NDArray[np.bool_]
    always: NDArray[np.bool_]
    twin_of: NDArray[np.intp]

    def to_features(self, unit_values: NDArray) -> NDArray:
        """Values of units as values of input features; zero for features without columns."""
        padded = np.append(unit_values, np.zeros(1, dtype=unit_values.dtype))
        return padded[self.unit_of_feature]

    def columns_of(self, unit_mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Design columns of some units, in order."""
        return np.flatnonzero(unit_mask[self.units.unit_of])


def pose_problem(
    table: Table | PartTable, *, family: str, feature_groups: Any, always_select: Any, never_select: Any
) -> Problem:
    """Read the options of a selector.

    Parameters
    ----------
    table : Table or PartTable
        The open table, with its raw y.
    family, feature_groups, always_select, never_select
        As the user gave them.

    Returns
    -------
    Problem
    """
    names = feature_names(table.encoder)
    if isinstance(table, PartTable):
        first = table.glance(table.n_rows).y
        assert first is not None
        family, classes, _ = read_response(first, family)
        table.response = Response(family, classes)
    else:
        assert table.y is not None
        family, classes, table.y = read_response(table.y, family)
    groups = read_groups(feature_groups, names)
    column_feature = np.asarray(table.encoder.column_feature_)
    unit_labels, unit_of = np.unique(groups[column_feature], return_inverse=True)
    place = {int(label): i for i, label in enumerate(unit_labels)}
    unit_of_feature = np.array([place.get(int(g), -1) for g in groups], dtype=np.intp)
    units = Units(unit_of)
    always = _unit_mask(always_select, names, unit_of_feature, units, "always_select")
    never = _unit_mask(never_select, names, unit_of_feature, units, "never_select")
    if np.any(always & never):
        both = [names[f] for f in np.flatnonzero((always & never)[unit_of_feature] & (unit_of_feature >= 0))]
        raise ValueError(
            f"always_select and never_select both name {', '.join(map(repr, both[:5]))}; drop one of the two."
        )
    twin_of = _represent(find_twins(table, units), always, never)
    allowed = ~always & ~never & (twin_of == np.arange(units.n_units))
    return Problem(table, family, classes, units, unit_of_feature, allowed, always, twin_of)


def feature_names(encoder: Any) -> list[str]:
    """Names of the input features, x0, x1, ... when they have none."""
    if encoder.feature_names_in_ is not None:
        return [str(name) for name in encoder.feature_names_in_]
    return [f"x{i}" for i in range(encoder.n_features_in_)]


def read_response(y: NDArray, family: str) -> tuple[str, NDArray | None, NDArray[np.float64]]:
    """Family, class labels and numeric response.

    "auto" takes two distinct values, text and truth values as classes, and other numbers as "gaussian".
    """
    if family not in FAMILIES:
        raise ValueError(f"family={family!r} was given; choose one of {', '.join(map(repr, FAMILIES))}.")
    text = y.dtype.kind in "OUSb"
    if family == "auto":
        family = "binomial" if text or _two_values(y) else "gaussian"
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
                "classification is supported: keep two classes, or use family='gaussian' for numbers."
            )
        return family, classes, codes.astype(np.float64)
    response = as_numbers(y, "y")
    if not all_finite(response):
        raise ValueError("y contains NaN or infinity; drop or mend these rows.")
    if family == "poisson" and response.min(initial=0.0) < 0:
        raise ValueError(
            f"family='poisson' needs counts of zero or more, but the smallest y is {response.min():g}."
        )
    return family, None, response


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
        codes = np.minimum(np.searchsorted(labels, values), 1)
        strange = labels[codes] != values
        if strange.any():
            raise ValueError(
                f"y has a third value ({y[strange][0]!r}) beside {self.classes[0]!r} and "
                f"{self.classes[1]!r}, the two of the first rows read: keep two classes, or set "
                "family='gaussian' for numbers."
            )
        return codes.astype(np.float64)


def _two_values(y: NDArray) -> bool:
    # a look at the first rows settles it nearly always, without sorting millions of values
    return len(np.unique(y[:1000])) <= 2 and len(np.unique(y)) == 2


def read_groups(feature_groups: Any, names: list[str]) -> NDArray[np.intp]:
    """Group number of every feature from labels, a mapping or lists; ungrouped features stand alone."""
    groups = np.arange(len(names), dtype=np.intp)
    if feature_groups is None:
        return groups
    if isinstance(feature_groups, Mapping):
        members: Iterable[Any] = feature_groups.values()
    else:
        entries = list(feature_groups)
        nested = [isinstance(e, Sequence | np.ndarray) and not isinstance(e, str) for e in entries]
        if not any(nested):
            if len(entries) != len(names):
                raise ValueError(
                    f"feature_groups has {len(entries)} labels for {len(names)} features; give one label per "
                    "feature, a dict of lists of features, or a list of such lists."
                )
            _, first, codes = np.unique([repr(e) for e in entries], return_index=True, return_inverse=True)
            return first[codes].astype(np.intp)
        members = entries
    seen = np.zeros(len(names), dtype=bool)
    for member in members:
        positions = read_features(member, names, "feature_groups")
        if seen[positions].any():
            twice = names[positions[seen[positions]][0]]
            raise ValueError(f"feature_groups names {twice!r} in two groups; each feature belongs to one.")
        seen[positions] = True
        groups[positions] = positions.min(initial=len(names))
    return groups


def read_features(features: Any, names: list[str], where: str) -> NDArray[np.intp]:
    """Positions of features given by name or position, or as a boolean mask."""
    if isinstance(features, str | int | np.integer):
        features = [features]
    array = np.asarray(list(features), dtype=object)
    if len(array) == len(names) and all(isinstance(f, bool | np.bool_) for f in array):
        return np.flatnonzero(array.astype(bool))
    lookup = {name: i for i, name in enumerate(names)}
    positions = []
    for feature in array:
        if isinstance(feature, str):
            if feature not in lookup:
                raise unknown_column(where, feature, names)
            positions.append(lookup[feature])
        elif isinstance(feature, int | np.integer) and -len(names) <= int(feature) < len(names):
            positions.append(int(feature) % len(names))
        else:
            raise ValueError(
                f"{where} holds {feature!r}; give names of features or positions below {len(names)}."
            )
    return np.array(positions, dtype=np.intp)


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


def find_twins(table: Table | PartTable, units: Units) -> NDArray[np.intp]:
    """For every unit the first one with exactly the same column (itself for units of several columns).

    A glance at a few rows finds the suspects; only those are compared on all rows.
    """
    twin_of = np.arange(units.n_units)
    single = np.array([int(c[0]) for c in units.columns if len(c) == 1], dtype=np.intp)
    if len(single) < 2:
        return twin_of
    if isinstance(table, PartTable):
        # rare events are all alike in a few rows, and a look at all rows is dear: let them be
        few = table.glance(8 * _GLANCE).X
        single = single[few.min(axis=0)[single] < few.max(axis=0)[single]]
    else:
        few = table.take(slice(0, min(_GLANCE, table.n_rows))).X
    suspects = [g for g in _equal_columns(few, single) if len(g) > 1]
    if suspects and table.n_rows > _GLANCE:
        which = np.concatenate(suspects)
        label = np.concatenate([np.full(len(g), i) for i, g in enumerate(suspects)])
        passes = table.scan(which, count=False) if isinstance(table, PartTable) else table.scan(which)
        for batch in passes:
            parts = _equal_columns(batch.X, np.arange(len(which)))
            equal = np.empty(len(which), dtype=np.intp)
            for i, part in enumerate(parts):
                equal[part] = i
            _, label = np.unique(label * len(which) + equal, return_inverse=True)
        suspects = [which[label == i] for i in range(label.max() + 1)]
    unit_of = units.unit_of
    for same in suspects:
        first = unit_of[same].min()
        twin_of[unit_of[same]] = first
    return twin_of


def _equal_columns(X: Any, which: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    if sparse.issparse(X):
        X = sparse.csc_array(X)
        X.sum_duplicates()
        X.eliminate_zeros()
        keys = [
            (
                X.indices[X.indptr[j] : X.indptr[j + 1]].tobytes(),
                X.data[X.indptr[j] : X.indptr[j + 1]].tobytes(),
            )
            for j in which
        ]
    else:
        # some columns at a time, and short names of what they hold: a wide table is not held twice
        step = max(1, _CELLS // max(len(X), 1))
        keys = []
        for start in range(0, len(which), step):
            columns = np.ascontiguousarray(X[:, which[start : start + step]].T) + 0.0  # -0.0 is 0.0
            keys += [(blake2b(column).digest(), b"") for column in columns]
    groups: dict[Any, list[int]] = {}
    for j, key in zip(which, keys, strict=True):
        groups.setdefault(key, []).append(int(j))
    return [np.array(g, dtype=np.intp) for g in groups.values()]


def generator(random_state: Any) -> np.random.Generator:
    """Return the generator that a `random_state` stands for."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1, size=4))
    if random_state is None or isinstance(random_state, Integral):
        return np.random.default_rng(None if random_state is None else int(random_state))
    raise ValueError(
        f"random_state={random_state!r} was given; it must be an int, a NumPy Generator or RandomState, or "
        "None."
    )
