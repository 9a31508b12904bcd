"""Which variables matter: for everyone, for this case, for this decision, at this moment?

The public names are loaded when first used, so that ``import rlselect`` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# public name -> the room it lives in; displays and settings objects are found in the rooms
_ROOMS = {
    "ActorCriticPredictor": "subset",
    "AdvantageLearning": "regimes",
    "CorrelationFeatureSelection": "subset",
    "DatumwiseClassifier": "datumwise",
    "DatumwiseRegressor": "datumwise",
    "DivideAndConquer": "subset",
    "FSTD": "subset",
    "FUSE": "subset",
    "MismatchFeatures": "subset",
    "QLearning": "regimes",
    "REVS": "subset",
    "RiskRFE": "subset",
    "TemporalProcessRegression": "temporal",
    "ThompsonSelector": "subset",
    "TrialData": "regimes",
    "capabilities": "_overview",
    "check": "preflight",
    "compare": "subset",
    "compare_regimes": "regimes",
    "expand_dates": "preflight",
    "load": "persist",
    "outcome_weighted_regime": "regimes",
    "pool_imputations": "temporal",
    "regime_value": "regimes",
    "report": "report",
    "save": "persist",
    "two_sample_cvm": "temporal",
    "wide_to_long": "temporal",
}

if TYPE_CHECKING:
    from rlselect._overview import capabilities
    from rlselect.datumwise import DatumwiseClassifier, DatumwiseRegressor
    from rlselect.persist import load, save
    from rlselect.preflight import check, expand_dates
    from rlselect.regimes import (
        AdvantageLearning,
        QLearning,
        TrialData,
        compare_regimes,
        outcome_weighted_regime,
        regime_value,
    )
    from rlselect.report import Reports
    from rlselect.subset import (
        FSTD,
        FUSE,
        REVS,
        ActorCriticPredictor,
        CorrelationFeatureSelection,
        DivideAndConquer,
        MismatchFeatures,
        RiskRFE,
        ThompsonSelector,
        compare,
    )
    from rlselect.temporal import TemporalProcessRegression, pool_imputations, two_sample_cvm, wide_to_long

    # a package that can be called: `report([a, b])`, and `report.to_html` as ever
    report: Reports

__all__ = [
    "FSTD",
    "FUSE",
    "REVS",
    "ActorCriticPredictor",
    "AdvantageLearning",
    "CorrelationFeatureSelection",
    "DatumwiseClassifier",
    "DatumwiseRegressor",
    "DivideAndConquer",
    "MismatchFeatures",
    "QLearning",
    "RiskRFE",
    "TemporalProcessRegression",
    "ThompsonSelector",
    "TrialData",
    "__version__",
    "capabilities",
    "check",
    "compare",
    "compare_regimes",
    "expand_dates",
    "load",
    "outcome_weighted_regime",
    "pool_imputations",
    "regime_value",
    "report",
    "save",
    "two_sample_cvm",
    "wide_to_long",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        room = import_module(f"rlselect.{_ROOMS[name]}")
        # the package of reports is itself called to put fits side by side
        return room if name == _ROOMS[name] else getattr(room, name)
    raise AttributeError(f"module 'rlselect' has no attribute {name!r}; public names: {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ROOMS])
