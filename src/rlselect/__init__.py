"""Which variables matter: for everyone, for this case, for this decision, at this moment?

The public names are loaded when first used, so that ``import rlselect`` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

# public name -> the room it lives in
_ROOMS = {
    "DivideAndConquer": "subset",
    "MismatchFeatures": "subset",
    "REVS": "subset",
    "ReverseScreeDisplay": "subset",
    "RiskRFE": "subset",
    "Sarsa": "subset",
    "TemporalProcessRegression": "temporal",
    "Threshold": "predictors",
    "two_sample_cvm": "temporal",
}

__all__ = [
    "REVS",
    "DivideAndConquer",
    "MismatchFeatures",
    "ReverseScreeDisplay",
    "RiskRFE",
    "Sarsa",
    "TemporalProcessRegression",
    "Threshold",
    "__version__",
    "two_sample_cvm",
]

if TYPE_CHECKING:
    from rlselect.predictors import Threshold as Threshold
    from rlselect.subset import REVS as REVS
    from rlselect.subset import DivideAndConquer as DivideAndConquer
    from rlselect.subset import MismatchFeatures as MismatchFeatures
    from rlselect.subset import ReverseScreeDisplay as ReverseScreeDisplay
    from rlselect.subset import RiskRFE as RiskRFE
    from rlselect.subset import Sarsa as Sarsa
    from rlselect.temporal import TemporalProcessRegression as TemporalProcessRegression
    from rlselect.temporal import two_sample_cvm as two_sample_cvm


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return getattr(import_module(f"rlselect.{_ROOMS[name]}"), name)
    raise AttributeError(f"module 'rlselect' has no attribute {name!r}; public names: {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ROOMS])
