"""One trial of the fuzzer: what is drawn, how it is run, and how its outcome is judged."""

import itertools
import re
import signal
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from inputs import (
    BROKEN_CONTAINERS,
    COLUMN_FAULTS,
    CONTAINERS,
    OPTION_FAULTS,
    SPARSE,
    TARGET_FAULTS,
    WEIGHT_FAULTS,
    WEIGHTS,
    sound_columns,
    sound_target,
)
from modes import MODES, VISITS, fit_visits
from scipy import sparse

import rlselect

HOME = str(Path(rlselect.__file__).parent)
SECONDS = 30
# what differs by less than this is rounding: sums in another order, and Newton or conjugate gradient steps
# that end a little earlier or later for it; the same data again must give the same bits
SAME = 1e-6


@dataclass(frozen=True)
class Trial:
    """What is fitted to what.

    `faults` are up to two of "column: ...", "table: ...", "target: ...", "weight: ..." and
    "option: name = value"; `relation` is a change of the data that must not change the answer.
    """

    mode: str
    seed: int
    n: int
    p: int
    container: str = "array"
    weight: str | None = None
    faults: tuple[str, ...] = ()
    relation: str | None = None


def _faults(mode):
    known = [f"column: {name}" for name in COLUMN_FAULTS]
    known += [f"target: {name}" for name in TARGET_FAULTS]
    rare = [f"table: {name}" for name in BROKEN_CONTAINERS]
    if MODES[mode].weighted:
        rare += [f"weight: {name}" for name in WEIGHT_FAULTS]
    options = sorted(set(MODES[mode].make().get_params(deep=False)) - {"random_state", "n_jobs"})
    options = [f"option: {name} = {value}" for name, value in itertools.product(options, OPTION_FAULTS)]
    return st.one_of(
        st.sampled_from(known), st.sampled_from(known), st.sampled_from(rare), st.sampled_from(options)
    )


@st.composite
def trials(draw, mode):
    """A sound problem for a mode with no fault, one, or two of them."""
    n, p = draw(st.integers(8, 60)), draw(st.integers(1, 8))
    if draw(st.integers(0, 19)) == 0:
        n = draw(st.integers(1, 7))
    if draw(st.integers(0, 19)) == 0:
        # too many for REVS to visit every subset: it walks
        p = draw(st.integers(13, 20))
    number = draw(st.sampled_from([0, 0, 1, 1, 1, 2, 2]))
    faults = tuple(draw(_faults(mode)) for _ in range(number))
    weight = draw(st.sampled_from([None, *WEIGHTS])) if MODES[mode].weighted else None
    if any(f.startswith("weight") for f in faults):
        weight = None
    relation = draw(st.sampled_from([None, *sorted(MODES[mode].keeps)]))
    # a row that counts nothing may hold the fault
    if relation == "copies" and weight not in (("copies",) if faults else ("copies", "some zeros")):
        relation = "again"
    # of a broken table there are no other words, and options may name columns by their position
    if relation is not None and any(f.startswith(("table", "option")) for f in faults):
        relation = "again"
    container = draw(
        st.sampled_from(sorted(set(CONTAINERS) - (SPARSE if MODES[mode].sparse == "no" else set())))
    )
    if relation == "container" and container in SPARSE and MODES[mode].sparse == "apart":
        relation = "again"
    return Trial(mode, draw(st.integers(0, 2**20)), n, p, container, weight, faults, relation)


# ---- what is fitted ----


@dataclass
class Given:
    """Columns, target, weights and options of one fit."""

    columns: list
    y: object
    weight: object
    options: dict
    container: object


def prepare(trial):
    """Columns, target and weights of a trial, with its faults."""
    rng = np.random.default_rng(trial.seed)
    mode = MODES[trial.mode]
    columns = sound_columns(rng, trial.n, trial.p)
    if mode.target == "truths":
        y = (sound_target("numbers", columns, rng) + 2.0 * rng.standard_normal(trial.n) > 0).astype(float)
    else:
        y = sound_target(mode.target, columns, rng)
    weight = None if trial.weight is None else WEIGHTS[trial.weight](trial.n, rng)
    options, container = {}, CONTAINERS[trial.container]
    for fault in trial.faults:
        kind, name = fault.split(": ", 1)
        if kind == "column":
            COLUMN_FAULTS[name](columns, rng)
        elif kind == "target":
            y = TARGET_FAULTS[name](y, rng) if np.ndim(y) and not sparse.issparse(y) else y
        elif kind == "weight":
            weight = WEIGHT_FAULTS[name](trial.n, rng)
        elif kind == "table":
            container = BROKEN_CONTAINERS[name]
        else:
            option, value = name.split(" = ")
            options[option] = OPTION_FAULTS[value]
    return Given(columns, y, weight, options, container)


