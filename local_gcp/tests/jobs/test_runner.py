"""Runs with real processes: queue, environment, failure, restarts, preemption, stop."""

import os
import signal
import statistics
import time

import psutil
import pytest
from google.rpc import code_pb2

from local_gcp.jobs.run import Replica
from local_gcp.jobs.supervisor import lifetime

UNTIL_GO = "while ! test -e go; do sleep 0.05; done"
"""A script that runs until the test makes the file `go` in its folder."""


def log(runner, run_id, replica="workerpool0-0"):
    path = runner.home.jobs / run_id / replica / "log"
    return path.read_text() if path.exists() else ""


def attempts(runner, run_id):
    return [replica.attempt for replica in runner.get(run_id).replicas]


def test_a_run_succeeds_with_its_times_in_order(runner, shell, final):
    assert runner.submit("1", shell("echo hello")).state == "queued"
    run = final(runner, "1")
    assert (run.state, run.error) == ("succeeded", None)
    assert run.created <= run.started <= run.ended <= run.updated
    assert log(runner, "1") == "hello\n"
    assert runner.replicas(run)[0]["last_line"] == "hello"


def test_a_failure_names_replica_exit_code_and_log_and_quotes_its_end(runner, shell, final):
    runner.submit("1", shell("echo 'ValueError: units must be positive' >&2; exit 2"))
    run = final(runner, "1")
    assert run.state == "failed"
    message = run.error["message"]
    first, *quoted = message.splitlines()
    assert first == (
        "The replica workerpool0-0 exited with a non-zero status of 2. Termination reason: Error. "
    )
    assert quoted[0] == "ValueError: units must be positive"
    assert str(runner.home.jobs / "1" / "workerpool0-0" / "log") in message


def test_submitting_twice_runs_once(runner, shell, final):
    first = runner.submit("1", shell("echo once"))
    assert runner.submit("1", shell("echo twice")).number == first.number
    final(runner, "1")
    assert log(runner, "1") == "once\n"


def test_a_submission_that_is_undone_never_runs(runner, shell, final):
    def submit_and_fail():
        with runner.state.transaction():
            runner.submit("1", shell("echo no"))
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        submit_and_fail()
    runner.submit("2", shell("echo yes"))
    final(runner, "2")
    assert runner.get("1") is None
    assert not (runner.home.jobs / "1").exists()


def test_listeners_hear_of_every_change(runner, shell, until, tmp_path):
    heard = []
    runner.listen(lambda run_id: heard.append(runner.get(run_id).state))
    runner.submit("1", shell(UNTIL_GO))
    until(lambda: "running" in heard)
    (tmp_path / "go").touch()
    until(lambda: heard[-1] == "succeeded")


def test_runs_wait_for_cores_first_come_first_served(make_runner, shell, final, until, tmp_path):
    runner = make_runner(cores=2)
    runner.submit("a", shell(UNTIL_GO))
    runner.submit("b", shell("sleep 0.1", "sleep 9"))
    runner.submit("c", shell("true"))
    until(lambda: runner.get("a").state == "running")
    assert runner.get("b").state == "queued", "two cores, one taken"
    assert runner.get("c").state == "queued", "it must not pass b"
    until(lambda: runner.get("c").waits)
    assert [runner.get(name).waits for name in "abc"] == [False, True, True]
    (tmp_path / "go").touch()
    a, b, c = (final(runner, name) for name in "abc")
    assert a.ended <= b.started
    assert b.ended <= c.started


def test_a_run_larger_than_the_machine_runs_alone(make_runner, shell, final):
    runner = make_runner(cores=1)
    runner.submit("a", shell("sleep 0.2"))
    runner.submit("b", shell("sleep 0.2", "sleep 9", "sleep 9"))
    runner.submit("c", shell("sleep 0.2"))
    a, b, c = (final(runner, name) for name in "abc")
    assert a.ended <= b.started
    assert b.ended <= c.started


def test_a_run_that_waits_too_long_has_failed(make_runner, shell, final):
    runner = make_runner(cores=1)
    runner.submit("a", shell("sleep 60"))
    runner.submit("b", shell("true", max_wait=0.3))
    assert "within 0.3 s" in final(runner, "b").error["message"]
    runner.cancel("a")


