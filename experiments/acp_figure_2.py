"""ACP, Figure 2: six true functions, n = 200, p = 50, eight of the columns matter.

    python experiments/acp_figure_2.py --replicates 20 --out experiments/results/acp_figure_2

The paper draws bars without printing their heights, except for the third function (its Table 3). It says of
them that its ACP has the best accuracy and F1 in all six.
"""

from _acp_common import cell, measures, methods, parse, table

PAPER = {
    "f3-interaction-p50-n200": {
        "ACP, network": measures((0.966, 0.046), (0.971, 0.060), (0.900, 0.152), (0.927, 0.103)),
    }
}
NOTE = [
    "Bars of the paper that are not printed as numbers are not guessed here. `lasso, CV` of the logistic "
    "function is its L1 logistic regression.",
]


def main():
    args = parse(__doc__).parse_args()
    functions = ("linear", "correlated", "interaction", "network", "logistic", "multiclass")
    cells = [cell(function, 200, 50) for function in functions]
    chosen = methods(
        "acp",
        "lasso-aic",
        "lasso-bic",
        "lasso-cv",
        "l1-logistic",
        "forest",
        "boruta",
        "lassonet",
        "tvs",
        "tvs-trees",
        "fstd",
    )
    table(args, "ACP, Figure 2: six true functions", cells, chosen, paper=PAPER, note=NOTE)


if __name__ == "__main__":
    main()
