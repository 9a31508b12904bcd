"""A source that is opened once: what is left out, marks of missing values, and streams that start again."""

import shutil

import pyarrow as pa
import pytest
from pyarrow import parquet

from rlselect.data import CsvCells, is_source, load_source, open_once, open_source, some_rows
from rlselect.data import _open as door
from rlselect.data._streams import collect


@pytest.fixture
def parts(tmp_path):
    for k in range(3):
        table = pa.table({"id": [f"r{k}{i}" for i in range(4000)], "x": [float(i) for i in range(4000)]})
        parquet.write_table(
            table.append_column("y", [[1.0 + i % 7 for i in range(4000)]]), tmp_path / f"{k}.parquet"
        )
    return tmp_path


def test_names_look_and_fit_share_one_opening(parts, monkeypatch):
    calls = []
    find = door.find_files
    monkeypatch.setattr(door, "find_files", lambda X: calls.append(X) or find(X))
    opened = open_once(str(parts), drop=["id"])
    first = len(calls)
    assert is_source(opened)
    assert opened.names == ["id", "x", "y"]
    assert some_rows(opened, 100).table.column_names == ["x", "y"]
    table = open_source(opened, "y")
    assert (table.n_rows, table.encoder.feature_names) == (12_000, ["x"])
    assert load_source(opened, "test").column_names == ["x", "y"]
    assert len(calls) == first


@pytest.mark.parametrize("small", [True, False])
def test_marks_of_missing_values_are_known_to_streams_too(tmp_path, monkeypatch, small):
    path = tmp_path / "d.csv"
    path.write_text("x,y\n" + "".join(f"{'?' if i % 5 == 0 else i},{i}\n" for i in range(20)))
    if not small:
        monkeypatch.setattr(door, "SMALL_CSV", 1)
    table = load_source(open_once(str(path), cells=CsvCells(["?"])), "test")
    assert table.column("x").null_count == 4
    assert table.column("x").type == pa.int64()


class Settling:
    """A stream whose first two passes end with a type that has changed."""

    schema = pa.schema([("x", pa.int64())])

    def __init__(self):
        self.passes = 0

    def expected_bytes(self, first):
        return None

    def tables(self, names):
        self.passes += 1
        for k in range(3):
            yield pa.table({"x": [self.passes, k]})
            if self.passes <= k:
                yield None
                return


def test_tables_of_a_stream_are_of_one_pass():
    stream = Settling()
    tables, whole = collect(stream, ["x"], lambda n_rows: False)
    assert (stream.passes, whole) == (3, True)
    assert [table.column("x").to_pylist() for table in tables] == [[3, 0], [3, 1], [3, 2]]
    tables, whole = collect(stream, ["x"], lambda n_rows: n_rows >= 4)
    assert (len(tables), whole) == (2, False)
    with pytest.raises(ValueError, match="many"):
        collect(stream, ["x"], lambda n_rows: (_ for _ in ()).throw(ValueError("too many")))


def test_rows_that_would_fill_the_disk_are_refused_before_they_are_written(tmp_path, monkeypatch):
    """What CSV rows take as columns is judged by the first ones, of all files together."""
    line = ",".join(["0.12345678"] * 10)
    paths = [tmp_path / f"{k}.csv" for k in range(3)]
    for path in paths:
        path.write_text("\n".join([",".join("abcdefghij"), *[line] * 20_000]) + "\n")
    stream = door.open_parts([str(path) for path in paths])
    needed = stream.expected_bytes(next(stream.tables(list("abcdefghij"))))
    assert needed == pytest.approx(3 * 20_000 * 10 * 8, rel=0.02)
    free = shutil.disk_usage(tmp_path)._replace(free=int(needed * 0.9))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: free)
    with pytest.raises(
        ValueError, match=r"take about 0\.0048 GB .* 0\.0043\d* GB are free\. Set TMPDIR .*Parquet"
    ):
        open_source([str(path) for path in paths], "a")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: free._replace(free=int(needed * 1.1)))
    assert open_source([str(path) for path in paths], "a").n_rows == 60_000
