"""Validates the section `deploy` against the task, the baselines and the machines."""

from collections.abc import Iterator, Mapping
from datetime import timedelta

from trellis.workflow import labels
from trellis.workflow.spec.deployment import Deploy, Gate
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.prediction import ImagePredict
from trellis.workflow.spec.problems import Field as Where
from trellis.workflow.spec.problems import Problem, did_you_mean
from trellis.workflow.spec.quantities import duration_text
from trellis.workflow.spec.schedule import by_time, shortest_interval
from trellis.workflow.spec.source import ImageSource
from trellis.workflow.validation.machines import machine_problems
from trellis_contracts import metrics
from trellis_contracts.tasks import ALL, NAMED, TASKS


def problems(experiment: Experiment) -> list[Problem]:
    """List the problems that no field shows by itself."""
    deploy = experiment.deploy
    if deploy is None:
        return [*_served(experiment)]
    return [
        *_bounds(deploy.gate.require, "require", experiment),
        *_bounds(deploy.gate.slices, "slices", experiment),
        *_slices(deploy.gate, experiment),
        *_allowed(experiment, deploy),
        *_baselines(deploy.gate, experiment.hurdles),
        *_approval(experiment, deploy),
        *_requests(experiment, deploy),
        *machine_problems(deploy.machines, ("deploy", "machines"), "serving"),
    ]


_OURS = {
    "calibrate": "calibrates",
    "decision": "decides by a threshold",
    "abstain": "hands examples back",
    "coverage": "answers sets and intervals",
}
"""Keys of what a training has chosen, and only our server does with its answers."""


def _allowed(experiment: Experiment, deploy: Deploy) -> Iterator[Problem]:
    """What a model of a service cannot be, or do."""
    baselines = experiment.baselines
    there = {"automl": baselines.automl is not None, "bqml": bool(baselines.bqml)}
    for service in deploy.services:
        where = ("deploy", "allow", deploy.allow.index(service))
        if not there[service]:
            message = f"there is no `baselines.{service}`: add one, or leave it out here"
            yield Problem(where, message)
            continue
        if service == "automl" and experiment.source.automl == "image":
            yield from _automl_of_images(experiment, deploy, where)
        if experiment.folds:
            message = (
                f"with `train.folds` {service} has a model for each fold, and none of all rows"
            )
            yield Problem(where, f"{message}: leave it out")
        for key, what in _OURS.items():
            if getattr(experiment, key) is not None:
                message = f"only our own server {what}: leave out `{key}`, or {service} here"
                yield Problem(where, message)
        if deploy.machines.gpu is not None:
            message = f"a model of {service} is served without GPUs: leave out one of the two"
            yield Problem(("deploy", "machines", "gpu"), message)


def _automl_of_images(experiment: Experiment, deploy: Deploy, where: Where) -> Iterator[Problem]:
    """What AutoML's model of images cannot do."""
    if deploy.private:
        message = "a private endpoint takes no model of images of AutoML's: leave out one of them"
        yield Problem(where, message)
    if experiment.predict is not None and not isinstance(experiment.predict, ImagePredict):
        message = (
            "AutoML's model of images predicts a folder of them, and `predict` reads rows: write "
            "`predict: {images: FOLDER}`, or leave automl out"
        )
        yield Problem(where, message)


_SHORTEST_KEEP = timedelta(days=1)


def _requests(experiment: Experiment, deploy: Deploy) -> Iterator[Problem]:
    """What of requests cannot be kept, or compared."""
    if deploy.requests is None:
        return
    where = ("deploy", "requests")
    if deploy.services:
        message = "a model of a service is asked in its own form: leave it out"
        yield Problem(where, f"{message}, or {', '.join(deploy.services)} in `allow`")
    if experiment.source.image_columns or isinstance(experiment.source, ImageSource):
        yield Problem(where, "requests with images are not kept: leave it out")
    if deploy.requests.keep < _SHORTEST_KEEP:
        got = duration_text(deploy.requests.keep)
        yield Problem((*where, "keep"), f"got {got}; expected a day or more: a table has days")


_LONGEST_WAIT = timedelta(days=30)


