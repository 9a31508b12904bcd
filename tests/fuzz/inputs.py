"""Tables, targets and weights, sound and broken: what a trial of the fuzzer is made of."""

import decimal
import fractions

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

# ---- columns ----


def sound_columns(rng, n, p):
    """Columns of several kinds; the first is a plain number, which the target follows."""
    kinds = ("normal", "normal", "whole", "truth", "skewed")
    columns = [rng.standard_normal(n)]
    for _ in range(p - 1):
        kind = kinds[rng.integers(len(kinds))]
        if kind == "normal":
            columns.append(rng.standard_normal(n) * 10.0 ** rng.integers(-2, 3) + rng.integers(-5, 6))
        elif kind == "whole":
            columns.append(rng.integers(0, 4, n).astype(float))
        elif kind == "truth":
            columns.append(rng.integers(0, 2, n).astype(float))
        else:
            columns.append(np.exp(rng.standard_normal(n)))
    return columns


def _cell(value):
    def break_it(columns, rng):
        j, i = rng.integers(len(columns)), rng.integers(len(columns[0]))
        columns[j] = np.array(columns[j])
        if columns[j].dtype.kind == "f":
            columns[j][i] = value

    return break_it


def _replace(make):
    def break_it(columns, rng):
        j, n = rng.integers(len(columns)), len(columns[0])
        old = columns[j]
        # a column that another fault has made of something else than numbers is drawn anew
        is_number = isinstance(old, np.ndarray) and old.dtype.kind in "fiub"
        columns[j] = make(n, rng, old if is_number else rng.standard_normal(n))

    return break_it


def _nearly(column):
    """Numbers with a rounding error; of anything else a copy."""
    numbers = isinstance(column, np.ndarray) and column.dtype.kind in "fiu"
    return column * (1 + 1e-12) if numbers else column.copy()


def _ids(columns, rng):
    n = len(columns[0])
    for k in range(min(3, len(columns))):
        columns[-1 - k] = (k + 1.0) * np.arange(n) + 1000.0 * k


def _objects(make):
    # by way of a series: NumPy would make more dimensions of lists and tuples
    return _replace(lambda n, rng, old: pd.Series([make(i, rng) for i in range(n)], dtype=object).to_numpy())


def _series(make):
    return _replace(lambda n, rng, old: pd.Series(make(n, rng)))


