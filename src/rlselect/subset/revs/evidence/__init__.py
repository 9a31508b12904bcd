"""Subsets of columns priced by the evidence of a ridge or generalised linear model, and refits of them."""

from rlselect.subset.revs.evidence._block import (
    Block,
    OverflowedColumns,
    common_scale,
)
from rlselect.subset.revs.evidence._dependent_glm import (
    DependentGlm,
)
from rlselect.subset.revs.evidence._dependent_outcome import (
    DependentOutcome,
)
from rlselect.subset.revs.evidence._dependent_ridge import (
    DependentRidge,
    DependentRows,
)
from rlselect.subset.revs.evidence._glm_subset import (
    GlmSubset,
)
from rlselect.subset.revs.evidence._gram import (
    PANEL,
    LazyGram,
    Moments,
)
from rlselect.subset.revs.evidence._joint_subset import (
    JointSubset,
)
from rlselect.subset.revs.evidence._look import (
    Look,
    Scores,
)
from rlselect.subset.revs.evidence._outcome_mode import OutcomeMode, outcome_mode
from rlselect.subset.revs.evidence._outcome_refit import (
    OutcomeFit,
    fit_outcome,
    jackknife,
    outcome_gains,
)
from rlselect.subset.revs.evidence._outcome_subset import OutcomeLook, OutcomeSubset
from rlselect.subset.revs.evidence._posterior import (
    Posteriors,
    RowLikelihood,
    StandardRows,
    glm_posteriors,
    left_out_predictor,
    linear_posteriors,
)
from rlselect.subset.revs.evidence._refit import (
    Fit,
    SeparationWarning,
    distinct_rows,
    fit_glm,
    heldout_gains,
    standardise,
)
from rlselect.subset.revs.evidence._refit_blocks import (
    fit_glm_blocks,
    fit_linear_blocks,
    fit_moments,
    is_precise,
)
from rlselect.subset.revs.evidence._ridge_subset import (
    Between,
    RidgeSubset,
)
from rlselect.subset.revs.evidence._rows import (
    Rows,
)
from rlselect.subset.revs.evidence._ties import (
    OUTCOME_SHAPES,
    PROPER_SHAPES,
    SHAPES,
    Shape,
)

__all__ = [
    "OUTCOME_SHAPES",
    "PANEL",
    "PROPER_SHAPES",
    "SHAPES",
    "Between",
    "Block",
    "DependentGlm",
    "DependentOutcome",
    "DependentRidge",
    "DependentRows",
    "Fit",
    "GlmSubset",
    "JointSubset",
    "LazyGram",
    "Look",
    "Moments",
    "OutcomeFit",
    "OutcomeLook",
    "OutcomeMode",
    "OutcomeSubset",
    "OverflowedColumns",
    "Posteriors",
    "RidgeSubset",
    "RowLikelihood",
    "Rows",
    "Scores",
    "SeparationWarning",
    "Shape",
    "StandardRows",
    "common_scale",
    "distinct_rows",
    "fit_glm",
    "fit_glm_blocks",
    "fit_linear_blocks",
    "fit_moments",
    "fit_outcome",
    "glm_posteriors",
    "heldout_gains",
    "is_precise",
    "jackknife",
    "left_out_predictor",
    "linear_posteriors",
    "outcome_gains",
    "outcome_mode",
    "standardise",
]
