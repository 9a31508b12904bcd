"""Seeded data generators of the papers."""

from rlselect.simulate._risk_rfe import make_annulus, make_rational, make_sparse_linear

__all__ = ["make_annulus", "make_rational", "make_sparse_linear"]
