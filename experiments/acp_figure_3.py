"""ACP, Figure 3: a linear truth with correlated columns, p = 50, as rows are added.

    python experiments/acp_figure_3.py --replicates 20 --resume --out experiments/results/acp_figure_3

A drawing without printed numbers; the paper says of it that ACP and the lasso by AIC and BIC do well, that
the lasso by cross-validation selects too much and the forest too little.
"""

from _acp_common import cell, methods, parse, table

# data sets of the methods that take longest
MOST = {"acp": 5, "acp-linear": 5, "forest": 5}
NOTE = [f"Made by `{__doc__.splitlines()[2].strip()}`; ACP, from an earlier run, before its `false_alarm`."]


def main():
    args = parse(__doc__).parse_args()
    cells = [cell("correlated", n, 50) for n in (100, 200, 300, 400)]
    chosen = methods(
        "acp", "acp-linear", "lasso-aic", "lasso-bic", "lasso-cv", "relaxed-lasso", "forest", "tvs", "cfs"
    )
    table(args, "ACP, Figure 3: correlated columns", cells, chosen, note=NOTE, most=MOST)


if __name__ == "__main__":
    main()
