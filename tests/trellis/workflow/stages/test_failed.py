"""Record in the index of a run that has failed without a result."""

import json
from types import SimpleNamespace

import pytest

from tests.trellis.results.made import a_board, a_run
from trellis.workflow.assembly.chain import STAGES
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.record import RunRecord
from trellis.workflow.lookups import records
from trellis.workflow.stages.failed import recorder


@pytest.fixture
def fail(google, digits, group):
    """Writes a record, lets a task of its run fail, and returns the record."""
    bucket = "failed-tests"
    (google.buckets / bucket).mkdir(exist_ok=True)
    platform = group.model_copy(update={"bucket": bucket})

    def fail(folder, exception, board=None, map_index=-1):
        run = Run.of(digits, platform, folder)
        record = a_run(digits, run.folder, board, bucket=bucket)
        records.begin(platform, run, record)
        ti = SimpleNamespace(task_id="train", map_index=map_index, run_id=folder)
        recorder(digits, platform, STAGES)({"ti": ti, "exception": exception})
        path = google.buckets / run.record.removeprefix("gs://")
        return RunRecord.model_validate(json.loads(path.read_text()))

    return fail


def test_it_names_the_task_and_its_whole_cause(fail):
    cause = "The rows of this run:\n  no row is of the class a\n  all rows are in train"
    record = fail("one", OSError(cause), map_index=1)
    assert (record.failure.task, record.failure.why) == ("train [1]", cause)
    # There is no plan: what its jobs have cost is not known, and the bound counts.
    assert (record.so_far_usd, record.usd) == (None, record.at_most_usd)
    assert "its process was lost" in fail("two", None).failure.why
    assert fail("four", OSError("x" * 9999)).failure.why.endswith("(the task's log has the rest)")


def test_a_result_is_not_touched(fail):
    record = fail("three", OSError("no quota"), a_board())
    assert record.failure is None
    assert record.result.winner == "training/1"


def test_without_a_record_there_is_nothing_to_write(digits, group, capsys):
    ti = SimpleNamespace(task_id="plan", map_index=-1, run_id="never-planned")
    recorder(digits, group.model_copy(update={"bucket": "failed-tests"}), STAGES)({"ti": ti})
    assert "never-planned.json is not there" in capsys.readouterr().out
