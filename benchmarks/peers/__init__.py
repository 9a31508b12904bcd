"""The methods a table can hold, one module each.

A peer has ``NAME`` (what the table prints), ``FAMILIES``, ``available()`` (imports what it needs, so that no
fit pays for an import) and ``select(X, y, family, *, seed)``, which returns the selected columns as a boolean
array. Where more than a support and a stopwatch is needed, ``measure`` with the same arguments takes its
place and returns a dict: ``support`` (or None for a pure timing), and any of ``seconds``, ``cpu_seconds``
(where the time is extrapolated), ``rows_read``, ``note``.
"""

from peers import (
    abess_10k,
    abess_ebic,
    divide_conquer,
    divide_conquer_cv,
    elastic_net_cv,
    forward_ebic,
    gram_forward,
    irls_step,
    lasso_cv,
    mcp,
    relaxed_lasso,
    revs,
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

BIGDATA = {
    "revs": revs,
    "gram-forward": gram_forward,
    "abess-10k": abess_10k,
    "dc-lasso": divide_conquer,
    "dc-lasso-cv": divide_conquer_cv,
    "irls-step": irls_step,
}
