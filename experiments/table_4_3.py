"""Table 4.3: selected history columns in setting III, ours beside the dissertation's methods and figures.

python experiments/table_4_3.py --out experiments/results/table_4_3.md
"""

from _regimes_common import run

# "Prop. no errors" as printed, by method and n: one list per stage, for p = 10, 30, 50.
PAPER = {
    "rfe": {
        200: [[1, 0.95, 0.9], [0.95, 0.9, 0.4], [0.7, 0.8, 0.25]],
        400: [[1, 1, 1], [1, 1, 1], [0.75, 1, 1]],
        800: [[1, 1, 1], [1, 1, 1], [0.7, 1, 1]],
    },
    "rfe-test": {
        200: [[0.95, 0.85, 0.75], [0.95, 0.7, 0.55], [0.6, 0.5, 0.25]],
        400: [[1, 0.95, 0.95], [1, 0.95, 0.9], [0.65, 0.8, 0.75]],
        800: [[1, 1, 1], [1, 1, 1], [0.65, 1, 1]],
    },
    "rfe-vpred": {
        200: [[0.9, 0.8, 0.6], [0.9, 0.4, 0.25], [0.9, 0.1, 0]],
        400: [[1, 1, 0.95], [1, 0.8, 0.15], [1, 0.2, 0.1]],
        800: [[1, 1, 1], [1, 1, 0.8], [1, 0.6, 0.2]],
    },
}

if __name__ == "__main__":
    run("III", PAPER, __doc__.splitlines()[0])
