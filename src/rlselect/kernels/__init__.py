"""Pure functions on arrays. No classes, no random numbers, no scikit-learn."""

from rlselect.kernels._glm import (
    laplace_block_add,
    laplace_block_remove,
    laplace_moves,
    log_likelihood,
    mean_and_curvature,
    newton_state,
    newton_step,
    null_intercept,
)
from rlselect.kernels._heldout import heldout_block_remove, heldout_moves
from rlselect.kernels._ridge import (
    ridge_add,
    ridge_block_add,
    ridge_block_remove,
    ridge_evidence_grid,
    ridge_moves,
    ridge_remove,
    ridge_state,
)

__all__ = [
    "heldout_block_remove",
    "heldout_moves",
    "laplace_block_add",
    "laplace_block_remove",
    "laplace_moves",
    "log_likelihood",
    "mean_and_curvature",
    "newton_state",
    "newton_step",
    "null_intercept",
    "ridge_add",
    "ridge_block_add",
    "ridge_block_remove",
    "ridge_evidence_grid",
    "ridge_moves",
    "ridge_remove",
    "ridge_state",
]
