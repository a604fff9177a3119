"""Google's SDK for CustomJobs, through the door."""

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("programs") / "sdk_custom_jobs.py"


@pytest.mark.slow
def test_sdk(local_gcp, tmp_path):
    out = local_gcp.run(PROGRAM, "sdk-custom-jobs", str(tmp_path), environment="airflow")
    answer = json.loads(out.splitlines()[-1])

    assert answer["distributed"] == "JOB_STATE_SUCCEEDED"
    assert answer["script"] == "JOB_STATE_SUCCEEDED"
    logs = {
        job["display_name"]: Path(job["replicas"][0]["log"]).read_text()
        for job in local_gcp.status()["jobs"]
        if job["labels"].get("team") == "sdk" and job["kind"] == "custom"
    }
    assert "gs://sdk-custom-jobs/script/model/ " in logs["script"]
    assert "['--epochs', '3'] sweet" in logs["script"]
    assert answer["endless"] == ["JOB_STATE_CANCELLED", "CANCELED"]
    assert "non-zero status of 1." in answer["broken"]
    assert "ValueError: units must be positive" in answer["broken"]
    assert "no-such-thing==1.0" in answer["lacking"]
    assert sorted(answer["found"]) == ["broken", "endless"]
    assert answer["got"] == "distributed"
    log = local_gcp.home / "jobs" / answer["name"].rpartition("/")[2] / "workerpool0-0" / "log"
    assert '"worker": ["127.0.0.1:' in log.read_text()
