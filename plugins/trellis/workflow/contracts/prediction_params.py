"""Parameters of a single prediction: the trigger form in the UI, and `conf` of the REST API."""

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Param

from trellis.workflow.contracts.aliases import CHAMPION, PATTERN
from trellis.workflow.contracts.conf import refuse_unknown
from trellis.workflow.contracts.run_params import ACCEPT_CHANGES
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.prediction import DATE, ImagePredict, Predict, RowPredict
from trellis.workflow.spec.sections import bounds, fields
from trellis.workflow.validation.file import with_changes

_TITLES = {"images": "Folder of images", "bigquery": "Table", "query": "Query"}


def run_params(experiment: Experiment) -> dict[str, Param]:
    """The DAG's parameters; the file's values are the defaults."""
    predict = experiment.prediction
    (given,) = predict.opening
    described = dict(fields(type(predict)))
    replicas = dict(fields(type(predict.machines)))["replicas"]
    low, high = bounds(replicas)
    form: dict[str, Any] = {"format": "multiline"} if given == "query" else {}
    return {
        "source": Param(
            predict.address,
            type="string",
            minLength=1,
            title=_TITLES[given],
            description=f"{described[given].description} (predict.{given})",
            section="Data",
            **form,
        ),
        **_days(predict),
        **_acceptance(predict),
        "model": Param(
            CHAMPION,
            type="string",
            pattern=PATTERN,
            title="Model",
            description="version or alias of the experiment's model that predicts",
            section="Model",
        ),
        "replicas": Param(
            predict.machines.replicas,
            type="integer",
            minimum=low,
            maximum=high,
            title="Replicas",
            description=f"{replicas.description} (predict.machines.replicas)",
            section="Limits",
        ),
    }


def apply(experiment: Experiment, values: Mapping[str, Any]) -> Experiment:
    """The experiment with this run's parameters applied.

    Raises FileError for an unknown parameter, and for values that do not fit together.
    """
    refuse_unknown(experiment.name, values, run_params(experiment))
    changes: dict[tuple[str, ...], Any] = {
        ("predict", *experiment.prediction.opening): values["source"],
        ("predict", "machines", "replicas"): values["replicas"],
    }
    if values.get(ACCEPT_CHANGES):
        changes["predict", "changes", "beyond"] = "warn"
    return with_changes(experiment, changes)


def _acceptance(predict: Predict) -> dict[str, Param]:
    if not isinstance(predict, RowPredict) or predict.changes.beyond != "refuse":
        return {}
    return {
        ACCEPT_CHANGES: Param(
            False,
            type="boolean",
            title="Accept changes of the rows",
            description="warn of what `predict.changes` would refuse, in this run",
            section="Data",
        )
    }


def _days(predict: Predict) -> dict[str, Param]:
    if isinstance(predict, RowPredict) and predict.partition is not None:
        without = "empty: the run's data interval, or all rows if the run has no logical date"
        by = f"by '{predict.partition}' (UTC); {without}"
        return {
            "from": _day("Rows from", f"first day of the rows, {by}"),
            "to": _day("Rows to", f"first day after the rows, {by}"),
        }
    if isinstance(predict, ImagePredict) and DATE in predict.images:
        what = f"what {DATE} in the folder stands for; empty: the first day of the data interval"
        return {"from": _day("Day", what)}
    return {}


def _day(title: str, description: str) -> Param:
    return Param(
        None,
        type=["null", "string"],
        format="date",
        title=title,
        description=description,
        section="Data",
    )