def changed(trial, given):
    """The same problem in other words, and which of the first one's columns and rows its answers are for."""
    rng = np.random.default_rng(trial.seed + 1)
    columns, y, weight = list(given.columns), given.y, given.weight
    container, order, rows = given.container, np.arange(len(columns)), np.arange(trial.n)
    if trial.relation == "rows":
        rows = rng.permutation(trial.n)
        columns, y, weight = [_rows_of(c, rows) for c in columns], _rows_of(y, rows), _rows_of(weight, rows)
    elif trial.relation == "columns":
        order = rng.permutation(len(columns))
        columns = [columns[j] for j in order]
    elif trial.relation == "copies":
        rows = np.repeat(rows, np.asarray(weight).astype(int))
        columns, y, weight = [_rows_of(c, rows) for c in columns], _rows_of(y, rows), None
    elif trial.relation == "units":
        with np.errstate(over="ignore"):
            columns = [c * 1024.0 if np.asarray(c).dtype == float else c for c in columns]
    # a category of numbers is one in a frame only
    elif trial.relation == "container" and all(
        isinstance(c, np.ndarray) and c.dtype.kind in "fi" for c in columns
    ):
        container = CONTAINERS["pandas"]
    return Given(columns, y, weight, given.options, container), order, rows


def _rows_of(values, rows):
    if (
        values is None
        or np.ndim(values) == 0
        or sparse.issparse(values)
        or len(values) <= rows.max(initial=0)
    ):
        return values
    if isinstance(values, pd.Series | pd.DataFrame):
        return values.iloc[rows].reset_index(drop=True)
    return [values[i] for i in rows] if isinstance(values, list) else np.asanyarray(values)[rows]


# ---- what came of it ----


@dataclass
class Outcome:
    """ "right", "refused" (a clear error of ours), "bad", or "void" where no table could be built."""

    verdict: str
    why: str = ""
    where: str = ""
    answer: dict | None = None


class TooLong(BaseException):
    """The fit hangs."""


def _alarm(*_):
    raise TooLong


