"""A source that changes under a fit: the old data's answer, or an error that names what has changed."""

import os
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import csv, feather, fs, parquet

from rlselect import REVS
from rlselect.data import _csv, _file, _file_parts, open_source
from rlselect.data._unchanged import FileStamps, content_sums, sum_of_values

ROWS, FILES = 12_000, 4


def rows(seed, size=ROWS // FILES, sign=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, 6))
    y = sign * (X[:, 0] - 2 * X[:, 1]) + rng.normal(size=size)
    return pa.table({**{f"x{j}": X[:, j] for j in range(6)}, "y": y})


def write_parquet(table, path):
    # not compressed: other numbers make a file of the same size
    parquet.write_table(table, path, row_group_size=1000, compression="none", use_dictionary=False)


def write_feather(table, path):
    feather.write_feather(table, path, compression="uncompressed", chunksize=1000)


def write_csv(table, path):
    rounded = {name: np.char.mod("%+.6f", table.column(name).to_numpy()) for name in table.column_names}
    csv.write_csv(pa.table(rounded), path, csv.WriteOptions(quoting_style="none"))


WRITERS = {"parquet": write_parquet, "feather": write_feather, "csv": write_csv}


def folder(tmp_path, ending):
    place = tmp_path / "data"
    place.mkdir()
    for i in range(FILES):
        WRITERS[ending](rows(i), place / f"part{i}.{ending}")
    return place


def single(tmp_path, ending):
    path = tmp_path / f"all.{ending}"
    WRITERS[ending](pa.concat_tables([rows(i) for i in range(FILES)]), path)
    return path


SOURCES = {
    "parquet file": lambda t: single(t, "parquet"),
    "parquet folder": lambda t: folder(t, "parquet"),
    "parquet glob": lambda t: str(folder(t, "parquet") / "*.parquet"),
    "parquet list": lambda t: sorted(map(str, folder(t, "parquet").iterdir())),
    "feather file": lambda t: single(t, "feather"),
    "feather folder": lambda t: folder(t, "feather"),
    "csv file": lambda t: single(t, "csv"),
    "csv folder": lambda t: folder(t, "csv"),
    "dataset": lambda t: ds.dataset(folder(t, "parquet")),
    "feather dataset": lambda t: ds.dataset(folder(t, "feather"), format="feather"),
    "filtered dataset": lambda t: ds.dataset(folder(t, "parquet")).filter(ds.field("x5") > -9),
    "csv dataset": lambda t: ds.dataset(folder(t, "csv"), format="csv"),
}


def other(path):
    """Other data of the same shape."""
    size = ROWS if path.stem == "all" else ROWS // FILES
    return rows(99, size, sign=-3.0)


def write_in_place(path, content):
    with open(path, "r+b") as file:
        file.write(content)
        file.truncate()


def made(path):
    aside = path.with_name("_" + path.name)
    WRITERS[path.suffix[1:]](other(path), aside)
    content = aside.read_bytes()
    aside.unlink()
    return content


def rewrite(path):
    write_in_place(path, made(path))


def rewrite_and_set_the_time_back(path):
    seen = path.stat()
    rewrite(path)
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def replace(path):
    content = made(path)
    aside = path.with_name("_" + path.name)
    aside.write_bytes(content)
    os.replace(aside, path)


def change_a_cell(path):
    content = bytearray(path.read_bytes())
    for place in range(len(content) // 3, 2 * len(content) // 3, 97):
        content[place] = content[place] ^ 1 if path.suffix != ".csv" else content[place]
    if path.suffix == ".csv":
        content = content.replace(b".1", b".9").replace(b".2", b".7")
    write_in_place(path, bytes(content))


def swap(path):
    near = next((p for p in sorted(path.parent.iterdir()) if p != path and p.suffix == path.suffix), None)
    if near is None:
        replace(path)
        return
    aside = path.with_name("_aside")
    os.rename(path, aside)
    os.rename(near, path)
    os.rename(aside, near)


def link_elsewhere(path):
    content = made(path)
    target = path.with_name("_target" + path.suffix)
    target.write_bytes(content)
    path.unlink()
    path.symlink_to(target)


CHANGES = {
    "rewritten": rewrite,
    "rewritten, time set back": rewrite_and_set_the_time_back,
    "replaced": replace,
    "deleted": lambda path: path.unlink(),
    "cut short": lambda path: write_in_place(path, path.read_bytes()[: path.stat().st_size // 2]),
    "emptied": lambda path: write_in_place(path, b""),
    "longer": lambda path: write_in_place(path, path.read_bytes() + b"\n1,2,3"),
    "a cell": change_a_cell,
    "swapped": swap,
    "linked elsewhere": link_elsewhere,
}


class Moments:
    """Calls something before or after the n-th time that a file is opened or read, once stamps are taken."""

    def __init__(self, monkeypatch):
        self.count, self.at, self.after, self.act, self.begun = 0, -1, False, None, False
        monkeypatch.setattr(FileStamps, "__init__", self.beginning(FileStamps.__init__))
        for owner, name in (
            (_file_parts._ParquetReader, "read"),
            (_file_parts._FeatherReader, "read"),
            (_file_parts.FileParts, "_file"),
            (_csv.CsvStream, "_open"),
            (_csv.StrayText, "add"),
            (_file, "_read"),
        ):
            monkeypatch.setattr(owner, name, self.watched(getattr(owner, name)))

    def beginning(self, function):
        def call(*args, **kwargs):
            function(*args, **kwargs)
            self.begun = True

        return call

    def watched(self, function):
        def call(*args, **kwargs):
            now, self.count = self.begun and self.count == self.at, self.count + self.begun
            if now and not self.after:
                self.act()
            answer = function(*args, **kwargs)
            if now and self.after:
                self.act()
            return answer

        return call


def fit(source):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return REVS(random_state=0, missing="error").fit(source, "y")


def files_of(tmp_path):
    return sorted(
        p for p in tmp_path.rglob("*") if p.is_file() and p.suffix in (".parquet", ".feather", ".csv")
    )


def outcome(seed, tmp_path, monkeypatch):
    """Change a file of a source at some moment of a fit: 'old', 'named', or what went wrong."""
    rng = np.random.default_rng(seed)
    # each kind of source and of change has its turn, in combinations that the seed chooses
    kind = list(SOURCES)[seed % len(SOURCES)]
    change = list(CHANGES)[rng.integers(len(CHANGES))]
    monkeypatch.setattr(_file_parts, "_OPEN_FILES", 2)
    source = SOURCES[kind](tmp_path)
    moments = Moments(monkeypatch)
    old = fit(source)
    paths = files_of(tmp_path)
    moments.at, moments.after = int(rng.integers(moments.count)), bool(rng.random() < 0.5)
    moments.act = lambda: CHANGES[change](paths[rng.integers(len(paths))])
    moments.count, moments.begun = 0, False
    what = f"{seed}: {kind}, {change}, moment {moments.at}"
    try:
        new = fit(source)
    except (ValueError, FileNotFoundError) as error:
        return "named" if any(str(path) in str(error) for path in paths) else f"{what}: {error}"
    same = np.array_equal(new.coef_, old.coef_) and np.array_equal(new.inclusion_, old.inclusion_)
    assert same, what
    return "old"


@pytest.mark.parametrize("seed", range(24))
def test_a_change_is_not_silent(seed, tmp_path, monkeypatch):
    assert outcome(seed, tmp_path, monkeypatch) in ("old", "named")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_a_hundred_changes(seed, tmp_path, monkeypatch):
    assert outcome(seed, tmp_path, monkeypatch) in ("old", "named")


def chunks_that_change(at, how):
    """A function whose chunks change from its `at`-th call on."""
    calls = []

    def factory():
        calls.append(1)
        for i in range(FILES):
            table = rows(i).to_pandas()
            if len(calls) >= at and i == FILES - 1:
                table = how(table)
            yield table

    return factory


def scan(source, times):
    for _ in range(times):
        list(source.scan())


def with_cell(table, row, name, value):
    table.loc[row, name] = value
    return table


@pytest.mark.parametrize(
    "how",
    [
        lambda t: with_cell(t, 7, "x3", t.loc[7, "x3"] + 1e-12),
        lambda t: t.iloc[::-1].reset_index(drop=True),
        lambda t: t.assign(x0=-t["x0"]),
        lambda t: t.assign(y=0.0 * t["y"]),
        lambda t: t.drop(columns="x2"),
        lambda t: t.iloc[:-1],
        lambda t: with_cell(t, 0, "x1", np.nan),
    ],
)
def test_a_function_that_yields_other_chunks_is_told(how):
    source = open_source(chunks_that_change(3, how), "y")
    with pytest.raises(ValueError, match="Chunk 3 of X has changed since the first pass"):
        scan(source, 3)


@pytest.mark.parametrize("frames", ["frame", "array"])
def test_a_dask_collection_that_computes_other_rows_is_told(frames, tmp_path):
    dask = pytest.importorskip("dask")
    calls = np.zeros(FILES, dtype=int)

    @dask.delayed(pure=False)
    def part(i):
        calls[i] += 1
        table = rows(i).to_pandas()
        # at opening, at the first look, then another one
        if i == 2 and calls[i] > 2:
            table.loc[5, "y"] += 1.0
        return table if frames == "frame" else table.to_numpy()

    parts = [part(i) for i in range(FILES)]
    if frames == "frame":
        dd = pytest.importorskip("dask.dataframe")
        X, target = dd.from_delayed(parts, meta=rows(0, 2).to_pandas().iloc[:0], verify_meta=False), "y"
    else:
        da = pytest.importorskip("dask.array")
        size = ROWS // FILES
        X = da.concatenate([da.from_delayed(p, shape=(size, 7), dtype=float) for p in parts])
        target = "x6"
    with dask.config.set(scheduler="synchronous"):
        source = open_source(X, target)
        with pytest.raises(
            ValueError, match=f"Partition 2 of X has changed since the first pass, in column '{target}'"
        ):
            scan(source, 3)


def test_queries_are_run_once_and_their_rows_kept(tmp_path):
    path = single(tmp_path, "parquet")
    queries = [pl.scan_parquet(path)]
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    queries.append(connection.read_parquet(str(path)))
    sources = [open_source(query, "y") for query in queries]
    before = [np.concatenate([b.y for b in source.scan()]) for source in sources]
    replace(path)
    for source, y in zip(sources, before, strict=True):
        assert np.array_equal(np.concatenate([b.y for b in source.scan()]), y)


def test_prediction_from_a_file_that_changes_is_told(tmp_path):
    model = fit(pa.concat_tables([rows(i) for i in range(FILES)]))
    path = folder(tmp_path, "parquet")
    found = model.predict(path)
    next(found)
    rewrite(path / "part3.parquet")
    with pytest.raises(ValueError, match=r"part3.parquet' has changed since it was first read"):
        list(found)


def test_files_elsewhere_are_checked_when_opened_and_at_the_end(tmp_path):
    place = folder(tmp_path, "parquet")
    elsewhere = fs.SubTreeFileSystem(str(place), fs.LocalFileSystem())
    names = sorted(p.name for p in place.iterdir())
    parts = _file_parts.FileParts(names, elsewhere)
    parts.check_unchanged()
    replace(place / names[1])
    with pytest.raises(ValueError, match=r"'part1.parquet' has changed since it was first read"):
        parts.check_unchanged()
    (place / names[1]).unlink()
    with pytest.raises(ValueError, match=r"'part1.parquet' is gone since it was first read"):
        parts.check_unchanged()


def test_fingerprints_follow_content(tmp_path):
    whole = pa.concat_tables([rows(i) for i in range(FILES)])

    def changed(table):
        return with_cell(table.to_pandas(), 4321, "x4", 0.0)

    frame = whole.to_pandas()
    text = frame.assign(y=np.where(frame["y"] > 0, "yes", "no"))
    for one, other in (
        (frame, changed(whole)),
        (frame.to_numpy(), changed(whole).to_numpy()),
        (lambda: [frame], lambda: [changed(whole)]),
        (frame[:100], frame[1:101]),
        (text, text.assign(y=text["y"].where(text.index != 5, "maybe"))),
    ):
        y = None if isinstance(one, np.ndarray) else "y"
        prints = [open_source(X, y).fingerprint() for X in (one, one, other)]
        assert prints[0] == prints[1]
        assert prints[0] != prints[2]
        repr(prints)
    path = single(tmp_path, "parquet")
    before = open_source(path, "y").fingerprint()
    assert open_source(path, "y").fingerprint() == before
    seen = path.stat()
    rewrite(path)
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    # statistics at the end of the file tell
    assert open_source(path, "y").fingerprint() != before


@pytest.mark.parametrize(
    "column",
    [
        [1.0, None, 3.0, float("nan")],
        [1, 2, None, 4],
        [True, None, False, True],
        ["a", None, "bc", ""],
        [b"a", b"b", None, b"cd"],
        pd.to_datetime(["2020-01-01", None, "2021-01-01", "2022-01-01"]),
        pd.Categorical(["a", None, "b", "a"]),
        [None, None, None, None],
    ],
    ids=["float", "int", "bool", "text", "bytes", "time", "category", "nothing"],
)
def test_sums_depend_on_content_alone(column):
    whole = pa.table({"c": pa.array(column, from_pandas=True)})
    pieces = pa.concat_tables([whole.slice(0, 1), whole.slice(1, 2), whole.slice(3)])
    longer = pa.concat_tables([whole, whole]).slice(4)
    forms = [pieces, longer, whole.take(pa.array(range(4)))]
    if pa.types.is_string(whole.schema.field("c").type):
        forms += [whole.cast(pa.schema([("c", kind)])) for kind in (pa.large_string(), pa.string_view())]
        forms.append(pa.table({"c": whole.column("c").dictionary_encode()}))
    assert all(content_sums(form) == content_sums(whole) for form in forms)
    if whole.column("c").null_count < 4:
        assert content_sums(whole.take(pa.array([1, 0, 2, 3]))) != content_sums(whole)
    assert content_sums(whole.slice(0, 3)) != content_sums(whole)


def test_sums_of_arrays():
    x = np.arange(12.0).reshape(3, 4)
    assert sum_of_values(x) == sum_of_values(np.asfortranarray(x)) != sum_of_values(x.T)
    assert sum_of_values(np.zeros(0), 5) == 5


def test_a_file_that_was_just_written_has_a_time_of_its_own(tmp_path):
    path = tmp_path / "x.csv"
    for k in range(5):
        path.write_text(f"a\n{k}\n")
        stamps = FileStamps([str(path)])
        path.write_text(f"a\n{k + 1}\n")
        with pytest.raises(ValueError, match="has changed"):
            stamps.check(0)


def test_looking_costs_next_to_nothing(tmp_path):
    path = single(tmp_path, "parquet")
    stamps = FileStamps([str(path)])
    start = time.perf_counter()
    for _ in range(1000):
        stamps.check_after_read(0)
    assert time.perf_counter() - start < 0.5
