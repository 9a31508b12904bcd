"""Table 4.1: selected history columns in setting I, ours beside the dissertation's methods and figures.

python experiments/table_4_1.py --out experiments/results/table_4_1.md
"""

from _regimes_common import run

# "Prop. no errors" as printed, by method and n: one list per stage, for p = 10, 30, 50.
PAPER = {
    "rfe": {200: [[1, 1, 1], [1, 1, 0.75]], 400: [[1, 1, 1], [1, 1, 1]], 800: [[1, 1, 1], [1, 1, 1]]},
    "rfe-test": {200: [[1, 1, 1], [1, 0.95, 0.75]], 400: [[1, 1, 1], [1, 1, 1]], 800: [[1, 1, 1], [1, 1, 1]]},
    "rfe-vpred": {
        200: [[1, 0.95, 0.8], [0.8, 0.7, 0.35]],
        400: [[1, 1, 1], [1, 1, 0.85]],
        800: [[1, 1, 1], [1, 1, 1]],
    },
}

if __name__ == "__main__":
    run("I", PAPER, __doc__.splitlines()[0])
