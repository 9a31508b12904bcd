"""Files become tables, or one sentence."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from rlselect.data import CsvCells, load_source, open_once, open_table, read_file

TABLE = pa.table({"a": [1, 2, 3], "b": [0.5, None, 2.0], "c": ["u", "v", None]})
CSV = "a,b,c\n1,0.5,u\n2,,v\n3,2.0,NA\n"


def write(folder, name, content):
    path = folder / name
    if isinstance(content, str):
        content = content.encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", CSV),
        ("t.csv.gz", CSV),
        ("T.CSV", CSV),
        ("bom.csv", "\ufeff" + CSV),
        ("semicolon.csv", CSV.replace(",", ";")),
        ("t.tsv", CSV.replace(",", "\t")),
        ("windows.csv", CSV.replace("\n", "\r\n")),
    ],
)
def test_csv_kinds(tmp_path, name, content):
    assert read_file(write(tmp_path, name, content)).equals(TABLE)


def test_parquet(tmp_path):
    parquet.write_table(TABLE, tmp_path / "t.parquet")
    assert read_file(tmp_path / "t.parquet").equals(TABLE)


def test_types_are_taken_from_all_rows(tmp_path):
    lines = ["v"] + ["1"] * 600_000 + ["2.5"]
    table = read_file(write(tmp_path, "long.csv", "\n".join(lines)))
    assert table.column("v").type == pa.float64()
    assert table.column("v")[-1].as_py() == 2.5


def test_marks_of_missing_values(tmp_path):
    path = write(tmp_path, "m.csv", "a,t\n" + "".join(f"{i},u\n" for i in range(19)) + "?,?\n")
    with pytest.raises(ValueError, match=r"column 'a' holds numbers but for '\?' in data row 20; correct"):
        read_file(path)
    table = read_file(path, cells=CsvCells(["?"]))
    assert table.column("a").null_count == table.column("t").null_count == 1
    assert table.column("a").type == pa.int64()


def test_codes_that_look_like_numbers_in_part_stay_text(tmp_path):
    path = write(tmp_path, "codes.csv", "code,v\n" + "1,1\nA,2\n2,3\nB,4\n")
    assert open_table(read_file(path), "v").columns == ["code=2", "code=A", "code=B"]


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("empty.csv", "", "is empty"),
        ("blank.csv", "\n\n", "is empty"),
        ("empty.csv.gz", "", "is empty"),
        ("header.csv", "a,b\n", "has column names but no rows"),
        ("ragged.csv", "a,b\n1,2\n3\n", "its first line has 2 cells and the line '3' has 1"),
        ("twice.csv", "a,a\n1,2\n", "two columns called 'a'"),
        ("stray.csv", "n\n" + "1\n" * 30 + "abc\nx\n", "numbers but for 'abc' in data row 31 and 1 more"),
        ("bytes.csv", b"a,b\n\xff\xfe,2\n", "column 'a' is not UTF-8"),
        ("head.csv", b"\xff\xfc\x00,b\n1,2\n", "its header is not UTF-8"),
        ("excel.csv", "a,b\n1,2\n".encode("utf-16"), "--encoding utf-16"),
        ("title.csv", "Sales of May,,\n,,\na,b,c\n1,2,3\n", "a title stands above the names"),
        ("text.parquet", "not a parquet file", "cannot be read as a table: .*[Pp]arquet"),
        ("empty.parquet", "", "is empty"),
        ("table.xlsx", "x", "unknown kind; give a .csv"),
    ],
)  # fmt: skip
def test_bad_files_give_one_sentence(tmp_path, name, content, match):
    path = write(tmp_path, name, content)
    with pytest.raises(ValueError, match=match) as info:
        read_file(path)
    assert "\n" not in str(info.value)
    assert name in str(info.value)


def test_bars_may_stand_between_cells(tmp_path):
    (tmp_path / "a.csv").write_text("a|b\n1|2,5\n3|4,5\n")
    assert read_file(tmp_path / "a.csv").column_names == ["a", "b"]


def test_truncated_files(tmp_path):
    rng = np.random.default_rng(0)
    parquet.write_table(pa.table({"a": rng.normal(size=1000)}), tmp_path / "t.parquet")
    zipped = gzip.compress(("a\n" + "\n".join(map(str, rng.normal(size=1000)))).encode())
    for name, content in (("half.parquet", (tmp_path / "t.parquet").read_bytes()), ("half.csv.gz", zipped)):
        (tmp_path / name).write_bytes(content[: len(content) // 2])
        with pytest.raises(ValueError, match=f"{name}' cannot be read as a table"):
            read_file(tmp_path / name)


def test_absent_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_file(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="is a folder"):
        read_file(tmp_path)


@pytest.mark.parametrize("size", [5, 200_000])
def test_decimal_commas_are_numbers_where_they_are_named(tmp_path, size):
    """Read whole, and as a stream of blocks whose first one has whole numbers only."""
    values = np.where(np.arange(size) < size - 3, 7.0, 0.25) * (1 + np.arange(size) % 9)
    path = tmp_path / "a.csv"
    lines = (f"{v:g};{-v:g};b".replace(".", ",") for v in values)
    path.write_text("\n".join(["x;y;z", *lines]) + "\n")
    cells = CsvCells(decimal=",")
    tables = [load_source(open_once(str(path), cells=cells), "test")]
    tables += [read_file(path, cells=cells)] if size < 10 else []
    for table in tables:
        np.testing.assert_array_equal(table["x"].to_numpy(), values)
        np.testing.assert_array_equal(table["y"].to_numpy(), -values)


def test_commas_and_points_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x;y\n" + "1;2\n" * 20 + "3,5;2\n")
    with pytest.raises(ValueError, match=r"numbers but for '3,5' in data row 21; .*--decimal ,"):
        read_file(path)
    path.write_text("x;y\n" + "1,5;2.5\n" * 20)
    with pytest.raises(ValueError, match=r"'y' holds '2\.5' in data row 1, which has a point"):
        read_file(path, cells=CsvCells(decimal=","))
    # versions and dates are text
    path.write_text("x;y;z\n" + "1,5;1.2.3;12.05.2024\n" * 20)
    assert [str(kind) for kind in read_file(path, cells=CsvCells(decimal=",")).schema.types] == [
        "double",
        "string",
        "string",
    ]


@pytest.mark.parametrize("decimal", [".", ","])
def test_codes_of_missing_numbers_count_however_they_are_written(tmp_path, decimal):
    path = tmp_path / "a.csv"
    path.write_text("x;y;z\n1.5;-999;-999\n-999.00;3;b\n-99;-9990;c\n".replace(".", decimal))
    cells = CsvCells(["-999"], decimal)
    for table in (read_file(path, cells=cells), load_source(open_once([str(path)], cells=cells), "test")):
        assert table.to_pydict() == {"x": [1.5, None, -99.0], "y": [None, 3, -9990], "z": [None, "b", "c"]}


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8"])
def test_letters_are_read_as_they_were_written(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes("Größe;Ort\n1;Köln\n2;Fürth\n".encode(encoding))
    cells = CsvCells(encoding=encoding)
    for table in (read_file(path, cells=cells), load_source(open_once([str(path)], cells=cells), "test")):
        assert table.to_pydict() == {"Größe": [1, 2], "Ort": ["Köln", "Fürth"]}
    if encoding != "utf-8":
        with pytest.raises(ValueError, match=rf"not UTF-8.*; .* \(--encoding {encoding}"):
            read_file(path)


def test_a_name_between_quotes_may_hold_separators(tmp_path):
    (tmp_path / "a.csv").write_text('"a, b, c";d\n1;2\n3;4\n')
    assert read_file(tmp_path / "a.csv").to_pydict() == {"a, b, c": [1, 3], "d": [2, 4]}


def test_grouped_numbers_in_later_blocks_and_beside_text(tmp_path, monkeypatch):
    from rlselect.data import CsvCells, _csv, _open, open_once, read_columns

    monkeypatch.setattr(_open, "SMALL_CSV", 0)
    monkeypatch.setattr(_csv, "_BLOCK", 256)
    values = [*range(1, 60), *range(1000, 1100)]
    lines = [
        "n;word;mixed",
        *(f"{v:,};w{v};{v:,}" for v in values),
        "2,000;w;many",
        "3,000;w;words",
        "4;w;here",
    ]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines) + "\n")
    cells = CsvCells(thousands=",")
    whole = read_file(path, cells=CsvCells(missing=["many", "words", "here"], thousands=","))
    assert whole["n"].to_pylist() == [*map(float, values), 2000.0, 3000.0, 4.0]
    assert whole["mixed"].to_pylist() == [*map(float, values), None, None, None]
    opened = open_once(str(path), cells=CsvCells(missing=["many", "words", "here"], thousands=","))
    from rlselect.data import load_source

    loaded = load_source(opened, "test")
    assert loaded["n"].to_pylist() == whole["n"].to_pylist()
    assert loaded["mixed"].to_pylist() == whole["mixed"].to_pylist()
    kept = [cell for table in read_columns(opened, ["n"]) for cell in table["n"].to_pylist()]
    assert kept[:1] + kept[-2:] == ["1", "3,000", "4"]
    with pytest.raises(ValueError, match="column 'mixed' holds numbers but for 'many'"):
        load_source(open_once(str(path), cells=cells), "test")
