"""From long data to one dense block: times x covariates x subjects, zeros where a subject is unavailable."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import present_clock
from rlselect._limits import require_memory, seconds_for
from rlselect.data import Columns, Distinct
from rlselect.temporal._coding import coding_of, plain_coding
from rlselect.temporal._dropout import Dropout, fit_dropout, history_block, is_names
from rlselect.temporal._formula import ModelRows, model_rows, term_name
from rlselect.temporal._in_time import subjects_in_time
from rlselect.temporal._visits import PlacedRows, Schedule, only_used, place_rows

Array = NDArray[np.float64]
# numbers of times x columns x subjects up to which influence functions are held: beyond, they are worked out
# anew for some times whenever they are needed
HELD = 2**25
# blocks of that size at one time, and about how many operations per number of them
_COPIES, _OPERATIONS, _OVERHEAD = 4, 40.0, 20


@dataclass(frozen=True)
class ProcessDesign:
    """Everything the estimation needs, already aligned.

    Attributes
    ----------
    x : array of shape (times, covariates, units)
        A unit is a subject, or one visit of a subject where several count at one time.
    y, w : arrays of shape (times, units)
        Responses and weights; weight 0 marks an unavailable unit.
    names : covariate names, ``Intercept`` among them
    terms : name of a term -> the positions of its columns
    factors : name of a term -> the factors it is made of
    times, clock : the distinct times as given, and as numbers (days for dates)
    subjects : the distinct ids
    spec : the formula's own record of how columns were coded, or None
    text : variables of the formula that held text or categories
    clusters, n_clusters : array of shape (units,), the independent cluster of each unit, and how many there
        are; None where units are independent
    offset : array of shape (times, units), known part of the linear predictor, or None
    dropout : model of staying whose weights are in `w`, or None
    distance : array of shape (times, units), how far after a time a visit is, in widths of the window, where
        visits count by their nearness; None elsewhere
    ends : times between which curves are told, as numbers: the outer edges of bins; None for the first time
        and the last
    n_given : how many subjects there were, where time was too short for all of them; None else
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
    clusters: NDArray[np.intp] | None = None
    n_clusters: int | None = None
    offset: Array | None = None
    dropout: Dropout | None = None
    distance: Array | None = None
    ends: tuple[float, float] | None = None
    n_given: int | None = None

    def n_effective(self, w: Array | None = None) -> Array:
        """Independent units of equal weight with as much information as those at each time, (times,)."""
        own = self.gather(self.w if w is None else w)
        total = (own**2).sum(axis=1)
        return own.sum(axis=1) ** 2 / np.where(total > 0, total, 1.0)

    @property
    def n_independent(self) -> int:
        """Independent units: clusters, or subjects."""
        return self.x.shape[2] if self.n_clusters is None else self.n_clusters

    @property
    def is_grouped(self) -> bool:
        """Whether several subjects are one independent unit."""
        return self.n_independent != len(self.subjects)

    def gather(self, values: Array) -> Array:
        """Sums over the units of a cluster, along the last axis."""
        if self.clusters is None:
            return values
        out = np.zeros((*values.shape[:-1], self.n_independent))
        order = np.argsort(self.clusters, kind="stable")
        present, starts = np.unique(self.clusters[order], return_index=True)
        out[..., present] = np.add.reduceat(values[..., order], starts, axis=-1)
        return out

    def gather_psi(self, psi: Array) -> Array:
        """Influence functions of clusters, whose mean is the mean of those of the units."""
        return self.gather(psi) * (self.n_independent / psi.shape[-1]) if self.clusters is not None else psi

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

    def at_times(self, times: slice | NDArray[np.intp]) -> "ProcessDesign":
        """Some of the times, without copies where they are a slice."""
        return replace(
            self,
            x=self.x[times],
            y=self.y[times],
            w=self.w[times],
            times=self.times[times],
            clock=self.clock[times],
            offset=None if self.offset is None else self.offset[times],
            distance=None if self.distance is None else self.distance[times],
        )

    def reweighted(self, subject_weight: Array) -> "ProcessDesign":
        """The same design with the rows of every independent unit counted `subject_weight` times."""
        weight = subject_weight if self.clusters is None else subject_weight[self.clusters]
        return replace(self, w=self.w * weight)

    def bending(self, steady: Sequence[int] = ()) -> "ProcessDesign | None":
        """With effects that are quadratic in time within the window of local estimation, but `steady` ones.

        The covariates come first, then each times the distance, then each times its square.
        """
        if self.distance is None:
            return None
        free = [k for k in range(len(self.names)) if k not in steady]
        near, bent = self.x[:, free], self.distance[:, None, :]
        return replace(
            self,
            x=np.concatenate([self.x, near * bent, near * bent**2], axis=1),
            names=[*self.names, *(f"{self.names[k]}, {part}" for part in ("slope", "bend") for k in free)],
            spec=None,
            distance=None,
        )


