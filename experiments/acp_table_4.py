"""ACP, Table 4: the time of one run on the logistic truth as rows and columns grow.

    python experiments/acp_table_4.py --cells 'f5*' --methods acp --replicates 1 \\
        --out experiments/results/acp_table_4
    few="python experiments/acp_table_4.py --seed 1215000 --resume"
    few="$few --methods acp,acp-eager,relaxed-lasso,forward --out experiments/results/acp_table_4_few_rows"
    $few --cells '*p400-n100' --replicates 24
    $few --cells '*p?00-n100' --replicates 12

F1 stands beside the seconds. With 100 rows it also says how many of these data sets can be told from noise:
ACP answers with no variable where it cannot, and so seldom where there is nothing to find, the same columns
with the responses in another order ("noise"); the peers answer those, too. The paper times its network
predictor on a machine it does not name; ours is the default, which chooses the predictor itself, on one
thread.
"""

from dataclasses import replace
from functools import partial

import numpy as np
from _acp_common import SCORES, Cell, Column, cell, methods, parse, spread, table

ROWS = (100, 200, 300, 400, 1000, 2000)
PAPER_SECONDS = {
    50: (62, 127, 161, 194, 344, 525),
    100: (172, 250, 320, 442, 488, 713),
    200: (286, 432, 559, 803, 926, 1385),
    400: (404, 970, 1241, 1540, 1680, 2709),
}
PAPER = {
    f"f5-logistic-p{p}-n{n}": {"ACP, network": {"cpu s": str(seconds)}}
    for p, row in PAPER_SECONDS.items()
    for n, seconds in zip(ROWS, row, strict=True)
}

ANSWERS = [
    Column("answers", lambda fits, _: f"{np.mean([fit.n_selected > 0 for fit in fits]):.2f}"),
    Column("F1 of answers", lambda fits, _: _f1_of_answers(fits)),
]


def _f1_of_answers(fits):
    return spread([fit for fit in fits if fit.n_selected > 0], "f1")


def noise(n, p):
    """The cell of the same columns with nothing to find."""
    return Cell(f"noise-p{p}-n{n}", "binomial", partial(_noise, cell("logistic", n, p)))


def _noise(truth, seed):
    data = truth.make(seed)
    order = np.random.default_rng(seed).permutation(len(data.y))
    return replace(data, y=data.y[order], support=np.zeros_like(data.support))


def main():
    args = parse(__doc__, replicates=2).parse_args()
    chosen = methods("acp", "acp-eager", "revs", "relaxed-lasso", "forward", "lasso-cv", "forest")
    cells = [cell("logistic", n, p) for p in PAPER_SECONDS for n in ROWS]
    cells += [noise(ROWS[0], p) for p in PAPER_SECONDS]
    note = ["The seconds of the paper are those of the clock."]
    columns = [*SCORES, *ANSWERS]
    table(args, "ACP, Table 4: seconds of a run", cells, chosen, paper=PAPER, columns=columns, note=note)


if __name__ == "__main__":
    main()
