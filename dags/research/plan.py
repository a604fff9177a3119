"""What one run is going to do: decided by the `plan` stage, read by all others from plan.json.

plan.json, schema 1:
    {"schema": 1, "experiment": "digits", "run": "gs://.../runs/RUN/", "run_id": "...",
     "created": when the run was triggered,
     "data_interval": {"start": ..., "end": ...},       null for a run without a logical date
     "configuration": {...},                            the experiment, this run's Params applied
     "dataset": {"uri", "fingerprint", "exists", "source", "partition", "examples", "classes",
                 "previous"},                           examples, classes: null if not yet known;
                                                        partition: {"column", "from", "to"} or null;
                                                        previous: the experiment's newest dataset
                                                        before this one, or null
     "table": {...},                                    research.table; null for images
     "baselines": ["bqml-logistic_reg", "automl"],
     "jobs": {"dataflow": 0 or 1, "tuning": 1, "custom": trainings + 1, "automl", "batch": 0 or 1},
     "rates": {"training": 0.44, "trial": 0.22},        US dollars an hour, all workers together
     "cost": {"at_most_usd": 1.92, "stages": {...}, "assumptions": "...",
              "serving": {...}}}                         US dollars a day of a deployed model, not
                                                        part of the rest; null: nothing is deployed
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from research.experiment import Experiment, validate
from research.layout import Run
from research.problems import FileError
from research.table import Table
from research.table import from_json as table_from_json
from research.trainer_schema import load as load_schema

SCHEMA = 1


@dataclass(frozen=True)
class Plan:
    """The part of a plan that the jobs are made from.

    dataset: the folder's address. fingerprint: its name. table, partition: None for images;
    partition is None for a table's rows of all times, too.
    """

    experiment: Experiment
    run: Run
    dataset: str
    fingerprint: str
    table: Table | None = None
    partition: Mapping[str, str] | None = None


def from_json(content: dict[str, Any], run: Run) -> Plan:
    """The plan in a plan.json. Raises FileError if this version does not understand it."""
    experiment, problems = validate(run.experiment, "", content["configuration"], load_schema())
    if experiment is None:
        raise FileError(run.plan, problems)
    dataset = content["dataset"]
    table = content["table"]
    return Plan(
        experiment,
        run,
        dataset["uri"],
        dataset["fingerprint"],
        table_from_json(table) if table else None,
        dataset["partition"],
    )
