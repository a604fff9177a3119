"""Files of tables in Cloud Storage become an experiment that reads them where they are."""

import gzip
import io
import json
import random

import fastavro
import pyarrow
import pytest
from pyarrow import parquet

from tests.trellis.new.test_command_images import png
from tests.trellis.new.test_uploading import here
from tests.trellis.workflow.plans import plan_run
from tests.wording import says
from trellis.__main__ import main
from trellis.new import command
from trellis.workflow.spec import platform
from trellis.workflow.validation.file import load

__all__ = ["here"]


def samples(first, count):
    """Rows with a key, two features and a label."""
    draw = random.Random(first)
    return [
        {
            "sample_id": f"s{n}",
            "size_cm": draw.gauss(n % 2, 0.5),
            "site": ("hand", "face", "sole")[n % 3],
            "state": ("ill", "well")[n % 2],
        }
        for n in range(first, first + count)
    ]


def as_csv(rows, separator=","):
    lines = [separator.join(rows[0])]
    return "\n".join([*lines, *(separator.join(map(str, r.values())) for r in rows), ""]).encode()


def as_parquet(rows):
    content = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), content)
    return content.getvalue()


def as_avro(rows):
    types = {str: "string", float: "double"}
    fields = [{"name": name, "type": types[type(v)]} for name, v in rows[0].items()]
    content = io.BytesIO()
    fastavro.writer(content, {"type": "record", "name": "r", "fields": fields}, rows)
    return content.getvalue()


FORMS = {
    "csv": as_csv,
    "csv.gz": lambda rows: gzip.compress(as_csv(rows)),
    "tsv": lambda rows: as_csv(rows, "\t"),
    "jsonl": lambda rows: "".join(json.dumps(row) + "\n" for row in rows).encode(),
    "parquet": as_parquet,
    "avro": as_avro,
}


@pytest.fixture
def put(google):
    """Writes an object of the group's bucket; its address."""

    def put(name, content):
        path = google.buckets / "new-tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return f"gs://new-tests/{name}"

    return put


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("gs://lab/2024 June/*.parquet", "2024-june"),
        ("gs://lab/*/part-*.csv", "lab"),
        ("gs://lab/cells.v2.csv.gz", "cells"),
        ("gs://lab/cells/manifest.csv", "cells"),
        ("gs://lab/lines.jsonl", "lines"),
    ],
)
def test_the_experiment_has_the_name_of_the_file_or_folder(address, name):
    assert command._name(address, []) == name


@pytest.mark.parametrize("form", FORMS)
def test_files_of_a_table_become_an_experiment_that_reads_them(here, put, capsys, form):
    for number in range(2):
        put(f"rows-{form}/part-{number}.{form}", FORMS[form](samples(60 * number, 60)))
    address = f"gs://new-tests/rows-{form}/*.{form}"
    assert main(["new", "experiment", address, "--name", "rows", "--label", "state"]) == 0
    assert "120 rows, 4 columns" in capsys.readouterr().out
    file = here / "dags/experiments/rows.yaml"
    assert main(["check", str(file)]) == 0
    experiment = load(file)
    source = experiment.source
    assert (source.files, source.key_, source.label) == (address, "sample_id", "state")
    assert source.split.stratify == "state"
    plan = plan_run(experiment, platform.load(here / "dags"), "r")
    assert [feature.kind for feature in plan.table.features] == ["numeric", "categorical"]


def test_one_file_with_a_header_is_a_table_and_one_of_addresses_a_manifest(here, put, capsys):
    address = put("one/cells.csv", as_csv(samples(0, 40)))
    assert main(["new", "experiment", address, "--label", "state"]) == 0
    assert load(here / "dags/experiments/cells.yaml").source.files == address
    for n in range(30):
        put(f"one/images/{n}.png", b"")
        png(here / "p.png", 20)
        put(f"one/images/{n}.png", (here / "p.png").read_bytes())
    lines = [f"gs://new-tests/one/images/{n}.png,{n % 2}\n" for n in range(30)]
    address = put("one/listed.csv", "".join(lines).encode())
    assert main(["new", "experiment", address]) == 0
    assert load(here / "dags/experiments/listed.yaml").source.images == "one/listed.csv"


def test_columns_of_addresses_in_files_are_images(here, put, capsys):
    png(here / "p.png", 24)
    rows = [
        {**row, "photo": put(f"photos/{n}.png", (here / "p.png").read_bytes())}
        for n, row in enumerate(samples(0, 40))
    ]
    put("photos/rows.parquet", as_parquet(rows))
    words = ["gs://new-tests/photos/*.parquet", "--name", "photos", "--label", "state"]
    assert main(["new", "experiment", *words]) == 0
    experiment = load(here / "dags/experiments/photos.yaml")
    assert experiment.source.image_columns["photo"].size == (24, 24)
    assert experiment.model == "convolutional"


def without(rows, **changes):
    """The rows with other values in some columns of the first one."""
    return [{**rows[0], **changes}, *rows[1:]]


@pytest.mark.parametrize(
    ("files", "pattern", "message"),
    [
        ({}, "*.parquet", "There is no file gs://new-tests/"),
        ({"a.csv": as_csv(samples(0, 9)), "b.csv": b""}, "*.csv", "1 of 2 files"),
        (
            {"a.csv": as_csv(samples(0, 9)), "b.csv": as_csv([{"x": 1}])},
            "*.csv",
            "does not have the columns of",
        ),
        ({"a.parquet": b"PAR1 and nothing"}, "*.parquet", "is no Parquet file"),
        ({"a.csv": as_csv(samples(0, 9)), "b.json": b"{}"}, "*", "files of several formats"),
        ({"a.tfrecord": b"1234"}, "*", "the name of a file ends in one of"),
        (
            {"a.parquet": as_parquet(without(samples(0, 40), state=None))},
            "*.parquet",
            "1 rows have no state, the label",
        ),
        (
            {"a.parquet": as_parquet([{"x": n / 2, "state": n % 2} for n in range(40)])},
            "*.parquet",
            "no column identifies a row",
        ),
        (
            {"a.parquet": as_parquet([{**r, "state": float(n % 2)} for n, r in
                                      enumerate(samples(0, 40))])},
            "*.parquet",
            "the classes in state are written with decimals",
        ),
        ({"a.parquet": as_parquet([{"a (cm)": 1}])}, "*.parquet", 'Invalid field name "a (cm)"'),
        ({"a.csv": b""}, "", "is a folder: name a manifest of images in it"),
        ({}, "gone.csv", "cannot be read"),
        ({"a.csv": b"1,2,x\n3,4,y\n"}, "a.csv", "a.csv: line 1 has numbers where the columns"),
        ({"a.csv": b"id,a (cm)\nx,2\n"}, "*.csv", "'a (cm)' is a_cm"),
        ({"a.tfrecord": b"1234"}, "a.tfrecord", "TFRecords are read from files here"),
        (
            {"a.csv": b"".join(as_csv(samples(0, 9)).splitlines(keepends=True)[1:])},
            "a.csv",
            ("a.csv", "BigQuery"),
        ),
    ],
)  # fmt: skip
def test_files_that_no_run_takes_are_refused(here, put, capsys, request, files, pattern, message):
    folder = f"refused-{abs(hash(request.node.name))}"
    for name, content in files.items():
        put(f"{folder}/{name}", content)
    address = f"gs://new-tests/{folder}/{pattern}" if pattern else f"gs://new-tests/{folder}"
    assert main(["new", "experiment", address, "--name", "n", "--label", "state"]) == 1
    assert says(capsys.readouterr().err, message)
    assert not (here / "dags/experiments").exists()
