"""From long data to one dense block: times x covariates x subjects, zeros where a subject is unavailable."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect._limits import require_memory, seconds_for
from rlselect.data import Columns, Distinct, refuse_repeated_pairs, to_clock
from rlselect.temporal._coding import coding_of, plain_coding
from rlselect.temporal._formula import ModelRows, model_rows, term_name

Array = NDArray[np.float64]
# blocks of times x columns x subjects at one time, and about how many operations per number of them
_COPIES, _OPERATIONS, _OVERHEAD = 6, 40.0, 20


@dataclass(frozen=True)
class ProcessDesign:
    """Everything the estimation needs, already aligned.

    Attributes
    ----------
    x : array of shape (times, covariates, subjects)
    y, w : arrays of shape (times, subjects)
        Responses and weights; weight 0 marks an unavailable subject.
    names : covariate names, ``Intercept`` among them
    terms : name of a term -> the positions of its columns
    factors : name of a term -> the factors it is made of
    times, clock : the distinct times as given, and as numbers (days for dates)
    subjects : the distinct ids
    spec : the formula's own record of how columns were coded, or None
    text : variables of the formula that held text or categories
    """

    x: Array
    y: Array
    w: Array
    names: list[str]
    terms: dict[str, list[int]]
    factors: dict[str, frozenset[str]]
    times: NDArray[Any]
    clock: Array
    subjects: NDArray[Any]
    response: str
    spec: Any = field(default=None, repr=False)
    text: frozenset[str] = frozenset()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"spec": None if self.spec is None else plain_coding(self.spec)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        spec = state["spec"]
        self.__dict__.update(state | {"spec": None if spec is None else coding_of(spec)})

    def with_terms(self, terms: list[str]) -> "ProcessDesign":
        """The same rows with some of the terms."""
        positions = sorted(k for t in terms for k in self.terms[t])
        where = {old: new for new, old in enumerate(positions)}
        # terms, not their names: a name of a column is no formula
        coding = [] if self.spec is None else [t for t in self.spec.formula if term_name(t) in terms]
        return replace(
            self,
            x=np.ascontiguousarray(self.x[:, positions, :]),
            names=[self.names[k] for k in positions],
            terms={t: [where[k] for k in self.terms[t]] for t in terms},
            factors={t: self.factors[t] for t in terms},
            spec=None if self.spec is None else self.spec.subset(coding),
        )

    def positions(self, names: Iterable[str], role: str) -> list[int]:
        """Columns of covariates or terms, each once, in the order given; `role` is for the message."""
        found: list[int] = []
        for name in names:
            if name in self.names:
                found.append(self.names.index(name))
            elif name in self.terms:
                found.extend(self.terms[name])
            else:
                raise ValueError(
                    f"{role} names {name!r}, which is not a covariate; covariates: {', '.join(self.names)}"
                )
        return list(dict.fromkeys(found))

    def refuse_long(self, time_budget: float | None) -> None:
        """Refuse a budget that not even the estimation of the curves can keep to."""
        n_times, p, n = self.x.shape
        seconds = seconds_for(_OPERATIONS * n_times * n * p * (p + _OVERHEAD))
        if time_budget is not None and seconds > 3.0 * time_budget + 3.0:
            raise ValueError(
                f"time_budget={time_budget!r} was given; the curves of {n_times} times and {n} subjects take "
                f"some {seconds:.0f} seconds here: give more time, round the times to a coarser grid, or use "
                "a sample of the subjects."
            )

    def reweighted(self, subject_weight: Array) -> "ProcessDesign":
        """The same design with every subject's rows counted `subject_weight` times."""
        return replace(self, w=self.w * subject_weight)


def build_design(
    formula: str | None, data: Any, y: Any, *, id: Any, time: Any, sample_weight: Any, available: Any
) -> ProcessDesign:
    """Read long data; see `TemporalProcessRegression.fit` for what is accepted."""
    if isinstance(data, tuple) and len(data) == 2 and y is None:
        data, y = data
    columns = Columns(data, "data")
    subjects, moments = columns.distinct(id, "id"), columns.times(time, "time")
    weight = columns.weights(sample_weight)
    usable = np.ones(len(subjects.positions), dtype=bool)
    if available is not None:
        usable = columns.flags(available, "available")
    if weight is not None:
        usable = usable & (weight > 0)
    taken = {given for given in (id, time, sample_weight, available) if isinstance(given, str)}
    part = model_rows(formula, columns, y, usable, taken)
    refuse_repeated_pairs(subjects, moments, part.rows, "time")
    return _dense(part, subjects, moments, weight)


def _dense(part: ModelRows, subjects: Distinct, moments: Distinct, weight: Array | None) -> ProcessDesign:
    at = (moments.positions[part.rows], subjects.positions[part.rows])
    most, p = int(np.bincount(at[0]).max()), len(part.names)
    if most <= p:
        # said before a block of times x subjects is laid out that nothing could be estimated from
        raise ValueError(
            f"too few subjects: no time has more than {most} available for {p} coefficients, at least "
            f"{p + 1} are needed; if subjects hardly share a time, round the times to a grid"
        )
    times, ids = moments.values, subjects.values
    require_memory(
        8.0 * _COPIES * len(times) * (p + 2) * len(ids),
        f"{len(times)} times by {p} columns by {len(ids)} subjects, and what is computed from them,",
        "fewer times (round them to a grid), or a sample of the subjects",
    )
    x = np.zeros((len(times), p, len(ids)))
    for k in range(p):
        x[:, k, :][at] = part.x[:, k]
    y, w = np.zeros((len(times), len(ids))), np.zeros((len(times), len(ids)))
    y[at] = part.y
    w[at] = 1.0 if weight is None else weight[part.rows]
    return ProcessDesign(
        x,
        y,
        w,
        part.names,
        part.terms,
        part.factors,
        times,
        to_clock(times),
        ids,
        part.response,
        part.spec,
        part.text,
    )
