"""Whole tuning jobs with tiny real programs: trials, metrics, failures, early stopping."""

import sys
import textwrap
import time

import pytest
from google.cloud import aiplatform_v1 as api
from google.protobuf import timestamp_pb2

from local_gcp.home import Home
from local_gcp.jobs.run import Pool, Program, Spec
from local_gcp.jobs.runner import Runner
from local_gcp.state import State as Database
from local_gcp.vertex.tuning.controller import Controller
from local_gcp.vertex.tuning.space import flags
from local_gcp.vertex.tuning.store import Store

NAME = "projects/1/locations/us-central1/hyperparameterTuningJobs/42"

PROGRAM = """
import json, os, sys, time
arguments = dict(a.removeprefix("--").split("=", 1) for a in sys.argv[1:])
def report(step, value, metric="accuracy"):
    path = os.environ["CLOUD_ML_HP_METRIC_FILE"]
    lines = open(path).read() if os.path.exists(path) else ""
    entry = {"timestamp": time.time(), metric: str(value), "global_step": str(step)}
    open(path, "w").write(lines + json.dumps(entry) + "\\n")
x = float(arguments.get("x", 0))
"""


@pytest.fixture
def house(tmp_path):
    """Starts and stops "servers" on one home; `house.tune(...)` runs a job in the latest."""
    a_house = House(tmp_path)
    yield a_house
    a_house.down()


class House:
    def __init__(self, root):
        self.home = Home(root)
        self.home.create()
        self.script = root / "program.py"
        self.up()

    def up(self, cores=4):
        self.database = Database(self.home.state)
        self.runner = Runner(self.home, self.database, {"PATH": "/usr/bin:/bin"}, cores=cores)
        self.controller = Controller(self.database, self.runner, self.spec)
        self.store = Store(self.database)
        self.runner.start()
        self.controller.start()

    def down(self):
        self.controller.stop()
        self.runner.stop()
        self.database.close()

    def spec(self, job, trial):
        argv = [sys.executable, str(self.script), *flags(trial.parameters)]
        program = Program(argv, {"CLOUD_ML_TRIAL_ID": trial.id}, str(self.home.root))
        return Spec([Pool(program)], trial=trial.id)

    def submit(self, body, trials=3, parallel=1, max_failed=0, **study):
        self.script.write_text(PROGRAM + textwrap.dedent(body))
        created = timestamp_pb2.Timestamp()
        created.GetCurrentTime()
        parameter = {"parameter_id": "x", "double_value_spec": {"min_value": 0, "max_value": 1}}
        self.controller.submit(
            api.HyperparameterTuningJob(
                name=NAME,
                study_spec={
                    "metrics": [{"metric_id": "accuracy", "goal": "MAXIMIZE"}],
                    "parameters": [parameter],
                    **study,
                },
                max_trial_count=trials,
                parallel_trial_count=parallel,
                max_failed_trial_count=max_failed,
                state="JOB_STATE_PENDING",
                create_time=created,
            )
        )

    def job(self):
        job = self.store.get(NAME)
        return job and self.store.complete(job)

    def trials(self):
        return self.job().trials

    def wait(self, *conditions, timeout=60):
        """Wait until each condition (of no argument) holds; by default: until the job is done."""
        conditions = conditions or (lambda: self.job().end_time,)
        deadline = time.monotonic() + timeout
        while not all(condition() for condition in conditions):
            assert time.monotonic() < deadline, self.job()
            time.sleep(0.02)
        return self.job()

    def tune(self, body, **arguments):
        self.submit(body, **arguments)
        return self.wait()


def states(trials):
    return [trial.state.name for trial in trials]


def test_a_job_runs_its_trials_and_keeps_their_measurements(house):
    job = house.tune(
        "for step in (1, 2, 3): report(step, x * step)",
        trials=4,
        parallel=2,
    )

    assert job.state.name == "JOB_STATE_SUCCEEDED"
    trials = house.trials()
    assert [trial.id for trial in trials] == ["1", "2", "3", "4"]
    assert states(trials) == ["SUCCEEDED"] * 4
    for trial in trials:
        x = trial.parameters[0].value
        assert not trial.measurements, "as in real answers"
        assert trial.final_measurement.metrics[0].value == pytest.approx(3 * x)
        assert "elapsed_duration" not in trial.final_measurement
        assert trial.start_time < trial.end_time
    assert trials[0].parameters[0].value == 0.5
    kept = house.store.trials(NAME)
    assert all([m.step for m in trial.measurements] == [1, 2, 3] for trial in kept)
    assert job.create_time <= job.start_time <= job.end_time


def test_the_best_or_the_last_measurement_is_the_final_one(house):
    body = "for step, value in ((1, 0.3), (2, 0.9), (3, 0.5)): report(step, value)"
    job = house.tune(body, trials=1, measurement_selection_type="BEST_MEASUREMENT")
    assert job.trials[0].final_measurement.step_count == 2