@dataclass(frozen=True)
class LongData:
    """What `fit` was given: a table, and which of its columns (or which arrays) have which role."""

    data: Any
    y: Any
    id: Any
    time: Any
    sample_weight: Any = None
    available: Any = None
    offset: Any = None
    cluster: Any = None
    dropout: Sequence[str] | None = None
    dropout_quantile: float = 1.0

    def named(self) -> set[str]:
        """Columns that have a role."""
        given = (self.id, self.time, self.sample_weight, self.available, self.offset, self.cluster)
        return {role for role in given if isinstance(role, str)}


def build_design(formula: str | None, long: LongData, schedule: Schedule) -> ProcessDesign:
    """Read long data; see `TemporalProcessRegression.fit` for what is accepted."""
    data, y = long.data, long.y
    if isinstance(data, tuple) and len(data) == 2 and y is None:
        data, y = data
    columns = Columns(data, "data")
    subjects, moments = columns.distinct(long.id, "id"), columns.times(long.time, "time")
    weight = columns.weights(long.sample_weight)
    usable = np.ones(len(subjects.positions), dtype=bool)
    if long.available is not None:
        usable = columns.flags(long.available, "available")
    if weight is not None:
        usable = usable & (weight > 0)
    offset = None if long.offset is None else columns.numbers(long.offset, "offset")
    if offset is not None:
        if np.isinf(offset).any():
            raise ValueError("offset holds infinite values; make them missing.")
        usable = usable & ~np.isnan(offset)
    groups = None if long.cluster is None else columns.distinct(long.cluster, "cluster")
    part = model_rows(formula, columns, y, usable, long.named())
    given = len(subjects.values)
    part, subjects = subjects_in_time(part, schedule, subjects, moments, present_clock().left)
    counted = np.ones(len(part.rows)) if weight is None else weight[part.rows]
    placed = only_used(place_rows(schedule, part.rows, counted, subjects, moments))
    design = _dense(part, placed, subjects.values, None if offset is None else offset[part.rows])
    if long.dropout is not None:
        design = _with_dropout(design, long, columns, part, placed)
    if len(subjects.values) < given:
        design = replace(design, n_given=given)
    if groups is not None:
        of_subject, n_clusters = _clusters(groups, subjects), len(groups.values)
        if len(subjects.values) < given:
            own, of_subject = np.unique(of_subject, return_inverse=True)
            n_clusters = len(own)
        return _clustered(design, of_subject, n_clusters, placed.owner)
    if placed.owner is None:
        return design
    return replace(design, clusters=placed.owner, n_clusters=len(subjects.values))