def _served(experiment: Experiment) -> Iterator[Problem]:
    if experiment.serve_image is not None and experiment.predict is None:
        message = "has no effect: without `deploy` and `predict` nothing is served: leave it out"
        yield Problem(("serve_image",), message)


def _approval(experiment: Experiment, deploy: Deploy) -> Iterator[Problem]:
    """A run that waits for an answer holds back the next: a DAG has one run at a time."""
    where = ("deploy", "within")
    if not deploy.approve:
        if "within" in deploy.model_fields_set:
            yield Problem(where, "has no effect: `approve` names nobody who could answer")
        return
    wait = duration_text(deploy.within)
    if deploy.within > _LONGEST_WAIT:
        longest = duration_text(_LONGEST_WAIT)
        yield Problem(where, f"got {wait}; expected at most {longest}: the next run waits, too")
    elif by_time(experiment.schedule):
        interval = shortest_interval(experiment.schedule)
        if deploy.within >= interval:
            yield Problem(
                where,
                f"{wait} to answer, and the schedule {experiment.schedule} starts a run after "
                f"{duration_text(interval)}, which would wait for the answer: expected less than "
                "that",
            )


def _bounds(bounds: Mapping[str, float], key: str, experiment: Experiment) -> Iterator[Problem]:
    task = experiment.task
    # Another problem names a task that there is not.
    tasks = [task] if task in TASKS else ALL
    known = [n for n, m in metrics.METRICS.items() if {*tasks} & {*m.tasks}]
    for name, bound in bounds.items():
        where = ("deploy", "gate", key, name)
        metric, part = metrics.parted(name)
        if metric not in known:
            message = f"unknown metric '{metric}' of {task}; "
            yield Problem(where, message + did_you_mean(metric, known))
        elif part is not None and (wrong := _part(metric, part, key, experiment)):
            yield Problem(where, wrong)
        elif metric == "loss" and task not in NAMED and task in TASKS:
            # Training computes it in units of the label's variance, or of probabilities; the
            # comparison has neither.
            instead = TASKS[task].metric
            yield Problem(
                where, f"the loss of a {task} is not on the leaderboard; bound its {instead}"
            )
        elif metrics.METRICS[metric].goal == "minimize":
            if bound <= 0:
                yield Problem(where, f"got {bound}; expected a number above 0, the upper bound")
        elif not 0 < bound <= 1:
            yield Problem(
                where,
                f"got {bound}; expected a number above 0, at most 1, the lower bound",
            )


def _part(metric: str, part: str, key: str, experiment: Experiment) -> str:
    """Why a metric cannot be bounded in this part; "" if it can."""
    kind = metrics.METRICS[metric].part
    if kind is None:
        return f"'{metric}' is no average over parts: leave out @{part}"
    if key != "require":
        return f"a slice is judged by the whole '{metric}': leave out @{part}, or use `require`"
    form = labels.of(experiment.task)
    if not (known := form.parts(experiment.source)) and form.no_parts:
        return form.no_parts.format(part=part)
    return "" if part in known else f"unknown {kind} '{part}'; expected one of {', '.join(known)}"


def _slices(gate: Gate, experiment: Experiment) -> Iterator[Problem]:
    asked = {"slices": bool(gate.slices), "slices_gap": gate.slices_gap is not None}
    for name, is_asked in asked.items():
        if is_asked and not experiment.slices:
            message = "there are no `slices` to judge: name the columns, as in `slices: [site]`"
            yield Problem(("deploy", "gate", name), message)


def _baselines(gate: Gate, baselines: int) -> Iterator[Problem]:
    where = ("deploy", "gate")
    to_beat = gate.beat == "baselines" and baselines > 0
    if gate.beat == "baselines" and "beat" in gate.model_fields_set and not to_beat:
        yield Problem(
            (*where, "beat"),
            "there are no baselines to beat: add some, or switch `deploy` off too, or write "
            "`beat: nothing`",
        )
    elif gate.margin and not to_beat:
        yield Problem((*where, "margin"), "has no effect: there are no baselines to beat")
    served = gate.tolerance is not None or gate.improvement is not None
    of_slices = gate.slices or gate.slices_gap is not None
    if not gate.require and not to_beat and not served and not of_slices:
        yield Problem(where, "accepts every model: name a metric in `require`")
