"""Every source gives the rows that a table in memory gives: files of all kinds, queries, datasets."""

import gc
import os
import tempfile
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.dataset as ds
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

from rlselect.data import is_source, load_source, open_source, open_stream, open_table
from rlselect.data._part_table import PartTable
from rlselect.data._paths import find_files

N = 6001


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "income": rng.normal(size=N),
            "children": rng.integers(0, 5, N),
            "city": rng.choice(["Oslo", "Paris", "Rome"], N),
            "member": rng.random(N) < 0.5,
            "spent": rng.normal(size=N),
            "w": rng.uniform(0.5, 2.0, N),
        }
    )


def pieces(table):
    return [table.slice(a, b - a) for a, b in pairwise(np.linspace(0, len(table), 4).astype(int))]


def write(folder, table, ending, **options):
    folder.mkdir(exist_ok=True)
    for k, part in enumerate(pieces(table)):
        path = folder / f"part-{k}{ending}"
        if ending == ".parquet":
            pq.write_table(part, path, row_group_size=700, **options)
        elif ending == ".feather":
            pf.write_feather(part, path, chunksize=700, **options)
        else:
            with (
                pa.CompressedOutputStream(path, "gzip") if ending.endswith(".gz") else path.open("wb") as file
            ):
                pcsv.write_csv(part, file, pcsv.WriteOptions(delimiter="\t" if "tsv" in ending else ","))
    return folder


def relation(rows):
    return duckdb.connect().from_arrow(rows)


SOURCES = {
    "Parquet": lambda rows, p: write(p / "d", rows, ".parquet"),
    "Feather": lambda rows, p: write(p / "d", rows, ".feather"),
    "Feather, plain": lambda rows, p: write(p / "d", rows, ".feather", compression="uncompressed"),
    "CSV folder": lambda rows, p: write(p / "d", rows, ".csv"),
    "CSV glob": lambda rows, p: str(write(p / "d", rows, ".csv") / "part-?.csv"),
    "CSV list": lambda rows, p: sorted(write(p / "d", rows, ".csv").iterdir()),
    "TSV, packed": lambda rows, p: write(p / "d", rows, ".tsv.gz"),
    "LazyFrame": lambda rows, p: pl.from_arrow(rows).lazy(),
    "scan": lambda rows, p: pl.scan_parquet(write(p / "d", rows, ".parquet") / "*.parquet"),
    "DuckDB": lambda rows, p: relation(rows),
    "dataset": lambda rows, p: ds.dataset(write(p / "d", rows, ".parquet")),
    "CSV dataset": lambda rows, p: ds.dataset(write(p / "d", rows, ".csv"), format="csv"),
    "filtered": lambda rows, p: ds.dataset(write(p / "d", rows, ".parquet")).filter(ds.field("w") > 0),
    "in memory": lambda rows, p: ds.dataset(rows),
    "chunks": lambda rows, p: lambda: iter(pieces(rows)),
    "record batches": lambda rows, p: lambda: rows.to_reader(700),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_rows_and_names_are_those_of_memory(rows, tmp_path, kind):
    X = SOURCES[kind](rows, tmp_path)
    assert is_source(X)
    memory = open_table(rows, "spent", sample_weight="w")
    source = open_source(X, "spent", sample_weight="w")
    assert not source.in_memory
    assert source.n_rows == N
    assert source.columns == memory.columns == ["income", "children", "city=Paris", "city=Rome", "member"]
    want = memory.take()
    for _ in range(2):  # as often as one likes
        found = list(source.scan())
        for have, values in zip(zip(*found, strict=True), want, strict=True):
            if values is not None:
                np.testing.assert_allclose(np.concatenate(have), values, rtol=1e-12)
    some = np.array([5, 4000, 17])
    np.testing.assert_allclose(source.take(some, np.array([3, 0])).X, memory.take(some, [3, 0]).X)


@pytest.mark.parametrize("kind", SOURCES)
def test_new_rows_pass_by_without_a_file(rows, tmp_path, kind, monkeypatch):
    X = SOURCES[kind](rows, tmp_path)
    memory = open_table(rows, "spent", sample_weight="w")
    monkeypatch.setattr("rlselect.data._open.spill", None)
    stream = open_stream(X, memory.encoder, offset="w", owner="Test")
    some = np.array([4, 0, 2])
    found = list(stream.scan(some))
    np.testing.assert_allclose(np.concatenate([b.X for b in found]), memory.take(columns=some).X)
    np.testing.assert_allclose(np.concatenate([b.offset for b in found]), rows["w"].to_numpy())
    frames = pa.concat_tables(stream.frames(["city", "income"]), promote_options="permissive")
    assert frames["city"].to_pylist() == rows["city"].to_pylist()
    assert sum(len(b.X) for b in stream.scan(np.array([], dtype=int))) == N


@pytest.mark.parametrize("kind", SOURCES)
def test_sources_are_loaded_where_all_rows_are_needed(rows, tmp_path, kind):
    table = open_table(SOURCES[kind](rows, tmp_path), "spent", sample_weight="w")
    want = open_table(rows, "spent", sample_weight="w")
    np.testing.assert_allclose(table.take().X, want.take().X)
    assert table.columns == want.columns


def test_what_does_not_fit_into_memory_is_not_loaded(rows, tmp_path, monkeypatch):
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 100}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)
    for X in (write(tmp_path / "d", rows, ".parquet"), pl.from_arrow(rows).lazy()):
        with pytest.raises(ValueError, match=r"X has \d+ rows or more of 6 columns, .*Net needs all of them"):
            load_source(X, "Net")
    assert load_source(rows, "Net") is rows


