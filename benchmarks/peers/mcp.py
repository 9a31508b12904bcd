"""Minimax concave penalty (skglm, shape 3), lambda by EBIC (gamma .5) of the refitted supports.

Cross-validation, the choice of the paper, is slower and selects worse here: it keeps false variables.
"""

from peers import _skglm

NAME = "MCP, EBIC"
FAMILIES = ("gaussian", "binomial")
SHAPE = 3.0

available = _skglm.available


def select(X, y, family, *, seed):
    from skglm.penalties import MCPenalty

    return _skglm.select_ebic(X, y, family, MCPenalty(1.0, SHAPE / _skglm.CURVATURE[family]))
