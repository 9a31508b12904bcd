"""Divide and conquer (400 folds, 80 % of the votes) with the other penalties of the REVS paper, by skglm.

The elastic net has lambda and mixing by 5-fold cross-validation in each fold, SCAD and MCP lambda by EBIC
(gamma .5) of the refitted supports, as their peers on few rows. Fitted on a few folds and scaled up, as the
lasso.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from peers import _skglm, elastic_net_cv, mcp, scad
from peers.divide_conquer import divide_and_conquer

__all__ = ["DC_ELASTIC_NET", "DC_MCP", "DC_SCAD"]


@dataclass(frozen=True)
class DividedPenalty:
    """A penalised regression in each fold; ``select`` has the arguments of a peer's."""

    NAME: str
    select: Callable[..., Any]
    FAMILIES: tuple[str, ...] = ("gaussian",)

    def available(self):
        return _skglm.available()

    def measure(self, X, y, family, *, seed):
        return divide_and_conquer(X, y, lambda A, b: self.select(A, b, family, seed=seed), seed)


DC_ELASTIC_NET = DividedPenalty(
    "divide and conquer elastic net, CV",
    partial(_skglm.select_elastic_net_cv, l1_ratios=elastic_net_cv.L1_RATIOS, folds=elastic_net_cv.FOLDS),
)
DC_SCAD = DividedPenalty("divide and conquer SCAD, EBIC", scad.select)
DC_MCP = DividedPenalty("divide and conquer MCP, EBIC", mcp.select)