def test_cancel_ends_the_whole_process_group(runner, shell, final, until):
    runner.submit("1", shell("sleep 71 & setsid sleep 72 & sleep 73", "sleep 74"))
    until(lambda: runner.get("1").state == "running")
    runner.cancel("1")
    assert runner.get("1").state == "cancelling"
    run = final(runner, "1")
    assert (run.state, run.error) == ("cancelled", None)
    assert not any(name in _command_lines() for name in ("sleep 71", "sleep 72", "sleep 74"))
    runner.cancel("1")  # again: nothing happens


def test_a_queued_run_is_cancelled_without_being_started(make_runner, shell, final):
    runner = make_runner(cores=1)
    runner.submit("a", shell("sleep 60"))
    runner.submit("b", shell("echo never"))
    runner.cancel("b")
    assert final(runner, "b").started is None
    assert not (runner.home.jobs / "b").exists()
    runner.cancel("a")


def test_a_run_is_cancelled_at_its_timeout_and_says_so(runner, shell, final):
    runner.submit("1", shell("sleep 60", timeout=0.5))
    run = final(runner, "1")
    assert run.state == "cancelled"
    assert "timeout of 0.5 s" in run.error["message"]


def test_secondary_replicas_are_shut_down_when_the_primary_is_done(runner, shell, final):
    runner.submit("1", shell("sleep 0.3", "sleep 75"))
    run = final(runner, "1")
    assert run.state == "succeeded"
    assert [replica.state for replica in run.replicas] == ["succeeded", "stopped"]


def test_a_killed_program_is_restarted_and_the_log_says_why(runner, shell, final):
    runner.submit("1", shell('test -e again && exit 0; touch again; kill -9 "$$$$"'))
    run = final(runner, "1")
    assert run.state == "succeeded"
    assert attempts(runner, "1") == [2]
    assert log(runner, "1").rstrip().endswith(" SIGKILL")


@pytest.mark.parametrize("victim", [0, pytest.param(1, marks=pytest.mark.slow), 2])
def test_killing_a_replica_of_a_distributed_job_restarts_the_job_once(
    runner, peers, final, until, program_pid, victim
):
    runner.submit("1", peers(steps=30, workers=2))
    until(lambda: "step 5\n" in log(runner, "1"))
    os.kill(program_pid(runner, "1", victim), signal.SIGKILL)
    run = final(runner, "1")
    assert run.state == "succeeded", run.error
    assert [replica.restarts for replica in run.replicas] == [int(i == victim) for i in range(3)]
    assert (run.job_restarts, run.preemptions) == (0, 0)
    text = log(runner, "1")
    assert text.count("start at step") == 2
    assert text.count("step 30\n") == 1


def test_restart_job_on_worker_restart_does_not_wait_for_the_survivors(
    runner, peers, final, until, program_pid
):
    runner.submit("1", peers(steps=30, restart_job_on_worker_restart=True))
    until(lambda: "step 5\n" in log(runner, "1"))
    os.kill(program_pid(runner, "1", 1), signal.SIGKILL)
    assert final(runner, "1").state == "succeeded"
    assert attempts(runner, "1") == [2, 2]


def test_preemption_restarts_a_spot_job_from_its_checkpoint(runner, peers, final, until):
    runner.submit("1", peers(steps=30, spot=True))
    until(lambda: "step 5\n" in log(runner, "1"))
    assert runner.preempt("1")
    run = final(runner, "1")
    assert (run.state, run.preemptions, attempts(runner, "1")) == ("succeeded", 1, [2, 2])
    assert log(runner, "1").count("step 30\n") == 1


def test_only_running_spot_jobs_are_preempted(runner, shell, final, until):
    runner.submit("1", shell("sleep 60"))
    until(lambda: runner.get("1").state == "running")
    assert not runner.preempt("1")
    assert not runner.preempt("2")
    runner.cancel("1")
    assert final(runner, "1").preemptions == 0


def test_a_running_job_fails_by_an_error_of_google(runner, shell, final, until):
    """The program is stopped; a job that is over, or waits, does not fail so."""
    runner.submit("1", shell("echo working; sleep 60"))
    until(lambda: "working" in log(runner, "1"))
    assert runner.fail("1")
    run = final(runner, "1")
    assert (run.state, run.error["code"]) == ("failed", code_pb2.INTERNAL)
    assert run.replicas[0].exit.stopped
    assert not runner.fail("1")
    assert not runner.fail("2")


