"""Manifests as rows, taken apart by a real BigQuery: keys, labels, splits and rejected lines."""

import datetime

import pytest
from google.cloud import bigquery

from tests.trellis.workflow.plans import plan_run
from tests.wording import says
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.lookups import manifest, own_dataset
from trellis.workflow.validation.file import with_changes

REGRESSION = {
    ("task",): "regression",
    ("deploy",): None,
    ("tune", "maximize"): None,
    ("tune", "minimize"): "rmse",
}
SEVERAL = {("task",): "multilabel_classification", ("tune", "maximize"): "auc"}


@pytest.fixture
def rows(google, digits, group, request):
    """The rows of a manifest's lines, by address and label."""
    folder = google.buckets / group.bucket
    folder.mkdir(exist_ok=True)
    client = bigquery.Client(project=group.project, location=group.location)

    def rows(content, **changed):
        data = content if isinstance(content, bytes) else "\n".join(content).encode()
        (folder / "lines.csv").write_bytes(data)
        experiment = experiment_on(digits, **changed)
        own_dataset.create(group)
        found = manifest.version(group, experiment.source)
        table = manifest.load(client, group, experiment.source, found)
        statement = manifest.rows(experiment.source, experiment.task, table)
        ordered = f"SELECT * FROM (\n{statement}\n) ORDER BY line"
        return [dict(row) for row in client.query_and_wait(ordered)]

    return rows


def experiment_on(digits, split=None, changes=None):
    changed = {("source", "images"): "lines.csv", ("predict",): None, **(changes or {})}
    return with_changes(digits, changed | ({("source", "split"): split} if split else {}))


def of(found, *names):
    return [tuple(row[name] for name in names) for row in found]


def test_lines_are_csv_as_people_write_it(rows):
    found = rows(
        b"\xef\xbb\xbfgs://bkt/a b.png, cat \r\n"
        b"\r\n"
        b'"gs://bkt/c,""d"".png","dog, small"\n'
        b",,\n"
        b"gs://bkt/\xc3\xa9t\xc3\xa9/e.png,\xc3\xa9t\xc3\xa9,,"
    )
    assert of(found, "key", "image", "label", "rejected") == [
        ('c,"d".png', 'gs://bkt/c,"d".png', "dog, small", None),
        ("a b.png", "gs://bkt/a b.png", "cat", None),
        ("été/e.png", "gs://bkt/été/e.png", "été", None),
    ]


@pytest.mark.parametrize(
    ("word", "split"),
    [
        ("training", "train"),
        ("TRAIN", "train"),
        ("Validation", "validation"),
        ("test", "test"),
        ("UNASSIGNED", ""),
        ("dev", None),
    ],
)
def test_a_line_may_name_its_split(rows, word, split):
    (row,) = rows([f"{word},gs://bkt/a.png,x"])
    assert (row["ml_use"], row["label"]) == (split, "x")


def test_the_bucket_is_part_of_the_key_where_there_are_several(rows):
    found = rows(["gs://here/a.png,x", "gs://there/a.png,y"])
    assert of(found, "key", "rejected") == [("here/a.png", None), ("there/a.png", None)]


def test_lines_that_are_no_example_say_why(rows):
    found = rows(
        [
            "gs://bkt/a.png",
            "gs://bkt/b.png,x,y",
            "gs://bkt/c.png,x",
            "gs://bkt/c.png,y",
            "gs://bkt/d.png,x",
            "gs://bkt/d.png,x",
            'gs://bkt/e.png,"x',
            "test,gs://bkt/f.png,x",
            "train,gs://bkt/f.png,x",
        ]
    )
    assert of(found, "key", "rejected") == [
        ("a.png", "no label"),
        ("b.png", "several labels; an image has one"),
        ("c.png", "contradictory labels for one image"),
        ("c.png", "contradictory labels for one image"),
        ("d.png", None),
        ("d.png", "the image stands on another line, too"),
        ("e.png", "a quotation mark is not closed"),
        ("f.png", "contradictory splits for one image"),
        ("f.png", "contradictory splits for one image"),
    ]


