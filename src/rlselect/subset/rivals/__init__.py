"""Methods that those of the papers were measured against."""

from rlselect.subset.rivals._divide import (
    DivideAndConquer,
)

__all__ = [
    "DivideAndConquer",
]
