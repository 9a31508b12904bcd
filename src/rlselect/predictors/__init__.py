"""What a reward is made of: models on a subset of columns, with all moves from it priced at once."""

from rlselect.predictors._glm_subset import GlmSubset
from rlselect.predictors._gram import PANEL, LazyGram
from rlselect.predictors._refit import Fit, SeparationWarning, fit_glm, heldout_gains
from rlselect.predictors._refit_blocks import fit_linear_blocks
from rlselect.predictors._ridge_subset import RidgeSubset
from rlselect.predictors._rows import Block, Rows
from rlselect.predictors._units import Units

__all__ = [
    "PANEL",
    "Block",
    "Fit",
    "GlmSubset",
    "LazyGram",
    "RidgeSubset",
    "Rows",
    "SeparationWarning",
    "Units",
    "fit_glm",
    "fit_linear_blocks",
    "heldout_gains",
]