def test_queries_leave_no_file_behind(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    source = open_source(pl.from_arrow(rows).lazy(), "spent")
    assert len(list(tmp_path.iterdir())) == 1
    del source
    gc.collect()
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match=r"LazyFrame, which cannot be run: .*nothing"):
        open_source(pl.from_arrow(rows).lazy().select(pl.col("nothing")), "spent")
    failing = pl.from_arrow(rows).lazy().with_columns(bad=pl.col("city").cast(pl.Float64))
    with pytest.raises(ValueError, match="LazyFrame, which cannot be run: "):
        open_source(failing, "spent")
    assert not list(tmp_path.iterdir())


def test_a_query_without_an_order_of_its_own_is_run_once(rows):
    """Each run of this query brings the rows in another order; every pass must see the same one."""
    con = duckdb.connect()
    con.register("rows", rows)
    source = open_source(con.sql("select * from rows order by random()"), "spent")
    first, again = (np.concatenate([b.y for b in source.scan()]) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(source.take(np.array([17, 4000])).y, first[[17, 4000]])
    assert not np.array_equal(first, rows["spent"].to_numpy())
    other = open_source(con.sql("select * from rows order by random()"), "spent")
    assert source.fingerprint() != other.fingerprint()


def test_equal_queries_have_equal_fingerprints(rows):
    prints = [open_source(pl.from_arrow(rows).lazy(), "spent").fingerprint() for _ in range(2)]
    assert prints[0] == prints[1]


def test_a_busy_connection_is_said_and_set_free(rows):
    con = duckdb.connect()
    con.register("rows", rows)
    relation = con.sql("select * from rows")
    encoder = open_table(rows, "spent").encoder
    first = open_stream(relation, encoder, owner="Test").scan()
    next(first)
    with pytest.raises(ValueError, match=r"DuckDB relation, which cannot be run: .*open result"):
        open_source(relation, "spent")
    first.close()
    assert open_source(relation, "spent").n_rows == N


def test_a_misspelt_target_is_told_before_the_query_runs(rows, monkeypatch):
    monkeypatch.setattr("rlselect.data._open.spill", None)
    with pytest.raises(ValueError, match="Did you mean 'spent'"):
        open_source(pl.from_arrow(rows).lazy(), "spend")
    with pytest.raises(TypeError, match="y is a ndarray, but X is read in parts"):
        open_source(pl.from_arrow(rows).lazy(), np.zeros(N))
    with pytest.raises(ValueError, match="The feature names should match"):
        open_stream(pl.LazyFrame({"income": [1.0]}), open_table(rows, "spent").encoder, owner="Test")


def test_small_queries_are_tables(rows):
    table = open_source(pl.from_arrow(rows).lazy().limit(50), "spent")
    assert table.in_memory
    assert table.n_rows == 50
    with pytest.raises(ValueError, match="X holds no rows"):
        open_source(pl.from_arrow(rows).lazy().limit(0), "spent")


def test_categories_whose_codes_differ_from_batch_to_batch(tmp_path):
    city = ["Rome"] * 4000 + ["Oslo"] * 4000
    frame = pl.DataFrame({"city": city, "x": np.arange(8000.0), "y": np.arange(8000.0)})
    lazy = frame.lazy().with_columns(pl.col("city").cast(pl.Categorical))
    source = open_source(lazy, "y")
    assert source.columns == ["city=Rome", "x"]
    np.testing.assert_array_equal(
        np.concatenate([b.X[:, 0] for b in source.scan()]), np.array(city) == "Rome"
    )


# CSV


def csv(folder, *texts):
    folder.mkdir(exist_ok=True)
    for k, text in enumerate(texts):
        (folder / f"{k}.csv").write_text(text)
    return folder


def lines(header, *rows):
    return "\n".join([header, *(row for row, times in rows for _ in range(times))]) + "\n"


def test_types_follow_all_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("rlselect.data._csv._BLOCK", 2000)
    one = lines("a,b,c,y", ("1,,3,1", 3000), ("1.5,7,u,2", 1000))
    two = lines("y,c,b,a", ("3,v,8,2.5", 1500))
    folder = csv(tmp_path / "d", one, two)
    source = open_source(folder, "y", missing="indicator", validate="all")
    assert source.columns == ["a", "b", "c=u", "c=v", "b=missing"]
    found = np.concatenate([b.X for b in source.scan()])
    np.testing.assert_array_equal(found[:, 0], np.repeat([1, 1.5, 2.5], [3000, 1000, 1500]))
    np.testing.assert_array_equal(found[:, 2:].sum(axis=0), [1000, 1500, 3000])
    loaded = load_source(folder, "Test")
    assert [str(kind) for kind in loaded.schema.types] == ["double", "int64", "string", "int64"]


def test_numbers_with_a_little_text_are_refused_wherever_it_stands(tmp_path, monkeypatch):
    monkeypatch.setattr("rlselect.data._csv._BLOCK", 2000)
    folder = csv(tmp_path / "d", lines("a,y", ("1,2", 6000)), lines("a,y", ("1,2", 300), ("oops,2", 1)))
    with pytest.raises(ValueError, match="column 'a' holds numbers but for 'oops' in data row 6301"):
        open_source(folder, "y")


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["a,y\n1,2\n", "a,z\n1,2\n"], "has no column 'y'"),
        (["a,a\n1,2\n"], "two columns called 'a'"),
        (["a,y\n1,2\n3\n"], "cannot be read as a table: .*1"),
        (["\n"], "is empty"),
        (["a,y\n"], "X holds no rows"),
    ],
)
def test_bad_csv_folders(tmp_path, texts, words):
    with pytest.raises(ValueError, match=words):
        open_source(csv(tmp_path / "d", *texts), "y")


