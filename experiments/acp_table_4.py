"""ACP, Table 4: the time of one run on the logistic truth as rows and columns grow.

    python experiments/acp_table_4.py --methods acp --replicates 1 --out experiments/results/acp_table_4
    python experiments/acp_table_4.py --cells '*p?00-n100' --replicates 24 --seed 946000 \\
        --out experiments/results/acp_table_4_few_rows
    python experiments/acp_table_4.py --cells '*p400-n100' --replicates 60 --seed 946000 --resume \\
        --methods acp,relaxed-lasso,forward --out experiments/results/acp_table_4_few_rows

F1 stands beside the seconds. With 100 rows it also says how many of these data sets can be told from noise:
ACP answers with no variable where it cannot, the peers always choose. The paper times its network predictor
on a machine it does not name; ours is the default, which chooses the predictor itself, on one thread.
"""

from _acp_common import SCORES, cell, methods, parse, table

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


def main():
    args = parse(__doc__, replicates=2).parse_args()
    chosen = methods("acp", "acp-eager", "revs", "relaxed-lasso", "forward", "lasso-cv", "forest")
    cells = [cell("logistic", n, p) for p in PAPER_SECONDS for n in ROWS]
    note = ["The seconds of the paper are those of the clock."]
    table(args, "ACP, Table 4: seconds of a run", cells, chosen, paper=PAPER, columns=SCORES, note=note)


if __name__ == "__main__":
    main()
