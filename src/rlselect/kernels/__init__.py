"""Pure functions on arrays: no random numbers, no scikit-learn, nothing from the floors above."""

from rlselect.kernels._active_set import (
    active_set_solution,
)
from rlselect.kernels._arc_cosine import network_kernel, network_loo_residuals
from rlselect.kernels._change_point import (
    change_point,
)
from rlselect.kernels._class_outcomes import (
    ClassOutcome,
    OrdinalOutcome,
    class_contrasts,
)
from rlselect.kernels._company import (
    beside_all,
    pair_gains,
)
from rlselect.kernels._equal_values import (
    rising_order,
    steps_of,
)
from rlselect.kernels._families import (
    BOUNDED_LINKS,
    CANONICAL_LINK,
    DISPERSION_PROOF,
    LINKS,
    USUAL_VARIANCE,
    VARIANCES,
    deviance,
    dispersion_likelihoods,
    likeliest_dispersion,
    log_likelihood,
    log_probabilities,
    mean_and_curvature,
    mean_function,
    null_intercept,
    score_and_curvature,
    softplus,
    variance_function,
    working_quantities,
)
from rlselect.kernels._gaussian_products import (
    expansion_terms,
    removal_products,
)
from rlselect.kernels._glm import (
    RANK_TOLERANCE,
    batched_irls,
    glm_problem,
    information,
    whiten,
)
from rlselect.kernels._heldout import (
    heldout_block_remove,
    heldout_moves,
)
from rlselect.kernels._hidden_levels import (
    ClusterLevels,
    CourseLevels,
    Levels,
    Spread,
    learn_spread,
    settle_levels,
    turn_constant,
)
from rlselect.kernels._interior_point import (
    interior_point_solution,
    low_rank_root,
)
from rlselect.kernels._kernel_matrix import (
    chi_squared_part,
    exponential_link,
    inner_part,
    polynomial_link,
    squared_distance_part,
)
from rlselect.kernels._laplace import (
    laplace_block_add,
    laplace_block_remove,
    log_hole_factor,
)
from rlselect.kernels._networks import (
    LEAST_SCALE,
    MEAN_DECAY,
    SQUARE_DECAY,
    Networks,
    Singles,
    Training,
    adam_sizes,
    adam_step,
    network_outputs,
    row_losses,
    start_networks,
    train_networks,
)
from rlselect.kernels._newton import (
    SINGULAR,
    Minimum,
    NewtonPoint,
    NewtonProblem,
    NewtonStep,
    damped_newton,
    invert_positive,
    small_decrement,
    small_step,
    solve_each,
    solve_shortest,
    summed_problem,
)
from rlselect.kernels._noise import (
    noise_kind,
    shorten,
    student_gain,
)
from rlselect.kernels._outcomes import (
    Outcome,
    OutcomePoint,
)
from rlselect.kernels._pair_scores import (
    pair_scores,
)
from rlselect.kernels._partial_likelihood import (
    CoxOutcome,
    concordance,
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
    looks_separated,
    separating_direction,
    separation_sentence,
    separation_signs,
)
from rlselect.kernels._shared_outcomes import (
    SharedOutcome,
    learn_shared,
)
from rlselect.kernels._squared_bounds import (
    FactoredInverse,
    best_removals,
    loo_residuals,
    loo_residuals_path,
    projected_inverse,
    squared_solution,
)
from rlselect.kernels._standardise import (
    Standardised,
    standardise,
    unit_power,
)
from rlselect.kernels._subset_least_squares import (
    fold_products,
    padded_columns,
    subset_heldout,
    subset_ridge,
)
from rlselect.kernels._subset_logistic import (
    deviance_changes,
    log_evidence,
    subset_logistic,
)
from rlselect.kernels._tied_moves import (
    TiedMoves,
    Ties,
    prior_logdet,
    tied_adds,
    tied_removes,
)

__all__ = [
    "BOUNDED_LINKS",
    "CANONICAL_LINK",
    "DISPERSION_PROOF",
    "LEAST_SCALE",
    "LINKS",
    "MEAN_DECAY",
    "RANK_TOLERANCE",
    "SINGULAR",
    "SQUARE_DECAY",
    "USUAL_VARIANCE",
    "VARIANCES",
    "ClassOutcome",
    "ClusterLevels",
    "CourseLevels",
    "CoxOutcome",
    "FactoredInverse",
    "Levels",
    "Minimum",
    "Networks",
    "NewtonPoint",
    "NewtonProblem",
    "NewtonStep",
    "OrdinalOutcome",
    "Outcome",
    "OutcomePoint",
    "SharedOutcome",
    "Singles",
    "Spread",
    "Standardised",
    "TiedMoves",
    "Ties",
    "Training",
    "active_set_solution",
    "adam_sizes",
    "adam_step",
    "batched_irls",
    "beside_all",
    "best_removals",
    "change_point",
    "chi_squared_part",
    "class_contrasts",
    "concordance",
    "damped_newton",
    "deviance",
    "deviance_changes",
    "dispersion_likelihoods",
    "dual_drop",
    "dual_increase",
    "dual_start",
    "expansion_terms",
    "exponential_link",
    "fold_products",
    "glm_problem",
    "greedy_rollouts",
    "grow_scores",
    "heldout_block_remove",
    "heldout_moves",
    "information",
    "inner_part",
    "interior_point_solution",
    "invert_positive",
    "laplace_block_add",
    "laplace_block_remove",
    "learn_shared",
    "learn_spread",
    "likeliest_dispersion",
    "log_evidence",
    "log_hole_factor",
    "log_likelihood",
    "log_probabilities",
    "loo_residuals",
    "loo_residuals_path",
    "looks_separated",
    "low_rank_root",
    "mean_and_curvature",
    "mean_function",
    "network_kernel",
    "network_loo_residuals",
    "network_outputs",
    "noise_kind",
    "null_intercept",
    "padded_columns",
    "pair_gains",
    "pair_scores",
    "polynomial_link",
    "primal_drop",
    "primal_increase",
    "primal_start",
    "prior_logdet",
    "projected_inverse",
    "removal_products",
    "ridge_add",
    "ridge_block_add",
    "ridge_block_remove",
    "ridge_evidence_grid",
    "ridge_moves",
    "ridge_remove",
    "ridge_state",
    "rising_order",
    "row_losses",
    "score_and_curvature",
    "separating_direction",
    "separation_sentence",
    "separation_signs",
    "settle_levels",
    "shorten",
    "small_decrement",
    "small_step",
    "softplus",
    "solve_each",
    "solve_shortest",
    "squared_distance_part",
    "squared_solution",
    "standardise",
    "start_networks",
    "steps_of",
    "student_gain",
    "subset_heldout",
    "subset_logistic",
    "subset_ridge",
    "summed_problem",
    "tied_adds",
    "tied_removes",
    "train_networks",
    "turn_constant",
    "unit_power",
    "variance_function",
    "whiten",
    "working_quantities",
]
