"""Parameters of a single run: the trigger form in the UI, and `conf` of the REST API.

Every parameter is a key of the experiment file, with the same bounds, so form, API and file refuse
the same values. `plan` checks that the values fit together, and refuses unknown keys.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from airflow.sdk import Param

from trellis.workflow.contracts import hyperparameter_params
from trellis.workflow.contracts.conf import refuse_unknown
from trellis.workflow.pricing import cost
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import FileError, Problem
from trellis.workflow.spec.quantities import usd_text
from trellis.workflow.spec.sections import bounds, field_of
from trellis.workflow.validation.file import with_changes


@dataclass(frozen=True)
class _RunParam:
    name: str
    field: tuple[str, ...]
    title: str
    section: str


_SOURCES = {
    "images": _RunParam("source", ("source", "images"), "Manifest of images", "Data"),
    "bigquery": _RunParam("source", ("source", "bigquery"), "Table", "Data"),
    "query": _RunParam("source", ("source", "query"), "Query", "Data"),
    "files": _RunParam("source", ("source", "files"), "Files", "Data"),
}

_TUNING = (
    _RunParam("trials", ("tune", "trials"), "Trials", "Tuning"),
    _RunParam("parallel", ("tune", "parallel"), "Trials at the same time", "Tuning"),
    _RunParam("tune_epochs", ("tune", "epochs"), "Epochs of a trial", "Tuning"),
    _RunParam("top", ("train", "top"), "Trials to train in full", "Training"),
)

_PARAMS = (
    _RunParam("reuse", ("reuse",), "Reuse what earlier runs have done", "Run"),
    _RunParam("train_epochs", ("train", "epochs"), "Epochs of a training", "Training"),
    _RunParam("workers", ("train", "machines", "workers"), "Workers of a training", "Training"),
    _RunParam("seed", ("seed",), "Seed", "Training"),
    _RunParam("profile", ("train", "profile"), "Steps to profile", "Training"),
    _RunParam("budget", ("budget",), "Budget of this run", "Limits"),
)

# Parts that a run may switch off, and the field's value then.
_SWITCHES: tuple[tuple[_RunParam, Any], ...] = (
    (_RunParam("bqml", ("baselines", "bqml"), "BigQuery ML baselines", "Baselines"), []),
    (_RunParam("automl", ("baselines", "automl"), "AutoML baseline", "Baselines"), None),
    (_RunParam("deploy", ("deploy",), "Serve the selected training", "Deployment"), None),
)

DEPLOY_BACKFILL = "deploy_backfill"
"""Parameter without which a run of a backfill deploys nothing."""

DRY_RUN = "dry_run"
"""Parameter with which a run only plans."""

NOT_DEPLOYED = (
    f"`deploy` is switched off for this run, or a backfill made it without `{DEPLOY_BACKFILL}`"
)
"""Reasons why a run whose file has a `deploy` section deploys nothing."""

ACCEPT_CHANGES = "accept_changes"
"""Parameter that lets one run train on a dataset that `source.changes` would refuse."""

DAYS = ("from", "to")
"""Parameters that select rows instead of the run's data interval."""


def run_params(experiment: Experiment, region: str | None = None) -> dict[str, Param]:
    """The DAG's parameters; the experiment's values are the defaults.

    region: whose prices their descriptions name.
    """
    params = _own_params(experiment, region)
    return params | hyperparameter_params.params(experiment, params)


def _own_params(experiment: Experiment, region: str | None) -> dict[str, Param]:
    """All but the hyperparameters."""
    params = {
        DRY_RUN: Param(
            False,
            type="boolean",
            title="Only plan",
            description="the log of `plan` says what would run, what is reused and what it may "
            "cost; nothing else runs, nothing is written, and the run is green",
            section="Run",
        )
    }
    params |= {p.name: _airflow_param(p, experiment) for p in _of(experiment)}
    source = experiment.source
    if source.partition is not None:
        for name in DAYS:
            params[name] = _day(name, source.partition)
    if source.changes.beyond == "refuse":
        params[ACCEPT_CHANGES] = Param(
            False,
            type="boolean",
            title="Accept changes of the data",
            description="warn of what `source.changes` would refuse, in this run",
            section="Data",
        )
    for switch, _ in _switches(experiment):
        params[switch.name] = Param(
            True,
            type="boolean",
            title=switch.title,
            description=f"{_switched(switch.name, experiment, region)}; off: not in this run "
            f"({'.'.join(switch.field)})",
            section=switch.section,
        )
    if experiment.deploy is not None:
        params[DEPLOY_BACKFILL] = Param(
            False,
            type="boolean",
            title="Serve the selected training of a backfill",
            description="a run that a backfill makes deploys nothing, unless this is on: the model "
            "of a past day would replace that of a newer one",
            section="Deployment",
        )
    return params


