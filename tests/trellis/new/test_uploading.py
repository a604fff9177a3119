"""Uploads: tables with their images, and rows appended to a table that exists; nothing twice."""

import datetime
import random

import pyarrow
import pytest
import yaml
from google.cloud import bigquery
from pyarrow import parquet

from testbed.tfrecords import records
from tests.airflow_side import ROOT
from tests.trellis.new.test_command_images import png
from trellis.__main__ import main
from trellis.new import loading
from trellis.workflow.spec import platform
from trellis.workflow.validation.file import load


@pytest.fixture
def here(tmp_path, google, monkeypatch):
    """A group's folder of DAG files beside its data, and a bucket."""
    committed = platform.load(ROOT / "dags").model_dump(mode="json", exclude_none=True)
    (tmp_path / "dags").mkdir()
    group = yaml.safe_dump(committed | {"bucket": "new-tests"})
    (tmp_path / "dags/platform.yaml").write_text(group)
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def table():
    """A name of a table that no other test has."""
    return f"uploads.t{random.SystemRandom().getrandbits(60)}"


def rows_of(table):
    """The rows of a table, in order."""
    found = bigquery.Client().query(f"SELECT * FROM {table}").result()
    return sorted(tuple(row.values()) for row in found)


def picture(tmp_path, number):
    """The bytes of a PNG of which each number makes another one."""
    png(tmp_path / "one.png", 16 + number)
    return (tmp_path / "one.png").read_bytes()


