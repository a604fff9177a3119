"""The stages of an experiment's DAG in their order: a new stage is one more line.

    plan -> export -> changes -> start -> tune -> choose -> train (each chosen trial) -> compare
    -> promote -> approve -> deploy -> result, without tune and choose if there is no search,
    without start if no training goes on from the served model, with check_files after changes if
    there are files of predictions, or folds if `train.folds` asks for them, without approve if
    `deploy.approve` names nobody, with outputs after train if the image is not ours, with repeat
    (each further seed) before compare if `train.seeds` is above 1, with ensemble if
    `train.ensemble` asks for it, and with ask_served if `deploy.allow` names a service. Each of
    `other_models` has a search beside `tune`.

A table's rows come to the export by snapshot -> check -> extract. The baselines learn from the
snapshot while the trials run, and from the check on, unless a change of the dataset may refuse
the run; their record is what the comparison waits for. The comparison
decides whether the selected training is promoted; `promote` lets its deployment begin, or skips it,
and `approve` asks people first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trellis.workflow.pricing.cost import Cost
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import (
    approve,
    ask_served,
    automl,
    baselines,
    bqml,
    changes,
    check,
    check_files,
    choose,
    compare,
    costs,
    ensemble,
    export,
    folds,
    outputs,
    plan,
    promote,
    repeat,
    result,
    served,
    snapshot,
    start,
    train,
    tune,
)
from trellis.workflow.stages.deploy import stage as deploy
from trellis.workflow.stages.stage import Stage


@dataclass(frozen=True)
class Link:
    """A stage, and the names of those that it follows; a function gives one by experiment.

    A stage that an experiment does not have is passed over: if it has none of them, the stage
    follows what they follow.
    """

    stage: Stage
    after: Sequence[str | Callable[[Experiment], str]] = ()


# In this order on the page, in a dry run and in costs.
CHAIN = (
    Link(plan.STAGE),
    Link(snapshot.STAGE, ["plan"]),
    Link(check.STAGE, ["snapshot"]),
    Link(snapshot.EXTRACT, ["check"]),
    Link(export.STAGE, ["extract"]),
    Link(changes.STAGE, ["export"]),
    Link(check_files.STAGE, ["changes"]),
    Link(folds.STAGE, ["check_files"]),
    Link(start.STAGE, ["folds"]),
    Link(tune.STAGE, ["start"]),
    Link(choose.STAGE, ["tune"]),
    Link(train.STAGE, ["choose"]),
    Link(outputs.STAGE, ["train"]),
    Link(repeat.STAGE, ["outputs"]),
    Link(ensemble.STAGE, ["train", "repeat"]),
    Link(bqml.STAGE, [baselines.waits_for]),
    Link(automl.STAGE, [baselines.waits_for]),
    Link(baselines.STAGE, ["bqml", "automl"]),
    Link(
        compare.STAGE,
        ["train", "outputs", "repeat", "ensemble", "baselines", "served", "ask_served"],
    ),
    Link(served.STAGE, ["plan"]),
    Link(ask_served.STAGE, ["served", baselines.waits_for]),
    Link(promote.STAGE, ["compare"]),
    Link(approve.STAGE, ["promote"]),
    Link(deploy.STAGE, ["approve"]),
    Link(result.STAGE, ["compare", "deploy"]),
)

STAGES = tuple(link.stage for link in CHAIN)


def edges(experiment: Experiment) -> list[tuple[str, str]]:
    """List the pairs of an experiment's stages of which the second follows the first."""
    links = {link.stage.name: link for link in CHAIN}
    own = {stage.name for stage in costs.of(STAGES, experiment)}

    def before(name: str) -> list[str]:
        after = links[name].after
        names = [each(experiment) if callable(each) else each for each in after]
        present = [each for each in names if each in own]
        return present or [further for each in names for further in before(each)]

    return [
        (each, stage.name) for stage in STAGES if stage.name in own for each in before(stage.name)
    ]


def at_most(experiment: Experiment, platform: Platform, source_bytes: int = 0) -> Cost:
    """Bound the cost of one run of the experiment: `costs.at_most` of the chain."""
    return costs.at_most(STAGES, experiment, platform, source_bytes)


def advice() -> Mapping[str, str]:
    """Return the advice for failed tasks, by task: `Stage.advice` of all stages."""
    return {task: what for stage in STAGES for task, what in stage.advice.items()}


def ends_run() -> list[str]:
    """List the tasks for whose failure `result` fails the run: `Stage.ends_run` of all stages."""
    return [task for stage in STAGES for task in stage.ends_run]
