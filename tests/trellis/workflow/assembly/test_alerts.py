from dataclasses import dataclass, field

from tests.airflow_side import ROOT
from trellis.workflow.assembly import training
from trellis.workflow.assembly.alerts import ADVICE, advice, message, on_failure
from trellis.workflow.spec.platform import load as load_platform
from trellis.workflow.validation.file import load


@dataclass
class Task:
    """What the callback takes from Airflow's context."""

    task_id: str = "train"
    run_id: str = "demo"
    try_number: int = 1
    map_index: int = 1


@dataclass
class Dag:
    dag_id: str = "digits"
    owner: str = "trellis"
    tasks: list = field(default_factory=list)


def context(**changes):
    return {"ti": Task(), "dag": Dag(), "exception": OSError("out of paper"), **changes}


def test_a_failure_names_stage_cause_and_what_to_do():
    text = message(context())
    assert "TRELLIS FAILURE: digits failed in train [1]" in text
    assert "Run: demo, attempt 1. Owner: trellis" in text
    assert "Why: out of paper" in text
    assert "continue the training from its last checkpoint" in text


def test_a_lost_process_leaves_no_exception():
    assert "its process was lost" in message(context(exception=None))


def test_it_is_one_line_of_the_log_that_can_be_alerted_on(caplog):
    on_failure(context())
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert "TRELLIS FAILURE" in record.getMessage()


def test_there_is_advice_for_every_stage():
    table = load(ROOT / "dags/experiments/breast-cancer.yaml")
    stages = set(training.build(table, load_platform(ROOT / "dags")).task_ids)
    grouped = {stage for stage in stages if stage.startswith(("bqml.", "automl.", "deploy."))}
    # These only wait.
    assert set(ADVICE) == stages - grouped - {"trained", "settled"}


def test_a_step_of_a_deployment_is_no_baseline():
    assert "still serves all requests, or does so again" in advice("deploy.canary_10")
    assert "shows this baseline as failed" in advice("bqml.logistic_reg")
