"""Cells and columns of the tables about the Actor-Critic-Predictor."""

from functools import partial

from _runner import Cell
from _tables import Column, median, spread
from rlselect.simulate import make_acp

NAMES = ("linear", "correlated", "interaction", "network", "logistic", "multiclass")
FAMILY = {
    "linear": "gaussian",
    "correlated": "gaussian",
    "interaction": "gaussian",
    "network": "gaussian",
    "logistic": "binomial",
    "multiclass": "multinomial",
}

SCORES = [
    Column("runs", lambda fits, _: str(len(fits))),
    Column("accuracy", lambda fits, _: spread(fits, "accuracy")),
    Column("precision", lambda fits, _: spread(fits, "ppv")),
    Column("recall", lambda fits, _: spread(fits, "tpr")),
    Column("F1", lambda fits, _: spread(fits, "f1")),
    Column("cpu s", lambda fits, _: median(fits, "cpu_seconds")),
]


def cell(function, n, p):
    """A cell named by its function, columns and rows, e.g. ``f3-interaction-p50-n200``."""
    name = f"f{NAMES.index(function) + 1}-{function}-p{p}-n{n}"
    return Cell(name, FAMILY[function], partial(_data, function, n, p))


def _data(function, n, p, seed):
    return make_acp(n, p, function=function, random_state=seed)
