"""Values of a run that must never change: names of datasets, labels and digests of jobs.

By the fingerprint a dataset is reused, by the label a job is adopted, by the digest a step is
reused. Later code must find what earlier code has left. The experiments are the shipped ones: an
edit of such a file may change its values, an edit of code may not.
"""

import datetime
import hashlib
import json

import pytest

from tests.airflow_side import ROOT
from tests.trellis.workflow.plans import a_plan
from trellis.identity import task_key
from trellis.workflow.contracts import digests, interval, layout, table
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.table import Column
from trellis.workflow.lookups import bigquery_source
from trellis.workflow.spec import own_model
from trellis.workflow.stages import check, train, tune
from trellis.workflow.validation.file import load, with_changes

COLUMNS = {
    "breast-cancer": {
        "sample_id": "STRING",
        "measured_on": "DATE",
        "malignant": "BOOL",
        "mean_radius": "FLOAT64",
        "mean texture": "FLOAT64",
    },
    "patients": {
        "visit": "STRING",
        "patient": "STRING",
        "age": "INT64",
        "sex": "STRING",
        "glucose": "FLOAT64",
        "readmitted": "BOOL",
    },
    "heartbeats": {
        "recording": "STRING",
        "age": "INT64",
        "intervals": "ARRAY<FLOAT64>",
        "rhythm": "STRING",
    },
}
DAYS = (
    datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
    datetime.datetime(2024, 1, 3, tzinfo=datetime.UTC),
)
OWN_MODEL = '''"""A model."""

inputs = ("image",)


def build(dataset, h):
    """Never executed here."""
'''
VERSIONS = [{"table": "p.d.t", "modified": "2024-01-05T00:00:00+00:00", "rows": 569}]


# Keys that an example has only since its values were written down.
LATER = {"heartbeats": ("positive", "calibrate", "decision")}


def shipped(name):
    experiment = load(ROOT / f"dags/experiments/{name}.yaml")
    return with_changes(experiment, {(key,): None for key in LATER.get(name, ())})


def of_table(name):
    """An experiment, its table, and the rows of two days where it has a partition."""
    experiment = shipped(name)
    known = [Column(*column) for column in COLUMNS[name].items()]
    described = table.resolve(experiment, "the source", known)
    rows = interval.of_run(described.partition, DAYS, (None, None))
    return experiment, described, rows


def sha256(content):
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("name", "fingerprint"),
    [
        ("breast-cancer", "3687d6c74dcef221"),
        # Not 7b5f64e890c0ef49: the validation records of that dataset lack their group.
        ("patients", "e37e05ca4e32f911"),
        ("heartbeats", "6c1749255c79d781"),
    ],
)
def test_the_dataset_of_a_table(name, fingerprint):
    experiment, described, rows = of_table(name)
    found = bigquery_source.fingerprint(experiment, "`p.d.t`", described, rows, VERSIONS)
    assert found == fingerprint


def test_the_dataset_of_images():
    experiment, address = shipped("digits"), "gs://bucket/digits/manifest.csv"
    names = ("key", "image", "label", "ml_use", "rejected")
    described = table.resolve(experiment, "a manifest", [Column(name, "STRING") for name in names])
    version = [{"manifest": address, "generation": 1700000000000000, "crc32c": "AAAAAA=="}]
    found = bigquery_source.fingerprint(experiment, address, described, None, version)
    assert found == "673a5a04571de9b6"


@pytest.mark.parametrize(
    ("column", "fingerprint"),
    [
        ("photo", "6e037de07ed31c79"),
        # Not c14983e536b1ab29: records of that dataset have image/image, which nothing reads now.
        ("image", "1b0d1d9140d90b9f"),
    ],
)
def test_the_dataset_of_a_tables_images(column, fingerprint):
    lesions = shipped("lesions")
    images = {column: lesions.source.image_columns["photo"]}
    source = lesions.source.model_copy(update={"image_columns": images})
    changed = lesions.model_copy(update={"source": source})
    names = ("lesion", "malignant", "patient", column)
    described = table.resolve(changed, "the source", [Column(name, "STRING") for name in names])
    found = bigquery_source.fingerprint(changed, "`p.d.t`", described, None, VERSIONS)
    assert found == fingerprint


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("breast-cancer", "63995cb5f6d4510b"),
        ("patients", "7f207d28b534b1ec"),
        ("heartbeats", "3a5f08464d8c75a4"),
    ],
)
def test_columns_json(group, name, written):
    experiment, described, _ = of_table(name)
    plan = a_plan(experiment, Run("bucket", name, "r"), described)
    assert sha256(check.columns_json(plan, group, 569)) == written


def test_the_address_of_an_own_model(tmp_path):
    (tmp_path / "mine.py").write_text(OWN_MODEL)
    own = own_model.read(tmp_path, "mine.py")
    digest = "4627ed0eaddf450c552f5ce0651fd0a6cd0096a2ec404bdb043f6bee27511792"
    assert (
        layout.model_file("bucket", "digits", own) == f"gs://bucket/digits/models/{digest}/mine.py"
    )


def test_the_label_by_which_a_job_is_adopted():
    key = task_key("digits", "manual__2024-01-01T00:00:00+00:00", "train", 1, 1)
    assert key == "5e51101308bf52de01bcb62fac2f0b91"


@pytest.mark.parametrize(
    ("name", "training", "tuning"),
    [
        ("digits", "069ec187701b7a79", "6762aa964a526967"),
        ("breast-cancer", "69f2c5f499d05899", "8eb16abc255d14a6"),
        ("patients", "0d1ef8c04287de14", "119a4d5677e3d8bd"),
        ("heartbeats", "0352de40c65543ef", None),
    ],
)
def test_the_digest_by_which_a_step_is_reused(group, name, training, tuning):
    experiment = shipped(name)
    columns = of_table(name)[1] if name in COLUMNS else None
    plan = a_plan(experiment, Run("bucket", name, "r"), columns)
    job = train.job(plan, group, train.UNTUNED)
    images = dict.fromkeys(digests.images_of(job), "sha256:1")
    found = digests.of_training(job, experiment.generation, {}, images)
    assert found[:16] == training
    if tuning is not None:
        found = digests.of_tuning(tune.job(plan, group), experiment.generation, {}, images)
        assert found[:16] == tuning
