"""The methods a table can hold, one module each.

A peer has ``NAME`` (what the table prints), ``FAMILIES``, ``available()`` (imports what it needs, so that no
fit pays for an import) and ``select(X, y, family, *, seed)``, which returns the selected columns as a boolean
array. Where more than a support and a stopwatch is needed, ``measure`` with the same arguments takes its
place and returns a dict: ``support`` (or None for a pure timing), and any of ``seconds``, ``cpu_seconds``
(where the time is extrapolated), ``rows_read``, ``note``. Some also have ``rank``, with the arguments of
``select``, which returns all columns, best first.
"""

from peers import (
    abess_10k,
    abess_ebic,
    acp,
    acp_eager,
    acp_linear,
    boruta_rf,
    divide_conquer,
    divide_conquer_cv,
    divide_conquer_lars,
    divide_conquer_penalties,
    elastic_net_cv,
    forward_ebic,
    gram_forward,
    huber_lasso,
    irls_step,
    lasso_aic,
    lasso_bic,
    lasso_cv,
    lassonet_cv,
    logistic_l1,
    logistic_l2,
    mcp,
    random_forest,
    relaxed_lasso,
    revs,
    rivals,
    scad,
)

HIGHDIM = {
    "revs": revs,
    "abess": abess_ebic,
    "relaxed-lasso": relaxed_lasso,
    "forward": forward_ebic,
    "lasso-cv": lasso_cv,
    "elastic-net-cv": elastic_net_cv,
    "mcp": mcp,
    "scad": scad,
}

LEARNT = {
    "revs": revs,
    "relaxed": relaxed_lasso,
    "huber": huber_lasso,
    "lasso_cv": lasso_cv,
    "abess": abess_ebic,
}

BIGDATA = {
    "revs": revs,
    "gram-forward": gram_forward,
    "abess-10k": abess_10k,
    "dc-lasso": divide_conquer,
    "dc-lasso-lars": divide_conquer_lars,
    "dc-lasso-cv": divide_conquer_cv,
    "dc-elastic-net": divide_conquer_penalties.DC_ELASTIC_NET,
    "dc-scad": divide_conquer_penalties.DC_SCAD,
    "dc-mcp": divide_conquer_penalties.DC_MCP,
    "irls-step": irls_step,
}

ACP = {
    "acp": acp,
    "acp-eager": acp_eager,
    "acp-linear": acp_linear,
    "lasso-aic": lasso_aic,
    "lasso-bic": lasso_bic,
    "lasso-cv": lasso_cv,
    "relaxed-lasso": relaxed_lasso,
    "forward": forward_ebic,
    "l1-logistic": logistic_l1,
    "forest": random_forest,
    "boruta": boruta_rf,
    "lassonet": lassonet_cv,
    "tvs": rivals.TVS,
    "tvs-trees": rivals.TVS_TREES,
    "fstd": rivals.FSTD,
    "fuse": rivals.FUSE,
    "cfs": rivals.CFS,
    "acp-literal": rivals.ACP_LITERAL,
    "acp-published": rivals.ACP_PUBLISHED,
}

RANKINGS = {
    "acp": acp,
    "lasso-bic": lasso_bic,
    "lasso-cv": lasso_cv,
    "l1-logistic": logistic_l1,
    "l2-logistic": logistic_l2,
    "forest": random_forest,
    "boruta": boruta_rf,
    "lassonet": lassonet_cv,
    "fstd": rivals.FSTD,
    "fstd-short": rivals.FSTD_SHORT,
    "fuse": rivals.FUSE,
    "cfs": rivals.CFS,
}
