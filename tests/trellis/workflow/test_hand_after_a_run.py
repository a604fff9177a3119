"""A person's hand in a run that has ended: each task cleared alone, or marked, and run again.

The tasks are those of the DAGs: a new stage is walked, too. What a run has paid for is there, so
nothing is paid for again, whatever is cleared or marked.
"""

import re

import pytest

from tests.airflow_side import clear_and_go_on
from tests.trellis.workflow.ended_runs import KINDS, attempts, ended, paid, stages, states

__all__ = ["ended"]

pytestmark = pytest.mark.slow

STAGES = [(kind, stage) for kind in KINDS for stage in stages(kind)]


@pytest.mark.parametrize(("kind", "stage"), STAGES)
def test_a_task_that_is_cleared_alone_ends_as_before(google, ended, kind, stage):
    dag, run = ended(kind)
    before, jobs = states(run), len(paid(google, dag))
    assert states(clear_and_go_on(dag, run, stage, alone=True)) == before
    assert len(paid(google, dag)) == jobs


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("action", ["success", "failed", "skipped"])
@pytest.mark.parametrize(("kind", "stage"), STAGES)
def test_a_task_that_is_marked_and_then_run_again(google, ended, kind, stage, action, capsys):
    """Everything after a marked task ends without a retry and without a job, and a task that fails
    says which to clear. Cleared, with all that follows it, the run ends as it did.
    """
    dag, run = ended(kind)
    before, tries, jobs = states(run), attempts(run), len(paid(google, dag))
    capsys.readouterr()
    marked = clear_and_go_on(dag, run, stage, marked=action)
    said = "".join(capsys.readouterr())
    found, tried, paid_for = states(marked), attempts(marked), len(paid(google, dag))
    # Before anything is judged: the next test begins with the run as it ended.
    again = clear_and_go_on(dag, marked, stage)
    assert set(found.values()) <= {"success", "failed", "skipped", "upstream_failed"}
    assert paid_for == jobs
    for one, count in tried.items():
        assert count <= tries.get(one, 0) + 1, one
    failed = {one for one, state in found.items() if state == "failed" and one[0] != stage}
    if failed:
        print(failed, said[-1500:])
        assert re.search(r"`[a-z0-9_.]+`", said)
    assert states(again) == before
    assert len(paid(google, dag)) == jobs
