"""ACP, Figure 4: score of a Gaussian SVM against the number of columns, on four public data sets.

    RLSELECT_DATA=folder python experiments/acp_figure_4.py --replicates 1 --seed 3000 \\
        --out experiments/results/acp_figure_4

The paper draws the curves without printing numbers. The protocol is written at the head of
``benchmarks/_real.py``: cross-validated on the rows that ranked, as in the paper, and held-out beside it.
Columns are standardised; Spambase is log(1 + x) first. Rows are all the public ones.
"""

from fnmatch import fnmatch

from _acp_common import RANKINGS, parse

from _real import FAMILIES, Book, collect

SIZES = {
    "spambase": [3, 6, 10, 15, 20, 30, 57],
    "communities_crime": [3, 6, 10, 20, 30, 50, 100],
    "madelon": [3, 6, 10, 15, 20, 30, 50, 100],
    "cnae9": [10, 20, 40, 80, 120, 200, 400],
}
SCALING = {"spambase": "log"}
RANKED = ("acp", "lasso-bic", "lasso-cv", "l1-logistic", "l2-logistic", "forest")


def markdown(args, book):
    lines = [
        "# ACP, Figure 4: score against the number of columns",
        "",
        f"Seeds {args.seed}-{args.seed + args.replicates - 1}, mean ± standard deviation in percent "
        "(accuracy; R^2 for communities_crime). Made by `"
        + " ".join(__doc__.split("\n\n")[1].replace("\\", "").split())
        + "`. "
        + " ".join(__doc__.split("\n\n")[-1].split()),
    ]
    for data, sizes in SIZES.items():
        found = list(dict.fromkeys(s.method for s in book.of(data=data)))
        if not found:
            continue
        for way in ("cv", "held-out"):
            lines += ["", f"## {data}, {way}", "", f"| ranking | {' | '.join(map(str, sizes))} | cpu s |"]
            lines += ["|---|" + "---:|" * (len(sizes) + 1)]
            for method in found:
                where = {"data": data, "method": method, "rows": way}
                entries = [book.entry(k=k, **where) for k in sizes]
                lines.append(f"| {method} | {' | '.join(entries)} | {book.seconds(**where)} |")
    return "\n".join(lines) + "\n"


def draw(book, path):
    """Four panels, mean curves: full lines held-out, dotted ones cross-validated."""
    import matplotlib
    import numpy as np

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "rlselect", "svg.fonttype": "none"})
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 6.5), layout="constrained")
    colours = {}
    for axis, (data, sizes) in zip(axes.flat, SIZES.items(), strict=True):
        for method in dict.fromkeys(s.method for s in book.of(data=data)):
            colour = colours.setdefault(method, f"C{len(colours)}")
            for way, style in (("held-out", "-"), ("cv", ":")):
                groups = [book.of(data=data, method=method, rows=way, k=k) for k in sizes]
                values = [np.mean([s.score for s in g]) if g else np.nan for g in groups]
                label = method if way == "held-out" else None
                axis.plot(sizes, values, style, color=colour, marker=".", label=label)
        axis.set(title=data, xlabel="columns", ylabel="R²" if FAMILIES[data] == "gaussian" else "accuracy")
        axis.set_xscale("log")
        if axis.has_data():
            axis.legend(fontsize="x-small")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main():
    args = parse(__doc__, replicates=3).parse_args()
    book = Book(args.out.with_suffix(".csv") if args.out else None, resume=args.resume)

    def report():
        if args.out:
            args.out.with_suffix(".md").write_text(markdown(args, book))

    chosen = {k: RANKINGS[k] for k in RANKED if any(fnmatch(k, p) for p in args.methods.split(","))}
    cells = [
        (data, SCALING.get(data, "standard"), sizes)
        for data, sizes in SIZES.items()
        if any(fnmatch(data, p) for p in args.cells.split(","))
    ]
    collect(args, book, chosen, cells, report)
    report()
    if args.out:
        draw(book, args.out.with_suffix(".svg"))
    print(markdown(args, book))


if __name__ == "__main__":
    main()