# name -> a function that changes the list of columns in place
COLUMN_FAULTS = {
    "a cell of NaN": _cell(np.nan),
    "a cell of infinity": _cell(np.inf),
    "a cell of 1e150": _cell(1e150),
    "a cell of -1e200": _cell(-1e200),
    "a cell of 1e308": _cell(1e308),
    "a cell of 1e16": _cell(1e16),
    "a cell of 1e-320": _cell(1e-320),
    "a constant column": _replace(lambda n, rng, old: np.full(n, 3.7)),
    "a column of zeros": _replace(lambda n, rng, old: np.zeros(n)),
    "a column that varies once": _replace(lambda n, rng, old: np.eye(1, n)[0]),
    "a column of NaN": _replace(lambda n, rng, old: np.full(n, np.nan)),
    "a denormal column": _replace(lambda n, rng, old: rng.integers(0, 9, n) * 5e-324),
    "a column of 1e-200": _replace(lambda n, rng, old: 1e-200 * rng.standard_normal(n)),
    "a column of 1e200": _replace(lambda n, rng, old: 1e200 * rng.standard_normal(n)),
    "a column of 1e300": _replace(lambda n, rng, old: 1e300 * rng.standard_normal(n)),
    "a column far from zero": _replace(lambda n, rng, old: 1e12 + rng.standard_normal(n)),
    "a column of both sizes": _replace(lambda n, rng, old: 10.0 ** rng.integers(-200, 200, n)),
    "a repeated column": lambda columns, rng: columns.__setitem__(-1, columns[0].copy()),
    "a nearly repeated column": lambda columns, rng: columns.__setitem__(-1, _nearly(columns[0])),
    "collinear ids": _ids,
    "a text column": _objects(lambda i, rng: "abc"[rng.integers(3)]),
    "a text column of one level": _objects(lambda i, rng: "only"),
    "a text column of ids": _objects(lambda i, rng: f"row {i}"),
    "a text column with gaps": _objects(lambda i, rng: ["a", "b", None][rng.integers(3)]),
    "a column of Nones": _objects(lambda i, rng: None),
    "a mixed column": _objects(lambda i, rng: [1.5, "b"][i % 2]),
    "a column of lists": _objects(lambda i, rng: [i]),
    "a column of dicts": _objects(lambda i, rng: {"a": i}),
    "a column of huge whole numbers": _objects(lambda i, rng: 2**70 + i),
    "a column of decimals": _objects(lambda i, rng: decimal.Decimal(int(rng.integers(9))) / 3),
    "a column of truth and numbers": _objects(lambda i, rng: [True, 2.5][i % 2]),
    "a column of bytes": _objects(lambda i, rng: b"ab"[i % 2 :]),
    "a column of dates": _replace(
        lambda n, rng, old: np.datetime64("2020-01-01") + np.arange(n).astype("m8[D]")
    ),
    "a complex column": _replace(lambda n, rng, old: old.astype(complex) + 1j),
    "a column of truth values": _replace(lambda n, rng, old: rng.integers(0, 2, n).astype(bool)),
    "a column of float32": _replace(lambda n, rng, old: rng.standard_normal(n).astype(np.float32)),
    "a column of float16": _replace(lambda n, rng, old: rng.standard_normal(n).astype(np.float16)),
    "a column of int64 at its end": _replace(lambda n, rng, old: np.iinfo(np.int64).max - np.arange(n)),
    "a column of uint8": _replace(lambda n, rng, old: rng.integers(0, 256, n).astype(np.uint8)),
    "a big-endian column": _replace(lambda n, rng, old: old.astype(">f8")),
    "a column of long doubles": _replace(lambda n, rng, old: old.astype(np.longdouble)),
    "a column of zeros of both signs": _replace(lambda n, rng, old: np.where(rng.random(n) < 0.5, 0.0, -0.0)),
    "a column of 1 and its neighbour": _replace(
        lambda n, rng, old: np.where(rng.random(n) < 0.5, 1.0, np.nextafter(1.0, 2.0))
    ),
    "a column that is the sum of others": lambda columns, rng: columns.__setitem__(
        -1, np.sum([np.asarray(c, dtype=float) for c in columns if np.asarray(c).dtype.kind == "f"], axis=0)
    ),
    "a column of fractions": _objects(lambda i, rng: fractions.Fraction(int(rng.integers(9)), 7)),
    "a column of numbers as text": _objects(lambda i, rng: str(float(rng.integers(9)))),
    "a column of odd texts": _objects(lambda i, rng: ["\x1b[31m", "\u202e", "", "\n", "é"][rng.integers(5)]),
    "a column of NaN and text": _objects(lambda i, rng: ["a", "b", np.nan][rng.integers(3)]),
    "a column of tuples": _objects(lambda i, rng: (i, 1)),
    "a column of pd.NA": _objects(lambda i, rng: [1.0, 2.0, pd.NA][rng.integers(3)]),
    "a category": _series(lambda n, rng: pd.Categorical(np.array(list("abc"))[rng.integers(0, 3, n)])),
    "an ordered category with unused levels": _series(
        lambda n, rng: pd.Categorical(
            np.array(list("ab"))[rng.integers(0, 2, n)], categories=list("zab"), ordered=True
        )
    ),
    "a category of numbers": _series(lambda n, rng: pd.Categorical(rng.integers(0, 3, n))),
    "a category with gaps": _series(
        lambda n, rng: pd.Categorical(np.array(["a", "b", None], dtype=object)[rng.integers(0, 3, n)])
    ),
    "nullable whole numbers": _series(lambda n, rng: pd.array(rng.integers(0, 5, n), dtype="Int64")),
    "nullable whole numbers with gaps": _series(
        lambda n, rng: pd.array(
            [None if i % 5 == 1 else int(i) for i in rng.integers(0, 9, n)], dtype="Int64"
        )
    ),
    "nullable numbers": _series(lambda n, rng: pd.array(rng.standard_normal(n), dtype="Float64")),
    "nullable truth with gaps": _series(
        lambda n, rng: pd.array([[True, False, None][i] for i in rng.integers(0, 3, n)], dtype="boolean")
    ),
    "strings of pandas": _series(
        lambda n, rng: pd.array([["a", "b", None][i] for i in rng.integers(0, 3, n)], dtype="string")
    ),
    "dates with a zone": _series(lambda n, rng: pd.date_range("2020-01-01", periods=n, tz="UTC")),
    "dates with a gap": _series(
        lambda n, rng: pd.DatetimeIndex([pd.NaT, *pd.date_range("2020", periods=n - 1)])
    ),
    "periods": _series(lambda n, rng: pd.period_range("2020-01", periods=n, freq="M")),
    "time spans": _replace(lambda n, rng, old: np.arange(n).astype("m8[s]")),
    "intervals": _series(lambda n, rng: pd.interval_range(0, n)),
    "sparse of pandas": _series(lambda n, rng: pd.arrays.SparseArray(rng.integers(0, 2, n).astype(float))),
}

