"""The Airflow provider's own CustomJob operators, through the door."""

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("programs") / "provider_custom_jobs.py"


@pytest.mark.slow
def test_provider_operators(local_gcp):
    out = local_gcp.run(PROGRAM, "provider-custom-jobs", environment="airflow")
    answer = json.loads(out.splitlines()[-1])

    assert answer["states"] == {
        "wait": "success",
        "deferred": "success",
        "fails": "failed",
        "fails_deferred": "failed",
        "package": "success",
    }
    assert answer["returned"]["wait"]["display_name"] == "wait"
    jobs = {job["display_name"]: job for job in local_gcp.status()["jobs"]}

    def log(name, replica=0):
        return Path(jobs[name]["replicas"][replica]["log"]).read_text()

    assert "['provider_custom_jobs']" in log("wait")
    assert '"task": {"type": "chief", "index": 0}' in log("deferred")
    assert '"worker": ["127.0.0.1:' in log("deferred")
    for name in ("fails", "fails_deferred"):
        assert jobs[name]["state"] == "JOB_STATE_FAILED"
        assert "no such column" in jobs[name]["error"]
    (package,) = (job for name, job in jobs.items() if name.startswith("package"))
    assert "trained ['--epochs=2']" in Path(package["replicas"][0]["log"]).read_text()
