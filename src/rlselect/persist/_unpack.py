"""From plain steps and arrays back to an object; whatever they say, nothing but this library's own runs."""

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from inspect import getattr_static
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rlselect.persist._classes import METHODS, class_named
from rlselect.persist._container import NotAtHand, Unreadable
from rlselect.persist._pack import SPARSE, is_own

__all__ = ["checked_state", "unpack"]

# shared parts may make a small file look endless to who prints or compares what it builds
_UNFOLDED = 10
_BIT_GENERATORS = {
    kind.__name__: kind
    for kind in (
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.MT19937,
        np.random.Philox,
        np.random.SFC64,
    )
}


class _Builder:
    """Takes the steps one by one; each may only use what was built before it."""

    def __init__(self, arrays: list[np.ndarray], outside: Mapping[str, Any], limit: int) -> None:
        self.arrays, self.outside, self.limit = arrays, outside, limit
        self.built: list[Any] = []
        # size of each if all that is shared were written out
        self.sizes: list[int] = []
        self.empty: set[int] = set()
        self._used: set[int] = set()
        self._size = 0

    def take(self, step: Any) -> None:
        """Build what a step says."""
        if not isinstance(step, list) or not step or not isinstance(step[0], str) or step[0] not in _READERS:
            raise Unreadable(f"holds a step {str(step)[:40]!r} that this library does not know")
        self._size = 1
        self.built.append(_READERS[step[0]](self, *step[1:]))
        self.sizes.append(1 if step[0] in ("new", "fill", "outside") else self._size)
        if self._size > self.limit:
            raise Unreadable("repeats itself too often to be real")

    def value(self, given: Any) -> Any:
        """What a value stands for."""
        if given is None or type(given) in (bool, int, float, str):
            self._size += 1
            return given
        if type(given) is not list or len(given) != 1:
            raise Unreadable("holds a value that is neither plain nor built before")
        place = _whole(given[0], len(self.built))
        self._size += self.sizes[place]
        return self.built[place]

    def values(self, given: Any) -> list[Any]:
        """The same of each."""
        return [self.value(one) for one in _listed(given)]

    def array(self, place: Any) -> np.ndarray:
        """An array; each belongs to one place."""
        place = _whole(place, len(self.arrays))
        if place in self._used:
            raise Unreadable("uses an array twice")
        self._used.add(place)
        return self.arrays[place]

    # ---- objects ----

    def _outside(self, name: Any) -> Any:
        if not isinstance(name, str) or name not in self.outside:
            raise NotAtHand(str(name))
        return self.outside[name]

    def _new(self, name: Any) -> Any:
        kind = class_named(name)
        if kind is None or issubclass(kind, tuple):
            raise Unreadable(f"asks for {str(name)[:60]!r}, which is no class that may be loaded")
        self.empty.add(len(self.built))
        return object.__new__(kind)

    def _fill(self, place: Any, items: Any) -> None:
        place = _whole(place, len(self.built))
        if place not in self.empty:
            raise Unreadable("fills an object twice")
        self.empty.discard(place)
        thing = self.built[place]
        pairs = [_listed(item, 2) for item in _listed(items)]
        state = {_text(name): self.value(value) for name, value in pairs}
        if len(state) < len(pairs) or any(name.startswith("__") for name in state):
            raise Unreadable("names an attribute twice, or one that Python keeps for itself")
        if any("__setstate__" in vars(base) for base in type(thing).__mro__ if is_own(base)):
            thing.__setstate__(state)
        else:
            # a field of a later version has its default on the class
            if is_dataclass(thing) and not all(
                f.name in state or hasattr(thing, f.name) for f in fields(thing)
            ):
                raise Unreadable(f"holds a {type(thing).__name__} that is not whole")
            thing.__dict__.update(state)

    def _record(self, name: Any, items: Any) -> Any:
        kind = class_named(name)
        names = getattr(kind, "_fields", None)
        if kind is None or not issubclass(kind, tuple) or not isinstance(names, tuple):
            raise Unreadable(f"asks for {str(name)[:60]!r}, which is no record that may be loaded")
        return tuple.__new__(kind, self.values(_listed(items, len(names))))

    def _method(self, owner: Any, name: Any) -> Any:
        thing = self.value(owner)
        known = name in METHODS and is_own(type(thing))
        function = getattr_static(type(thing), name, None) if known else None
        if not isinstance(function, types.FunctionType):
            raise Unreadable(f"asks for the method {str(name)[:40]!r}, which may not be loaded")
        return types.MethodType(function, thing)

    def _partial(self, call: Any, args: Any, keywords: Any) -> Any:
        function, named = self.value(call), self.value(keywords)
        if not isinstance(function, types.MethodType) or not isinstance(named, dict):
            raise Unreadable("holds a call of something that is no method")
        return partial(function, *self.values(args), **{_text(name): value for name, value in named.items()})

    # ---- plain values ----

    def _float(self, name: Any) -> float:
        if name not in ("nan", "inf", "-inf"):
            raise Unreadable(f"holds the number {str(name)[:40]!r}, which is none")
        return float(name)

    def _dict(self, keys: Any, values: Any) -> dict:
        found = dict(zip(self._keys(keys), self.values(values), strict=True))
        if len(found) < len(keys):
            raise Unreadable("names an entry twice")
        return found

    def _keys(self, given: Any) -> list[Any]:
        # the hash of what is shared is computed as often as it is met
        before = self._size
        keys = self.values(given)
        if self._size - before > self.limit:
            raise Unreadable("repeats itself too often to be real")
        return keys

    def _list(self, items: Any) -> list:
        return self.values(items)

    def _tuple(self, items: Any) -> tuple:
        return tuple(self.values(items))

    def _set(self, items: Any) -> set:
        return set(self._keys(items))

    def _frozenset(self, items: Any) -> frozenset:
        return frozenset(self._keys(items))

    def _slice(self, ends: Any) -> slice:
        found = self.values(_listed(ends, 3))
        if not all(end is None or type(end) is int or isinstance(end, np.integer) for end in found):
            raise Unreadable("holds a slice between things that are no numbers")
        return slice(*found)

    def _range(self, ends: Any) -> range:
        return range(*_integers(ends, 3))

    def _path(self, name: Any) -> Path:
        return Path(_text(name))

    # ---- arrays ----

    def _bytes(self, place: Any) -> bytes:
        return self.array(place).tobytes()

    def _array(self, place: Any) -> np.ndarray:
        return self.array(place)

    def _scalar(self, place: Any) -> Any:
        array = self.array(place)
        if array.ndim or array.dtype.names:
            raise Unreadable("takes an array for one number")
        return array[()]

    def _objects(self, shape: Any, items: Any) -> np.ndarray:
        sides, found = _integers(shape), self.values(items)
        if any(side < 0 for side in sides) or len(sides) > 32 or np.prod(sides, dtype=object) != len(found):
            raise Unreadable("describes an array of an impossible shape")
        flat = np.empty(len(found), dtype=object)
        for k, one in enumerate(found):
            flat[k] = one
        return flat.reshape(sides)

    def _dtype(self, place: Any) -> np.dtype:
        return self.array(place).dtype

    def _numpy_type(self, place: Any) -> type:
        return self.array(place).dtype.type

    def _sparse(self, name: Any, shape: Any, places: Any) -> Any:
        if name not in SPARSE:
            raise Unreadable(f"asks for the matrix {str(name)[:40]!r}, which may not be loaded")
        data, indices, indptr = (self.array(place) for place in _listed(places, 3))
        whole = all(part.dtype.kind == "i" for part in (indices, indptr))
        if (
            not whole
            or data.dtype.kind not in "biuf"
            or any(part.ndim != 1 for part in (data, indices, indptr))
        ):
            raise Unreadable("holds a sparse matrix of something else than numbers")
        matrix = getattr(sparse, name)((data, indices, indptr), shape=tuple(_integers(shape, 2)))
        # an index out of range would be read from memory that is not ours
        matrix.check_format(full_check=True)
        return matrix

    # ---- random numbers ----

    def _generator(self, name: Any, state: Any, seed: Any) -> np.random.Generator:
        if name not in _BIT_GENERATORS:
            raise Unreadable(f"asks for the generator {str(name)[:40]!r}, which may not be loaded")
        told: list[Any] = _listed(self.value(seed), 3) if seed is not None else [0, [], 0]
        entropy, spawn_key, spawned = told
        if not _is_entropy(entropy) or not all(_is_entropy(key) for key in _listed(spawn_key)):
            raise Unreadable("holds a seed that is none")
        sequence = np.random.SeedSequence(
            entropy, spawn_key=tuple(spawn_key), n_children_spawned=_whole(spawned, 2**32)
        )
        bits: Any = _BIT_GENERATORS[name](sequence)
        bits.state = checked_state(bits.state, self.value(state))
        return np.random.Generator(bits)

    def _random_state(self, state: Any) -> np.random.RandomState:
        found = np.random.RandomState(0)
        found.set_state(checked_state(found.get_state(legacy=False), self.value(state)))
        return found

    # ---- frames ----

    def _column(self, kind: Any, values: Any) -> Any:
        array = self.value(values)
        if kind not in (None, "str") or type(array) is not np.ndarray or array.ndim != 1 or array.dtype.names:
            raise Unreadable("holds a column that is none")
        import pandas as pd

        return pd.array(array, dtype="str") if kind else array

    def _index(self, kind: Any, values: Any, name: Any) -> Any:
        import pandas as pd

        column = self._column(kind, values)
        return pd.Index(column, dtype=None if kind else column.dtype, name=self.value(name))

    def _range_index(self, ends: Any, name: Any) -> Any:
        import pandas as pd

        return pd.RangeIndex(*_integers(ends, 3), name=self.value(name))

    def _series(self, kind: Any, values: Any, index: Any, name: Any) -> Any:
        import pandas as pd

        column = self._column(kind, values)
        return pd.Series(column, index=self._labels(index, len(column)), name=self.value(name))

    def _frame(self, columns: Any, names: Any, index: Any) -> Any:
        import pandas as pd

        found = [self._column(*_listed(column, 2)) for column in _listed(columns)]
        labels = self.value(index)
        rows = self._labels(index, len(found[0]) if found else len(labels))
        frame = pd.DataFrame({k: pd.Series(column, index=rows) for k, column in enumerate(found)}, index=rows)
        frame.columns = self._labels(names, len(found))
        return frame

    def _labels(self, given: Any, length: int) -> Any:
        import pandas as pd

        labels = self.value(given)
        if not isinstance(labels, pd.Index) or len(labels) != length:
            raise Unreadable("holds a frame whose names do not fit")
        return labels


