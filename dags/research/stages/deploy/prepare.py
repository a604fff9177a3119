"""prepare: make the messages that register and deploy the challenger of this run."""

import hashlib
import json
from typing import Any

from airflow.sdk import task as airflow_task

from research import layout
from research.experiment import Experiment
from research.plan import Plan, from_json
from research.platform import Platform
from research.stages.deploy import messages


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns the messages: {"contender", "key", "model", "endpoint", ...}."""

    @airflow_task(task_id="prepare")
    def prepare(run_id):
        from research import storage

        run = layout.Run(
            platform.bucket, experiment.name, layout.run_folder(run_id, experiment.generation)
        )
        plan = from_json(storage.read_json(platform, run.plan), run)
        challenger = storage.read_json(platform, run.challenger)
        print(f"To be deployed: {challenger['contender']}, {challenger['model']}")
        return make(plan, platform, challenger)

    return prepare()


def make(plan: Plan, platform: Platform, challenger: dict[str, Any]) -> dict[str, Any]:
    """What the tasks of the deployment need to know.

    key: takes the place of the generation. Another challenger of the same run, as after a training
    that was cleared, is another version; the same one is the version that is there.
    """
    digest = hashlib.sha256(json.dumps(challenger, sort_keys=True).encode()).hexdigest()[:12]
    return {
        "contender": challenger["contender"],
        "challenger": plan.run.challenger,
        "key": f"{plan.experiment.generation}-{digest}",
        "model": messages.model(plan, platform, challenger),
        "endpoint": messages.endpoint(plan.experiment, platform),
        "deployed_model": messages.deployed_model(plan, platform),
    }