def test_a_job_fails_after_six_preemptions(runner, shell, final, until):
    runner.submit("1", shell("sleep 60", spot=True))
    for count in range(1, 8):
        until(lambda: runner.preempt("1"))
        until(lambda: runner.get("1").preemptions == count)  # noqa: B023
    run = final(runner, "1")
    assert run.state == "failed"
    assert "STOCKOUT" in run.error["message"]
    assert attempts(runner, "1") == [7]


def test_a_preemption_rate_preempts_spot_jobs_and_no_others(make_runner, shell, final):
    runner = make_runner(preemption_rate=600, preemption_seed=7)
    runner.submit("spot", shell("sleep 60", spot=True))
    runner.submit("standard", shell("sleep 1"))
    assert final(runner, "spot").preemptions == 7
    assert final(runner, "standard").state == "succeeded"


def test_a_preemption_rate_is_an_average_and_repeatable():
    replica = Replica(0, 0)
    lives = [lifetime(2.0, 7, number, replica) for number in range(2000)]
    assert lives == [lifetime(2.0, 7, number, replica) for number in range(2000)]
    assert statistics.mean(lives) == pytest.approx(30, rel=0.1)
    assert lives[0] != lifetime(2.0, 8, 0, replica)


def test_stop_ends_the_processes_and_the_next_start_runs_them_again(
    make_runner, shell, final, until, tmp_path
):
    first = make_runner(cores=1)
    first.submit("1", shell("echo start; test -e done && exit 0; touch done; sleep 76"))
    first.submit("2", shell("echo second"))
    until((tmp_path / "done").exists)
    first.stop()
    assert "sleep 76" not in _command_lines()
    assert [first.get(name).state for name in "12"] == ["queued", "queued"]
    second = make_runner(cores=1)
    assert final(second, "1").state == "succeeded"
    assert final(second, "2").state == "succeeded"
    assert log(second, "1").count("start\n") == 2
    assert "local_gcp was stopped" in log(second, "1")
    assert second.get("1").job_restarts == 0


def test_notes_are_at_the_top_of_the_log(runner, shell, final):
    runner.submit("1", shell("echo hello", notes=["one", "two"]))
    final(runner, "1")
    assert log(runner, "1") == "local_gcp: one\nlocal_gcp: two\nhello\n"


def test_the_environment_of_a_replica(runner, shell, final):
    runner.submit("1", shell("env", "sleep 9", trial="3"))
    final(runner, "1")
    variables = dict(line.split("=", 1) for line in log(runner, "1").splitlines())
    assert variables["GCS_ROOT"] == str(runner.home.buckets)
    assert variables["CLOUD_ML_HP_METRIC_FILE"] == str(runner.metrics_file("1"))
    assert variables["OMP_NUM_THREADS"] == "1"
    assert {"TF_CONFIG", "CLUSTER_SPEC"} <= variables.keys()
    assert "VIRTUAL_ENV" not in variables, "nothing of the server's own environment"


def test_an_error_of_local_gcp_itself_ends_the_run_and_not_the_runner(runner, shell, final):
    (runner.home.jobs / "1").write_text("a file where the run's folder should be")
    runner.submit("1", shell("true"))
    error = final(runner, "1").error
    assert error["code"] == code_pb2.UNIMPLEMENTED  # a client would submit it again after INTERNAL
    assert "local_gcp does not emulate" in error["message"]
    runner.submit("2", shell("true"))
    assert final(runner, "2").state == "succeeded"


def _command_lines():
    lines = []
    for process in psutil.process_iter():
        try:
            lines.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return lines


def test_a_replica_that_hangs_in_sigterm_is_killed(runner, shell, final, until):
    runner.submit("1", shell("trap '' TERM; echo ready; while :; do sleep 0.1; done"))
    until(lambda: log(runner, "1"))
    began = time.time()
    runner.cancel("1")
    assert final(runner, "1").state == "cancelled"
    assert time.time() - began >= 2, "it had its grace"
