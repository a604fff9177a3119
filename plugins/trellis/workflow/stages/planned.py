"""Fields of operators that are computed when the task starts.

If a templated field is a function, Airflow calls it instead of rendering a template, and stores
what it returns: so Rendered Templates in the UI shows the job exactly as the task submits it.
https://airflow.apache.org/docs/apache-airflow/stable/core-concepts/operators.html#templating
"""

import functools
from collections.abc import Callable
from typing import Any

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform

_PLAN = "trellis_plan"


def planned(
    experiment: Experiment,
    platform: Platform,
    make: Callable[..., Any],
    given: Callable[[Any], Any] | None = None,
    load: Callable[[Experiment, Platform, str], Any] | None = None,
    needs: Callable[[Any, Platform], None] | None = None,
) -> Any:
    """A field computed from the run's plan: what `make(plan, platform)` returns.

    given: reads from the task's context a third argument for `make`. load: loads the plan of
    another kind of DAG, one for all fields of an operator. needs: looks first for what earlier
    tasks must have left.
    """

    def made(context: Any) -> Any:
        from trellis.workflow.lookups import plans

        # An operator has several such fields: the first one reads the plan.
        if _PLAN not in context:
            context[_PLAN] = (load or plans.load)(experiment, platform, context["run_id"])
        plan = context[_PLAN]
        if needs is not None:
            needs(plan, platform)
        return make(plan, platform, *([given(context)] if given else []))

    # The serialized DAG shows this function's name: that of each stage's own.
    @functools.wraps(make)
    def render(context: Any, jinja_env: Any) -> Any:
        return made(context)

    # Of a mapped task's fields it has the whole source: that of these lines, not of the stage.
    del render.__wrapped__
    return render


def returned(task_id: str, name: str, required: bool = True) -> Any:
    """A function of the context: an entry of another task's result. Of no result, None, or the
    error of `left.returned` if it is required.
    """

    def pull(context: Any, jinja_env: Any = None) -> Any:
        from trellis.workflow.lookups import left

        ti = context["ti"]
        content = left.returned(ti, task_id, name) if required else ti.xcom_pull(task_ids=task_id)
        return content[name] if content else None

    return pull


def figure(stage: str) -> Callable[[Any, Platform], float]:
    """A function of a plan: the US dollars that its stage may cost, for a stage of one job."""

    def at_most(plan: Any, platform: Platform) -> float:
        return float(plan.cost["stages"][stage])

    return at_most
