"""Features by name or position, and groups of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.data._checks import unknown_column

_FORMS = "give one label per feature, a list of lists of features, or a dict from names to such lists"


@dataclass(frozen=True)
class FeatureGroups:
    """Groups in the order they were given, then the features that stand alone; each feature is in one group.

    Where that was allowed, it may be in several.

    Attributes
    ----------
    names : list
        Keys, labels, "group 0", "group 1", ..., or the name of the one feature that stands alone.
    members : list of int arrays
        Positions of the features of each group, sorted.
    """

    names: list[Any]
    members: list[NDArray[np.intp]]

    def first_members(self) -> NDArray[np.intp]:
        """For every feature the first one of its group: labels whose order is that of the features."""
        first = np.empty(sum(map(len, self.members)), dtype=np.intp)
        for members in self.members:
            first[members] = members[0]
        return first


def read_groups(feature_groups: Any, names: list[str], *, overlap: bool = False) -> FeatureGroups:
    """Read the option `feature_groups` of any estimator.

    Parameters
    ----------
    feature_groups : None, mapping, sequence of labels or sequence of sequences
        Lists hold names or positions of features; features that no list names stand alone.
    names : list of str
        Names of the features.
    overlap : bool
        Whether a feature may be in several groups.

    Returns
    -------
    FeatureGroups

    Examples
    --------
    >>> read_groups({"size": ["height", "weight"]}, ["height", "age", "weight"]).members
    [array([0, 2]), array([1])]
    """
    if feature_groups is None:
        return FeatureGroups(list(names), [np.array([j]) for j in range(len(names))])
    if isinstance(feature_groups, str) or not isinstance(feature_groups, Iterable):
        raise ValueError(f"feature_groups={feature_groups!r} is not understood; {_FORMS}.")
    if isinstance(feature_groups, Mapping):
        labels, lists = [_plain(name) for name in feature_groups], list(feature_groups.values())
        _refuse_gaps(labels)
    else:
        lists = list(feature_groups)
        if lists and all(np.ndim(entry) == 0 for entry in lists):
            return _from_labels([_plain(label) for label in lists], names)
        labels = [f"group {k}" for k in range(len(lists))]
    members = [np.unique(read_features(entry, names, "feature_groups")) for entry in lists]
    empty = [str(label) for label, group in zip(labels, members, strict=True) if len(group) == 0]
    if empty:
        raise ValueError(f"feature_groups has empty groups ({', '.join(empty)}); leave them out.")
    count = np.bincount(np.concatenate([np.empty(0, np.intp), *members]), minlength=len(names))
    if overlap:
        _refuse_twins(labels, members)
    elif (count > 1).any():
        twice = ", ".join(repr(names[j]) for j in np.flatnonzero(count > 1)[:5])
        raise ValueError(f"feature_groups names {twice} in two groups; each feature belongs to one.")
    alone = np.flatnonzero(count == 0)
    return FeatureGroups([*labels, *(names[j] for j in alone)], [*members, *(np.array([j]) for j in alone)])


def _refuse_twins(labels: list[Any], members: list[NDArray[np.intp]]) -> None:
    first: dict[tuple[int, ...], Any] = {}
    for label, group in zip(labels, members, strict=True):
        twin = first.setdefault(tuple(group.tolist()), label)
        if twin is not label:
            raise ValueError(
                f"feature_groups has the same features in {twin!r} and {label!r}; leave one of them out."
            )


def _from_labels(labels: list[Any], names: list[str]) -> FeatureGroups:
    if len(labels) != len(names):
        raise ValueError(f"feature_groups has {len(labels)} labels for {len(names)} features; {_FORMS}.")
    _refuse_gaps(labels)
    members: dict[Any, list[int]] = {}
    for j, label in enumerate(labels):
        members.setdefault(label, []).append(j)
    return FeatureGroups(list(members), [np.array(group, dtype=np.intp) for group in members.values()])


def _refuse_gaps(labels: list[Any]) -> None:
    for label in labels:
        if label is None or label != label:
            raise ValueError(f"feature_groups has a group named {label!r}; give every group a name.")


def _plain(value: Any) -> Any:
    """A NumPy number or text as the one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def read_features(features: Any, names: list[str], where: str) -> NDArray[np.intp]:
    """Positions of features given by name or position (negative ones from the end), or as a boolean mask."""
    if isinstance(features, str) or not isinstance(features, Iterable):
        features = [features]
    listed = [_plain(feature) for feature in features]
    if len(listed) == len(names) and all(isinstance(feature, bool) for feature in listed):
        return np.flatnonzero(listed)
    place = {name: j for j, name in enumerate(names)}
    positions = []
    for feature in listed:
        if isinstance(feature, str):
            if feature not in place:
                raise unknown_column(where, feature, names)
            positions.append(place[feature])
        elif (
            isinstance(feature, Integral)
            and not isinstance(feature, bool)
            and -len(names) <= int(feature) < len(names)
        ):
            positions.append(int(feature) % len(names))
        else:
            raise ValueError(
                f"{where} holds {feature!r}; give names of features or positions below {len(names)}."
            )
    return np.array(positions, dtype=np.intp)
