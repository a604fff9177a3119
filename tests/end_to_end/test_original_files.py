"""Whoever asks with the original files gets the predictions that the leaderboard was made of.

Files of every kind go through export, training, endpoint and batch prediction as real processes.
"""

import collections
import json
from pathlib import Path

import pytest

from testbed.local_run import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

HERE = Path(__file__).parent
COUNTS = {None: 1000, "percentiles:1,99": 300}  # by scale
TIMEOUT = 560  # seconds for each program: the machine may be busy
# The smoke test's.
TOLERANCE = 1e-4


@pytest.fixture(scope="module", params=COUNTS)
def predicted(local_gcp, request):
    """Offline predictions by file, and the answers by way of asking and file; with a scale, deep
    files are among them.
    """
    count = COUNTS[request.param]
    folder = f"gs://originals/every_kind_{count}"
    scale = [request.param] if request.param else []
    options = {"timeout": TIMEOUT, "PYTHONPATH": str(ROOT)}
    program = HERE / "train_on_files.py"
    local_gcp.run(program, folder, str(count), *scale, environment="trainer", **options)
    offline = local_gcp.buckets / folder.removeprefix("gs://") / "offline.json"
    program, buckets = HERE / "ask_for_files.py", str(local_gcp.buckets)
    out = local_gcp.run(program, buckets, folder, environment="airflow", **options)
    return json.loads(offline.read_text()), json.loads(out.splitlines()[-1])


def differences(offline, served):
    """The largest of a file's probabilities' differences, by file."""
    return {
        name: max(abs(p - served[name][label]) for label, p in file["probabilities"].items())
        for name, file in offline.items()
    }


@pytest.mark.parametrize("way", ["bytes", "addresses", "batch"])
def test_no_original_file_is_answered_otherwise_than_offline(predicted, way):
    offline, answers = predicted
    assert len(offline) in COUNTS.values()
    found = differences(offline, answers[way])
    off = {name: size for name, size in found.items() if size > TOLERANCE}
    far = sum(size > 0.01 for size in found.values())
    kinds = collections.Counter(offline[name]["kind"] for name in off)
    print(f"{way}: {len(off)} off, {far} by more than 0.01, at most {max(found.values()):.2g}")
    assert not off, kinds


def test_the_model_tells_the_files_apart(predicted):
    """A model that always answers the same would show no difference."""
    offline, _ = predicted
    likeliest = [max(file["probabilities"].values()) for file in offline.values()]
    labels = {max(f["probabilities"], key=f["probabilities"].get) for f in offline.values()}
    assert len(labels) == 3
    assert sum(share < 0.99 for share in likeliest) > len(offline) / 10