def test_new_rows_of_csv_are_read_as_the_model_knows_them(tmp_path):
    train = pa.table({"year": ["2020", "2021", "2022"] * 5, "x": np.arange(15.0), "y": np.arange(15.0)})
    encoder = open_table(train, "y").encoder
    folder = csv(tmp_path / "d", "year,x\n2021,1\n", "year,x\n2022,2.5\n")
    found = np.concatenate([b.X for b in open_stream(folder, encoder, owner="Test").scan()])
    np.testing.assert_array_equal(found, [[1, 0, 1], [0, 1, 2.5]])
    with pytest.raises(ValueError, match=r"cannot be read as a table: .*CSV conversion error"):
        list(open_stream(csv(tmp_path / "e", "year,x\n2021,u\n"), encoder, owner="Test").scan())


def test_folders_name_columns_of_csv_files_too(tmp_path, rows):
    for year in (2023, 2024):
        write(tmp_path / f"year={year}", rows, ".csv")
    source = open_source(tmp_path, "spent")
    assert source.columns[-2:] == ["w", "year"]
    assert source.n_rows == 2 * N
    years = np.concatenate([b.X[:, -1] for b in source.scan()])
    np.testing.assert_array_equal(years, np.repeat([2023, 2024], N))


def test_one_large_csv_is_read_in_parts(tmp_path, rows, monkeypatch):
    path = write(tmp_path / "d", rows, ".csv") / "part-0.csv"
    whole = rows.slice(0, len(pieces(rows)[0]))
    assert open_source(path, "spent").in_memory
    monkeypatch.setattr("rlselect.data._open.SMALL_CSV", 100)
    monkeypatch.setattr("rlselect.data._open._SMALL", 10)
    source = open_source(path, "spent")
    assert isinstance(source, PartTable)
    np.testing.assert_allclose(
        np.concatenate([b.X for b in source.scan()]), open_table(whole, "spent").take().X
    )


# paths


def test_a_file_that_is_not_there():
    for door in (open_table, open_source):
        with pytest.raises(FileNotFoundError, match=r"There is no file or folder 'table.csv'"):
            door("table.csv")


def test_kinds_of_files_are_not_mixed(tmp_path, rows):
    folder = write(tmp_path / "d", rows, ".csv")
    write(folder, rows, ".feather")
    with pytest.raises(
        ValueError, match=r"files of several kinds, .*csv' \(CSV\) and .*feather' \(Feather\)"
    ):
        find_files(str(folder / "part*"))
    assert find_files(folder).kind == "feather"
    write(folder, rows, ".parquet")
    assert [Path(p).name for p in find_files(folder).paths] == [f"part-{k}.parquet" for k in range(3)]


def test_notes_in_a_folder_are_no_tables(tmp_path, rows):
    folder = write(tmp_path / "d", rows, ".csv")
    (folder / "README.txt").write_text("read me")
    assert len(find_files(folder).paths) == 3


def test_long_batches_are_cut(tmp_path, rows, monkeypatch):
    monkeypatch.setattr("rlselect.data._file_parts._PART_ROWS", 1000)
    for compression in ("lz4", "uncompressed"):
        path = tmp_path / f"{compression}.arrow"
        pf.write_feather(rows, path, chunksize=N, compression=compression)
        source = open_source(path, "spent")
        assert source.parts.lengths.tolist() == [1000] * 6 + [1]
        np.testing.assert_allclose(
            np.concatenate([b.X for b in source.scan()]), open_table(rows, "spent").take().X
        )
    assert "batch 6" in source.where(6)


def test_a_broken_feather_file_is_named(tmp_path, rows):
    path = write(tmp_path / "d", rows, ".feather") / "part-1.feather"
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(ValueError, match=r"part-1.feather' cannot be read as Feather"):
        open_source(tmp_path / "d", "spent")
