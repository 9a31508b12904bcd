"""Seeded data generators of the papers."""

from rlselect.simulate._acp import make_acp
from rlselect.simulate._adherence import AdherenceStudy, make_adherence
from rlselect.simulate._regimes import SimulatedTrial, make_regime_trial
from rlselect.simulate._revs import make_revs
from rlselect.simulate._risk_rfe import make_annulus, make_rational, make_sparse_linear
from rlselect.simulate._routes import make_routes
from rlselect.simulate._simulation import Simulation
from rlselect.simulate._weak import make_weak

__all__ = [
    "AdherenceStudy",
    "SimulatedTrial",
    "Simulation",
    "make_acp",
    "make_adherence",
    "make_annulus",
    "make_rational",
    "make_regime_trial",
    "make_revs",
    "make_routes",
    "make_sparse_linear",
    "make_weak",
]
