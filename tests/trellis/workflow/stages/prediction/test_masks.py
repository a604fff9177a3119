"""The masks that a batch prediction leaves as files, and the table of their addresses."""

import base64
import dataclasses
import json
from datetime import UTC, datetime
from types import SimpleNamespace

import pandas as pd
import pytest
from google.cloud import bigquery

from tests.trellis.workflow.programs.answering_server import MASK
from tests.trellis.workflow.stages.prediction.conftest import BUCKET, LEARNED
from trellis.workflow.contracts.prediction_layout import Prediction
from trellis.workflow.contracts.prediction_plan import Rows
from trellis.workflow.contracts.table import Column, Feature
from trellis.workflow.labels.mask import FOREGROUND
from trellis.workflow.stages.prediction import lines, masks
from trellis.workflow.validation.file import with_changes
from trellis_contracts import layout
from trellis_contracts.columns import ImageForm

OF_MASKS = {
    ("task",): "segmentation",
    ("model",): "unet",
    ("source", "masks"): ["background", "cell"],
    ("tune",): None,
    ("train",): {"maximize": "dice", "epochs": 1},
    ("deploy",): None,
}


@pytest.fixture(scope="module")
def made(predictions, google):
    """Predictions of two good images and a bad one, by the champion of a segmentation."""
    for name in ("1.png", "2.png", "bad.png"):
        image = google.buckets / BUCKET / "cells" / name
        image.parent.mkdir(exist_ok=True)
        image.write_bytes(b"1")
    made = predictions("cells", images="cells", max_failed=0.5)
    made.experiment = with_changes(made.experiment, OF_MASKS).model_copy(update={"name": "cells"})
    made.promote("champion")
    return made


def test_each_image_has_a_mask_in_the_bucket_and_a_line_with_its_address(made, google, states):
    run = made.run()
    assert states(run) == dict.fromkeys(["plan", "predict", "masks", "result"], "success")
    assert (made.record["predicted"], made.record["failed"]) == (2, 1)
    addresses = Prediction(made.experiment, made.platform, run.run_id)
    table = pd.read_json(google.buckets / addresses.masks.removeprefix("gs://"), lines=True)
    found = table.set_index("key")
    one, bad = (found.loc[f"gs://{BUCKET}/cells/{name}.png"] for name in ("1", "bad"))
    assert one["mask"] == layout.mask(addresses.masks_folder, f"gs://{BUCKET}/cells/1.png")
    file = google.buckets / one["mask"].removeprefix("gs://")
    assert file.read_bytes() == base64.b64decode(MASK)
    assert one["foreground"] == 0.25
    assert json.loads(one["prediction"]) == {"shares": {"background": 0.75, "cell": 0.25}}
    assert bad["error"] == f"gs://{BUCKET}/cells/bad.png is no image"
    assert pd.isna(bad["mask"])
    assert len(found) == 3


@pytest.mark.slow
def test_rows_with_an_image_become_a_table_of_masks(google, predictions, states):
    """The whole DAG."""
    query = (
        "SELECT n AS sample, CONCAT('gs://lab/', IF(n = 2, 'bad', '/cells/'), n) AS photo "
        "FROM UNNEST([1, 2]) AS n"
    )
    made = predictions("photos", query=query, max_failed=0.5)
    of_rows = {
        ("source", "label"): "mask",
        ("source", "features"): ["photo"],
        ("source", "image_columns"): {"photo": {"size": 64}},
        ("baselines",): None,
    }
    changed = with_changes(made.experiment, OF_MASKS | of_rows)
    made.experiment = changed.model_copy(update={"name": "photos"})
    photo = Feature("photo", "photo", "STRING", "image", ImageForm((64, 64), 3, "png", "stretch"))
    label = Column("mask", "STRING")
    learned = dataclasses.replace(LEARNED, label=label, features=[photo])
    made.promote("champion", table=learned)
    tasks = ["plan", "snapshot", "changes", "predict", "masks", "publish", "result"]
    assert states(made.run()) == dict.fromkeys(tasks, "success")
    assert (made.record["predicted"], made.record["failed"]) == (1, 1)
    client = bigquery.Client(project="local-gcp", location="US")
    found = {row["key"]: dict(row.items()) for row in client.list_rows(made.record["output"])}
    assert found["1"]["foreground"] == 0.25
    assert (google.buckets / found["1"]["mask"].removeprefix("gs://")).is_file()
    assert found["2"]["mask"] is None