# ---- containers ----


def _array(columns):
    return np.column_stack([np.asarray(c) for c in columns])


def _frame(columns, names=None):
    names = names or [f"c{j}" for j in range(len(columns))]
    return pd.DataFrame(dict(zip(names, columns, strict=True)))


def _polars(columns):
    return pl.DataFrame({f"c{j}": c for j, c in enumerate(columns)}, strict=False)


def _arrow(columns):
    return pa.table({f"c{j}": pa.array(c) for j, c in enumerate(columns)})


def _twice_named(columns):
    frame = _frame(columns)
    frame.columns = ["c0"] * len(columns)
    return frame


def _out_of_range(columns):
    X = sparse.csr_array(_array(columns).astype(float))
    X.indices = X.indices.copy()
    if len(X.indices):
        X.indices[-1] = X.shape[1] + 10**6
    return X


def _bad_pointers(columns):
    X = sparse.csr_array(_array(columns).astype(float))
    X.indptr = X.indptr.copy()
    X.indptr[1] = 10**6
    return X


def _negative_index(columns):
    X = _csr(columns)
    X.indices = X.indices.copy()
    X.indices[:1] = -1
    return X


def _falling_pointers(columns):
    X = _csr(columns)
    X.indptr = X.indptr.copy()
    X.indptr[1:-1] = X.indptr[1:-1][::-1].copy()
    return X


def _in_two_halves(columns):
    """Each cell stored twice, as a half and the rest of it, in no order."""
    X = sparse.coo_array(_csr(columns))
    row, col = np.tile(X.row, 2), np.tile(X.col, 2)
    # of the smallest numbers no half is exact, and infinity has no rest
    rest = np.subtract(X.data, X.data / 2, out=X.data / 2, where=np.isfinite(X.data))
    data = np.concatenate([X.data / 2, rest])
    turned = np.argsort(-col, kind="stable")
    order = turned[np.argsort(row[turned], kind="stable")]
    pointers = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=X.shape[0]))])
    return sparse.csr_matrix((data[order], col[order], pointers), shape=X.shape)


def _turned_index(columns):
    frame = _frame(columns)
    frame.index = frame.index[::-1]
    return frame


def _named_by(name):
    return lambda columns: _frame(columns, [name(j) for j in range(len(columns))])


def _many_names(columns):
    frame = _frame(columns)
    frame.columns = pd.MultiIndex.from_tuples([("top", f"c{j}") for j in range(len(columns))])
    return frame


def _csr(columns):
    return sparse.csr_array(_array(columns).astype(float))


def _masked(columns):
    X = _array(columns).astype(float)
    return np.ma.masked_array(X, mask=np.zeros(X.shape, bool))


