"""Public data: one small bundled set, and a local folder of larger ones."""

from rlselect.datasets._crime import load_crime
from rlselect.datasets._local import load_local

__all__ = ["load_crime", "load_local"]
