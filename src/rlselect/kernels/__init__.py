"""Pure functions on arrays: no random numbers, no scikit-learn, nothing from the floors above."""

from rlselect.kernels._active_set import (
    active_set_solution,
)
from rlselect.kernels._arc_cosine import network_kernel, network_loo_residuals
from rlselect.kernels._batched_irls import (
    RANK_TOLERANCE,
    batched_irls,
    deviance,
    information,
    solve_each,
    whiten,
    working_quantities,
)
from rlselect.kernels._change_point import (
    change_point,
)
from rlselect.kernels._gaussian_products import (
    expansion_terms,
    removal_products,
)
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
from rlselect.kernels._glm_families import (
    LINKS,
    USUAL_VARIANCE,
    VARIANCES,
    mean_function,
    variance_function,
)
from rlselect.kernels._heldout import (
    heldout_block_remove,
    heldout_moves,
)
from rlselect.kernels._interior_point import (
    interior_point_solution,
)
from rlselect.kernels._kernel_matrix import (
    chi_squared_part,
    exponential_link,
    inner_part,
    polynomial_link,
    squared_distance_part,
)
from rlselect.kernels._networks import (
    LEAST_SCALE,
    MEAN_DECAY,
    SQUARE_DECAY,
    Networks,
    Singles,
    Training,
    network_outputs,
    row_losses,
    start_networks,
    train_networks,
)
from rlselect.kernels._ridge import (
    ridge_add,
    ridge_block_add,
    ridge_block_remove,
    ridge_evidence_grid,
    ridge_moves,
    ridge_remove,
    ridge_state,
)
from rlselect.kernels._ridge_moves import (
    dual_drop,
    dual_increase,
    dual_start,
    primal_drop,
    primal_increase,
    primal_start,
)
from rlselect.kernels._rollouts import (
    greedy_rollouts,
    grow_scores,
)
from rlselect.kernels._separation import (
    separating_direction,
)
from rlselect.kernels._squared_bounds import (
    FactoredInverse,
    best_removals,
    loo_residuals,
    loo_residuals_path,
    projected_inverse,
    squared_solution,
)
from rlselect.kernels._subset_least_squares import (
    fold_products,
    padded_columns,
    subset_heldout,
    subset_ridge,
)
from rlselect.kernels._subset_logistic import (
    deviance_changes,
    log_probabilities,
    subset_logistic,
)

__all__ = [
    "LEAST_SCALE",
    "LINKS",
    "MEAN_DECAY",
    "RANK_TOLERANCE",
    "SQUARE_DECAY",
    "USUAL_VARIANCE",
    "VARIANCES",
    "FactoredInverse",
    "Networks",
    "Singles",
    "Training",
    "active_set_solution",
    "batched_irls",
    "best_removals",
    "change_point",
    "chi_squared_part",
    "deviance",
    "deviance_changes",
    "dual_drop",
    "dual_increase",
    "dual_start",
    "expansion_terms",
    "exponential_link",
    "fold_products",
    "greedy_rollouts",
    "grow_scores",
    "heldout_block_remove",
    "heldout_moves",
    "information",
    "inner_part",
    "interior_point_solution",
    "laplace_block_add",
    "laplace_block_remove",
    "laplace_moves",
    "log_likelihood",
    "log_probabilities",
    "loo_residuals",
    "loo_residuals_path",
    "mean_and_curvature",
    "mean_function",
    "network_kernel",
    "network_loo_residuals",
    "network_outputs",
    "newton_state",
    "newton_step",
    "null_intercept",
    "padded_columns",
    "polynomial_link",
    "primal_drop",
    "primal_increase",
    "primal_start",
    "projected_inverse",
    "removal_products",
    "ridge_add",
    "ridge_block_add",
    "ridge_block_remove",
    "ridge_evidence_grid",
    "ridge_moves",
    "ridge_remove",
    "ridge_state",
    "row_losses",
    "separating_direction",
    "solve_each",
    "squared_distance_part",
    "squared_solution",
    "start_networks",
    "subset_heldout",
    "subset_logistic",
    "subset_ridge",
    "train_networks",
    "variance_function",
    "whiten",
    "working_quantities",
]
