"""Columns of Parquet and Arrow files as BigQuery's types, or refused by name."""

import datetime
import decimal

import numpy
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from trellis.new import files
from trellis.new.described import DataError, lines

DAY = datetime.date(2024, 3, 14)
NOON = datetime.datetime(2024, 3, 14, 12)
ZONED = NOON.replace(tzinfo=datetime.UTC)


@pytest.fixture
def read(tmp_path):
    """Reads a Parquet file of these columns: (values by column, types, what the screen says)."""

    def read(columns):
        path = tmp_path / "d.parquet"
        parquet.write_table(pa.table(columns), path, store_schema=True)
        file = files.read(path)
        types = {column.name: column.type for column in files.describe(file, "data.d").columns}
        return file.table.to_pydict(), types, "\n".join(lines(file.notes))

    return read


@pytest.mark.parametrize(
    ("array", "values", "type_", "said"),
    [
        (pa.array([1, None], pa.uint8()), [1, None], "INT64", ""),
        (pa.array([1.5, None], pa.float16()), [1.5, None], "FLOAT64", ""),
        (pa.array([2**63 + 1, 1], pa.uint64()), [str(2**63 + 1), "1"], "STRING", "beyond 64 bits"),
        (pa.array([2**63 - 1, 1], pa.uint64()), [2**63 - 1, 1], "INT64", ""),
        (pa.array([1.0, float("nan")]), [1.0, None], "FLOAT64", "NaN in 1 rows is missing"),
        (pa.array([decimal.Decimal("1.25")]), [1.25], "FLOAT64", "decimal128(3, 2) is FLOAT64"),
        (pa.array([decimal.Decimal(7)], pa.decimal128(38, 0)), [7], "INT64", ""),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"], "STRING", ""),
        (pa.array(["a"], pa.large_string()), ["a"], "STRING", ""),
        (pa.array(["ä"], pa.string_view()), ["ä"], "STRING", ""),
        (pa.array([None, None], pa.null()), [None, None], "STRING", ""),
        (pa.array([True, None]), [True, None], "BOOL", ""),
        (pa.array([DAY], pa.date32()), [DAY], "DATE", ""),
        (pa.array([DAY], pa.date64()), [DAY], "DATE", ""),
        (pa.array([NOON], pa.timestamp("s")), [NOON], "DATETIME", ""),
        (pa.array([NOON], pa.timestamp("ns")), [NOON], "DATETIME", ""),
        (pa.array([1], pa.timestamp("ns")), [datetime.datetime(1970, 1, 1)], "DATETIME", "cut off"),
        (pa.array([ZONED], pa.timestamp("us", "UTC")), [ZONED], "TIMESTAMP", ""),
        (
            pa.array([ZONED], pa.timestamp("us", "Europe/Berlin")),
            [ZONED],
            "TIMESTAMP",
            "Europe/Berlin is stored as UTC",
        ),
        (pa.array([3661], pa.time32("s")), [datetime.time(1, 1, 1)], "TIME", ""),
        (pa.array([1000], pa.time64("ns")), [datetime.time(0, 0, 0, 1)], "TIME", ""),
        (pa.array([1500], pa.duration("ms")), [1.5], "FLOAT64", "duration, in seconds"),
        (pa.array([b"caf\xc3\xa9"]), ["café"], "STRING", "binary, which is text"),
        (pa.array([[1, 2], [3]]), [[1, 2], [3]], "ARRAY<INT64>", ""),
        (
            pa.array([[1.5, 2], [3, 4]], pa.list_(pa.float32(), 2)),
            [[1.5, 2], [3, 4]],
            "ARRAY<FLOAT64>",
            "",
        ),
        (pa.array([[1.5]], pa.large_list(pa.float64())), [[1.5]], "ARRAY<FLOAT64>", ""),
        (pa.array([[True, False]]), [[1, 0]], "ARRAY<INT64>", ""),
        (pa.array([[1], None, [2]]), [[1], None, [2]], "ARRAY<INT64>", "no list in 1 rows"),
    ],
)
def test_what_is_read(read, array, values, type_, said):
    found, types, screen = read({"x": array})
    assert found["x"] == values
    assert types["x"] == type_
    assert ("x (" in screen) == bool(said)
    assert said in screen


def test_a_missing_element_is_nan(read):
    found, types, screen = read({"x": pa.array([[1, None], [2]])})
    assert numpy.isnan(found["x"][0][1])
    assert (found["x"][0][0], found["x"][1]) == (1.0, [2.0])
    assert (types["x"], "a missing element is NaN" in screen) == ("ARRAY<FLOAT64>", True)


@pytest.mark.parametrize(
    ("array", "remedy"),
    [
        (pa.array([["a", "b"]]), r"join each with \|"),
        (pa.array([[[1], [2]]]), "one column for each inner list"),
        (pa.array([{"bytes": b"\xff", "path": "a.png"}]), "folder of classes"),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), "a column for each of its keys"),
        (pa.array([b"\xff\xd8"]), "folder of classes"),
        (pa.array([[DAY]]), "only lists of numbers"),
        (pa.array([2**55], pa.timestamp("ms")), "BigQuery cannot hold|years 1 to 9999"),
    ],
)
def test_what_is_refused(read, array, remedy):
    with pytest.raises(DataError, match=rf"d.parquet.*\n.*column 'bad': .*({remedy})"):
        read({"good": pa.array([1]), "bad": array})


def test_every_column_that_is_refused_is_named(read):
    with pytest.raises(DataError) as refused:
        read({"one": pa.array([["a"]]), "two": pa.array([{"a": 1}]), "good": pa.array([1])})
    assert ["'one'" in str(refused.value), "'two'" in str(refused.value)] == [True, True]


def test_an_index_of_pandas_is_reported(tmp_path):
    import pandas

    frame = pandas.DataFrame({"x": [1.0, 2.0, 3.0]})
    frame = frame.iloc[[2, 0, 1]]
    frame.to_parquet(tmp_path / "d.parquet")
    file = files.read(tmp_path / "d.parquet")
    said = "\n".join(lines(file.notes))
    assert "__index_level_0__" in said


def test_missing_lists_of_a_fixed_length(tmp_path):
    """pyarrow reads them from Arrow files, and not from Parquet."""
    table = pa.table({"x": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2))})
    feather.write_feather(table, str(tmp_path / "d.arrow"))
    assert files.read(tmp_path / "d.arrow").table.to_pydict() == {"x": [[1, 2], None, [3, 4]]}
    parquet.write_table(table, tmp_path / "d.parquet")
    with pytest.raises(DataError, match=r"column 'x': .*write lists of any length"):
        files.read(tmp_path / "d.parquet")


@pytest.mark.parametrize("write", [feather.write_feather, "stream"])
def test_arrow_files(tmp_path, write):
    table, path = pa.table({"x": [1, 2]}), tmp_path / "d.arrow"
    if write == "stream":
        with pa.ipc.new_stream(path, table.schema) as file:
            file.write_table(table)
    else:
        write(table, str(path))
    assert files.read(path).table.to_pydict() == {"x": [1, 2]}