# what any estimator of tables must read as it reads the array
CONTAINERS = {
    "array": _array,
    "Fortran array": lambda columns: np.asfortranarray(_array(columns)),
    "list": lambda columns: _array(columns).tolist(),
    "objects": lambda columns: _array(columns).astype(object),
    "matrix": lambda columns: np.matrix(_array(columns)),
    "masked": _masked,
    "pandas": _frame,
    "polars": _polars,
    "arrow": _arrow,
    "CSR": _csr,
    "CSC": lambda columns: sparse.csc_matrix(_csr(columns)),
    "COO": lambda columns: sparse.coo_array(_csr(columns)),
    "CSR in halves": _in_two_halves,
    "pandas, turned index": _turned_index,
    "big-endian array": lambda columns: _array(columns).astype(">f8"),
    "every other row of an array": lambda columns: np.repeat(_array(columns), 2, axis=0)[::2],
}
SPARSE = {"CSR", "CSC", "COO", "CSR in halves"}
BROKEN_CONTAINERS = {
    "CSR with an index out of range": _out_of_range,
    "CSR with a pointer out of range": _bad_pointers,
    "CSR with a negative index": _negative_index,
    "CSR with falling pointers": _falling_pointers,
    "one name for all columns": _twice_named,
    "names on two levels": _many_names,
    "names of control characters": _named_by(lambda j: f"\x1b[3{j % 8}m\r\n{j}\x00"),
    "names that turn the line": _named_by(lambda j: f"\u202e{j}\u2066é漢"),
    "names of spaces": _named_by(lambda j: " " * (j + 1)),
    "an empty name": _named_by(lambda j: f"{j}" if j else ""),
    "lone surrogates as names": _named_by(lambda j: f"\ud800{j}"),
    "very long names": _named_by(lambda j: f"{j}" * 10_000),
    "None as a name": _named_by(lambda j: j or None),
    "NaN as a name": _named_by(lambda j: j or np.nan),
    "dates as names": _named_by(lambda j: pd.Timestamp("2020-01-01") + pd.Timedelta(days=j)),
    "a frame without rows": lambda columns: _frame(columns).iloc[:0],
    "a frame without columns": lambda columns: pd.DataFrame(index=range(len(columns[0]))),
    "an empty frame": lambda columns: pd.DataFrame(),
    "an empty list": lambda columns: [],
    "a series": lambda columns: pd.Series(columns[0]),
    "a text": lambda columns: "no such file.csv",
    "an array of texts": lambda columns: _array(columns).astype(str),
    "an array of bytes": lambda columns: _array(columns).astype("S"),
    "a structured array": lambda columns: _frame(columns).to_records(index=False),
    "a masked array with gaps": lambda columns: np.ma.masked_array(
        _array(columns).astype(float), mask=np.eye(len(columns[0]), len(columns), dtype=bool)
    ),
    "a generator": lambda columns: (row for row in _array(columns)),
    "one row": lambda columns: _array(columns)[:1],
    "names of two kinds": lambda columns: _frame(columns, [7, *[f"c{j}" for j in range(1, len(columns))]]),
    "names that are numbers": lambda columns: _frame(columns, list(range(len(columns)))),
    "one dimension": lambda columns: np.asarray(columns[0]),
    "three dimensions": lambda columns: _array(columns)[None],
    "no rows": lambda columns: _array(columns)[:0],
    "no columns": lambda columns: _array(columns)[:, :0],
    "ragged rows": lambda columns: [[1.0], *_array(columns)[1:].tolist()],
    "None": lambda columns: None,
    "a dict": lambda columns: {"a": 1},
    "a number": lambda columns: 3.0,
    "a read-only array": lambda columns: np.broadcast_to(
        _array(columns)[:1], (len(columns[0]), len(columns))
    ),
}

# ---- targets ----


def sound_target(kind, columns, rng):
    n = len(columns[0])
    signal = 2.0 * columns[0] + 0.3 * rng.standard_normal(n)
    if kind == "numbers":
        return signal
    if kind == "counts":
        return rng.poisson(np.exp(np.clip(0.5 * signal, -3, 3))).astype(float)
    return np.where(signal > 0, "yes", "no")


