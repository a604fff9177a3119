"""What a single prediction may change: the trigger form in the UI, and `conf` of the REST API."""

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Param

from research.experiment import Experiment
from research.prediction.section import DATE, Predict
from research.registry_names import CHAMPION, PATTERN
from research.sections import bounds, fields

_TITLES = {"images": "Folder of images", "bigquery": "Table", "query": "Query"}


def run_params(experiment: Experiment) -> dict[str, Param]:
    """The DAG's parameters; the file's values are the defaults."""
    predict = experiment.predict
    given = _given(predict)
    described = dict(fields(Predict))
    replicas = dict(fields(type(predict.machines)))["replicas"]
    low, high = bounds(replicas)
    return {
        "source": Param(
            predict.address,
            type="string",
            minLength=1,
            title=_TITLES[given],
            description=f"{described[given].description} (predict.{given})",
            section="Data",
            **({"format": "multiline"} if given == "query" else {}),
        ),
        **_days(predict),
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
    """The experiment as this run wants it. Raises FileError if the values do not fit together."""
    return experiment.changed(
        {
            ("predict", _given(experiment.predict)): values["source"],
            ("predict", "machines", "replicas"): values["replicas"],
        }
    )


def _given(predict: Predict) -> str:
    return next(name for name in _TITLES if getattr(predict, name) is not None)


def _days(predict: Predict) -> dict[str, Param]:
    if predict.partition is not None:
        without = "empty: the run's data interval, or all rows for a run without a logical date"
        by = f"by '{predict.partition}' (UTC); {without}"
        return {
            "from": _day("Rows from", f"first day of the rows, {by}"),
            "to": _day("Rows to", f"first day that no longer belongs to them, {by}"),
        }
    if predict.images is not None and DATE in predict.images:
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
