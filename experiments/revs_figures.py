"""REVS, Table 1 and Figures 3 to 6: time, what is selected, and errors of predictions, print beside ours.

Figures 3 and 6 show fits that the benchmarks have kept; Table 1 and Figures 4 and 5 are run here. The
penalised regressions need skglm. Finished replicates are kept and not run again.

python experiments/revs_figures.py --high 3 --big 1 --out experiments/results/revs_figures
"""

import argparse
import csv
import sys
import time
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from _kept_runs import Records
from _revs_print import METHODS, MINUTES, SELECTED, SIZES, STRUCTURES

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from _tables import Fit, environment
from peers import BIGDATA, HIGHDIM
from rlselect import REVS
from rlselect.simulate import make_revs

matplotlib.rcParams["font.size"] = 8
NOISE = 2.0
EVALUATION_ROWS = 5_000
BIG_ROWS = 500_000
# the paper's words and the peers that stand for them
FEW_ROWS = {"Lasso": "lasso-cv", "Elastic": "elastic-net-cv", "SCAD": "scad", "MCP": "mcp", "REVS": "revs"}
MANY_ROWS = {
    "Lasso": "dc-lasso-cv",
    "Elastic": "dc-elastic-net",
    "SCAD": "dc-scad",
    "MCP": "dc-mcp",
    "REVS": "revs",
}
KEPT_FITS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
KEPT = {"linear": "revs_highdim_linear.csv", "logistic": "revs_highdim_logistic.csv"}
HEADINGS = {"n_selected": "selected", "tnr": "TNR %", "ppv": "PPV %", "mse": "test MSE"}


def refitted(X, y, support, fresh):
    """Predictions of least squares on the selected columns."""
    A = np.column_stack([np.ones(len(y)), X[:, support]]).astype(float)
    coef = np.linalg.solve(A.T @ A + 1e-9 * np.eye(A.shape[1]), A.T @ np.asarray(y, dtype=float))
    return coef[0] + fresh[:, support] @ coef[1:]


def scored(support, truth, residual):
    """One method's entries."""
    fit = Fit("", "", 0, 0, len(truth), False)
    fit.score(np.asarray(support, dtype=bool), truth)
    return {
        "n_selected": fit.n_selected,
        "tnr": round(100 * fit.tnr, 2),
        "ppv": round(100 * fit.ppv, 2),
        "mse": round(float(np.mean(np.square(residual))), 4),
    }


def high_dimensional(p, structure, seed):
    """Figure 4, one data set of 200 rows; each method's own predictions where it has any."""
    from sklearn.linear_model import ElasticNetCV, LassoCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    made = make_revs(200 + EVALUATION_ROWS, p, structure=structure, random_state=seed)
    X, y, fresh, new = made.X[:200], made.y[:200], made.X[200:], made.y[200:]
    out = {}
    for name, model in (
        ("Lasso", LassoCV(cv=5, max_iter=10_000)),
        ("Elastic", ElasticNetCV(l1_ratio=[0.1, 0.5, 0.9], cv=5, max_iter=10_000)),
    ):
        fitted = make_pipeline(StandardScaler(), model).fit(X, y)
        out[name] = scored(fitted[-1].coef_ != 0, made.support, new - fitted.predict(fresh))
    for name in ("SCAD", "MCP"):
        support = HIGHDIM[FEW_ROWS[name]].select(X, y, "gaussian", seed=seed)
        out[name] = scored(support, made.support, new - refitted(X, y, support, fresh))
    fitted = REVS(family="gaussian", random_state=seed).fit(X, y)
    out["REVS"] = scored(fitted.support_, made.support, new - fitted.predict(fresh))
    return out


def big_data(p, structure, seed):
    """Table 1 and Figure 5, one data set of half a million rows; all methods refitted on all rows."""
    rows = BIG_ROWS + EVALUATION_ROWS
    made = make_revs(rows, p, structure=structure, dtype=np.float32, random_state=seed)
    X, y, fresh, new = made.X[:BIG_ROWS], made.y[:BIG_ROWS], made.X[BIG_ROWS:], made.y[BIG_ROWS:]
    out = {}
    for name, key in MANY_ROWS.items():
        start = time.process_time()
        result = BIGDATA[key].measure(X, y, "gaussian", seed=seed)
        seconds = result.get("cpu_seconds", time.process_time() - start)
        residual = new - refitted(X, y, result["support"], fresh)
        out[name] = scored(result["support"], made.support, residual) | {"minutes": round(seconds / 60, 4)}
    return out


def kept(model):
    """Fits of the benchmarks: (structure, p, method) -> records."""
    names = {HIGHDIM[key].NAME: name for name, key in FEW_ROWS.items()}
    out = {}
    with (KEPT_FITS / KEPT[model]).open(newline="") as file:
        for row in csv.DictReader(file):
            kind, structure, p = row["cell"].split("-")
            name = names.get(row["method"])
            if kind == model and name in METHODS:
                record = {key: float(row[key]) for key in ("n_selected", "tnr", "ppv")}
                record |= {key: 100 * record[key] for key in ("tnr", "ppv")}
                out.setdefault((structure, int(p), name), []).append(record)
    return out


def found(records):
    """Replicates run here: (structure, p, method) -> records."""
    out = {}
    for (p, structure, _), methods in records.known.items():
        for name, record in methods.items():
            out.setdefault((structure, p, name), []).append(record)
    return out


