"""A whole run of a manifest of DICOM files and TIFF files of two pages, up to a served model that
is asked for such files, one by one and in bulk.
"""

import shutil
import subprocess

import pytest

from tests.airflow_side import ROOT, run_dag
from tests.trellis.workflow import platforms, succession
from tests.trellis.workflow.succession import read
from tests.trellis.workflow.whole_runs import states
from trellis.workflow.assembly import prediction, training
from trellis.workflow.validation.file import with_changes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

BUCKET = "scan-runs"


@pytest.fixture
def platform(google, group):
    folder = google.buckets / BUCKET / "scans"
    shutil.rmtree(folder.parent, ignore_errors=True)
    folder.parent.mkdir()
    program = [
        ROOT / ".venv/trainer/bin/python",
        "-m",
        "tests.trellis.workflow.programs.write_scans",
    ]
    subprocess.run([*program, folder, f"gs://{BUCKET}/scans"], cwd=ROOT, check=True)
    return platforms.of_tests(group, bucket=BUCKET)


def test_scans_are_served_and_predicted_in_bulk(google, platform, digits):
    changes = {
        ("source", "images"): "scans/manifest.csv",
        ("source", "size"): 16,
        ("source", "pages"): "first",
        ("task",): "binary_classification",
        ("tune",): None,
        ("hyperparameters",): {"filters": 4, "learning_rate": 0.01},
        ("train",): {"maximize": "accuracy", "epochs": 8},
        ("deploy", "canary"): [100],
        ("predict",): {"images": "scans/new"},
    }
    experiment = with_changes(digits, changes).model_copy(update={"name": "scans"})
    run = run_dag(training.build(experiment, platform))
    assert run.state == "success", states(run)
    folder = succession.newest_run(google, platform, experiment.name)
    # The smoke test has asked for the files themselves; both kinds are among them.
    examples = succession.challenger_of(folder).examples
    assert {example.key.rpartition(".")[2] for example in examples} == {"dcm", "tif"}
    succession.check_served(platform, experiment.name, "1", folder)
    predicted = run_dag(prediction.build(experiment, platform))
    assert predicted.state == "success", states(predicted)
    (record,) = (google.buckets / BUCKET / "scans/predictions").glob("*/predictions.json")
    found = read(record)
    assert (found["instances"], found["predicted"], found["failed"]) == (20, 20, 0)
