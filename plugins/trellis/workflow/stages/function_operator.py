"""Tasks that are functions, as Airflow's `@task` makes them, with less that Airflow does for each.

For each of its tasks `@task` inspects the function's signature five times, while the DAG file is
read, and has three template fields, which nothing here fills.
"""

import inspect
from collections.abc import Callable
from typing import Any

from airflow.sdk import BaseOperator


class FunctionOperator(BaseOperator):
    """Returns what a function returns. The UI shows it as a `@task`, which it is to its readers.

    :param python_callable: gets entries of the task's context, by the names of its parameters.
    :param op_args: the function's first arguments (templated): what other tasks return, who are
        then upstream of this one.
    """

    custom_operator_name = "@task"
    template_fields = ("op_args",)

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: list[Any] | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.python_callable = python_callable
        self.op_args = op_args

    def execute(self, context: Any) -> Any:
        parameters = inspect.signature(self.python_callable).parameters
        every = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
        wanted = context if every else parameters
        named = {name: context[name] for name in wanted if name in context}
        returned = self.python_callable(*(self.op_args or ()), **named)
        self.log.info("Done. Returned value was: %s", returned)
        return returned


def function_task(task_id: str, **arguments: Any) -> Callable[..., Callable[..., Any]]:
    """A decorator like Airflow's `@task`: calling the function makes the task, and returns its
    output. arguments: of the operator.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def make(*args: Any) -> Any:
            return FunctionOperator(
                task_id=task_id,
                python_callable=function,
                op_args=list(args) or None,
                **arguments,
            ).output

        return make

    return decorate
