"""For everyone: selectors of one subset of variables."""

from rlselect.subset._risk_rfe import RiskRFE

__all__ = ["RiskRFE"]