def draw(path, title, cells, measures, printed=None, line=None):
    """Squares with bars: means and standard deviations; dots: data sets; rings: what is printed."""
    figure, axes = plt.subplots(
        len(measures),
        len(STRUCTURES),
        figsize=(9, 0.6 + 2.3 * len(measures)),
        layout="constrained",
        squeeze=False,
    )
    for row, measure in zip(axes, measures, strict=True):
        for axis, structure in zip(row, STRUCTURES, strict=True):
            for m, name in enumerate(METHODS):
                for i, p in enumerate(SIZES):
                    values = np.array([r[measure] for r in cells.get((structure, p, name), ())])
                    values = values[np.isfinite(values)]
                    x = i + 0.15 * (m - 2)
                    if len(values):
                        axis.plot(
                            np.full(len(values), x), values, ".", color=f"C{m}", alpha=0.3, markersize=3
                        )
                        spread = values.std(ddof=min(1, len(values) - 1))
                        label = name if i == 0 and axis is axes[0, 0] else None
                        axis.errorbar(x, values.mean(), spread, fmt="s", color=f"C{m}", ms=3, label=label)
                    if printed is not None:
                        shown = printed[structure, p, name][measure]
                        axis.plot(x, shown, "o", markerfacecolor="none", color=f"C{m}", markersize=6)
            if line is not None:
                axis.axhline(line, color="0.5", linestyle=":", linewidth=0.8)
            axis.set_xticks(range(len(SIZES)), [f"p = {p}" for p in SIZES])
            axis.set_title(structure if measure == measures[0] else "")
            axis.set_ylabel(HEADINGS[measure] if structure == STRUCTURES[0] else "")
    figure.suptitle(title)
    figure.legend(loc="outside lower center", ncols=len(METHODS))
    figure.savefig(path, dpi=90)
    plt.close(figure)


def entry(values, digits):
    """Mean and standard deviation, which a single value does not have."""
    spread = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}"


def rows(cells, measures):
    """Markdown rows of a group of cells: ``measures`` are keys and digits."""
    lines = []
    for structure in STRUCTURES:
        for p in SIZES:
            for name in METHODS:
                records = cells.get((structure, p, name))
                if records:
                    entries = " | ".join(entry([r[key] for r in records], n) for key, n in measures)
                    lines.append((structure, p, name, len(records), entries))
    return lines


def report(high, big, out):
    """The tables behind the pictures."""
    lines = [
        "# REVS, Table 1 and Figures 3 to 6",
        "",
        f"Made by `{__doc__.splitlines()[-1]}`, seeds from 6000 on, as many data sets as are named (the "
        f"paper: 50). {environment()}",
        "",
        "## Table 1 and Figure 5: half a million rows",
        "",
        "Processor minutes. The paper's time of REVS is that of its search; ours is the default `REVS`. Of "
        "the penalised regressions four of 400 folds are fitted and the time is multiplied by 100; the vote "
        "(80 %) is that of the four, lambda by cross-validation (lasso, elastic net) or EBIC (SCAD, MCP). "
        f"The selected columns are refitted on all rows; test MSE on {EVALUATION_ROWS:,} fresh rows (noise: "
        f"{NOISE:g}). The elastic net's first fit (block, p = 200) has the compilation of its solver in it.",
        "",
        "| structure | p | method | data sets | paper min | ours min | selected | PPV % | TNR % | test MSE |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    measures = (("minutes", 3), ("n_selected", 1), ("ppv", 1), ("tnr", 1), ("mse", 3))
    for structure, p, name, count, entries in rows(big, measures):
        shown = MINUTES[structure, p, name]["minutes"]
        lines.append(f"| {structure} | {p} | {name} | {count} | {shown:.2f} | {entries} |")
    lines += [
        "",
        "## Figure 4: 200 rows",
        "",
        f"Test MSE on {EVALUATION_ROWS:,} fresh rows (noise: {NOISE:g}): own predictions of the lasso, the "
        "elastic net (both by cross-validation) and REVS; least squares on what SCAD and MCP select (EBIC).",
        "",
        "| structure | p | method | data sets | test MSE | selected | PPV % | TNR % |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for structure, p, name, count, entries in rows(
        high, (("mse", 2), ("n_selected", 1), ("ppv", 1), ("tnr", 1))
    ):
        lines.append(f"| {structure} | {p} | {name} | {count} | {entries} |")
    lines += [
        "",
        "Figures 3 and 6 show the fits of `benchmarks/results/` "
        + " and ".join(f"`{path}` ({model})" for model, path in KEPT.items())
        + " beside Tables 2 and 3 as printed (rings).",
    ]
    (out / "README.md").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--high", type=int, default=3, help="data sets per cell of 200 rows")
    parser.add_argument("--big", type=int, default=1, help="data sets per cell of half a million rows")
    parser.add_argument("--seed", type=int, default=6000)
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="CPU seconds after which no run begins"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    big, high = Records(args.out / "big_data.jsonl"), Records(args.out / "high_dimensional.jsonl")
    with warnings.catch_warnings():
        # of lambdas at the far end of a path
        warnings.simplefilter("ignore")
        for records, one, replicates in ((high, high_dimensional, args.high), (big, big_data, args.big)):
            cells = [(p, s, args.seed + r) for r in range(replicates) for p in SIZES for s in STRUCTURES]
            records.collect(cells, one, args.seconds)
    high, big = found(high), found(big)
    report(high, big, args.out)
    for number, model, n in ((3, "linear", 200), (6, "logistic", 500)):
        title = f"Figure {number}: {model}, n = {n}; rings are the paper's means"
        path = args.out / f"figure_{number}.png"
        draw(path, title, kept(model), ("tnr", "ppv", "n_selected"), printed=SELECTED[model])
    for number, cells, n in ((4, high, "200"), (5, big, "500,000")):
        title = f"Figure {number}: linear, n = {n}; dotted: the noise"
        draw(args.out / f"figure_{number}.png", title, cells, ("mse",), line=NOISE)


if __name__ == "__main__":
    main()
