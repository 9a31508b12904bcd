"""Table 4.2: selected history columns in setting II, ours beside the dissertation's methods and figures.

python experiments/table_4_2.py --out experiments/results/table_4_2.md
"""

from _regimes_common import run

# "Prop. no errors" as printed, by method and n: one list per stage, for p = 10, 30, 50.
PAPER = {
    "rfe": {200: [[1, 1, 0.95], [0, 0.55, 0.3]], 400: [[1, 1, 1], [0, 1, 0.85]], 800: [[1, 1, 1], [0, 1, 1]]},
    "rfe-test": {
        200: [[1, 1, 0.95], [1, 0.6, 0.35]],
        400: [[1, 1, 1], [1, 1, 0.85]],
        800: [[1, 1, 1], [1, 1, 0.95]],
    },
    "rfe-vpred": {
        200: [[0.8, 0.35, 0.15], [0.45, 0.25, 0]],
        400: [[0.9, 0.8, 0.5], [0.65, 0.4, 0.1]],
        800: [[1, 1, 0.9], [0.7, 0.55, 0.35]],
    },
}

if __name__ == "__main__":
    run("II", PAPER, __doc__.splitlines()[0])