def test_measurements_are_kept_while_the_trial_runs(house):
    house.submit("report(1, 0.3); time.sleep(60)", trials=1)
    house.wait(lambda: any(trial.measurements for trial in house.store.trials(NAME)))
    assert house.job().trials[0].state.name == "ACTIVE"
    assert house.job().state.name == "JOB_STATE_RUNNING"

    house.controller.cancel(NAME)
    job = house.wait()

    assert job.state.name == "JOB_STATE_CANCELLED"
    assert job.error.code == 1
    assert job.trials[0].state.name == "INFEASIBLE"


def test_a_first_failing_trial_ends_the_job(house):
    job = house.tune("print('no such column: age'); sys.exit(3)", trials=5)
    assert job.state.name == "JOB_STATE_FAILED"
    assert states(job.trials) == ["INFEASIBLE"]
    assert "exited with a non-zero status of 3" in job.error.message
    assert "no such column: age" in job.error.message
    assert "maxFailedTrialCount is not set" in job.error.message


def test_failures_up_to_the_limit_are_borne(house):
    body = "report(1, x) if os.environ['CLOUD_ML_TRIAL_ID'] != '1' else sys.exit(1)"
    job = house.tune(body, trials=3, max_failed=2)
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    assert states(house.trials()) == ["INFEASIBLE", "SUCCEEDED", "SUCCEEDED"]


def test_reaching_the_limit_ends_the_running_trials(house):
    body = "sys.exit(1) if os.environ['CLOUD_ML_TRIAL_ID'] == '2' else time.sleep(60)"
    job = house.tune(body, trials=3, parallel=2, max_failed=1)
    assert job.state.name == "JOB_STATE_FAILED"
    assert states(house.trials()) == ["INFEASIBLE", "INFEASIBLE"]
    assert "Trial 2: " in job.error.message


def test_success_without_the_metric_is_infeasible_and_says_what_was_reported(house):
    job = house.tune("report(1, 0.5, 'acc')", trials=1, max_failed=1)
    assert job.state.name == "JOB_STATE_FAILED"
    assert "'accuracy'; it reported acc." in job.error.message


def test_the_median_rule_stops_a_bad_trial(house):
    body = """
    if os.environ["CLOUD_ML_TRIAL_ID"] == "2":
        report(1, 0.1)
        time.sleep(60)
    for step in (1, 2): report(step, 0.8)
    """
    job = house.tune(body, trials=3, median_automated_stopping_spec={"use_elapsed_duration": False})
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    bad = house.trials()[1]
    assert bad.state.name == "SUCCEEDED"
    assert bad.final_measurement.metrics[0].value == 0.1
    assert house.store.trials(NAME)[1].stopped_early


def test_a_study_without_progress_is_stopped_asap(house):
    body = """
    number = int(os.environ["CLOUD_ML_TRIAL_ID"])
    if number == 2:
        time.sleep(60)
    report(1, 0.9 if number == 1 else 0.5)
    """
    stopping = {"max_num_trials_no_progress": 2, "should_stop_asap": True}
    job = house.tune(body, trials=9, parallel=2, max_failed=1, study_stopping_config=stopping)
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    # Trial 2 was stopped before it could report: infeasible, but no failure of the job's.
    assert states(house.trials())[:4] == ["SUCCEEDED", "INFEASIBLE", "SUCCEEDED", "SUCCEEDED"]


def test_a_grid_ends_when_it_has_been_searched(house):
    grid = [{"parameter_id": "x", "discrete_value_spec": {"values": [1, 2]}}]
    job = house.tune("report(1, x)", trials=5, parallel=2, parameters=grid, algorithm="GRID_SEARCH")
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    assert [trial.parameters[0].value for trial in house.trials()] == [1, 2]


def test_no_more_than_the_parallel_trials_run_at_once(house):
    marks = house.home.root / "running"
    marks.mkdir()
    body = f"""
    mark = os.path.join({str(marks)!r}, os.environ["CLOUD_ML_TRIAL_ID"])
    open(mark, "w").close()
    time.sleep(0.2)
    report(1, len(os.listdir({str(marks)!r})))
    os.remove(mark)
    """
    house.tune(body, trials=5, parallel=2)
    seen = [trial.final_measurement.metrics[0].value for trial in house.trials()]
    assert max(seen) == 2


def test_a_stopped_and_restarted_server_finishes_the_job(house):
    """An orderly stop puts running trials back into the queue; they keep their parameters."""
    house.submit("time.sleep(0.5); report(1, x)", trials=4, parallel=2)
    house.wait(lambda: len(house.job().trials) == 2 and house.job().start_time)
    before = {trial.id: trial.parameters[0].value for trial in house.job().trials}

    house.down()
    house.up()
    job = house.wait()

    assert job.state.name == "JOB_STATE_SUCCEEDED"
    assert len(job.trials) == 4
    after = {trial.id: trial.parameters[0].value for trial in job.trials}
    assert after.items() >= before.items()


def test_a_bug_of_ours_fails_the_job_and_not_the_server(house, monkeypatch):
    monkeypatch.setattr(house.controller, "_make_spec", lambda job, trial: 1 / 0)
    job = house.tune("", trials=1)
    assert job.state.name == "JOB_STATE_FAILED"
    assert job.error.code == 12  # UNIMPLEMENTED: no attempt would end otherwise
    assert "ZeroDivisionError" in job.error.message
