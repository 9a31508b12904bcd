"""Table and figure of fits on a Dask cluster: whose processor time it was, and how often one waited."""

import numpy as np

FIELDS = ["worker_cpu", "busiest_cpu", "rounds"]
CELLS = [("strong", 500_000, 100), ("weak", 500_000, 100), ("weak", 200_000, 400)]
CELLS += [("weak, logistic", 200_000, 400)]
NOTE = """
"client" and "workers" are processor seconds, "longest" those of the client plus those of the busiest worker:
what the fit would take on processors of its own, but for waiting. "rounds" counts the times that all workers
were asked for something and waited for. "s" is by the clock, client, scheduler and workers on two processors
that others used as well.
"""


def _cells(fits):
    return list(dict.fromkeys((f["signal"], f["n"], f["p"], f["source"]) for f in fits))


def _median(fits, cell, name):
    mine = [float(f[name]) for f in fits if (f["signal"], f["n"], f["p"], f["source"]) == cell]
    return float(np.median(mine))


def table(fits):
    """One line per cell, medians over the repeats."""
    head = "signal | n | p | source | s | client | workers | longest | rounds | rows read | exact"
    lines = [f"| {head} |", "|" + "---|" * 11]
    for cell in _cells(fits):
        signal, n, p, source = cell
        mine = [f for f in fits if (f["signal"], f["n"], f["p"], f["source"]) == cell]
        longest = np.median([float(f["cpu_seconds"]) + float(f["busiest_cpu"]) for f in mine])
        shown = [
            signal,
            f"{n:,}",
            f"{p:,}",
            source,
            f"{_median(fits, cell, 'seconds'):.2f}",
            f"{_median(fits, cell, 'cpu_seconds'):.2f}",
            f"{_median(fits, cell, 'worker_cpu'):.2f}",
            f"{longest:.2f}",
            f"{_median(fits, cell, 'rounds'):.0f}",
            f"{_median(fits, cell, 'rows_read'):,.0f}",
            f"{sum(str(f['exact']) == 'True' for f in mine)}/{len(mine)}",
        ]
        lines.append("| " + " | ".join(shown) + " |")
    return "\n".join(lines)


def draw(fits, path):
    """Processor seconds of the client and of the busiest worker, a bar a cell."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    cells = _cells(fits)
    names = [f"{signal}\n{n:,} x {p}\n{source.split(', ')[1]}" for signal, n, p, source in cells]
    client = [_median(fits, cell, "cpu_seconds") for cell in cells]
    busiest = [_median(fits, cell, "busiest_cpu") for cell in cells]
    figure, axis = plt.subplots(figsize=(8, 3.2), layout="constrained")
    axis.bar(names, client, color="tab:blue", label="client")
    axis.bar(names, busiest, bottom=client, color="tab:orange", label="busiest worker")
    axis.set_ylabel("processor seconds")
    axis.tick_params(axis="x", labelsize=7)
    axis.legend(fontsize=8, frameon=False)
    plt.rcParams["svg.hashsalt"] = "rlselect"
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
