"""What a user says of the structure of subsets."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rlselect._options import NONE, check_value, one_of, whole
from rlselect.data import FeatureUnits, TableEncoder, read_features
from rlselect.subset.revs._problem import Problem
from rlselect.subset.revs._structure import Structure

Mask = NDArray[np.bool_]

_SIGNS = {"+": 1, "-": -1}
_FORMS = '"+" or "-" for all features, or a mapping such as {"age": "+", "price": "-"}'


class StructureOptions(Protocol):
    """Options of a selector, as the user gave them."""

    max_features: Any
    at_most: Any
    signs: Any


def read_structure(options: StructureOptions, problem: Problem) -> Structure | None:
    """Rules that the subsets of a problem have to follow; None where all may be selected."""
    max_features, at_most, signs = options.max_features, options.at_most, options.signs
    encoder, groups, always = problem.table.encoder, problem.groups, problem.always
    if signs is not None and problem.family == "multinomial":
        raise ValueError(
            f"signs={signs!r} was given with family='multinomial', where a variable has a coefficient for "
            "each class, and they add up to zero; leave it out, or compare two classes."
        )
    names, units = encoder.feature_names, groups.units
    limits = _read_limits(at_most, names, groups)
    if check_value("max_features", max_features, NONE | whole(1)) is not None:
        limits.append(("max_features", np.ones(units.n_units, dtype=bool), int(max_features)))
    for name, members, most in limits:
        given = int(np.count_nonzero(members & always))
        if given > most:
            raise ValueError(
                f"always_select has {given} features of which {name} allows {most}; drop some of them, or "
                "raise the limit."
            )
    columns = _read_signs(signs, names, encoder)
    both = np.flatnonzero((columns != 0) & always[units.unit_of])
    if len(both):
        raise ValueError(
            f"signs and always_select both name {names[encoder.column_feature_[both[0]]]!r}; a feature that "
            "is always in cannot leave when its sign is wrong: drop one of the two."
        )
    if not limits and not columns.any():
        return None
    return Structure(
        np.array([members for _, members, _ in limits], dtype=bool).reshape(-1, units.n_units),
        np.array([min(most, units.n_units) for *_, most in limits], dtype=np.intp),
        columns,
        np.full((units.n_units, 2), -1, dtype=np.intp),
    )


def _read_limits(at_most: Any, names: list[str], groups: FeatureUnits) -> list[tuple[str, Mask, int]]:
    if at_most is None:
        return []
    if not isinstance(at_most, Mapping):
        raise ValueError(
            f"at_most={at_most!r} was given; it must be None or a mapping from features to how many of them "
            'may be selected, such as {("a", "b", "c"): 1}.'
        )
    limits = []
    for features, most in at_most.items():
        check_value(f"at_most[{features!r}]", most, whole(0))
        which = groups.unit_of_feature[read_features(features, names, "at_most")]
        members = np.zeros(groups.units.n_units, dtype=bool)
        members[which[which >= 0]] = True
        limits.append((f"at_most[{features!r}]", members, int(most)))
    return limits


def _read_signs(signs: Any, names: list[str], encoder: TableEncoder) -> NDArray[np.int8]:
    """Sign of each column; the mark of a gap has none, and "+" for all speaks of numbers."""
    feature = np.asarray(encoder.column_feature_)
    asked = np.zeros(len(names), dtype=np.int8)
    if isinstance(signs, str):
        asked[:] = _SIGNS[check_value("signs", signs, one_of(*_SIGNS))]
        asked[list(encoder.levels_)] = 0
    elif isinstance(signs, Mapping):
        for name, sign in signs.items():
            check_value(f"signs[{name!r}]", sign, one_of(*_SIGNS))
            asked[read_features(name, names, "signs")] = _SIGNS[sign]
    elif signs is not None:
        raise ValueError(f"signs={signs!r} was given; it must be None, {_FORMS}.")
    return np.where(encoder.design_.marks_gaps, 0, asked[feature]).astype(np.int8)
