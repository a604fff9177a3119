"""What must fit together in the section `deploy`: with the task, the baselines and the prices."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from research import cost
from research.machine_checks import machine_problems
from research.problems import Problem, did_you_mean

if TYPE_CHECKING:
    from research.experiment import Experiment
    from research.trainer_schema import TrainerSchema


def problems(experiment: "Experiment", schema: "TrainerSchema") -> list[Problem]:
    """Everything that a look at one field alone does not show."""
    if experiment.deploy is None:
        return []
    return [*_require(experiment, schema), *_baselines(experiment), *_machines(experiment)]


def _require(experiment: "Experiment", schema: "TrainerSchema") -> Iterator[Problem]:
    known = schema.tasks.get(experiment.task, {}).get("metrics", list(schema.metrics))
    for metric, bound in experiment.deploy.gate.require.items():
        where = ("deploy", "gate", "require", metric)
        if metric not in known:
            message = f"unknown metric '{metric}' of {experiment.task}; "
            yield Problem(where, message + did_you_mean(metric, known))
        elif metric == "loss" and experiment.task == "regression":
            # Training tells it in units of the label's variance, the comparison does not.
            yield Problem(where, "a regression's loss is not on the leaderboard; bound its rmse")
        elif schema.metrics[metric]["goal"] == "minimize":
            if bound <= 0:
                yield Problem(where, f"got {bound}; expected a number above 0, the most it may be")
        elif not 0 < bound <= 1:
            yield Problem(
                where,
                f"got {bound}; expected a number above 0, at most 1, the least that it must be",
            )


def _baselines(experiment: "Experiment") -> Iterator[Problem]:
    gate, where = experiment.deploy.gate, ("deploy", "gate")
    to_beat = gate.beat == "baselines" and experiment.baselines.count
    if gate.beat == "baselines" and "beat" in gate.model_fields_set and not to_beat:
        yield Problem(
            (*where, "beat"),
            "there are no baselines to beat: have some, or switch `deploy` off too, or write "
            "`beat: nothing`",
        )
    elif gate.margin and not to_beat:
        yield Problem((*where, "margin"), "changes nothing: there are no baselines to beat")
    if not gate.require and not to_beat and gate.tolerance is None:
        yield Problem(where, "asks nothing of a model: name a metric in `require`")


def _machines(experiment: "Experiment") -> Iterator[Problem]:
    prices = cost.prices().serving
    return machine_problems(
        experiment.deploy.machines,
        ("deploy", "machines"),
        prices["machines"],
        prices["gpus"],
        "no word on what serving costs",
    )
