"""Verdicts on ended replicas, as a table: the times and exits go in, the verdict comes out."""

import pytest

from local_gcp.jobs import recovery
from local_gcp.jobs.attempts import Exit
from local_gcp.jobs.recovery import Fail, RestartJob, RestartReplicas, Succeed, judge
from local_gcp.jobs.run import Pool, Program, Replica, Run, Spec

PROGRAM = Program(["true"], {}, "/")
KILLED, LOST, PREEMPTED_BY_SHELL = -9, None, 143
ABORTED, SEGFAULT = -6, 139


def make(workers=1, **spec):
    pools = [Pool(PROGRAM), Pool(PROGRAM, workers)] if workers else [Pool(PROGRAM)]
    run = Run("1", 1, Spec(pools, **spec), created=0, updated=0, state="running")
    run.replicas = [Replica(pool, index, attempt=1) for pool, index in run.spec.seats()]
    return run


def ends(run, index, code, at):
    run.replicas[index].exit = Exit(code, None if code is None else at)


def restart(run):
    """Verdict of the supervisor on a replica that is restarted in its place."""
    for replica in run.replicas:
        if replica.exit:
            replica.attempt, replica.exit = replica.attempt + 1, None


def later(run, now=1000.0):
    """The verdict after all waits."""
    return judge(run, now)


def test_nothing_follows_while_all_run():
    assert judge(make(), 100) is None


def test_the_primary_decides_success_even_if_workers_fail():
    run = make()
    ends(run, 1, 1, at=99)
    ends(run, 0, 0, at=100)
    assert judge(run, 100) == Succeed()


def test_a_worker_that_is_done_early_is_no_event():
    run = make()
    ends(run, 1, 0, at=100)
    assert later(run) is None


def test_a_lone_program_that_fails_has_failed_at_once():
    run = make(workers=0)
    ends(run, 0, 1, at=100)
    assert judge(run, 100) == Fail(run.replicas[0])


@pytest.mark.parametrize("code", [KILLED, LOST, PREEMPTED_BY_SHELL])
def test_a_lone_killed_program_is_restarted_five_times_and_its_job_three_times(code):
    run, starts = make(workers=0), 1
    while True:
        ends(run, 0, code, at=100)
        verdict = judge(run, 100)
        if isinstance(verdict, Fail):
            break
        if isinstance(verdict, RestartJob):
            assert verdict.retry
            run.job_restarts += 1
            run.replicas[0].restarts = 0
        starts += 1
        restart(run)
    assert (run.job_restarts, starts) == (3, 4 * 6)
    assert "3 retries" in verdict.why


@pytest.mark.parametrize("code", [ABORTED, SEGFAULT])
def test_a_crash_retries_the_whole_job(code):
    run = make(workers=0)
    for _ in range(3):
        ends(run, 0, code, at=100)
        verdict = judge(run, 100)
        assert isinstance(verdict, RestartJob)
        assert verdict.retry
        run.job_restarts += 1
        restart(run)
    ends(run, 0, code, at=100)
    assert isinstance(judge(run, 100), Fail)


def test_a_killed_worker_is_restarted_in_its_place_and_the_others_run_on():
    run = make(workers=2)
    ends(run, 1, KILLED, at=100)
    assert judge(run, 100) == RestartReplicas([run.replicas[1]])
    assert [r.restarts for r in run.replicas] == [0, 1, 0]


def test_survivors_that_fail_after_a_peers_death_are_part_of_the_incident():
    run = make()
    ends(run, 1, KILLED, at=100)
    judge(run, 100)
    restart(run)
    ends(run, 0, 1, at=112)
    verdict = judge(run, 112)
    assert isinstance(verdict, RestartJob)
    assert not verdict.retry
    assert [r.restarts for r in run.replicas] == [0, 1], "only the death is counted"


def test_survivors_that_abort_after_a_peers_death_are_too():
    run = make()
    ends(run, 0, KILLED, at=100)
    judge(run, 100)
    restart(run)
    ends(run, 1, ABORTED, at=112)
    verdict = judge(run, 112)
    assert (type(verdict), verdict.retry) == (RestartJob, False)
    assert verdict.why.startswith("workerpool1-0 was ended by SIGABRT")


def test_a_death_that_is_seen_just_after_the_exit_it_caused_explains_it():
    run = make()
    ends(run, 0, 1, at=100.0)
    assert judge(run, 100.1) is None
    ends(run, 1, KILLED, at=100.0)
    assert isinstance(judge(run, 100.2), RestartJob)


def test_a_failure_long_after_the_incident_is_the_programs():
    run = make()
    ends(run, 1, KILLED, at=100)
    judge(run, 100)
    restart(run)
    ends(run, 0, 1, at=100 + recovery.INCIDENT_WINDOW + 1)
    assert later(run) == Fail(run.replicas[0])


def test_restart_job_on_worker_restart_restarts_all_at_once():
    run = make(restart_job_on_worker_restart=True)
    ends(run, 1, KILLED, at=100)
    verdict = judge(run, 100)
    assert isinstance(verdict, RestartJob)
    assert not verdict.retry
    assert run.replicas[1].restarts == 1


def test_a_worker_may_die_five_times_whichever_way_the_job_is_restarted():
    run = make(restart_job_on_worker_restart=True)
    for _ in range(5):
        ends(run, 1, KILLED, at=100)
        assert not judge(run, 100).retry
        restart(run)
    ends(run, 1, KILLED, at=100)
    assert judge(run, 100).retry


def test_a_failing_worker_fails_the_job_and_is_named_although_the_primary_failed_too():
    run = make()
    ends(run, 1, 3, at=100)
    assert judge(run, 101) is None
    ends(run, 0, 1, at=110)
    assert later(run) == Fail(run.replicas[1])


def test_a_failing_worker_fails_the_job_although_the_primary_hangs():
    run = make()
    ends(run, 1, 3, at=100)
    assert judge(run, 100 + recovery.SETTLE) is None
    assert judge(run, 101 + recovery.PRIMARY_HAS_THE_WORD) == Fail(run.replicas[1])


def test_a_worker_that_fails_as_the_primary_finishes_does_no_harm():
    run = make()
    ends(run, 1, 1, at=100)
    assert judge(run, 103) is None
    ends(run, 0, 0, at=104)
    assert judge(run, 104) == Succeed()


def test_disable_retries_leaves_the_restart_of_a_replica_only():
    run = make(disable_retries=True, restart_job_on_worker_restart=True)
    ends(run, 1, KILLED, at=100)
    assert isinstance(judge(run, 100), RestartReplicas)
    restart(run)
    ends(run, 0, 1, at=110)
    assert isinstance(judge(run, 110), Fail)
    crashed = make(workers=0, disable_retries=True)
    ends(crashed, 0, SEGFAULT, at=100)
    assert isinstance(judge(crashed, 100), Fail)


def test_six_preemptions_restart_the_job_and_the_seventh_fails_it():
    run = make(spot=True)
    for _ in range(6):
        assert isinstance(recovery.judge_preemption(run, run.replicas[1]), RestartJob)
        run.preemptions += 1
    assert isinstance(recovery.judge_preemption(run, run.replicas[1]), Fail)
    impatient = make(spot=True, disable_retries=True)
    assert isinstance(recovery.judge_preemption(impatient, impatient.replicas[1]), Fail)
