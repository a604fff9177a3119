"""The DAG EXPERIMENT-reserve: the champion goes into service anew, by today's image."""

from airflow.sdk import DAG

from trellis.workflow.assembly.alerts import on_failure
from trellis.workflow.assembly.group_dag import group_dag
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.deploy import stage, tasks
from trellis.workflow.stages.reserve import resolve, result
from trellis.workflow.stages.reserve.subject import ReservedSubject
from trellis.workflow.validation.file import RESERVE

ADVICE = {
    "resolve": "Nothing was changed. Follow the message, then trigger a new run.",
    **stage.STAGE.advice,
    "result": "Follow the message.",
}

PAGE = """\
Serves the champion of `{name}` by today's image of the server, without training: for an image with
repairs of Python, TensorFlow or Debian, once a release has built it.

| task | what it does |
|---|---|
| resolve | finds the champion, its files and today's image; refuses while a deployment goes on; \
skips the run if that image serves it already |
| deploy | adds a version with the same files, and brings it into service as a promoted training: \
{canary}% of the requests, each step with the test on the rows whose predictions are known |
| result | checks that the version is served, and records it |

**Back:** trigger the DAG `{rollback}`; `previous` is the same model by the image before.

**Red:** requests are answered as before, unless the message says otherwise. The last lines of the
red task's log (`TRELLIS FAILURE`) name the cause and what to do.
"""


def build(experiment: Experiment, platform: Platform) -> DAG:
    """resolve -> deploy -> result; the tasks of `deploy` are those of the experiment's own DAG."""
    alert = on_failure(platform, ADVICE, ends_run=["resolve", "deploy."])
    with group_dag(
        platform,
        experiment.name + RESERVE,
        alert,
        description=f"The champion of {experiment.name}, by today's image of the server",
        doc_md=PAGE.format(
            name=experiment.name,
            canary="%, ".join(map(str, experiment.deployment.canary)),
            rollback=platform.dag_id("rollback"),
        ),
        # Nobody switches it on, and the run of a paused DAG would wait for ever.
        is_paused_upon_creation=False,
        # Two at once would take each other's deployment back.
        max_active_runs=1,
        tags=["deployment"],
        owners=[experiment.owner],
    ) as dag:
        resolved = resolve.task(experiment, platform)
        deployed = tasks.tasks(ReservedSubject(experiment, platform), alert)
        resulted = result.task(experiment, platform)
        resolved >> deployed
        [resolved, deployed] >> resulted
    return dag
