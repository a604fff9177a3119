"""served: which model the experiment's endpoint serves, so that the comparison can score it too.

served.json, schema 1:
    {"schema": 1, "endpoint": resource name | null,
     "model": "projects/P/locations/R/models/ID@VERSION" | null, "artifact_uri": "gs://..." | null,
     "traffic": percent of the requests that it gets}

Of several models that with most of the requests. Of a run that is cleared, after its own model was
deployed, the file stays as it is: it says what was served before.
"""

from typing import Any

from airflow.sdk import task as airflow_task
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from research import layout
from research.experiment import Experiment
from research.plan import from_json
from research.platform import Platform

SCHEMA = 1


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task; skipped when the run does not deploy. Returns what served.json says."""

    @airflow_task(task_id="served")
    def served(run_id):
        from research import storage

        folder = layout.run_folder(run_id, experiment.generation)
        run = layout.Run(platform.bucket, experiment.name, folder)
        deploy = from_json(storage.read_json(platform, run.plan), run).experiment.deploy
        if deploy is None:
            raise AirflowSkipException("This run deploys nothing: `deploy` is switched off.")
        content = look(platform, run, deploy.private)
        print(describe(content))
        return content

    return served()


def look(platform: Platform, run: layout.Run, private: bool = False) -> dict[str, Any]:
    """Write served.json, unless only the run's own model is served. Returns its content.

    private: how the experiment wants its endpoint. Raises AirflowFailException if it is not so.
    """
    from google.cloud.exceptions import NotFound

    from research import endpoint, storage

    found = endpoint.look(platform, run)
    if found and found.private != private:
        there, wanted = ("private", "public") if found.private else ("public", "private")
        raise AirflowFailException(
            f"{found.name} is a {there} endpoint, and deploy.private asks for a {wanted} one, "
            "which Vertex AI cannot make of it: undeploy its models, delete it and clear this "
            "task; this run then makes the new one."
        )
    before = found.before if found else None
    if before is None and found is not None and found.versions:
        try:
            return storage.read_json(platform, run.served)
        except NotFound:
            print(f"This run's own model is served, and {run.served} is gone.")
    content = {
        "schema": SCHEMA,
        "endpoint": found.name if found else None,
        "model": before.name if before else None,
        "artifact_uri": before.artifact_uri if before else None,
        "traffic": before.traffic if before else 0,
    }
    storage.write_json(platform, run.served, content)
    return content


def describe(content: dict[str, Any]) -> str:
    """The content in one line."""
    if content["model"] is None:
        return f"Nothing is served: {content['endpoint'] or 'there is no endpoint yet'}"
    model, endpoint = content["model"], content["endpoint"]
    gone = "" if content["artifact_uri"] else "; its files cannot be found, someone deleted it"
    return f"{endpoint} serves {model} ({content['traffic']}% of the requests){gone}"
