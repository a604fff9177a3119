"""What experiments read: tables, queries and files."""

import dataclasses
from pathlib import Path

import pytest

from tests.trellis.doctor.conftest import found
from tests.wording import says
from trellis.doctor.diagnoses import sources
from trellis.doctor.findings import Passed
from trellis.workflow.spec.prediction import QueryPredict
from trellis.workflow.spec.source import FilesSource, ImageSource, QuerySource


def test_a_table_that_is_elsewhere_or_cannot_be_read(target, plant):
    elsewhere = target()
    elsewhere = dataclasses.replace(
        elsewhere, platform=elsewhere.platform.model_copy(update={"location": "us-central1"})
    )
    texts = found(elsewhere, "Sources")
    assert any(says(text, "breast_cancer", "US", "us-central1") for text in texts)
    plant(missing_permissions=["bigquery.tables.getData"])
    assert "--role=roles/bigquery.dataViewer" in found(target(), "Sources")[0]


def with_section(group, **sections):
    """The group with one experiment, which has these sections."""
    experiment = next(iter(group.experiments.values())).model_copy(update=sections)
    return dataclasses.replace(group, experiments={Path("a.yaml"): experiment})


def test_queries_are_tried_and_their_tables_told(target):
    read = "SELECT sample_id FROM research.diabetes JOIN research.breast_cancer USING (sample_id)"
    group = with_section(target(), source=QuerySource.model_construct(query=read))
    names = ["local-gcp.research.breast_cancer", "local-gcp.research.diabetes"]
    assert sorted(sources.diagnose(group), key=str) == [*map(Passed, names)]
    assert sorted(sources.tables(group)) == names


@pytest.mark.parametrize(
    ("query", "problem", "fix"),
    [
        ("SELECT malignant FROM research.nowhere", "research.nowhere", "--role"),
        ("SELECT other FROM research.diabetes", "other", "Correct the query"),
    ],
)
def test_a_query_that_bigquery_refuses(target, query, problem, fix):
    group = with_section(
        target(),
        source=QuerySource.model_construct(query="SELECT 1 AS one"),
        predict=QueryPredict.model_construct(query="SELECT 2 AS two", truth=query),
    )
    (text,) = found(group, "Sources")
    assert says(text, "a.yaml, predict.truth: ", problem, fix)
    assert sources.tables(group) == []


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (ImageSource.model_construct(images="lost/manifest.csv"), "gs://doctor/lost/manifest.csv"),
        (FilesSource.model_construct(files="lost/*.csv"), "gs://doctor/lost/*.csv"),
        (FilesSource.model_construct(files="gs://no-bucket-of-ours/*.csv"), "no-bucket-of-ours"),
    ],
)
def test_files_that_are_not_there(target, source, problem):
    (text,) = found(with_section(target(), source=source), "Sources")
    assert problem in text


def test_files_that_are_there(target):
    source = FilesSource.model_construct(files="digits/*.csv")
    (passed,) = sources.diagnose(with_section(target(), source=source))
    assert passed.text == "gs://doctor/digits/*.csv"