def of_backfill(values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a backfill's run: it deploys only if `deploy_backfill` is set."""
    if DEPLOY_BACKFILL not in values:
        return dict(values)
    return {**values, "deploy": values["deploy"] and values[DEPLOY_BACKFILL]}


def apply(experiment: Experiment, values: Mapping[str, Any]) -> Experiment:
    """The experiment with this run's parameters applied.

    Raises FileError for an unknown parameter, and for values that do not fit together.
    """
    own = _own_params(experiment, None)
    known = [*own, *hyperparameter_params.params(experiment, own)]
    refuse_unknown(experiment.name, values, known)
    _in_order(experiment, values)
    changes = {param.field: values[param.name] for param in _of(experiment)}
    changes |= {s.field: off for s, off in _switches(experiment) if not values[s.name]}
    if ("baselines", "bqml") in changes:
        changes["baselines", "options"] = None
    changes |= _deployable(experiment, changes)
    if ("deploy",) in changes and experiment.predict is None:
        changes["serve_image",] = None
    if values.get(ACCEPT_CHANGES):
        changes["source", "changes", "beyond"] = "warn"
    changes |= hyperparameter_params.changes(experiment, values, own)
    return with_changes(experiment, changes)


def _deployable(experiment: Experiment, changes: Mapping[Any, Any]) -> dict[Any, Any]:
    """What follows for `deploy.allow` if a service is switched off: its model does not compete."""
    if experiment.deploy is None or ("deploy",) in changes:
        return {}
    left = [name for name in experiment.deploy.allow if ("baselines", name) not in changes]
    if len(left) == len(experiment.deploy.allow):
        return {}
    return {("deploy", "allow"): left} if left else {("deploy",): None}


def _in_order(experiment: Experiment, values: Mapping[str, Any]) -> None:
    """Raises FileError for rows from a day that is not before their end."""
    first, last = (values.get(name) for name in DAYS)
    if first and last and date.fromisoformat(first) >= date.fromisoformat(last):
        problem = Problem(("from",), f"{first} is not before `to`, {last}, which is exclusive")
        raise FileError(f"The parameters of this run of {experiment.name}", [problem])


def _of(experiment: Experiment) -> list[_RunParam]:
    (given,) = experiment.source.opening
    return [_SOURCES[given], *(_TUNING if experiment.tune else ()), *_PARAMS]


def _switches(experiment: Experiment) -> list[tuple[_RunParam, Any]]:
    """The switches for parts that the experiment has."""
    return [(s, off) for s, off in _SWITCHES if _value(s, experiment)]


def _switched(name: str, experiment: Experiment, region: str | None) -> str:
    """Description of the part that a switch controls."""
    if name == "bqml":
        return ", ".join(experiment.baselines.bqml)
    if name == "deploy":
        return f"if it passes the file's gate; serving costs {cost.serving(experiment, region)}"
    hours = f"{experiment.automl.node_hours:g} node hours"
    return f"{hours}, at most {cost.baseline(experiment, name, 0, region):.2f} USD"


def _value(param: _RunParam, experiment: Experiment) -> Any:
    """The experiment's value of the parameter's field."""
    value: Any = experiment
    for part in param.field:
        value = getattr(value, part)
    return value


def _day(name: str, partition: str) -> Param:
    end = {"from": "first day of the rows", "to": "first day after the rows"}[name]
    without = "empty: the run's data interval, or all rows if the run has no logical date"
    return Param(
        None,
        type=["null", "string"],
        format="date",
        title=f"Rows {name}",
        description=f"{end}, by '{partition}' (UTC); {without}",
        section="Data",
    )


def _airflow_param(param: _RunParam, experiment: Experiment) -> Param:
    info = field_of(Experiment, param.field)
    assert info is not None, param
    value = _value(param, experiment)
    if info.annotation is bool:
        schema: dict[str, Any] = {"type": "boolean"}
    elif info.annotation is int:
        low, high = bounds(info)
        schema = {"type": "integer", "minimum": low, "maximum": high}
    elif param.name == "profile":
        value = "-".join(map(str, value)) if value else None
        schema = {"type": ["null", "string"], "pattern": "^[0-9]+-[0-9]+$", "examples": ["10-20"]}
    elif param.name == "budget":
        value = usd_text(value)
        schema = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]{1,2})? USD$"}
    else:
        schema = {"type": "string", "minLength": 1}
        if param.field == ("source", "query"):
            schema["format"] = "multiline"
    return Param(
        value,
        title=param.title,
        description=f"{info.description} ({'.'.join(param.field)})",
        section=param.section,
        **schema,
    )