def unpack(content: dict[str, Any], arrays: list[np.ndarray], outside: Mapping[str, Any], size: int) -> Any:
    """The object that `pack` was given; what it cannot be built from is `Unreadable`.

    Parameters
    ----------
    content : dict
        ``steps`` and ``root``.
    arrays : list of array
        As they were packed.
    outside : mapping
        Name -> object that the file only refers to.
    size : int
        Bytes of the file.
    """
    builder = _Builder(arrays, outside, _UNFOLDED * max(size, 2**16))
    try:
        if set(content) != {"steps", "root"}:
            raise Unreadable("does not say how it is built")
        for step in _listed(content["steps"]):
            builder.take(step)
        if builder.empty:
            raise Unreadable("holds an object that is never filled")
        return builder.value(content["root"])
    except Unreadable:
        raise
    # whatever a file makes NumPy, pandas or our own classes say: it was not written by this library
    except Exception as error:
        raise Unreadable(f"does not hold what this library writes ({type(error).__name__})") from None


def _listed(given: Any, length: int | None = None) -> list[Any]:
    if type(given) is not list or (length is not None and len(given) != length):
        raise Unreadable("holds something else where a list belongs")
    return given


def _whole(given: Any, below: int) -> int:
    if type(given) is not int or not 0 <= given < below:
        raise Unreadable("refers to something that was not built before")
    return given


