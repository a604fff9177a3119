"""Files in a bucket as a source, loaded by a real BigQuery: read right, or refused by name."""

import datetime
import gzip
import io
import json

import fastavro
import pyarrow as pa
import pytest
from google.cloud import bigquery
from pyarrow import parquet

from tests.trellis.workflow.plans import plan_run
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.lookups import bigquery_source, watched
from trellis.workflow.validation.file import with_changes
from trellis_contracts.withheld import shown

ROWS = [
    {"sample": f"s{n:03}", "sick": "yes" if n % 3 else "no", "age": 40.5 + n, "ward": f"0{n % 7}"}
    for n in range(60)
]


def csv(rows=ROWS, delimiter=","):
    lines = [delimiter.join(rows[0]), *(delimiter.join(map(str, row.values())) for row in rows)]
    return "\n".join(lines).encode()


def json_lines(rows=ROWS):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_parquet(rows=ROWS):
    content = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), content)
    return content.getvalue()


@pytest.fixture
def put(google, group, request):
    """Writes files to a folder of the group's bucket that no other test has."""
    folder = google.buckets / group.bucket / request.node.name.replace("[", "-").strip("]")

    def put(**files):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name.replace("__", ".")).write_bytes(content)
        return folder.name

    return put


@pytest.fixture
def experiment(breast_cancer):
    """An experiment on files."""

    def experiment(files, **source):
        source = {"key": "sample", "label": "sick", **source}
        cleared = {"bigquery": None, "partition": None, "files": files}
        return with_changes(
            breast_cancer, {("source", name): value for name, value in (cleared | source).items()}
        )

    return experiment


@pytest.fixture
def plan(experiment, group):
    def plan(files, **source):
        return plan_run(experiment(files, **source), group, "plan", (None, None))

    plan.experiment = experiment
    return plan


def rows(planned, group):
    """The rows that the run would freeze."""
    client = bigquery.Client(project=group.project, location=group.location)
    found = client.query_and_wait(planned.dataset.statement)
    return sorted((dict(row) for row in found), key=lambda row: row["key"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows__csv", csv()),
        ("rows__csv__gz", gzip.compress(csv())),
        ("rows__tsv", csv(delimiter="\t")),
        ("semicolons__csv", csv(delimiter=";")),
        ("mark__csv", b"\xef\xbb\xbf" + csv()),
        ("rows__jsonl", json_lines()),
        ("rows__ndjson__gz", gzip.compress(json_lines())),
        ("rows__parquet", as_parquet()),
    ],
)
def test_files_of_each_format_have_the_same_rows(put, plan, group, name, content):
    folder = put(**{name: content})
    planned = plan(f"{folder}/*", **({} if "parquet" in name else {"types": {"ward": "STRING"}}))
    assert planned.dataset.examples == len(ROWS)
    found = rows(planned, group)
    assert [
        {"sample": row["key"], "sick": row["label"], "age": row["age"], "ward": row["ward"]}
        for row in found
    ] == ROWS


def as_avro(rows):
    """An Avro file of rows with a date, as BigQuery exports them: `seen` is a logical type."""
    types = {"sample": "string", "sick": "string", "age": "double", "ward": "string"}
    kinds = types | {"seen": {"type": "int", "logicalType": "date"}}
    fields = [{"name": name, "type": ["null", kind]} for name, kind in kinds.items()]
    content = io.BytesIO()
    fastavro.writer(content, {"type": "record", "name": "Root", "fields": fields}, rows)
    return content.getvalue()


def test_avro_keeps_its_logical_types(put, plan, group):
    day = datetime.date(2024, 1, 2)
    folder = put(rows__avro=as_avro([{**row, "seen": day} for row in ROWS]))
    found = rows(plan(f"{folder}/*.avro"), group)
    assert (len(found), found[0]["seen"].date()) == (len(ROWS), day)