def _with_dropout(
    design: ProcessDesign, long: LongData, columns: Columns, part: ModelRows, placed: PlacedRows
) -> ProcessDesign:
    """The design with rows weighted by the inverse of the probability that their subject is still there."""
    names = long.dropout
    if names is None or not is_names(names):
        raise TypeError(f"dropout={names!r} was given; it must be a list of names of columns.")
    period, who, row = placed.seen or (placed.time, placed.unit, placed.row)
    shape = (
        len(design.times) if placed.when is None else int(period.max(initial=0)) + 1,
        len(design.subjects),
    )
    seen, told = np.zeros(shape, dtype=bool), np.ones(shape, dtype=bool)
    seen[period, who] = True
    live, clock = seen, design.clock
    if placed.told is not None:
        told[period, who] = placed.told
    if placed.when is None:
        live = np.zeros(shape, dtype=bool)
        live[placed.time, placed.unit] = True
    else:
        # whether a subject has a next row is asked when it has the row before
        clock = np.full(shape, np.nan)
        before = period < shape[0] - 1
        clock[period[before] + 1, who[before]] = placed.when[before]
    block = history_block(columns.matrix(names, "dropout")[part.rows][row], period, who, shape)
    found = fit_dropout(block, live, seen, clock, list(names), told, long.dropout_quantile)
    if placed.period is not None:
        owner = placed.unit if placed.owner is None else placed.owner[placed.unit]
        found = found.at_places(placed.time, placed.unit, placed.period, owner, design.w.shape)
    return replace(design, w=design.w * found.weights, dropout=found)


def _clustered(
    design: ProcessDesign, of_subject: NDArray[np.intp], n_clusters: int, owner: NDArray[np.intp] | None
) -> ProcessDesign:
    """The design with clusters of subjects as its independent units."""
    stays = None if design.dropout is None else design.dropout.of_clusters(of_subject, n_clusters)
    clusters = of_subject if owner is None else of_subject[owner]
    return replace(design, clusters=clusters, n_clusters=n_clusters, dropout=stays)


def _clusters(groups: Distinct, subjects: Distinct) -> NDArray[np.intp]:
    """The cluster of each subject."""
    of_subject = np.zeros(len(subjects.values), dtype=np.intp)
    mine = subjects.positions >= 0
    places, own = subjects.positions[mine], groups.positions[mine]
    of_subject[places] = own
    changed = of_subject[places] != own
    if changed.any():
        who = subjects.values[places[changed][0]]
        raise ValueError(f"Subject {who!s} is in more than one cluster; a subject's cluster must not change.")
    return of_subject


def _dense(
    part: ModelRows, placed: PlacedRows, subjects: NDArray[Any], offset: Array | None
) -> ProcessDesign:
    times, p = placed.times, len(part.names)
    n = len(subjects) if placed.owner is None else len(placed.owner)
    most = int(np.bincount(placed.time).max()) if len(placed.time) else 0
    if most <= p:
        # said before a block of times x subjects is laid out that nothing could be estimated from
        raise ValueError(
            f"too few subjects: no time has more than {most} available for {p} coefficients, at least "
            f"{p + 1} are needed; if subjects hardly share a time, set visits to 'carry', 'bin' or 'local'"
        )
    size = len(times) * p * n
    require_memory(
        8.0 * (len(times) * (p + 3) * n + _COPIES * min(size, HELD)),
        f"{len(times)} times by {p} columns by {n} subjects, and what is computed from them,",
        "fewer times (visits='bin'), or a sample of the subjects",
    )

    def block(values: Array) -> Array:
        out = np.zeros((len(times), n))
        placed.put(values, out, slice(0, len(values)))
        return out

    x = np.zeros((len(times), p, n))
    for stretch, some in part.covariates():
        for k in range(p):
            placed.put(some[:, k], x[:, k, :], stretch)
    return ProcessDesign(
        x,
        block(part.y),
        placed.weights((len(times), n)),
        part.names,
        part.terms,
        part.factors,
        times,
        placed.clock,
        subjects,
        part.response,
        part.spec,
        part.text,
        offset=None if offset is None else block(offset),
        distance=None
        if placed.distance is None
        else replace(placed, weight=placed.distance).weights((len(times), n)),
        ends=placed.ends,
    )
