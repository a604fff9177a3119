"""served: records which model the experiment's endpoint serves, for the comparison to score.

Of several models, that with most of the requests. If a run is cleared after its own model was
deployed, the file does not change: it has what was served before.
"""

from typing import Any

from trellis.workflow.contracts import layout
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.stage import Stage
from trellis_contracts.served import Served


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task; skipped when the run does not deploy. Returns served.json's content."""
    from airflow.sdk.exceptions import AirflowSkipException

    from trellis.workflow.contracts.run_params import NOT_DEPLOYED
    from trellis.workflow.lookups import plans
    from trellis.workflow.stages.function_operator import function_task

    @function_task(task_id="served")
    def served(run_id=None):
        plan = plans.load(experiment, platform, run_id)
        deploy = plan.experiment.deploy
        if deploy is None:
            raise AirflowSkipException(f"This run deploys nothing: {NOT_DEPLOYED}.")
        now = record(platform, plan.run, deploy.private)
        print(describe(now))
        return now.to_document()

    return served()


def record(platform: Platform, run: layout.Run, private: bool = False) -> Served:
    """Write served.json, unless only the run's own model is served. Returns it.

    private: deploy.private. Raises AirflowFailException if the endpoint is of the other kind.
    """
    from airflow.sdk.exceptions import AirflowFailException

    from trellis.workflow.lookups import documents, endpoint

    found = endpoint.find(platform, run)
    if found and found.private != private:
        there, wanted = ("private", "public") if found.private else ("public", "private")
        raise AirflowFailException(
            f"{found.name} is a {there} endpoint, and deploy.private requires a {wanted} one. "
            "Vertex AI cannot convert it: undeploy its models, delete it and clear this task; "
            "this run then creates the new one."
        )
    before = found.before if found else None
    if before is None and found is not None and found.versions:
        if written := documents.find_file(platform, Served, run.served):
            return written
        print(f"This run's own model is served, and {run.served} is gone.")
    now = Served(
        endpoint=found.name if found else None,
        model=before.name if before else None,
        artifact_uri=before.artifact_uri if before else None,
        traffic=before.traffic if before else 0,
        service=before.service if before else None,
        origin=before.origin if before else None,
    )
    documents.write_file(platform, run.served, now)
    return now


def describe(now: Served) -> str:
    """The content in one line."""
    if now.model is None:
        return f"Nothing is served: {now.endpoint or 'there is no endpoint yet'}"
    gone = (
        ""
        if now.artifact_uri or now.service
        else "; its files are missing: someone deleted the version"
    )
    return f"{now.endpoint} serves {now.model} ({now.traffic}% of the requests){gone}"


STAGE = Stage(
    name="served",
    where="Airflow",
    writes=["served.json"],
    when=lambda experiment: experiment.deploy is not None,
    tasks=lambda dag: task(dag.experiment, dag.platform),
    page=lambda *_: [("served", "finds the served model, so that it is compared too")],
    advice={
        "served": "Clear this task once the cause is fixed. The comparison waits for it, the "
        "trainings do not."
    },
)
