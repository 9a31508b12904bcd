"""Options of an estimator: a table of what each may be, and one sentence for what it may not be."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = [
    "AUTO",
    "NONE",
    "Allowed",
    "anything",
    "check_options",
    "check_value",
    "flag",
    "instance",
    "number",
    "one_of",
    "refuse_unused",
    "take_settings",
    "whole",
    "with_methods",
]


@dataclass(frozen=True)
class Allowed:
    """What an option may be; ``a | b`` allows both.

    Attributes
    ----------
    words : str
        Ends the sentence "it must be ...".
    holds : callable
        Whether a value is allowed.
    """

    words: str
    holds: Callable[[Any], bool]

    def __or__(self, other: "Allowed") -> "Allowed":
        return Allowed(
            f"{self.words} or {other.words}", lambda value: self.holds(value) or other.holds(value)
        )


def one_of(*names: str) -> Allowed:
    """One of these strings."""
    words = ", ".join(map(repr, names[:-1])) + (" or " if names[1:] else "") + repr(names[-1])
    return Allowed(words, lambda value: isinstance(value, str) and value in names)


def number(
    words: str = "a finite number",
    *,
    least: float = -math.inf,
    most: float = math.inf,
    above: float = -math.inf,
    below: float = math.inf,
) -> Allowed:
    """A finite number with ``least <= value <= most`` and ``above < value < below``; `words` say so."""

    def holds(value: Any) -> bool:
        if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
            return False
        value = float(value)
        return math.isfinite(value) and least <= value <= most and above < value < below

    return Allowed(words, holds)


def whole(least: int, words: str | None = None, most: int | None = None) -> Allowed:
    """An integer of at least so much, and at most so much where the machine sets an end."""

    def holds(value: Any) -> bool:
        integer = isinstance(value, Integral) and not isinstance(value, bool)
        return integer and least <= int(value) and (most is None or int(value) <= most)

    said = f"an integer of at least {least}" if most is None else f"an integer from {least} to {most:,}"
    return Allowed(words or said, holds)


def flag() -> Allowed:
    """True or False."""
    return Allowed("True or False", lambda value: isinstance(value, bool | np.bool_))


def instance(words: str, *kinds: type) -> Allowed:
    """An object of one of these classes."""
    return Allowed(words, lambda value: isinstance(value, kinds) and not isinstance(value, type))


def with_methods(words: str, *names: str) -> Allowed:
    """An object, neither a class nor an array (which can `choose`), that has these methods."""

    def holds(value: Any) -> bool:
        plain = not isinstance(value, type | np.ndarray)
        return plain and all(callable(getattr(value, name, None)) for name in names)

    return Allowed(words, holds)


def anything(words: str, holds: Callable[[Any], bool]) -> Allowed:
    """Whatever a function says is allowed."""
    return Allowed(words, holds)


AUTO = one_of("auto")
NONE = Allowed("None", lambda value: value is None)


def check_value(name: str, value: Any, allowed: Allowed) -> Any:
    """The value, or an error that says what was given and what is allowed."""
    if not allowed.holds(value):
        raise ValueError(f"{name}={value!r} was given; it must be {allowed.words}.")
    return value


def check_options(owner: Any, table: Mapping[str, Allowed]) -> None:
    """Refuse attributes of an estimator or a settings object that its table does not allow."""
    for name, allowed in table.items():
        check_value(name, getattr(owner, name), allowed)


def refuse_unused(owner: Any, names: Iterable[str], mode: str, fix: str) -> None:
    """Refuse options that differ from their defaults although they have no effect in a mode.

    Parameters
    ----------
    owner : object
        Its constructor says the defaults.
    names : iterable of str
        Options that have no effect.
    mode, fix : str
        As in "policy='ucb' has no effect with `mode`; `fix`."
    """
    defaults = inspect.signature(type(owner)).parameters
    for name in names:
        value, default = getattr(owner, name), defaults[name].default
        same = value is default or (type(value) is type(default) and bool(np.all(value == default)))
        if not same:
            raise ValueError(f"{name}={value!r} has no effect with {mode}; {fix}.")


def take_settings(settings: type, changes: dict[str, Any], option: str = "search") -> dict[str, Any]:
    """Take out of `changes` what a settings object has a field for, for ``Estimator.paper(**changes)``.

    Who gives the whole object as `option` has said it all.
    """
    known = inspect.signature(settings).parameters
    taken = {name: changes.pop(name) for name in list(changes) if name in known}
    if taken and option in changes:
        raise ValueError(
            f"{option}= was given beside {', '.join(taken)}; say all of it in "
            f"{option}={settings.__name__}(...)."
        )
    return taken