def test_the_masks_of_rows_are_in_the_run_s_table(google, predictions):
    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("masks_tests", exists_ok=True)
    answer = {"mask": {"b64": MASK}, "shares": {"background": 0.75, "cell": 0.25}}
    raw = {"a": json.dumps(answer), "b": json.dumps({"error": "photo: no image"})}
    pairs = ", ".join(f"('{key}', '{answer}')" for key, answer in raw.items())
    for statement in (
        "CREATE OR REPLACE TABLE masks_tests.raw (key STRING, prediction STRING)",
        f"INSERT INTO masks_tests.raw VALUES {pairs}",
        "CREATE OR REPLACE TABLE masks_tests.raw_errors AS "
        "SELECT 'c' AS key, 'Non-OK result 504' AS prediction_error",
    ):
        client.query_and_wait(statement)
    of_rows = predictions("masks-of-rows", bigquery="masks_tests.photos")
    run = Prediction(of_rows.experiment, of_rows.platform, "manual__1")
    rows = Rows("SELECT 1", datetime.now(UTC), FOREGROUND, images=1)
    output = "local-gcp.masks_tests.out"
    plan = SimpleNamespace(run=run, rows=rows, table=output, experiment=of_rows.experiment)
    masks.write(plan, of_rows.platform, "local-gcp.masks_tests.raw")
    client.delete_table(output, not_found_ok=True)
    client.create_job(masks.job(plan, of_rows.platform, "local-gcp.masks_tests.raw")).result()
    found = {row["key"]: dict(row.items()) for row in client.list_rows(output)}
    assert found["a"] == {
        "key": "a",
        "mask": layout.mask(run.uri, "a"),
        "foreground": 0.25,
        "prediction": json.dumps({"shares": answer["shares"]}),
        "error": None,
    }
    assert (found["b"]["mask"], found["b"]["error"]) == (None, "photo: no image")
    assert found["c"]["error"] == "Non-OK result 504"


@pytest.mark.parametrize(
    "prediction",
    [
        {"label": "cat"},
        {"mask": {"b64": "no base64!"}, "shares": {"background": 1.0}},
        {"mask": {"b64": MASK}, "shares": {}},
        {"mask": None, "shares": {"background": 1.0}},
    ],
)
def test_an_answer_without_a_mask_is_an_error_of_its_line(prediction):
    def put(uri, png):
        raise AssertionError("nothing is written")

    row = masks._row(("a", None, prediction), "gs://b/", put)
    assert row == {
        "key": "a",
        "mask": None,
        "foreground": None,
        "prediction": None,
        "error": "the answer has no mask",
    }


def test_a_row_of_the_job_s_table_is_read_as_a_line_of_its_files():
    answer = {"shares": {"background": 0.5, "cell": 0.5}}
    line = json.dumps({"instance": {"image": "a"}, "prediction": answer})
    assert lines.of_row("a", json.dumps(answer)) == lines.of_file(line) == ("a", None, answer)
    assert lines.of_row("a", json.dumps({"error": "no image"}))[1] == "no image"
    assert "unreadable" in lines.of_row("a", None)[1]


@pytest.mark.parametrize(
    ("prediction", "number"),
    [
        ({"value": 0.0}, 0.0),
        ({"risk": 2, "survival": {"1": 0.5}}, 2.0),
        ({"mask": {}, "shares": {"background": 0.75, "cell": 0.25}}, 0.25),
        ({"label": "cat", "probabilities": {"cat": 1.0}}, None),
        ({}, None),
    ],
)
def test_the_number_that_is_compared_with_the_test_split_s(prediction, number):
    assert lines.number(prediction) == number
