"""Tasks that are functions, as Airflow's `@task` makes them, with less that Airflow does for each.

For each of its tasks `@task` inspects the function's signature five times, while the DAG file is
read, and has three template fields, of which nothing here fills two.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from airflow.providers.standard.operators.python import PythonOperator


class FunctionOperator(PythonOperator):
    """Returns what a function returns. The UI shows it as a `@task`, which it is to its readers.

    :param python_callable: gets `op_args`, then entries of the task's context by the names of its
        parameters.
    :param op_args: what other tasks return (templated), who are then upstream of this one.
    """

    custom_operator_name = "@task"
    template_fields = ("op_args",)
    template_fields_renderers: ClassVar[dict[str, str]] = {"op_args": "py"}


def function_task(task_id: str, **arguments: Any) -> Callable[..., Callable[..., Any]]:
    """A decorator like Airflow's `@task`: calling the function makes the task, and returns its
    output. arguments: of the operator.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def make(*args: Any) -> Any:
            return FunctionOperator(
                task_id=task_id,
                python_callable=function,
                op_args=list(args),
                **arguments,
            ).output

        return make

    return decorate