def _integers(given: Any, length: int | None = None) -> list[int]:
    if not all(type(one) is int and abs(one) < 2**62 for one in _listed(given, length)):
        raise Unreadable("holds something else where whole numbers belong")
    return given


def _text(given: Any) -> str:
    if type(given) is not str:
        raise Unreadable("holds something else where a name belongs")
    return given


def _is_entropy(given: Any) -> bool:
    if type(given) is list:
        return all(_is_entropy(one) and one is not None for one in given)
    return type(given) is int and 0 <= given < 2**4096


def checked_state(fresh: Mapping[str, Any], state: Any) -> dict[str, Any]:
    """A state made like a fresh one, with positions that lie inside of it: NumPy reads where they point."""
    if not _alike(state, fresh):
        raise Unreadable("holds random numbers in an impossible state")
    place = state.get("buffer_pos", state["state"].get("pos", 0))
    if place > {"MT19937": 624, "Philox": 4}.get(state["bit_generator"], 0):
        raise Unreadable("holds random numbers at an impossible position")
    return state


def _alike(given: Any, fresh: Any) -> bool:
    if type(given) is not type(fresh):
        return False
    if isinstance(fresh, dict):
        return given.keys() == fresh.keys() and all(_alike(given[key], fresh[key]) for key in fresh)
    if isinstance(fresh, np.ndarray):
        return given.shape == fresh.shape and given.dtype == fresh.dtype
    return given == fresh if isinstance(fresh, str) else given >= 0 or isinstance(fresh, float)


_READERS: dict[str, Callable[..., Any]] = {
    name: getattr(_Builder, "_" + name.replace(" ", "_"))
    for name in (
        "outside",
        "new",
        "fill",
        "record",
        "method",
        "partial",
        "float",
        "dict",
        "list",
        "tuple",
        "set",
        "frozenset",
        "slice",
        "range",
        "path",
        "bytes",
        "array",
        "scalar",
        "objects",
        "dtype",
        "numpy type",
        "sparse",
        "generator",
        "random state",
        "index",
        "range index",
        "series",
        "frame",
    )
}
