"""Parquet at the door: the same rows as in memory, and one clear sentence for every kind of bad file."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from rlselect.data import Table, is_source, open_source, open_table
from rlselect.data._clustering import clustering, column_moments
from rlselect.data._part_table import PartTable
from rlselect.data._pool import share_out

N, P = 12_000, 5


def frame(n=N, seed=0):
    rng = np.random.default_rng(seed)
    columns = {f"v{j}": rng.standard_normal(n) for j in range(P)}
    return pa.table({**columns, "w": rng.uniform(1, 2, n), "target": rng.standard_normal(n)})


def write(folder, table, files=4, rows=1000):
    folder.mkdir(exist_ok=True)
    edges = np.linspace(0, len(table), files + 1).astype(int)
    for i, (a, b) in enumerate(pairwise(edges)):
        pq.write_table(table.slice(a, b - a), folder / f"part-{i:02d}.parquet", row_group_size=rows)
    return folder


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "data", frame())


def test_folder_glob_file_and_dataset_hold_the_same_rows(folder):
    memory = open_table(frame(), "target", sample_weight="w")
    files = sorted(folder.iterdir())
    several = [files, [str(files[0]), folder / "part-0[1-3].parquet"]]
    for source in (folder, str(folder / "*.parquet"), ds.dataset(folder), folder.as_uri(), *several):
        table = open_source(source, "target", sample_weight="w")
        assert isinstance(table, PartTable)
        assert (table.n_rows, table.columns) == (N, memory.columns)
        for rows, columns in ((None, None), (slice(990, 3010), [3, 1]), (np.array([7000, 3, 3]), None)):
            ours, theirs = table.take(rows, columns), memory.take(rows, columns)
            for a, b in zip(ours, theirs, strict=True):
                assert (a is None and b is None) or np.array_equal(a, b)
    one = open_source(folder / "part-01.parquet", "target")
    assert one.n_rows == 3000
    assert one.take(slice(0, 4)).y.tolist() == frame()["target"].to_numpy()[3000:3004].tolist()


def test_scan_and_sample_keep_rows_together(folder):
    table = open_source(folder, "target")
    y = np.concatenate([batch.y for batch in table.scan([0])])
    assert np.array_equal(y, frame()["target"].to_numpy())
    batch = table.sample(500, None, np.random.default_rng(0))
    place = {v: i for i, v in enumerate(frame()["v0"].to_numpy())}
    rows = [place[v] for v in batch.X[:, 0]]
    assert len(set(rows)) == 500
    assert np.array_equal(batch.y, frame()["target"].to_numpy()[rows])


def test_small_sources_become_tables(tmp_path):
    table = open_source(write(tmp_path / "few", frame(900)), "target")
    assert isinstance(table, Table)
    assert is_source(tmp_path)
    assert not is_source(frame())


@pytest.mark.parametrize("spread", [0.0, 0.001, 0.5])
def test_pool_draws_every_row_once(folder, spread):
    table = open_source(folder, "target")
    table.spread = spread
    table.start(np.random.default_rng(3))
    draws = list(table.pool.draw(N, 700))
    assert table.pool.n_used == N
    first = [table.take(draw) for draw in draws]
    again = [table.take(draw, np.array([0])) for draw in draws]
    values = np.concatenate([b.X[:, 0] for b in first])
    assert np.array_equal(np.sort(values), np.sort(frame()["v0"].to_numpy()))
    for a, b in zip(first, again, strict=True):
        assert np.array_equal(a.X[:, [0]], b.X)
        assert np.array_equal(a.y, b.y)
    halves = [np.concatenate([b.y for b in first[h::2]]) for h in (0, 1)]
    assert abs(len(halves[0]) - len(halves[1])) <= len(draws)
    every = [table.take(rows).y for rows in table.pool.everything(700)]
    assert max(map(len, every)) <= 700
    assert np.array_equal(np.sort(np.concatenate(every)), np.sort(frame()["target"].to_numpy()))


def test_parts_of_the_first_rows_are_decoded_once(tmp_path, monkeypatch):
    monkeypatch.setattr("rlselect.data._part_table._HELD_BYTES", 200_000)
    monkeypatch.setattr("rlselect.data._pool._DECODE_ROWS", 3000)
    monkeypatch.setattr("rlselect.data._pool._FIRST_ROWS", 600)
    columns = [f"v{j}" for j in range(P)]
    table = open_source(write(tmp_path / "plain", frame().select([*columns, "target"])), "target")
    table.start(np.random.default_rng(3))
    assert not table.is_held
    decoded = table.n_rows_decoded
    assert 3000 <= decoded < N
    rounds = table.pool.rounds(4, 700, np.random.default_rng(0))
    assert len(rounds) == 4
    assert {rows.part for rows in rounds[0]} >= {part for part, _, _ in table.pool._refills[0]}
    batches = [table.take(rows) for blocks in rounds for rows in blocks]
    every = np.concatenate([b.y for b in batches])
    assert np.array_equal(np.sort(every), np.sort(frame()["target"].to_numpy()))
    assert table.n_rows_decoded == N
    # passed over, they are gone
    table.take(rounds[0][0])
    assert table.n_rows_decoded > N


def test_all_rows_are_equally_likely():
    """Row groups of unequal size: the chance of a row must not depend on the size of its group."""
    left = np.array([100, 400, 1600, 1600, 6400])
    counts = np.zeros(5)
    for seed in range(3000):
        counts += share_out(left, 60, 3, np.random.default_rng(seed)) / left
    assert np.allclose(counts / 3000, 60 / left.sum(), rtol=0.2)
    all_parts = sum(share_out(left, 60, 5, np.random.default_rng(s)) / left for s in range(3000)) / 3000
    assert np.allclose(all_parts, 60 / left.sum(), rtol=0.1)


def test_clustering_sees_what_lies_between_parts():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((64_000, 20))
    assert clustering([column_moments(part) for part in np.split(rows, 16)]) == 0.0
    shifted = rows + np.zeros(20)
    shifted[:, 3] += np.repeat(rng.standard_normal(16) * 0.1, 4000)
    found = clustering([column_moments(part) for part in np.split(shifted, 16)])
    assert 0.002 < found < 0.05


def test_parts_of_a_row_each_show_no_clustering():
    rows = np.random.default_rng(3).standard_normal((40, 2))
    assert clustering([column_moments(row[None]) for row in rows]) == 0.0
    assert clustering([column_moments(rows), column_moments(rows[:1] + 9.0)]) == 0.0


def test_clustered_files_are_read_wider(tmp_path):
    table = frame()
    by_target = table.sort_by("target")
    wide, narrow = (
        open_source(write(tmp_path / name, t, rows=500), "target")
        for name, t in (("sorted", by_target), ("random", table))
    )
    assert narrow.spread == 0.0
    assert wide.spread > 0.5
    # a column that the probe does not look at: found in the first rows read
    hidden = open_source(write(tmp_path / "hidden", table.sort_by("v1"), rows=500), "target")
    assert hidden.spread == 0.0
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr("rlselect.data._pool._DECODE_ROWS", 1000)
        patch.setattr("rlselect.data._pool._FIRST_ROWS", 600)
        for source in (wide, narrow, hidden):
            source.start(np.random.default_rng(0))
    visited = [len(s.pool._refills[0]) for s in (wide, narrow, hidden)]
    assert visited == [24, 2, 24]
    y = wide.glance(N).y
    assert abs(y.mean()) < 4 / np.sqrt(len(y))
    assert abs(y.std() - 1) < 0.1


def test_text_categories_and_missing(tmp_path):
    rng = np.random.default_rng(1)
    table = frame().append_column("city", pa.array(rng.choice(["Rome", "Oslo", "Bonn"], N)))
    gaps = np.where(rng.random(N) < 0.1, np.nan, rng.standard_normal(N))
    table = table.append_column("age", pa.array(gaps, from_pandas=True))
    folder = write(tmp_path / "mixed", table)
    for missing in ("indicator", "drop"):
        memory = open_table(table, "target", missing=missing)
        source = open_source(folder, "target", missing=missing)
        assert source.columns == memory.columns
        source.start(np.random.default_rng(0))
        draws = list(source.pool.draw(N, 4000))
        parts = [source.take(draw) for draw in draws]
        X = np.concatenate([b.X for b in parts])
        y = np.concatenate([b.y for b in parts])
        expected = memory.take()
        assert np.allclose(X[np.argsort(y)], expected.X[np.argsort(expected.y)])
        some = [source.columns.index(name) for name in ("city=Rome", "age", "v2")]
        again = np.concatenate([source.take(draw, np.array(some)).X for draw in draws])
        assert np.allclose(again, X[:, some])
    with pytest.raises(ValueError, match=r"part-0\d.parquet', row group \d: .*missing values.*'age'"):
        list(open_source(folder, "target").scan())


def test_every_row_of_a_drop_is_missing(tmp_path):
    table = frame().append_column("age", pa.nulls(N, pa.float64()))
    source = open_source(write(tmp_path / "none", table), "target", missing="drop")
    with pytest.raises(ValueError, match="leaves no row"):
        source.start(np.random.default_rng(0))


def _spoil(table, name, row, value):
    values = table[name].to_numpy().copy()
    values[row] = value
    return table.set_column(table.column_names.index(name), name, pa.array(values))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("v3", np.nan, "Input X contains missing values .*'v3'"),
        ("v1", np.inf, "Input X contains infinity.*'v1'"),
        ("target", np.nan, "Input y contains missing values"),
        ("target", np.inf, "Input y contains infinity"),
        ("w", -1.0, "sample_weight is negative"),
        ("w", np.nan, "sample_weight contains NaN"),
    ],
)
def test_a_bad_value_deep_inside_is_named(tmp_path, name, value, words):
    folder = write(tmp_path / "bad", _spoil(frame(), name, 11_007, value))
    with pytest.raises(ValueError, match=r"part-03.parquet', row group 2: " + words):
        open_source(folder, "target", sample_weight="w", validate="all")


def test_truncated_file(folder):
    path = folder / "part-02.parquet"
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(ValueError, match=r"part-02.parquet' cannot be read as Parquet"):
        open_source(folder, "target")


def test_damaged_pages(folder):
    path = folder / "part-02.parquet"
    bytes_ = bytearray(path.read_bytes())
    bytes_[4:4000] = b"\xff" * 3996
    path.write_bytes(bytes(bytes_))
    with pytest.raises(ValueError, match=r"part-02.parquet', row group 0"):
        list(open_source(folder, "target", validate="all").scan())


def test_other_schema(folder):
    pq.write_table(
        frame(100).rename_columns(["v0", "v1", "v2", "V3", "v4", "w", "target"]), folder / "z.parquet"
    )
    with pytest.raises(ValueError, match=r"z.parquet' has no column 'v3' \(but 'V3'\).*same columns"):
        open_source(folder, "target")


def test_a_column_that_turns_to_text_late(folder):
    table = frame(100)
    text = table.set_column(2, "v2", pa.array(["?"] * 100))
    pq.write_table(text, folder / "part-40.parquet")
    with pytest.raises(
        ValueError, match=r"Column 'v2' holds string \(text\) in .*part-40.parquet', but double"
    ):
        open_source(folder, "target")


def test_columns_in_another_order_and_precision_are_fine(folder):
    table = frame(1000, seed=5)
    other = table.select(table.column_names[::-1]).set_column(
        6, "v0", pa.array(table["v0"].to_numpy().astype(np.float32))
    )
    pq.write_table(other, folder / "part-09.parquet")
    source = open_source(folder, "target")
    last = source.take(slice(N, N + 1000))
    assert np.allclose(last.X[:, 0], table["v0"].to_numpy(), rtol=1e-6)
    assert np.array_equal(last.X[:, 4], table["v4"].to_numpy())


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda p: p / "nothing", FileNotFoundError, "no file or folder"),
        (lambda p: p, FileNotFoundError, "holds no Parquet file"),
        (lambda p: str(p / "*.parquet"), FileNotFoundError, "No file matches"),
        (lambda p: [p / "nothing"], FileNotFoundError, "no file or folder"),
        (lambda p: (p / "nothing").as_uri(), ValueError, "cannot be opened: .*nothing"),
        (lambda p: "nowhere://x", ValueError, "give a pyarrow.dataset with its filesystem"),
        (lambda p: frame(10).to_reader(), TypeError, "can be read once only; give a function"),
        (lambda p: iter([frame(10)]), TypeError, "can be read once only; give a function"),
    ],
)
def test_nothing_there(tmp_path, make, error, words):
    with pytest.raises(error, match=words):
        open_source(make(tmp_path), "target")


def test_a_file_is_named_once(folder):
    with pytest.raises(ValueError, match=r"part-00.parquet' 2 times; name each file once"):
        open_source([folder / "part-00.parquet", folder], "target")


def test_files_without_rows(tmp_path):
    pq.write_table(frame()[:0], tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="holds no rows"):
        open_source(tmp_path, "target")
    pq.write_table(frame(), tmp_path / "b.parquet")
    assert open_source(tmp_path, "target").n_rows == N


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"y": "targt"}, ValueError, "Did you mean 'target'"),
        ({"y": np.ones(N)}, TypeError, "y is a ndarray, but X is read in parts: give the name"),
        ({"y": "target", "validate": "some"}, ValueError, "validate='some' is not known"),
        ({"y": "target", "missing": "skip"}, ValueError, "missing='skip' is not known"),
    ],
)
def test_bad_arguments(folder, given, error, words):
    with pytest.raises(error, match=words):
        open_source(folder, **given)


def test_dates_are_refused(tmp_path):
    table = frame().append_column("day", pa.array(np.arange(N, dtype=np.int32), pa.date32()))
    with pytest.raises(TypeError, match="'day' of X holds dates"):
        open_source(write(tmp_path / "dates", table), "target")


def test_decoded_rows_count_columns_in_proportion(folder):
    source = open_source(folder, "target", sample_weight="w")
    before = source.n_rows_decoded
    list(source.scan())
    assert source.n_rows_decoded - before == N
    list(source.scan([0], count=False))
    assert source.n_rows_decoded - before == N
    list(source.scan([0]))
    assert source.n_rows_decoded - before == N + round(N * 3 / 7)


@pytest.fixture
def wide(tmp_path, monkeypatch):
    """Twelve row groups, each as large as a batch may be."""
    monkeypatch.setattr("rlselect.data._part_table._MOST_BYTES", 2**18)
    monkeypatch.setattr("rlselect.data._part_table._GLANCE_BYTES", 2**15)
    monkeypatch.setattr("rlselect.data._pool._DECODE_BYTES", 2**19)
    rng = np.random.default_rng(4)
    columns = {f"v{j}": rng.standard_normal(12_288) for j in range(32)}
    return write(tmp_path / "wide", pa.table({**columns, "target": columns["v3"]}), files=2, rows=1024)


def test_wide_rows_are_drawn_from_few_row_groups(wide):
    table = open_source(wide, "target")
    assert (table.batch_rows, table.row_bytes) == (1024, 256)
    table.start(np.random.default_rng(0))
    assert len(table.pool._refills[0]) == 2
    before = table.n_rows_decoded
    expected = table.pool.decodes(2048)
    list(table.pool.draw(2048, 256))
    assert table.n_rows_decoded - before == expected == 3 * 2 * 1024
    # only a part of the first rows stays at hand; of the others a few columns are read again
    assert len(table.glance(50).X) == 50
    table.pool._held.clear()
    before = table.n_rows_decoded
    batch = table.glance(500, np.array([3, 1]))
    assert batch.X.shape == (500, 2)
    assert np.array_equal(batch.X[:, 0], batch.y)
    assert table.n_rows_decoded - before < 2 * 1024 / 4


@pytest.mark.parametrize("columns", [None, np.array([5, 3])])
def test_a_pass_over_whole_row_groups_holds_one_of_them(wide, columns):
    table = open_source(wide, "target")
    table.start(np.random.default_rng(0))
    arrow = pa.total_allocated_bytes()
    y = []
    for rows in table.pool.everything(200):
        batch = table.take(rows, columns)
        # what was decoded is gone once it is encoded, and a slice does not keep the others
        assert pa.total_allocated_bytes() - arrow < table.batch_bytes / 4
        assert (batch.X if batch.X.base is None else batch.X.base).nbytes == batch.X.nbytes
        assert np.array_equal(batch.X[:, 3 if columns is None else 1], batch.y)
        y.append(batch.y)
    assert len(np.concatenate(y)) == 12_288


def nothing_in(name, table, first, last):
    """Write a column without a type in the files between, as many writers do when there is no value."""
    where = table.schema.names.index(name)
    parts = [table.slice(i * 3000, 3000) for i in range(4)]
    return [
        part.set_column(where, name, pa.nulls(3000)) if first <= i < last else part
        for i, part in enumerate(parts)
    ]


def write_each(folder, parts):
    folder.mkdir()
    for i, part in enumerate(parts):
        pq.write_table(part, folder / f"{i}.parquet", row_group_size=1000)
    return folder


@pytest.mark.parametrize("files", [(0, 1), (2, 3), (0, 3)])
@pytest.mark.parametrize("name", ["v1", "city"])
def test_a_file_without_a_value_in_a_column_reads_as_missing(tmp_path, files, name):
    table = frame().append_column("city", pa.array(["Oslo", "Rome", "Bonn"] * (N // 3)))
    parts = nothing_in(name, table, *files)
    folder = write_each(tmp_path / "gaps", parts)
    n_missing = 3000 * (files[1] - files[0])
    whole = pa.concat_tables(parts, promote_options="permissive")
    marked, memory = (
        open_source(folder, "target", missing="indicator", validate="all"),
        open_table(whole, "target", missing="indicator"),
    )
    assert marked.columns == memory.columns
    assert f"{name}=missing" in marked.columns
    assert np.allclose(marked.take().X, memory.take().X)
    dropped = open_source(folder, "target", missing="drop")
    assert len(dropped.take().X) == N - n_missing
    with pytest.raises(ValueError, match=rf"'{name}' \(1000 rows\)"):
        list(open_source(folder, "target").scan())

    def chunks():
        return iter(parts)

    assert np.allclose(
        open_source(chunks, "target", missing="indicator", validate="all").take().X, memory.take().X
    )


def test_a_column_without_a_value_anywhere(tmp_path):
    folder = write_each(tmp_path / "empty", nothing_in("v1", frame(), 0, 4))
    with pytest.raises(ValueError, match=r"missing values.*'v1' \(1000 rows\)"):
        list(open_source(folder, "target").scan())
    marked = open_source(folder, "target", missing="indicator")
    place = marked.columns.index("v1=missing")
    assert np.array_equal(marked.take(slice(0, 5), [1, place]).X, [[0.0, 1.0]] * 5)
    with pytest.raises(ValueError, match=r'missing="drop" leaves no row'):
        open_source(folder, "target", missing="drop").start(np.random.default_rng(0))


def test_files_without_a_target_are_left_out(tmp_path):
    folder = write_each(tmp_path / "unlabelled", nothing_in("target", frame(), 0, 1))
    assert len(open_source(folder, "target", missing="drop").take().y) == N - 3000
    with pytest.raises(ValueError, match=r"y contains missing values \(NaN\) in 1000 of 1000"):
        list(open_source(folder, "target").scan())


def test_the_file_that_settles_a_type_is_named(tmp_path):
    parts = nothing_in("v1", frame(), 0, 1)
    parts[3] = parts[3].set_column(1, "v1", pa.array(["a"] * 3000))
    folder = write_each(tmp_path / "text", parts)
    words = r"'v1' holds string \(text\) in .*3.parquet', but double \(numbers\) in .*1.parquet'"
    with pytest.raises(ValueError, match=words):
        open_source(folder, "target")