def test_several_files_are_one_source_and_each_upload_another_dataset(put, plan, group):
    folder = put(a__csv=csv(ROWS[:20]), b__csv=csv(ROWS[20:]), notes__txt=b"not read")
    first = plan(f"{folder}/*.csv").dataset
    assert first.examples == len(ROWS)
    assert plan(f"{folder}/*.csv").dataset.fingerprint == first.fingerprint
    put(b__csv=csv(ROWS[20:50]))
    again = plan(f"{folder}/*.csv").dataset
    assert (again.examples, again.fingerprint != first.fingerprint) == (50, True)


def test_a_header_of_texts_alone_names_the_columns(put, plan, group):
    texts = [{"sample": row["sample"], "sick": row["sick"], "word": row["sick"]} for row in ROWS]
    found = rows(plan(f"{put(rows__csv=csv(texts))}/rows.csv"), group)
    assert (len(found), found[0]["word"]) == (len(ROWS), "no")


def test_a_number_with_leading_zeros_stays_text_if_its_type_is_named(put, plan, group):
    folder = put(rows__csv=csv())
    assert rows(plan(f"{folder}/*.csv"), group)[1]["ward"] == 1
    assert rows(plan(f"{folder}/*.csv", types={"WARD": "STRING"}), group)[1]["ward"] == "01"


def test_watching_sees_an_upload(put, experiment, group):
    watching = experiment(f"{put(rows__csv=csv())}/*.csv")
    first = watched.source(watching, group)
    assert watched.source(watching, group) == first
    put(rows__csv=csv(ROWS[:30]))
    assert watched.source(watching, group) not in (None, first)


def test_nothing_to_watch_yet(experiment, group):
    assert watched.source(experiment("no-such-folder/*.csv"), group) is None


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({}, ["no file", "source.files"]),
        ({"a__csv": csv(), "b__csv": b""}, ["b.csv", "empty"]),
        ({"a__xlsx": b"PK"}, ["a.xlsx", ".parquet"]),
        ({"a__csv": csv(), "b__parquet": as_parquet()}, ["a.csv", "b.parquet", "formats"]),
        ({"a__csv": csv(), "b__csv__gz": gzip.compress(csv())}, ["a.csv", "b.csv.gz"]),
        ({"a__parquet": b"no such thing"}, ["a.parquet", "Parquet"]),
        ({"a__csv": csv(), "b__csv": csv(delimiter=";")}, ["b.csv", "a.csv", "lacks"]),
        (
            {
                "a__csv": csv(),
                "b__csv": csv([dict(reversed(row.items())) for row in ROWS]),
            },
            ["b.csv", "order"],
        ),
        (
            {
                "a__parquet": as_parquet(),
                "b__parquet": as_parquet([{**row, "age": str(row["age"])} for row in ROWS]),
            },
            ["b.parquet", "'age'", "string", "double"],
        ),
        (
            {"a__csv": csv(), "b__csv": csv([{**ROWS[0], "age": "unknown"}])},
            ["b.csv", "unknown", "source.types"],
        ),
        ({"a__csv": "sample,sick,größe\n1,no,2\n".encode("latin-1")}, ["a.csv", "UTF-8"]),
        ({"a__csv": b"sample,sick,age,age\n1,no,2,3\n"}, ["a.csv", "name of its own"]),
    ],
)
def test_files_that_do_not_fit_are_refused_by_name(put, plan, files, named):
    with pytest.raises(SourceError) as refused:
        plan(f"{put(**files)}/*")
    text = shown(refused.value.text)
    assert all(word in text for word in named), text


def test_types_of_no_column_or_of_parquet_are_refused(put, plan):
    folder = put(a__csv=csv(), b__parquet=as_parquet())
    with pytest.raises(SourceError, match=r"source\.types.*'wart'.*ward"):
        plan(f"{folder}/*.csv", types={"wart": "STRING"})
    with pytest.raises(SourceError, match=r"source\.types"):
        plan(f"{folder}/*.parquet", types={"ward": "STRING"})


def test_a_loaded_table_is_used_again_and_expires(put, experiment, group):
    found = [
        bigquery_source.find(group, "source", experiment(f"{folder}/*.csv").source, "")
        for folder in [put(rows__csv=csv())] * 2
    ]
    assert found[0].known.reference == found[1].known.reference
    assert found[1].known.expires is not None
