"""Seeded data generators of the papers."""

from rlselect.simulate._regimes import SimulatedTrial, make_regime_trial
from rlselect.simulate._risk_rfe import make_annulus, make_rational, make_sparse_linear

__all__ = ["SimulatedTrial", "make_annulus", "make_rational", "make_regime_trial", "make_sparse_linear"]
