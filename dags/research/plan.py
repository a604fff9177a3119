"""What one run is going to do: decided by the `plan` stage, read by all others from plan.json.

plan.json, schema 1:
    {"schema": 1, "experiment": "digits", "run": "gs://.../runs/RUN/", "run_id": "...",
     "created": when the run was triggered,
     "data_interval": {"start": ..., "end": ...},       null for a run without a logical date
     "configuration": {...},                            the experiment, this run's Params applied
     "dataset": {"uri", "fingerprint", "exists", "source", "examples", "classes"},
     "jobs": {"dataflow": 0 or 1, "tuning": 1, "custom": trainings + 1},
     "cost": {"at_most_usd": 1.92, "stages": {...}, "assumptions": "..."}}
"""

from dataclasses import dataclass
from typing import Any

from research.experiment import Experiment, validate
from research.layout import Run
from research.problems import FileError
from research.trainer_schema import load as load_schema

SCHEMA = 1


@dataclass(frozen=True)
class Plan:
    """The part of a plan that the jobs are made from.

    dataset: the folder's address. fingerprint: its name.
    """

    experiment: Experiment
    run: Run
    dataset: str
    fingerprint: str


def from_json(content: dict[str, Any], run: Run) -> Plan:
    """The plan in a plan.json. Raises FileError if this version does not understand it."""
    experiment, problems = validate(run.experiment, "", content["configuration"], load_schema())
    if experiment is None:
        raise FileError(run.plan, problems)
    dataset = content["dataset"]
    return Plan(experiment, run, dataset["uri"], dataset["fingerprint"])