def test_a_group_stands_after_the_label(rows):
    lines = ["gs://bkt/a.png,x,p1", "gs://bkt/b.png,x", "gs://bkt/c.png,x,p1,y"]
    lines += ["gs://bkt/d.png,x,p1", "gs://bkt/d.png,x,p2"]
    found = rows(lines, split={"by": "patient"})
    contradictory = found[-1]["rejected"]
    assert says(contradictory, "contradictory", "patient")
    assert of(found, "patient", "label", "rejected") == [
        ("p1", "x", None),
        (None, "x", "no patient after the label"),
        ("p1", "x,y", "several labels; an image has one"),
        ("p1", "x", contradictory),
        ("p2", "x", contradictory),
    ]


def test_a_day_is_utc_unless_it_has_an_offset(rows):
    split = {
        "time": "taken",
        "validation": datetime.date(2024, 1, 1),
        "test": datetime.date(2024, 2, 1),
    }
    days = ["2024-03-01", "2024-03-01 23:30:00-05:00", "2024-03-01T08:00:00", "soon", ""]
    found = rows([f"gs://bkt/{n}.png,x,{day}" for n, day in enumerate(days)], split=split)
    utc = datetime.UTC
    assert of(found, "taken", "rejected") == [
        (datetime.datetime(2024, 3, 1, tzinfo=utc), None),
        (datetime.datetime(2024, 3, 2, 4, 30, tzinfo=utc), None),
        (datetime.datetime(2024, 3, 1, 8, tzinfo=utc), None),
        (None, found[3]["rejected"]),
        (None, "no taken after the label"),
    ]
    assert says(found[3]["rejected"], "taken is no day", "2024-03-01")


def test_several_labels_are_one_text_in_any_order(rows):
    lines = ["gs://bkt/a.png,wet,cold,wet", "gs://bkt/b.png", "gs://bkt/c.png,a|b"]
    found = rows(lines, changes=SEVERAL)
    assert of(found, "label", "rejected") == [
        ("cold|wet", None),
        ("", None),
        ("a|b", "the label has a |"),
    ]
    grouped = ["gs://bkt/a.png,wet,p1", "gs://bkt/b.png,,p2", "gs://bkt/c.png"]
    found = rows(grouped, split={"by": "patient"}, changes=SEVERAL)
    assert of(found, "label", "patient") == [("wet", "p1"), ("", "p2"), ("", None)]


def test_a_number_is_one_that_float32_holds(rows):
    texts = ["1", "-2.5", ".5", "3.", "1e3", "+4", "nan", "1_000", "1,5", "1e39", "x", "inf"]
    found = rows(
        [f"gs://bkt/{n:02}.png,{text}" for n, text in enumerate(texts)], changes=REGRESSION
    )
    assert [row["label"] for row in found] == [1, -2.5, 0.5, 3, 1000, 4, *[None] * 6]
    assert all((row["rejected"] is None) == (row["label"] is not None) for row in found)
    same = rows(["gs://bkt/a.png,3", "gs://bkt/a.png,3.0"], changes=REGRESSION)
    assert [row["rejected"] for row in same].count(None) == 1


def test_a_planned_snapshot_has_the_splits_that_lines_name(google, digits, group):
    folder = google.buckets / group.bucket
    folder.mkdir(exist_ok=True)
    uses = ["TRAIN"] * 60 + ["VALIDATION"] * 20 + ["TEST"] * 20
    lines = [f"{use},gs://bkt/{n}.png,c{n % 2}" for n, use in enumerate(uses)]
    (folder / "lines.csv").write_text("\n".join([*lines, "TEST,gs://bkt/x.png,"]))
    planned = plan_run(experiment_on(digits), group, "named")
    assert planned.dataset.examples == 100
    assert planned.dataset.classes == {"c0": 50, "c1": 50}
    client = bigquery.Client(project=group.project, location=group.location)
    found = [dict(row) for row in client.query_and_wait(planned.dataset.statement)]
    splits = [row["split"] for row in found if row["rejected"] is None]
    assert {split: splits.count(split) for split in splits} == {
        "train": 60,
        "validation": 20,
        "test": 20,
    }
    assert [row["key"] for row in found if row["rejected"]] == ["x.png"]


def test_a_split_by_ml_use_needs_lines_that_name_it(google, digits, group):
    folder = google.buckets / group.bucket
    folder.mkdir(exist_ok=True)
    (folder / "lines.csv").write_text("gs://bkt/1.png,a\ngs://bkt/2.png,b\n")
    with pytest.raises(SourceError, match="no line names a split"):
        plan_run(experiment_on(digits, {"column": "ML_USE"}), group, "unnamed")
