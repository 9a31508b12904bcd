"""From an object to plain steps and arrays that tell how to build it again."""

import math
import types
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from scipy import sparse

from rlselect.persist._classes import METHODS, is_known
from rlselect.persist._container import Unreadable, form_of

__all__ = ["Packed", "Unsavable", "pack"]

Steps = list[list[Any]]
SPARSE = ("csr_array", "csc_array", "csr_matrix", "csc_matrix")


class Unsavable(TypeError):
    """An object holds something that cannot be written down without its own code."""


class Packed:
    """Steps that build an object, each from those before it, and the arrays that they name.

    A value is None, a truth value, a finite number or a text as it is, or ``[k]``, what step k has built. An
    object is made empty first and filled later, so that others may hold it before it is whole: objects may
    stand in circles, and nothing else may.

    Parameters
    ----------
    outside : mapping
        Name -> object that is only referred to.
    """

    def __init__(self, outside: Mapping[str, Any]) -> None:
        self.steps: Steps = []
        self.arrays: list[np.ndarray] = []
        self._known: dict[int, int] = {}
        self._open: set[int] = set()
        # an object that is gone would leave its number to another one
        self._alive: list[Any] = []
        for name, thing in outside.items():
            self._done(thing, ["outside", name])

    def value(self, thing: Any, where: str) -> Any:
        """A value that stands for `thing`; `where` it was found is for the message."""
        kind = type(thing)
        if thing is None or kind in (bool, int, str) or (kind is float and math.isfinite(thing)):
            return thing
        if id(thing) in self._known:
            return [self._known[id(thing)]]
        if id(thing) in self._open:
            raise Unsavable(f"{where} holds itself, and cannot be saved.")
        self._open.add(id(thing))
        step = self._step_of(kind)(self, thing, where)
        self._open.discard(id(thing))
        return [self._done(thing, step) if step is not None else self._known[id(thing)]]

    def values(self, things: Any, where: str) -> list[Any]:
        """The same of each."""
        return [self.value(thing, f"{where}[{k}]") for k, thing in enumerate(things)]

    def array(self, array: np.ndarray) -> int:
        """Number under which an array is kept."""
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _done(self, thing: Any, step: list[Any]) -> int:
        self._alive.append(thing)
        self.steps.append(step)
        self._known[id(thing)] = len(self.steps) - 1
        return len(self.steps) - 1

    def _step_of(self, kind: type) -> Callable[..., list[Any] | None]:
        if kind in _WRITERS:
            return _WRITERS[kind]
        if is_known(kind):
            return Packed._named_tuple if issubclass(kind, tuple) else Packed._instance
        for base, writer in _BASES:
            if issubclass(kind, base):
                return writer
        return _frame_writer(kind)

    def _instance(self, thing: Any, where: str) -> None:
        self._open.discard(id(thing))
        place = self._done(thing, ["new", type(thing).__name__])
        own = any("__getstate__" in vars(base) for base in type(thing).__mro__ if is_own(base))
        state = thing.__getstate__() if own else thing.__dict__
        items = [[name, self.value(value, f"{where}.{name}")] for name, value in state.items()]
        self.steps.append(["fill", place, items])

    def _named_tuple(self, thing: Any, where: str) -> list[Any]:
        items = [self.value(v, f"{where}.{name}") for name, v in zip(thing._fields, thing, strict=True)]
        return ["record", type(thing).__name__, items]

    def _float(self, thing: float, where: str) -> list[Any]:
        return ["float", repr(thing)]

    def _dict(self, thing: dict, where: str) -> list[Any]:
        keys = [self.value(key, f"a key of {where}") for key in thing]
        values = [self.value(value, f"{where}[{str(key)[:40]!r}]") for key, value in thing.items()]
        return ["dict", keys, values]

    def _several(self, thing: Any, where: str) -> list[Any]:
        # the order of a set of texts differs from process to process
        ordered = (
            thing if isinstance(thing, list | tuple) else sorted(thing, key=lambda v: (str(type(v)), repr(v)))
        )
        return [type(thing).__name__, self.values(ordered, where)]

    def _slice(self, thing: slice, where: str) -> list[Any]:
        return ["slice", self.values((thing.start, thing.stop, thing.step), where)]

    def _range(self, thing: range, where: str) -> list[Any]:
        return ["range", [thing.start, thing.stop, thing.step]]

    def _bytes(self, thing: bytes, where: str) -> list[Any]:
        return ["bytes", self.array(np.frombuffer(thing, dtype=np.uint8))]

    def _path(self, thing: PurePath, where: str) -> list[Any]:
        return ["path", str(thing)]

    def _array(self, thing: np.ndarray, where: str) -> list[Any]:
        if thing.dtype == object:
            return ["objects", list(thing.shape), self.values(thing.ravel().tolist(), where)]
        return ["array", self._numbers(thing, where)]

    def _scalar(self, thing: np.generic, where: str) -> list[Any]:
        return ["scalar", self._numbers(np.asarray(thing), where)]

    def _numbers(self, array: np.ndarray, where: str) -> int:
        try:
            form_of(array.dtype)
        except Unreadable:
            raise Unsavable(
                f"{where} is an array of type {array.dtype}, which is none of numbers, text or times."
            ) from None
        return self.array(array)

    def _dtype(self, thing: np.dtype, where: str) -> list[Any]:
        return ["dtype", self._numbers(np.empty(0, thing), where)]

    def _numpy_type(self, thing: type, where: str) -> list[Any]:
        if not (issubclass(thing, np.number | np.bool_) and np.dtype(thing).type is thing):
            raise _foreign(thing, where)
        return ["numpy type", self._numbers(np.empty(0, thing), where)]

    def _sparse(self, thing: Any, where: str) -> list[Any]:
        name = type(thing).__name__
        if name not in SPARSE:
            raise Unsavable(f"{where} is a {name}; convert it to csr_array.")
        parts = [self._numbers(part, where) for part in (thing.data, thing.indices, thing.indptr)]
        return ["sparse", name, list(thing.shape), parts]

    def _generator(self, thing: np.random.Generator, where: str) -> list[Any]:
        bits = thing.bit_generator
        seed = bits.seed_seq
        told = None
        if type(seed) is np.random.SeedSequence:
            whole = np.asarray(seed.entropy, dtype=object)
            entropy = [int(one) for one in whole.ravel()] if whole.ndim else int(whole[()])
            told = [entropy, [int(key) for key in seed.spawn_key], seed.n_children_spawned]
        return [
            "generator",
            type(bits).__name__,
            self.value(bits.state, where),
            None if told is None else self.value(told, where),
        ]

    def _random_state(self, thing: np.random.RandomState, where: str) -> list[Any]:
        return ["random state", self.value(thing.get_state(legacy=False), where)]

    def _partial(self, thing: partial, where: str) -> list[Any]:
        call = self.value(thing.func, where)
        return ["partial", call, self.values(thing.args, where), self.value(thing.keywords, where)]

    def _method(self, thing: types.MethodType, where: str) -> list[Any]:
        name, owner = thing.__name__, thing.__self__
        if name not in METHODS or not (is_known(type(owner)) or id(owner) in self._known):
            raise _foreign(thing, where)
        return ["method", self.value(owner, where), name]

    def _index(self, thing: Any, where: str) -> list[Any]:
        name = self.value(thing.name, f"the name of {where}")
        if type(thing).__name__ == "RangeIndex":
            return ["range index", [thing.start, thing.stop, thing.step], name]
        if thing.nlevels > 1:
            raise Unsavable(f"{where} is an index of several levels; use one of texts, numbers or times.")
        return ["index", *self._column(thing, where), name]

    def _series(self, thing: Any, where: str) -> list[Any]:
        name = self.value(thing.name, f"the name of {where}")
        return ["series", *self._column(thing, where), self.value(thing.index, where), name]

    def _frame(self, thing: Any, where: str) -> list[Any]:
        columns = [self._column(thing.iloc[:, k], f"{where}[{k}]") for k in range(thing.shape[1])]
        return ["frame", columns, self.value(thing.columns, where), self.value(thing.index, where)]

    def _column(self, thing: Any, where: str) -> list[Any]:
        kind = "str" if str(thing.dtype) == "str" else None
        if kind is None and not isinstance(thing.dtype, np.dtype):
            raise Unsavable(f"{where} is a column of type {thing.dtype}; use text, numbers or times.")
        return [kind, self.value(np.asarray(thing), where)]


