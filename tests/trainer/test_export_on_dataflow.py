"""The flex template of docker/, published and launched with Google's client; local_gcp runs it."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from testbed.manifests import export_flags
from tests.trainer.exporting.tables.helpers import feature, write_table
from trainer import dataset_description, export
from trellis_contracts.dataset import SPLITS

ROOT = Path(__file__).parents[2]
BUCKET = "export-on-dataflow"
TEMPLATE = f"gs://{BUCKET}/templates/export.json"


@pytest.fixture
def bucket(local_gcp, monkeypatch):
    """A bucket with 100 images, their manifest, and the published template."""
    folder = local_gcp.buckets / BUCKET
    (folder / "digits").mkdir(parents=True, exist_ok=True)
    (folder / "templates").mkdir(exist_ok=True)
    lines = []
    for number in range(100):
        pixels = np.full((4, 4), number, np.uint8)
        (folder / f"digits/{number}.png").write_bytes(cv2.imencode(".png", pixels)[1].tobytes())
        lines.append(f"gs://{BUCKET}/digits/{number}.png,{number % 2}\n")
    (folder / "digits/manifest.csv").write_text("".join(lines))
    export_flags(folder / "digits/manifest.csv", folder / "digits/rows", "f", image_size=4)
    template = json.loads((ROOT / "docker/export_template.json").read_text(encoding="utf-8"))
    template["image"] = "us-central1-docker.pkg.dev/project/trellis/export:1"
    (folder / "templates/export.json").write_text(json.dumps(template))
    monkeypatch.setenv("GCS_ROOT", str(local_gcp.buckets))
    return folder


# Launches the template with the flags given as arguments; prints the job's last state.
LAUNCH = """
import sys, time
from google.cloud import dataflow_v1beta3 as dataflow

template, *flags = sys.argv[1:]
where = {"project_id": "local-gcp", "location": "us-central1"}
launched = dataflow.FlexTemplatesServiceClient().launch_flex_template(
    dataflow.LaunchFlexTemplateRequest(
        **where,
        launch_parameter={
            "job_name": "export",
            "container_spec_gcs_path": template,
            "parameters": dict(flag.split("=", 1) for flag in flags),
        },
    )
)
jobs = dataflow.JobsV1Beta3Client()
ended = {"JOB_STATE_DONE", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED"}
while True:
    job = jobs.get_job(dataflow.GetJobRequest(**where, job_id=launched.job.id))
    if job.current_state.name in ended:
        break
    time.sleep(0.2)
print(job.current_state.name)
"""


IMAGES = {"source": f"gs://{BUCKET}/digits/rows-source/columns.json"}
TABLE = {"source": f"gs://{BUCKET}/cells/columns.json"}


def launch(local_gcp, tmp_path, source=IMAGES, **changed):
    flags = {
        **source,
        "output": f"gs://{BUCKET}/datasets/f/",
        "fingerprint": "f",
        "shards": "2",
    }
    program = tmp_path / "launch.py"
    program.write_text(LAUNCH)
    return local_gcp.run(program, TEMPLATE, *(f"{k}={v}" for k, v in (flags | changed).items()))


@pytest.mark.slow
def test_the_template_exports_a_dataset(local_gcp, bucket, tmp_path):
    assert launch(local_gcp, tmp_path).strip() == "JOB_STATE_DONE"
    description = dataset_description.load(f"gs://{BUCKET}/datasets/f/")
    assert sum(description.examples(split) for split in SPLITS) == 100


@pytest.mark.slow
def test_the_template_exports_a_table(local_gcp, bucket, tmp_path):
    columns = {
        "key": [f"sample {i}" for i in range(200)],
        "label": ["a", "b"] * 100,
        "x": np.arange(200.0),
        "s": ["red", None] * 100,
    }
    features = [feature("x"), feature("s", "categorical", "STRING")]
    write_table(bucket / "cells", columns, features, files=3)
    output = f"gs://{BUCKET}/datasets/table/"
    assert launch(local_gcp, tmp_path, TABLE, output=output).strip() == "JOB_STATE_DONE"
    description = dataset_description.load(output)
    assert sum(description.examples(split) for split in SPLITS) == 200
    assert description.features[1].vocabulary == ("red",)
    shards = {shard.name for split in description.files.values() for shard in split}
    written = {path.name for path in (bucket / "datasets/table").rglob("*")}
    assert written == {*shards, "dataset.json", "rejected.jsonl"}  # no temporary file is left
    paths = (bucket / "cells/columns.json", tmp_path / "local")
    local = ["--source", str(paths[0]), "--output", str(paths[1]), "--fingerprint=f", "--shards=2"]
    assert export.main(local) == 0
    for name in shards:
        remote = bucket / "datasets/table" / name
        assert (paths[1] / name).read_bytes() == remote.read_bytes()


@pytest.mark.slow
def test_a_refused_table_is_a_failed_job_that_leaves_no_temporary_file(local_gcp, bucket, tmp_path):
    columns = {"key": [f"sample {i}" for i in range(200)], "label": ["a", "b"] * 100}
    columns["x"] = np.full(200, np.inf)
    write_table(bucket / "infinite", columns, [feature("x")])
    output = f"gs://{BUCKET}/datasets/infinite/"
    source = {"source": f"gs://{BUCKET}/infinite/columns.json"}
    assert launch(local_gcp, tmp_path, source, output=output).strip() == "JOB_STATE_FAILED"
    errors = [job["error"] for job in local_gcp.status()["jobs"] if job["kind"] == "dataflow"]
    assert any(error and "feature 'x' is infinite" in error for error in errors)
    assert not (bucket / "datasets/infinite/partial").exists()


def test_a_refused_export_is_a_failed_job_that_says_why(local_gcp, bucket, tmp_path):
    output = f"gs://{BUCKET}/datasets/refused/"
    assert launch(local_gcp, tmp_path, output=output, shards="99").strip() == "JOB_STATE_FAILED"
    errors = [job["error"] for job in local_gcp.status()["jobs"] if job["kind"] == "dataflow"]
    assert any(error and "--shards 99 is more than the" in error for error in errors)


def test_a_wrong_parameter_is_refused_at_the_launch(local_gcp, bucket, tmp_path):
    with pytest.raises(AssertionError, match=r"shards: .*'0' does not match"):
        launch(local_gcp, tmp_path, shards="0")
