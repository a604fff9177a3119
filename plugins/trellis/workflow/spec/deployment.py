"""The section `deploy` of an experiment file: when a model is served, and how it gets there."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, PlainSerializer

from trellis.workflow.spec.changes import Limits
from trellis.workflow.spec.machines import Machine
from trellis.workflow.spec.quantities import (
    Bounds,
    Duration,
    Form,
    Pause,
    Percents,
    Replicas,
)
from trellis.workflow.spec.sections import Section, broken, key

ROLE = "role:"
"""Beginning of an approver that is a role of Airflow's."""

_ROLE = re.compile(r"role\s*:\s*(.*)", re.IGNORECASE)


def _approvers(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError("no list")
    names = tuple(_approver(entry) for entry in value)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise broken(f"'{twice}' is listed twice")
    return names


def _approver(entry: Any) -> str:
    if isinstance(entry, Mapping) and len(entry) == 1:
        # What YAML makes of `role: Op` without quotes.
        ((word, name),) = entry.items()
        entry = f"{word}: {name}"
    if not isinstance(entry, str) or not entry or entry != " ".join(entry.split()):
        raise broken(f'got {entry!r}; expected a user\'s name, or a role as in "{ROLE}Op"')
    if (role := _ROLE.fullmatch(entry)) and (entry != f"{ROLE}{role[1]}" or not role[1]):
        raise broken(f"got '{entry}'; a role is written \"{ROLE}{role[1] or 'Op'}\", in quotes")
    return entry


Approvers = Annotated[
    tuple[str, ...],
    BeforeValidator(_approvers),
    PlainSerializer(list),
    Form(
        'users\' names in Airflow and roles there, as in [ada, "role:Op"]',
        {"type": "array", "items": {"type": "string", "minLength": 1}, "uniqueItems": True},
    ),
]
"""People who may answer; written `[ada, "role:Op"]`."""


TRAININGS = "trainings"
SERVICES = ("automl", "bqml")
"""Services whose models may be deployed, by the name of their baselines."""
ALLOWED = (TRAININGS, *SERVICES)


def _allowed(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("no list with entries")
    for name in value:
        if name not in ALLOWED:
            raise broken(f"got {name!r}; expected some of {', '.join(ALLOWED)}")
    if twice := next((name for name in value if list(value).count(name) > 1), None):
        raise broken(f"'{twice}' is listed twice")
    return tuple(value)


Allowed = Annotated[
    tuple[str, ...],
    BeforeValidator(_allowed),
    PlainSerializer(list),
    Form(
        f"some of {', '.join(ALLOWED)}, as in [trainings, automl]",
        {"type": "array", "items": {"enum": list(ALLOWED)}, "minItems": 1, "uniqueItems": True},
    ),
]
"""Contenders that may be deployed; written `[trainings, automl]`."""


class Gate(Section):
    """Conditions on the test split that a run's training must meet to be deployed."""

    require: Bounds = key(
        "bounds by metric: lower bounds of metrics to maximize, upper bounds of those to minimize; "
        "METRIC@HORIZON is a time to an event's metric at one of its horizons, as in "
        "horizon_auc@365, METRIC@CLASS a segmentation's of one class, as in dice@cell",
        {},
    )
    beat: Literal["baselines", "nothing"] = key(
        "baselines: it must be better than every scored baseline by the primary metric, if there "
        "are any; those that `allow` names compete, and are no hurdle",
        "baselines",
    )
    margin: float = key(
        "smallest lead: the interval of the difference must lie above this; with several "
        "contenders the intervals hold together at 95%",
        0.0,
        ge=0,
    )
    tolerance: float | None = key(
        "largest deficit against the served model, by the primary metric; null: do not compare the "
        "two",
        0.0,
        ge=0,
    )
    improvement: float | None = key(
        "smallest lead over the served model: the interval of the difference must lie above this; "
        "null: no lead is needed",
        None,
        ge=0,
    )
    recall: float | None = key(
        "of a classification: share of each class's test examples, where it has 10 or more, above "
        "which it must recognize them; null: not checked",
        0.0,
        ge=0,
        le=1,
    )
    slices: Bounds = key(
        "bounds by metric, as in `require`, that each of the experiment's `slices` with 10 or more "
        "examples must meet",
        {},
    )
    slices_gap: float | None = key(
        "how much worse than on all other test examples it may be in a slice, by the primary "
        "metric: refused if the whole interval of a gap is beyond it; the intervals of all gaps "
        "hold together at 95%; null: not checked",
        None,
        ge=0,
    )
    learned: bool = key(
        "true: it must have learned something: its predictions vary, and are better than chance in "
        "their order or their loss; false: the other conditions decide alone",
        True,
    )


class Smoke(Section):
    """The test of a deployed model before each step, on rows of the test split."""

    examples: int = key(
        "rows whose predictions must equal those of the comparison", 20, unit="rows", ge=1, le=1000
    )
    latency: int = key(
        "upper bound of the median response time", 1000, unit="milliseconds", ge=1, le=60_000
    )


class ServingMachines(Machine):
    """Machines of each replica of a deployed model."""

    type: str = key("Compute Engine machine type", "n1-standard-2")
    replicas: Replicas = key("[fewest, most]; the load decides in between", (1, 1))


class Requests(Section):
    """A sample of what an endpoint is asked and answers, in the group's dataset of BigQuery."""

    share: float = key("share of the requests that are kept, with their answers", gt=0, le=1)
    keep: Duration = key("time after which a kept request is deleted", timedelta(days=30))
    changes: Limits = key(
        "limits of the difference between what was asked since the last comparison and what the "
        "model learned from, and between its answers and those of the test split, beyond which "
        "the DAG `watch` warns",
        Limits(),
    )


class Deploy(Section):
    """Conditions and steps of serving the selected training, or a service's model."""

    allow: Allowed = key(
        "contenders that may be deployed: the selected training, AutoML's model, BigQuery ML's; of "
        "several, the first of the leaderboard meets the gate. Models of the services answer in "
        "their own form",
        (TRAININGS,),
    )
    gate: Gate = key("conditions that it must meet to be deployed", Gate())
    approve: Approvers = key(
        "one of these must approve of a promoted training before it is deployed: users of Airflow, "
        "and roles there; left out: nobody is asked",
        (),
    )
    within: Duration = key(
        "of `approve`: time for the answer, after which the training is not deployed",
        timedelta(days=3),
    )
    canary: Percents = key("its share of requests, step by step", (10, 50, 100))
    hold: Pause = key("waiting time after each step but the last", timedelta())
    smoke: Smoke = key("the test before each step", Smoke())
    machines: ServingMachines = key(
        "machines of each replica; paid for until it is undeployed", ServingMachines()
    )
    keep_previous: Pause = key(
        "time for which a replaced model stays deployed, without requests", timedelta()
    )
    keep_versions: int = key(
        "versions of the model to keep; older ones are deleted, unless served or with an alias",
        10,
        ge=1,
        le=1000,
    )
    private: bool = key(
        "an endpoint that only the group's VPC network (platform.yaml: network), Airflow included, "
        "can reach",
        False,
    )

    requests: Requests | None = key(
        "a sample of the requests is kept, and compared daily by the DAG `watch` with what the "
        "served model learned from; left out: none is kept",
        None,
    )

    @property
    def services(self) -> tuple[str, ...]:
        """The services whose models may be deployed."""
        return tuple(name for name in SERVICES if name in self.allow)