def fit_once(mode, given):
    """Fit, ask, and judge by itself."""
    try:
        X = given.container(given.columns)
    except Exception as error:
        # no such table can be made, by NumPy, pandas or Arrow
        return Outcome("void", repr(error))
    # of the processor, since others may use the machine too; by the wall for what waits without end
    signal.signal(signal.SIGPROF, _alarm)
    signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(20 * SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for kind in (RuntimeWarning, DeprecationWarning, FutureWarning):
                warnings.simplefilter("error", kind)
            estimator, asked = mode.fit(mode.make(**given.options), X, given.y, given.weight)
            answer = {**marks_of(estimator), **mode.ask(estimator, asked)}
            str(estimator.summary())
    except TooLong:
        return Outcome("bad", f"no end after {SECONDS} s", "hang")
    except Exception as error:
        return judge_error(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    return judge_answer(estimator, answer)


def judge_error(error):
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f for f in frames if f.filename.startswith(HOME)]
    last = inside[-1] if inside else frames[-1]
    where = f"{Path(last.filename).relative_to(HOME) if inside else last.filename}:{last.lineno}"
    # NumPy's own errors come from C, and their last frame is ours: a sentence of ours is raised
    raised = frames[-1].filename.startswith(HOME) and (frames[-1].line or "").startswith("raise ")
    ours = type(error) in (ValueError, TypeError, ImportError, FileNotFoundError) and raised
    said = str(error)
    if ours and len(said.split()) >= 4:
        return Outcome("refused", said, where)
    return Outcome("bad", f"{type(error).__name__}: {re.sub(r'[0-9.e+-]{3,}', '#', said)[:160]}", where)


def marks_of(estimator):
    """What the fit says about the features, as arrays; what regimes say by stage in one piece."""
    found = {}
    for name in ("support_", "inclusion_", "ranking_"):
        value = getattr(estimator, name, None)
        if value is not None:
            found[name] = np.concatenate(value) if isinstance(value, list) else np.asarray(value)
    for name in ("coef_", "intercept_"):
        value = getattr(estimator, name, None)
        if value is not None and not hasattr(value, "columns"):
            found[name] = np.atleast_1d(np.asarray(value))
    return found


def judge_answer(estimator, answer):
    for name, values in answer.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            return Outcome("bad", f"{name} is not finite", name)
    inclusion, support, ranking = (answer.get(f"{name}_") for name in ("inclusion", "support", "ranking"))
    if inclusion is not None and not ((inclusion > -1e-9) & (inclusion < 1 + 1e-9)).all():
        return Outcome("bad", "inclusion_ is no probability", "inclusion_")
    if support is not None and support.dtype != bool:
        return Outcome("bad", "support_ is not of truth values", "support_")
    ranks = None if isinstance(getattr(estimator, "ranking_", None), list) else ranking
    if ranks is not None and sorted(ranks) != list(range(1, len(ranks) + 1)):
        return Outcome("bad", "ranking_ is no permutation", "ranking_")
    return Outcome("right", answer=answer)


def run(trial):
    """The outcome of a trial."""
    mode = MODES[trial.mode]
    try:
        given = prepare(trial)
    except Exception as error:
        # of two faults the second cannot be made after the first
        return Outcome("void", repr(error))
    first = fit_once(mode, given)
    sound = not trial.faults and trial.n >= (24 if mode.fit is not fit_visits else 2 * VISITS * (trial.p + 3))
    if mode.separable and first.verdict == "refused" and "separation" in first.why:
        return first
    if first.verdict == "refused" and "no row with a weight above zero of class" in first.why:
        # zeros among the weights have taken a rare class
        return first
    if first.verdict == "refused" and sound:
        return Outcome("bad", f"a sound problem is refused: {first.why[:160]}", first.where)
    # rows of no weight, or half of it, are fewer rows
    plain = sound and trial.n >= mode.finds and trial.weight in (None, "ones", "copies")
    if first.verdict == "right" and plain and not first.answer["support_"][0]:
        return Outcome("bad", "the one effect there is was not found", "support_")
    if first.verdict in ("void", "bad") or trial.relation is None:
        return first
    other, order, rows = changed(trial, given)
    second = fit_once(mode, other)
    if second.verdict in ("bad", "void"):
        return second
    if second.verdict != first.verdict and trial.relation == "units" and trial.faults:
        # in other units a huge number may be too large
        return first
    few = ("a class of its own", "while a minimum of", "such rows are needed", "two rows for each")
    too_few = any(words in first.why for words in few)
    if second.verdict == "right" and trial.relation == "copies" and too_few:
        # a copied row is a second one, of its class or at all
        return first
    if second.verdict != first.verdict:
        said = first.why or second.why
        return Outcome(
            "bad", f"{trial.relation}: {first.verdict}, then {second.verdict}: {said[:120]}", "relation"
        )
    return first if first.verdict == "refused" else compare(trial, given, first, second, order, rows)


def compare(trial, given, first, second, order, rows):
    """Whether two fits that must agree do."""
    inclusion = first.answer.get("inclusion_")
    for name in ("inclusion_", "support_", "predictions", "curves", "errors", "decisions", "value"):
        mine, other = first.answer.get(name), second.answer.get(name)
        if mine is None:
            continue
        if name in ("predictions", "decisions"):
            mine = mine[rows]
        elif name in ("curves", "errors"):
            if mine.shape[1] == len(order) + 1:
                mine = mine[:, [0, *(order + 1)]]
            elif trial.relation == "columns":
                # a text is several curves, one after the other
                mine, other = np.sort(mine, axis=1), np.sort(other, axis=1)
        elif name != "value" and len(mine) == len(order):
            mine = _exchanged(mine[order], given.columns, order)
            other = _exchanged(other, given.columns, order)
        if mine.shape != other.shape:
            return Outcome("bad", f"{trial.relation}: {name} differs in shape", "relation")
        if trial.relation == "again":
            close = np.array_equal(mine, other)
        elif mine.dtype.kind == "f":
            close = np.allclose(mine, other, rtol=1e-4, atol=SAME * max(1.0, np.abs(mine).max(initial=0.0)))
        else:
            # of two that say the same each is as likely as not, and rounding decides
            open_case = name == "support_" and inclusion is not None and np.abs(inclusion - 0.5)[order] < SAME
            close = bool(np.all((mine == other) | open_case))
        if not close:
            return Outcome("bad", f"{trial.relation}: {name} differs", "relation")
    return first


def _exchanged(marks, columns, order):
    """Marks of columns, sorted among those that say the same: nothing but their place tells these apart."""
    marks, groups = marks.copy(), {}
    for place, j in enumerate(order):
        groups.setdefault(_face(columns[j]), []).append(place)
    for places in groups.values():
        marks[places] = np.sort(marks[places])
    return marks


def _face(column):
    """What a linear rule sees of a column, up to rounding."""
    values = np.asarray(column)
    if values.dtype.kind not in "fiub" or not np.isfinite(values.astype(float)).all():
        return tuple(map(str, values))
    centred = values.astype(float) - values.astype(float).mean()
    size = np.abs(centred).max()
    return tuple(np.round(centred / size, 9)) if 1e-100 < size < 1e100 else tuple(values.tolist())