def pack(thing: Any, outside: Mapping[str, Any], where: str) -> tuple[dict[str, Any], list[np.ndarray]]:
    """What a file holds of an object: steps whose last value is the object, and arrays.

    Parameters
    ----------
    thing : object
        Made of plain values, arrays, frames and the objects of this library.
    outside : mapping
        Name -> object that is only referred to, and that who loads the file brings along.
    where : str
        How a message calls it.
    """
    packed = Packed(outside)
    try:
        root = packed.value(thing, where)
    except RecursionError:
        raise Unsavable(f"{where} is nested too deeply to be saved.") from None
    return {"steps": packed.steps, "root": root}, packed.arrays


def is_own(kind: type) -> bool:
    """Whether a class is of this library."""
    return kind.__module__.partition(".")[0] == "rlselect"


def _foreign(thing: Any, where: str) -> Unsavable:
    kind = thing if isinstance(thing, type | types.FunctionType) else type(thing)
    what = "the function" if isinstance(thing, types.FunctionType | types.MethodType) else "an object of"
    return Unsavable(
        f"{where} holds {what} {kind.__module__}.{kind.__qualname__}, which is not of this library."
    )


def _refuse(packed: Packed, thing: Any, where: str) -> list[Any]:
    raise _foreign(thing, where)


def _frame_writer(kind: type) -> Callable[..., list[Any] | None]:
    """Writer of what pandas holds, by name: whoever has such an object has imported pandas."""
    if kind.__module__.partition(".")[0] == "pandas":
        bases = {f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in kind.__mro__}
        for name, writer in _FRAMES.items():
            if name in bases:
                return writer
    return _refuse


_WRITERS: dict[type, Callable[..., list[Any] | None]] = {
    float: Packed._float,
    dict: Packed._dict,
    list: Packed._several,
    tuple: Packed._several,
    set: Packed._several,
    frozenset: Packed._several,
    slice: Packed._slice,
    range: Packed._range,
    bytes: Packed._bytes,
    np.ndarray: Packed._array,
    np.memmap: Packed._array,
    np.random.Generator: Packed._generator,
    np.random.RandomState: Packed._random_state,
    type: Packed._numpy_type,
    partial: Packed._partial,
    types.MethodType: Packed._method,
    type(Path()): Packed._path,
}
_BASES: tuple[tuple[type, Callable[..., list[Any] | None]], ...] = (
    (np.generic, Packed._scalar),
    (np.dtype, Packed._dtype),
    (sparse.spmatrix, Packed._sparse),
    (sparse.sparray, Packed._sparse),
)
_FRAMES = {"pandas.Index": Packed._index, "pandas.Series": Packed._series, "pandas.DataFrame": Packed._frame}