TARGET_FAULTS = {
    "constant": lambda y, rng: np.full(len(y), 2.5),
    "zeros": lambda y, rng: np.zeros(len(y)),
    "of 1e200": lambda y, rng: 1e200 * rng.standard_normal(len(y)),
    "of 1e-200": lambda y, rng: 1e-200 * rng.standard_normal(len(y)),
    "denormal": lambda y, rng: 5e-324 * rng.integers(0, 9, len(y)),
    "with one 1e150": lambda y, rng: np.where(np.arange(len(y)) == 0, 1e150, rng.standard_normal(len(y))),
    "with one 1e308": lambda y, rng: np.where(np.arange(len(y)) == 0, 1e308, rng.standard_normal(len(y))),
    "far from zero": lambda y, rng: 1e14 + rng.standard_normal(len(y)),
    "with NaN": lambda y, rng: np.where(np.arange(len(y)) == 0, np.nan, rng.standard_normal(len(y))),
    "with infinity": lambda y, rng: np.where(np.arange(len(y)) == 0, np.inf, rng.standard_normal(len(y))),
    "of one class": lambda y, rng: np.full(len(y), "yes"),
    "of one odd class": lambda y, rng: np.where(np.arange(len(y)) == 0, "yes", "no"),
    "of three classes": lambda y, rng: np.array(list("abc"))[rng.integers(0, 3, len(y))],
    "of texts that all differ": lambda y, rng: np.array([f"t{i}" for i in range(len(y))]),
    "of huge counts": lambda y, rng: rng.integers(0, 2**62, len(y)),
    "of negative counts": lambda y, rng: rng.integers(-3, 4, len(y)),
    "of zeros and ones": lambda y, rng: rng.integers(0, 2, len(y)),
    "of truth values": lambda y, rng: rng.integers(0, 2, len(y)).astype(bool),
    "of dates": lambda y, rng: np.datetime64("2020-01-01") + np.arange(len(y)).astype("m8[D]"),
    "complex": lambda y, rng: rng.standard_normal(len(y)) + 1j,
    "mixed": lambda y, rng: np.array([1.5 if i % 2 else "b" for i in range(len(y))], dtype=object),
    "of lists": lambda y, rng: [[1.0]] * len(y),
    "with None": lambda y, rng: [None, *list(y[1:])],
    "too short": lambda y, rng: y[:-1],
    "of one column": lambda y, rng: np.asarray(y).reshape(-1, 1),
    "of two columns": lambda y, rng: np.column_stack([y, y]),
    "a matrix": lambda y, rng: np.matrix(rng.standard_normal(len(y))),
    "None": lambda y, rng: None,
    "a name": lambda y, rng: "target",
    "empty": lambda y, rng: y[:0],
    "of float16": lambda y, rng: rng.standard_normal(len(y)).astype(np.float16),
    "of one truth value": lambda y, rng: np.ones(len(y), dtype=bool),
    "of numbers as text": lambda y, rng: np.array([str(i % 2) for i in range(len(y))]),
    "of odd texts": lambda y, rng: np.array(["\x1b[31m", "\u202e"])[rng.integers(0, 2, len(y))],
    "of bytes": lambda y, rng: np.array([b"a", b"b"])[rng.integers(0, 2, len(y))],
    "of fractions": lambda y, rng: np.array([fractions.Fraction(i, 3) for i in range(len(y))], dtype=object),
    "of time spans": lambda y, rng: np.arange(len(y)).astype("m8[s]"),
    "a category": lambda y, rng: pd.Series(pd.Categorical(np.array(list("ab"))[rng.integers(0, 2, len(y))])),
    "a category with unused levels": lambda y, rng: pd.Series(
        pd.Categorical(np.array(list("ab"))[rng.integers(0, 2, len(y))], categories=list("zab"))
    ),
    "nullable numbers": lambda y, rng: pd.Series(rng.standard_normal(len(y)), dtype="Float64"),
    "nullable counts": lambda y, rng: pd.Series(rng.integers(0, 5, len(y)), dtype="Int64"),
    "nullable with a gap": lambda y, rng: pd.Series([None, *rng.integers(0, 2, len(y) - 1)], dtype="Int64"),
    "nullable truth": lambda y, rng: pd.Series(rng.integers(0, 2, len(y)).astype(bool), dtype="boolean"),
    "strings of pandas": lambda y, rng: pd.Series(
        [str(v) for v in rng.integers(0, 2, len(y))], dtype="string"
    ),
    "a series with another index": lambda y, rng: pd.Series(y, index=np.arange(len(y))[::-1] + 100),
    "a frame": lambda y, rng: pd.DataFrame({"y": np.ravel(y)}),
    "sparse": lambda y, rng: sparse.csr_array(rng.standard_normal((len(y), 1))),
    "a masked array": lambda y, rng: np.ma.masked_array(
        rng.standard_normal(len(y)), mask=np.eye(1, len(y))[0]
    ),
}

