import copy

import pytest

from local_gcp.daemon import DaemonError
from local_gcp.report import follow_logs, job_logs, status_lines


@pytest.fixture
def status(tmp_path) -> dict:
    """A tuning job with one trial and a training with a chief that was restarted once."""

    def replica(kind: str, index: int, attempt: int = 1) -> dict:
        log = tmp_path / f"{kind}-{index}"
        log.write_text(f"hello from {kind} {index}\n")
        state = {"state": "running", "attempt": attempt, "last_line": "epoch 1"}
        return {"type": kind, "index": index, "pool": 0, "log": str(log), "pid": 1, **state}

    job = {"labels": {}, "error": None, "cores": 1, "create_time": "2026-01-01T00:00:00Z"}
    trial = {"id": "1", "state": "ACTIVE", "parameters": {"learning_rate": 0.012345, "layers": 2}}
    trial |= {"metrics": {"accuracy": [[1, 0.5], [2, 0.75]]}, "replicas": [replica("trial", 0)]}
    return {
        "project": "local-gcp",
        "home": "/home",
        "endpoints": {"http": "http://127.0.0.1:1"},
        "variants": "etags=aborted",
        "storm": [],
        "jobs": [
            {**job, "name": "p/hyperparameterTuningJobs/7", "display_name": "tune"}
            | {"kind": "tuning", "state": "JOB_STATE_RUNNING", "trials": [trial], "replicas": []},
            {**job, "name": "p/customJobs/8", "display_name": "train", "error": "lost"}
            | {"kind": "custom", "state": "JOB_STATE_FAILED", "preemptions": 2}
            | {"replicas": [replica("chief", 0, attempt=2), replica("worker", 1)]},
        ],
    }


def test_status_shows_jobs_trials_and_replicas(status):
    shown = [line.split() for line in status_lines(status)]
    assert ["JOB_STATE_RUNNING", "tuning", "tune", "p/hyperparameterTuningJobs/7"] in shown
    trial = ["trial", "1", "ACTIVE", "learning_rate=0.01235", "layers=2"]
    assert [*trial, "accuracy=0.75", "at", "2"] in shown
    (chief,) = (line for line in shown if line[0] == "chief:0")
    assert " ".join(chief[1:4]) == "running attempt 2"
    assert ["lost"] in shown
    assert ["preemptions:", "2"] in shown
    assert ["variants", "etags=aborted"] in shown


@pytest.mark.parametrize("name", ["p/customJobs/8", "8", "train"])
def test_logs_of_all_replicas(status, name):
    assert list(job_logs(status, name)) == [
        "chief:0 | hello from chief 0",
        "worker:1 | hello from worker 1",
    ]


def test_logs_are_followed_line_by_line_until_the_job_ends(status, tmp_path):
    job = status["jobs"][1]
    job["state"] = "JOB_STATE_RUNNING"
    log = tmp_path / "chief-0"
    lines = follow_logs(lambda: copy.deepcopy(status), "train")
    assert next(lines) == "chief:0 | hello from chief 0"
    assert next(lines) == "worker:1 | hello from worker 1"
    with log.open("a") as file:
        file.write("epoch 1 \x80 half a li")
        file.flush()
        file.write("ne\nand the last\n")
    job["state"] = "JOB_STATE_SUCCEEDED"
    assert list(lines) == ["chief:0 | epoch 1 \x80 half a line", "chief:0 | and the last"]


def test_logs_of_trials(status):
    assert list(job_logs(status, "7")) == ["trial 1 trial:0 | hello from trial 0"]


def test_an_unknown_job_is_an_error_that_lists_the_known_ones(status):
    with pytest.raises(DaemonError, match=r"no job 'x'.*customJobs/8"):
        list(job_logs(status, "x"))
    status["jobs"][0]["display_name"] = "train"
    with pytest.raises(DaemonError, match="More than one"):
        list(job_logs(status, "train"))
