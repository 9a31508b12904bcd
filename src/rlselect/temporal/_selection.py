"""Backward selection of terms."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from rlselect._options import check_value, number, one_of
from rlselect.temporal._design import ProcessDesign
from rlselect.temporal._few import SmallSampleWarning
from rlselect.temporal._formula import term_text
from rlselect.temporal._hypotheses import STATISTICS, FlaggedTimeWarning, ProcessTest, Statistic

_COLUMNS = ["step", "term", "statistic", "df", "pvalue", "action"]


class TermModel(Protocol):
    """A fitted model whose terms can be tested."""

    def test(self, contrast: Any, *, kind: Statistic, n_draws: int, random_state: int | None) -> ProcessTest:
        """Test that the effect of a term is zero at all times."""


Model = TypeVar("Model", bound=TermModel)


@dataclass(frozen=True)
class Selection(Generic[Model]):
    """Outcome of backward selection.

    Attributes
    ----------
    model : the model that is left, fitted
    selected, dropped : names of terms, `dropped` in the order they went
    steps : data frame with one row per term and step: statistic, df, pvalue and what was decided
    """

    model: Model
    selected: list[str]
    dropped: list[str]
    steps: Any = field(repr=False)


def select_backward(
    model: Model,
    design: ProcessDesign,
    refit: Callable[[list[str]], Model],
    *,
    alpha: float,
    kind: Statistic,
    always_select: Sequence[str],
    n_draws: int,
    rng: np.random.Generator,
) -> Selection[Model]:
    """See `TemporalProcessRegression.backward_selection`; `refit` fits some of the terms of `design`."""
    check_value("alpha", alpha, number("a number between 0 and 1", above=0.0, below=1.0))
    check_value("kind", kind, one_of(*STATISTICS))
    for name in always_select:
        if name not in design.terms:
            raise ValueError(
                f"always_select names {name!r}, which is not a term; terms: {', '.join(design.terms)}"
            )
    terms, dropped = list(design.terms), list[str]()
    rows: list[tuple[Any, ...]] = []
    # the same draws at every step: terms of one step are compared on the same footing
    seed = int(rng.integers(2**63))
    while True:
        names = _droppable(terms, design.factors, always_select)
        if not names:
            break
        found = _test_all(model, names, kind, n_draws, seed, warn=not rows)
        worst = max(found, key=lambda name: (found[name].pvalue, -found[name].statistic))
        leaves = found[worst].pvalue > alpha
        for name, test in found.items():
            action = "drop" if leaves and name == worst else "keep"
            rows.append((len(dropped) + 1, name, test.statistic, test.df, test.pvalue, action))
        if not leaves:
            break
        terms.remove(worst)
        dropped.append(worst)
        if not terms:
            raise ValueError(
                "every term was dropped and the formula has no intercept: nothing is left to fit; "
                "add an intercept or name a term in always_select"
            )
        model = refit(terms)
    import pandas as pd

    steps = pd.DataFrame(rows, columns=_COLUMNS)
    return Selection(model, [t for t in terms if t != "Intercept"], dropped, steps)


def _droppable(
    terms: list[str], factors: dict[str, frozenset[str]], always_select: Sequence[str]
) -> list[str]:
    """Terms that may go: not the intercept, not among `always_select`, and not part of a larger term."""
    return [
        name
        for name in terms
        if name != "Intercept"
        and name not in always_select
        and not any(factors[name] < factors[other] for other in terms)
    ]


def _test_all(
    model: TermModel, names: list[str], kind: Statistic, n_draws: int, seed: int, *, warn: bool
) -> dict[str, ProcessTest]:
    out = {}
    for first, name in enumerate(names):
        with warnings.catch_warnings():
            # the flagged times are the same for every term of a step: said once
            if first or not warn:
                warnings.simplefilter("ignore", FlaggedTimeWarning)
            if not warn:
                warnings.simplefilter("ignore", SmallSampleWarning)
            out[name] = model.test(name, kind=kind, n_draws=n_draws, random_state=seed)
    return out


def reduced_formula(formula: str, terms: Iterable[Any]) -> str:
    """The formula of some of a model's terms (the formula library's objects), the same response before it."""
    written = [term_text(term) for term in terms]
    right = " + ".join(["1" if "1" in written else "0", *(text for text in written if text != "1")])
    return f"{formula.split('~')[0].strip()} ~ {right}"
