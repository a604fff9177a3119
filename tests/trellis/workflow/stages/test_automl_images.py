"""The images that AutoML gets are those that the export took."""

import pytest
from google.cloud import bigquery

from tests.trellis.workflow.spec.files import TABLE
from trellis.workflow.contracts.table import Column, Feature, Table
from trellis.workflow.lookups import bigquery_source, own_dataset
from trellis.workflow.stages.automl_images import unusable, without
from trellis.workflow.validation.file import load
from trellis_contracts.columns import ImageForm

IMAGES = [("train", "gs://b/1.png", "a"), ("test", "gs://b/2.png", "b")]


def test_an_image_on_two_lines_stays_and_one_that_cannot_be_read_goes():
    rejected = [
        {"uri": "gs://b/1.png", "split": "", "reason": "the image stands on another line, too"},
        {"uri": "gs://b/2.png", "split": "test", "reason": "no such object"},
    ]
    assert list(without(IMAGES, unusable(rejected))) == IMAGES[:1]


@pytest.mark.parametrize(
    ("images", "columns", "product"),
    [
        (["photo"], [], "image"),
        (["photo", "eye"], [], "table"),
        (["photo"], ["radius"], "table"),
    ],
)
def test_rows_of_one_image_each_are_for_automl_of_images(tmp_path, images, columns, product):
    text = TABLE.replace('[radius, "mean texture", stage]', str(images + columns))
    forms = {name: {"size": 64} for name in images}
    text = text.replace("categorical: [stage]\n  partition:", f"image_columns: {forms}\n  #")
    text = text.replace('schedule: "@daily"\nuntil: 2024-01-04', "schedule: manual")
    text = text.replace("dense", "convolutional").replace("  bqml:", "  #").replace("1.5", "8")
    (tmp_path / "cells.yaml").write_text(text.replace("60 USD", "600 USD"))
    assert load(tmp_path / "cells.yaml").source.automl == product


def test_rows_name_their_images_by_the_column(google, group):
    client = bigquery.Client(project=group.project, location=group.location)
    own_dataset.create(group)
    snapshot = group.own_table("snapshot_of_photos")
    rows = "UNNEST([STRUCT('a' AS key, 'train' AS split, 'x' AS label, 'gs://b/1.png' AS photo), "
    rows += "('b', 'test', 'y', 'gs://b/0.png'), ('c', 'train', 'x', 'gs://b/1.png')])"
    client.query_and_wait(f"CREATE OR REPLACE TABLE `{snapshot}` AS SELECT * FROM {rows}")
    photo = Feature("photo", "photo", "STRING", "image", ImageForm((8, 8), 3, "png", "stretch"))
    key, label = Column("key", "STRING"), Column("label", "STRING")
    columns = Table(key, label, None, [photo], regression=False)
    assert list(bigquery_source.images_of(group, snapshot, columns)) == [
        ("train", "gs://b/1.png", "x"),
        ("test", "gs://b/0.png", "y"),
    ]
