"""Which variables matter: for everyone, for this case, for this decision, at this moment?

The public names are loaded when first used, so that ``import rlselect`` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

# public name -> the room it lives in
_ROOMS = {
    "DivideAndConquer": "subset",
    "REVS": "subset",
}

__all__ = ["REVS", "DivideAndConquer", "__version__"]

if TYPE_CHECKING:
    from rlselect.subset import REVS as REVS
    from rlselect.subset import DivideAndConquer as DivideAndConquer


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return getattr(import_module(f"rlselect.{_ROOMS[name]}"), name)
    raise AttributeError(f"module 'rlselect' has no attribute {name!r}; public names: {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ROOMS])
