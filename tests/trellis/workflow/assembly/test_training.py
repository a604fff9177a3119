import datetime
import itertools

import pytest

from tests.wording import says
from trellis.workflow.assembly import chain, training
from trellis.workflow.contracts.run_params import run_params
from trellis.workflow.pricing import cost
from trellis.workflow.spec.platform import Pools
from trellis.workflow.validation.file import with_changes


@pytest.fixture
def dag(digits, group):
    return training.build(digits, group)


ROWS = ["plan", "snapshot", "check", "extract", "export", "changes"]


def test_the_chain_of_stages_from_images(digits, group):
    dag = training.build(with_changes(digits, {("deploy",): None}), group)
    chain = [*ROWS, "tune", "choose", "train", "trained", "compare", "result"]
    edges = {task.task_id: task.downstream_task_ids for task in dag.tasks}
    assert edges == {a: {b} for a, b in itertools.pairwise(chain)} | {"result": set()}


def test_without_a_search_the_chain_has_one_training(digits, group):
    changes = {
        ("deploy",): None,
        ("tune",): None,
        ("train", "minimize"): "brier",
        ("train", "top"): 1,
    }
    dag = training.build(with_changes(digits, changes), group)
    chain = [*ROWS, "train", "trained", "compare", "result"]
    edges = {task.task_id: task.downstream_task_ids for task in dag.tasks}
    assert edges == {a: {b} for a, b in itertools.pairwise(chain)} | {"result": set()}
    assert says(dag.doc_md, "one model", "to minimize brier")
    assert "| tune |" not in dag.doc_md


def test_further_seeds_wait_for_the_trainings_and_the_comparison_for_them(digits, group):
    dag = training.build(with_changes(digits, {("train", "seeds"): 3}), group)
    for before, after in itertools.pairwise(["trained", "select", "repeat", "repeated", "compare"]):
        assert after in dag.get_task(before).downstream_task_ids
    assert dag.get_task("repeated").trigger_rule == "all_done"
    assert "again with 2 other seed(s)" in dag.doc_md


def test_the_chain_of_stages_from_a_table(breast_cancer, group):
    """Nothing is trained on rows that were not checked; baselines do not wait for trainings."""
    dag = training.build(breast_cancer, group)
    for before, after in itertools.pairwise([*ROWS, "tune"]):
        assert after in dag.get_task(before).downstream_task_ids
    for name in ("bqml.logistic_reg", "bqml.boosted_tree_classifier", "automl.views"):
        assert dag.get_task(name).upstream_task_ids == {"check"}
    assert dag.get_task("baselines").upstream_task_ids == {
        "bqml.logistic_reg",
        "bqml.boosted_tree_classifier",
        "automl.export",
    }
    assert dag.get_task("compare").upstream_task_ids == {"trained", "baselines", "served"}


def test_baselines_wait_for_a_comparison_that_may_refuse_the_dataset(breast_cancer, group):
    """They are paid for, and read the snapshot, so that they need not wait for the export."""
    refusing = with_changes(breast_cancer, {("source", "changes", "beyond"): "refuse"})
    dag = training.build(refusing, group)
    for name in ("bqml.logistic_reg", "bqml.boosted_tree_classifier", "automl.views"):
        assert dag.get_task(name).upstream_task_ids == {"changes"}


def test_what_is_served_is_compared_and_the_comparison_decides(dag):
    """The result waits for the comparison, and for the end of the deployment, whatever it is."""
    assert dag.get_task("served").upstream_task_ids == {"plan"}
    assert dag.get_task("compare").upstream_task_ids == {"trained", "served"}
    assert dag.get_task("promote").upstream_task_ids == {"compare"}
    assert dag.get_task("result").upstream_task_ids == {"compare", "settled"}
    assert dag.get_task("settled").trigger_rule == "all_done"


def test_a_failed_baseline_stops_neither_its_record_nor_the_comparison(breast_cancer, group):
    dag = training.build(breast_cancer, group)
    assert dag.get_task("baselines").trigger_rule == "all_done"
    assert dag.get_task("compare").trigger_rule == "none_failed"


def test_a_skipped_export_does_not_skip_what_follows(dag):
    assert dag.get_task("tune").trigger_rule == "none_failed"


def test_trainings_are_mapped(dag):
    assert dag.get_task("train").is_mapped


def test_runs_do_not_pile_up(dag):
    assert dag.max_active_runs == 1
    assert not dag.catchup


def test_every_task_is_retried_and_says_why_it_failed(dag):
    for task in dag.tasks:
        assert task.retries == 3
        assert task.retry_exponential_backoff == 2
        assert task.on_failure_callback
        assert task.owner == "trellis"


def test_a_manual_experiment_has_no_schedule(dag):
    assert dag.timetable.__class__.__name__ == "NullTimetable"


def test_a_scheduled_run_covers_the_interval_before_it(digits, group):
    from airflow.serialization.encoders import coerce_to_core_timetable

    dag = training.build(with_changes(digits, {("schedule",): "@weekly"}), group)
    timetable = coerce_to_core_timetable(dag.timetable)
    wednesday = datetime.datetime(2025, 1, 15, tzinfo=datetime.UTC)
    interval = timetable.infer_manual_data_interval(run_after=wednesday)
    assert (interval.start.date(), interval.end.date()) == (
        datetime.date(2025, 1, 5),
        datetime.date(2025, 1, 12),
    )


def test_the_page_says_what_a_person_on_duty_needs(dag, digits, group):
    limit = f"at most {chain.at_most(digits, group).usd:.2f} USD"
    for words in ("Handwritten digits", "trellis", limit, "When it fails at night"):
        assert words in dag.doc_md


def test_the_page_says_what_serving_means(dag, digits, group):
    for words in (
        "the gate (accuracy at least 0.9, no worse than the served model)",
        "10%, 50%, 100% of the requests",
        str(cost.serving(digits, group.region)),
        "trigger the DAG `rollback`",
    ):
        assert words in dag.doc_md
    without = training.build(with_changes(digits, {("deploy",): None}), group).doc_md
    assert "promote" not in without
    assert "endpoint" not in without


def test_tags_and_description(dag):
    assert dag.tags == {"research", "convolutional", "multiclass_classification"}
    assert dag.description.startswith("Handwritten digits")


def test_the_dag_can_be_stored(dag):
    """The DAG processor does so."""
    from airflow.serialization.serialized_objects import DagSerialization

    stored = DagSerialization.to_dict(dag)
    assert DagSerialization.from_dict(stored).task_ids == dag.task_ids


def test_jobs_take_a_slot_for_each_machine_in_the_groups_pools(breast_cancer, group):
    pools = Pools(vertex="vertex-machines", dataflow="dataflow-workers")
    changes = {("tune", "parallel"): 3, ("train", "machines", "workers"): 2}
    experiment = with_changes(breast_cancer, changes)
    dag = training.build(experiment, group.model_copy(update={"pools": pools}))
    assert {
        task.task_id: (task.pool, task.pool_slots)
        for task in dag.tasks
        if task.pool != "default_pool"
    } == {
        "export": ("dataflow-workers", group.dataflow.max_workers),
        "tune": ("vertex-machines", 3),
        "train": ("vertex-machines", 2),
        "automl.train": ("vertex-machines", 1),
        "automl.predict": ("vertex-machines", 1),
        "compare": ("vertex-machines", 1),
    }


def test_parameters_are_the_dags_alone(dag, digits):
    """A copy in every task would be validated each time that Airflow serializes the DAG."""
    assert set(dag.params) == set(run_params(digits))
    assert not any(task.params for task in dag.tasks)
