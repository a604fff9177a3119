"""What a single run may change: the trigger form in the UI, and `conf` of the REST API.

Every parameter stands for a key of the experiment file and has that key's bounds, so the form, the
API and the file refuse the same values. What must fit together is checked in `plan`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow.sdk import Param

from research.experiment import Experiment
from research.problems import Field as Where
from research.quantities import usd_text
from research.sections import bounds, field_of


@dataclass(frozen=True)
class _RunParam:
    name: str
    field: Where
    title: str
    section: str


_PARAMS = (
    _RunParam("source", ("source", "images"), "Manifest of images", "Data"),
    _RunParam("trials", ("tune", "trials"), "Trials", "Tuning"),
    _RunParam("parallel", ("tune", "parallel"), "Trials at the same time", "Tuning"),
    _RunParam("tune_epochs", ("tune", "epochs"), "Epochs of a trial", "Tuning"),
    _RunParam("top", ("train", "top"), "Trials to train in full", "Training"),
    _RunParam("train_epochs", ("train", "epochs"), "Epochs of a training", "Training"),
    _RunParam("workers", ("train", "machines", "workers"), "Workers of a training", "Training"),
    _RunParam("budget", ("budget",), "Budget of this run", "Limits"),
)


def run_params(experiment: Experiment) -> dict[str, Param]:
    """The DAG's parameters; the experiment's values are the defaults."""
    return {param.name: _airflow_param(param, experiment) for param in _PARAMS}


def apply(experiment: Experiment, values: Mapping[str, Any]) -> Experiment:
    """The experiment as this run wants it. Raises FileError if the values do not fit together."""
    return experiment.changed({param.field: values[param.name] for param in _PARAMS})


def _airflow_param(param: _RunParam, experiment: Experiment) -> Param:
    info = field_of(Experiment, param.field)
    assert info is not None, param
    value: Any = experiment
    for part in param.field:
        value = getattr(value, part)
    if info.annotation is int:
        low, high = bounds(info)
        schema = {"type": "integer", "minimum": low, "maximum": high}
    elif param.name == "budget":
        value = usd_text(value)
        schema = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]{1,2})? USD$"}
    else:
        schema = {"type": "string", "minLength": 1}
    return Param(
        value,
        title=param.title,
        description=f"{info.description} ({'.'.join(map(str, param.field))})",
        section=param.section,
        **schema,
    )
