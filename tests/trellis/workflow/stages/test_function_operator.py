"""A function as a task: what it is given, what it returns, and what comes before it."""

from airflow.sdk import DAG

from trellis.workflow.stages.function_operator import function_task


def task_of(function, *arguments):
    with DAG("functions") as dag:
        before = function_task("before")(lambda: None)()
        after = function_task("after", retries=2)(function)(*(arguments and [before]))
    assert dag.get_task("after") is after.operator
    return after.operator


def test_entries_of_the_context_by_name():
    def named(run_id=None, missing="no entry"):
        return run_id, missing

    context = {"run_id": "manual", "ti": "another"}
    assert task_of(named).execute(context) == ("manual", "no entry")


def test_whole_context():
    def whole(run_id=None, **context):
        return run_id, context["ti"]

    assert task_of(whole).execute({"run_id": "manual", "ti": 1}) == ("manual", 1)


def test_output_of_another_task_comes_first():
    def adds(output, run_id=None):
        return output, run_id

    task = task_of(adds, "before")
    assert task.upstream_task_ids == {"before"}
    task.op_args = [5]  # as Airflow renders it
    assert task.execute({"run_id": "manual"}) == (5, "manual")


def test_arguments_of_the_operator():
    task = task_of(lambda: None)
    assert (task.retries, task.operator_name) == (2, "@task")