WEIGHTS = {
    "ones": lambda n, rng: np.ones(n),
    "copies": lambda n, rng: rng.integers(1, 4, n).astype(float),
    "some zeros": lambda n, rng: rng.integers(0, 3, n).astype(float),
    "reals": lambda n, rng: rng.uniform(0.5, 2.0, n),
}
WEIGHT_FAULTS = {
    "of 1e300": lambda n, rng: np.full(n, 1e300),
    "one of 1e300": lambda n, rng: np.where(np.arange(n) == 0, 1e300, 1.0),
    "one of 1e15": lambda n, rng: np.where(np.arange(n) == 0, 1e15, 1.0),
    "of 1e-300": lambda n, rng: np.full(n, 1e-300),
    "denormal": lambda n, rng: np.full(n, 5e-324),
    "shares": lambda n, rng: np.full(n, 1.0 / n),
    "all but one zero": lambda n, rng: np.eye(1, n)[0],
    "zeros": lambda n, rng: np.zeros(n),
    "negative": lambda n, rng: np.where(np.arange(n) == 0, -1.0, 1.0),
    "with NaN": lambda n, rng: np.where(np.arange(n) == 0, np.nan, 1.0),
    "with infinity": lambda n, rng: np.where(np.arange(n) == 0, np.inf, 1.0),
    "text": lambda n, rng: ["a"] * n,
    "too short": lambda n, rng: np.ones(n - 1),
    "a number": lambda n, rng: 2.0,
    "of two columns": lambda n, rng: np.ones((n, 2)),
    "a name": lambda n, rng: "weight",
    "complex": lambda n, rng: np.ones(n, complex),
    "truth values": lambda n, rng: np.arange(n) % 2 == 0,
    "with None": lambda n, rng: [None, *[1.0] * (n - 1)],
    "one of 1e-300": lambda n, rng: np.where(np.arange(n) == 0, 1e-300, 1.0),
    "of every size": lambda n, rng: 10.0 ** rng.integers(-300, 300, n),
    "decimals": lambda n, rng: [decimal.Decimal(1)] * n,
    "nullable with a gap": lambda n, rng: pd.Series([None, *[1] * (n - 1)], dtype="Int64"),
    "a series with another index": lambda n, rng: pd.Series(np.ones(n), index=np.arange(n)[::-1]),
    "dates": lambda n, rng: np.datetime64("2020-01-01") + np.arange(n).astype("m8[D]"),
    "of one column": lambda n, rng: np.ones((n, 1)),
}

OPTION_FAULTS = {
    "None": None,
    "minus one": -1,
    "zero": 0,
    "a half": 0.5,
    "NaN": np.nan,
    "infinity": np.inf,
    "1e300": 1e300,
    "1e-300": 1e-300,
    "huge": 2**70,
    "nonsense": "nonsense",
    "empty text": "",
    "an empty list": [],
    "a list": [1, 2],
    "a dict": {"c0": 1},
    "True": True,
    "an object": object(),
    "an array": np.arange(3.0),
}