def write_records(here, count=60):
    """Records of images beside a number in two files, as a colleague may have them."""
    folder = here / "cells"
    folder.mkdir(exist_ok=True)
    rows = [
        {"image/encoded": [picture(here, n % 7)], "age": [n], "label": [n % 2]}
        for n in range(count)
    ]
    for number, split in enumerate(("train", "test")):
        part = rows[number * count // 2 :][: count // 2]
        (folder / f"cells-{split}.tfrecord").write_bytes(records(part))
    return folder


def test_tfrecords_become_a_table_and_its_images(here, google, table, capsys):
    folder = write_records(here)
    assert main(["upload", *map(str, sorted(folder.iterdir())), table]) == 0
    out = capsys.readouterr().out
    place = "gs://new-tests/" + table.replace(".", "/")
    assert f"60 rows are in {table}, 7 images in {place}" in out
    found = rows_of(f"(SELECT age, label, split, image_encoded FROM {table})")
    assert [row[:3] for row in found] == [
        (n, n % 2, "train" if n < 30 else "test") for n in range(60)
    ]
    for age, *_, address in found:
        file = google.buckets / address.removeprefix("gs://")
        assert file.read_bytes() == picture(here, age % 7)
    assert main(["new", "experiment", table, "--name", "cells", "--label", "label"]) == 0
    source = load(here / "dags/experiments/cells.yaml").source
    assert source.image_columns["image_encoded"].size == (19, 19)


def test_new_looks_at_the_images_of_records_before_they_are_uploaded(here, google, capsys):
    write_records(here)
    assert main(["new", "experiment", "cells/*.tfrecord", "--label", "label"]) == 0
    said = capsys.readouterr().out
    assert "trellis upload cells/cells-test.tfrecord cells/cells-train.tfrecord data.cells" in said
    experiment = load(here / "dags/experiments/cells.yaml")
    assert list(experiment.source.image_columns) == ["image_encoded"]
    assert not (google.buckets / "new-tests/data/cells").exists()


def test_images_that_an_upload_left_behind_are_completed(here, google, table, monkeypatch, capsys):
    """The first upload dies before its rows are loaded; its images are not written again."""
    folder = write_records(here)
    monkeypatch.setattr(loading.Load, "_insert", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["upload", f"{folder}/*.tfrecord", table])
    monkeypatch.undo()
    monkeypatch.chdir(here)
    images = sorted((google.buckets / "new-tests" / table.replace(".", "/")).rglob("*.png"))
    assert len(images) == 7
    images.pop().unlink()
    before = [file.stat().st_mtime_ns for file in images]
    assert main(["upload", f"{folder}/*.tfrecord", table]) == 0
    assert [file.stat().st_mtime_ns for file in images] == before
    assert len(rows_of(table)) == 60


def test_no_image_is_uploaded_for_a_table_that_has_other_rows(here, google, table, capsys):
    assert main(["upload", write(here / "a.csv", "id,x", "k1,2"), table]) == 0
    assert main(["upload", f"{write_records(here)}/*.tfrecord", table]) == 1
    assert f"{table} has other rows already" in capsys.readouterr().err
    assert not (google.buckets / "new-tests" / table.replace(".", "/")).exists()


def write(path, *lines):
    """A CSV file of these lines."""
    path.write_text("\n".join([*lines, ""]))
    return str(path)


HEADER = "patient_id,code,dose,seen"


def rows(first, count):
    """Lines of patients, numbered from `first` on."""
    return [f"p{n},0{n % 5},{n}.5,2024-03-{1 + n % 28:02d}" for n in range(first, first + count)]


def test_a_table_grows(here, table, capsys):
    assert main(["upload", write(here / "a.csv", HEADER, *rows(0, 40)), table]) == 0
    # Codes without a leading zero, and doses without decimals, are what the table has.
    more = write(here / "b.csv", "code,patient_id,dose,seen", "17,p90,3,2024-04-01",
                 "21,p91,4,2024-04-02")  # fmt: skip
    assert main(["upload", more, table, "--append"]) == 0
    assert f"2 more rows are in {table}" in capsys.readouterr().out
    found = rows_of(table)
    assert len(found) == 42
    assert found[-2:] == [
        ("p90", "17", 3.0, datetime.date(2024, 4, 1)),
        ("p91", "21", 4.0, datetime.date(2024, 4, 2)),
    ]


@pytest.mark.parametrize("with_key", [True, False])
def test_the_same_rows_are_never_there_twice(here, table, capsys, with_key):
    header, cut = (HEADER, 0) if with_key else (HEADER.partition(",")[2], 1)
    first, second = (
        ["|".join(line.split(",")[cut:]).replace("|", ",") for line in rows(start, 30)]
        for start in (0, 100)
    )
    a, b = write(here / "a.csv", header, *first), write(here / "b.csv", header, *second)
    assert main(["upload", a, table]) == 0
    assert main(["upload", b, table, "--append"]) == 0
    expected = rows_of(table)
    assert len(expected) == 60
    for again in ((b, "--append"), (a, "--append"), (b, "--append"), (a,)):
        capsys.readouterr()
        assert main(["upload", again[0], table, *again[1:]]) == 0
        assert "The same 30 rows have been in" in capsys.readouterr().out
        assert rows_of(table) == expected


def test_a_killed_append_is_adopted(here, table, monkeypatch, capsys):
    """The process ends after the job was made, and before its end."""
    assert main(["upload", write(here / "a.csv", HEADER, *rows(0, 30)), table]) == 0
    more = write(here / "b.csv", HEADER, *rows(50, 30))
    insert = loading.Load._insert

    def killed(*arguments):
        insert(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(loading.Load, "_insert", killed)
    with pytest.raises(KeyboardInterrupt):
        main(["upload", more, table, "--append"])
    monkeypatch.setattr(loading.Load, "_insert", insert)
    assert main(["upload", more, table, "--append"]) == 0
    assert len(rows_of(table)) == 60


def test_a_table_that_was_made_anew_takes_the_rows_again(here, table):
    first, more = (
        write(here / f"{n}.csv", HEADER, *rows(50 * n, 30)) for n in range(2)
    )  # fmt: skip
    for _ in range(2):
        assert main(["upload", first, table]) == 0
        assert main(["upload", more, table, "--append"]) == 0
        assert len(rows_of(table)) == 60
        bigquery.Client().delete_table(table)


@pytest.mark.parametrize(
    ("lines", "messages"),
    [
        (["patient_id,code,dose", "p90,1,2.5"], ["'seen' is in the table alone"]),
        ([f"{HEADER},more", "p90,1,2.5,2024-03-01,x"], ["'more' is in the file alone"]),
        ([HEADER, "p90,1,high,2024-03-01"], ["'dose' is STRING in the file, FLOAT64 in the table"]),
        (
            ["patient_id,code,dose,when", "p90,1,2.5,soon"],
            ["'seen' is in the table alone", "'when' is in the file alone"],
        ),
        ([HEADER, "p7,1,2.5,2024-03-01"], ["1 rows of", "patient_id", "'p7'"]),
        ([HEADER, *rows(38, 9)], ["2 rows of", "'p38', 'p39'"]),
    ],
)
def test_rows_that_do_not_fit_are_refused_before_anything_is_written(
    here, table, capsys, lines, messages
):
    assert main(["upload", write(here / "a.csv", HEADER, *rows(0, 40)), table]) == 0
    before = rows_of(table)
    assert main(["upload", write(here / "b.csv", *lines), table, "--append"]) == 1
    said = capsys.readouterr().err
    for message in messages:
        assert message in said
    assert rows_of(table) == before


def test_a_key_can_be_named(here, table, capsys):
    lines = [f"{n},n{n % 7},{n}" for n in range(20)]
    assert main(["upload", write(here / "a.csv", "nr,name,x", *lines), table]) == 0
    more = write(here / "b.csv", "nr,name,x", "1,n90,5", "2,n91,6")
    assert main(["upload", more, table, "--append", "--key", "nr"]) == 1
    assert "2 rows of" in capsys.readouterr().err
    assert main(["upload", more, table, "--append", "--key", "name"]) == 0
    assert len(rows_of(table)) == 22
    twice = write(here / "c.csv", "nr,name,x", "90,n1,5", "90,n2,6")
    assert main(["upload", twice, table, "--append", "--key", "nr"]) == 1
    assert "repeats in 1 of 2 rows" in capsys.readouterr().err
    assert main(["upload", twice, table, "--append", "--key", "nbr"]) == 1
    assert "did you mean 'nr'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "place", "message"),
    [
        ("a.csv", "uploads.nothing", "There is no table uploads.nothing to append to"),
        ("a.csv", "uploads", "'uploads' is no DATASET.TABLE"),
        ("dags", "uploads.x", "--append is for rows of a table"),
    ],
)
def test_what_cannot_grow_is_said(here, capsys, data, place, message):
    write(here / "a.csv", HEADER, *rows(0, 3))
    assert main(["upload", data, place, "--append"]) == 1
    assert message in capsys.readouterr().err


def test_sequences_are_appended(here, table):
    """Whole numbers among numbers with decimals, no number at all, and names in another case."""
    for name, rows in {
        "a": [{"nr": n, "trace": [n / 2, 1.5]} for n in range(3)],
        "b": [{"NR": 7, "Trace": [2]}],
        "c": [{"nr": 8, "trace": []}],
    }.items():
        parquet.write_table(pyarrow.Table.from_pylist(rows), here / f"{name}.parquet")
    assert main(["upload", "a.parquet", table]) == 0
    for name in "bc":
        assert main(["upload", f"{name}.parquet", table, "--append"]) == 0
    assert rows_of(table)[-2:] == [(7, [2.0]), (8, [])]


def test_required_columns_get_no_hole(here, table, capsys):
    client = bigquery.Client(location="US")
    client.create_dataset("uploads", exists_ok=True)
    fields = [bigquery.SchemaField("nr", "INT64", "REQUIRED"), bigquery.SchemaField("x", "FLOAT64")]
    client.create_table(bigquery.Table(f"{client.project}.{table}", fields))
    assert main(["upload", write(here / "a.csv", "nr,x", ",1", "3,2"), table, "--append"]) == 1
    assert "'nr' is missing in 1 rows of the file" in capsys.readouterr().err
    assert main(["upload", write(here / "b.csv", "nr,x", "4,", "3,2"), table, "--append"]) == 0
    assert rows_of(table) == [(3, 2.0), (4, None)]
