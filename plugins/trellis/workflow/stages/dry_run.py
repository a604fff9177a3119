"""Output of a run that only plans: the stages it would run, what is reused, what it may cost."""

from collections.abc import Iterator

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost
from trellis.workflow.spec.machines import Machine, Machines, TrainingMachines
from trellis.workflow.stages.tune import task_id


def lines(plan: Plan, region: str) -> list[str]:
    """The plan in lines, a stage each. region: of its machines."""
    usd = plan.cost["stages"]
    shown = ["Only planned (dry_run): nothing ran, nothing was written, nothing was spent."]
    for stage, what in _stages(plan, region):
        limit = f", at most {usd[stage]:.2f} USD" if stage in usd else ""
        shown.append(f"  {stage:<8} {what}{limit}")
    shown += [f"  {line}" for line in plan.reuse.lines()]
    shown.append(f"One run costs at most {plan.cost['at_most_usd']:.2f} USD in all.")
    if saved := sum(cost.spot_savings(plan.experiment, region, usd).values()):
        shown.append(f"Spot machines save about {saved:.2f} USD of that.")
    return shown


def _stages(plan: Plan, region: str) -> Iterator[tuple[str, str]]:
    experiment, dataset = plan.experiment, plan.dataset
    tune, train = experiment.tune, experiment.train
    if plan.table is not None:
        rows = "rows" if dataset.examples is None else f"{dataset.examples:,} rows"
        yield "snapshot", f"{rows}, {len(plan.table.features)} features of {dataset.source}"
    if dataset.exists:
        yield "dataset", f"{dataset.uri} is there and is reused: no export"
    else:
        yield "export", f"makes {dataset.uri}"
    trained = f"one model, to {experiment.goal} {experiment.metric}"
    if tune is not None:
        searched = ", ".join(tune.search)
        each = " of each model" if experiment.other_models else ""
        trained = f"the best {train.top}{each}"
        yield (
            "tune",
            f"{tune.trials} trials of {tune.epochs} epochs, {tune.parallel} at a time, on "
            f"{_machine(tune.machines)}: {tune.goal} {tune.metric} over {searched}",
        )
        for model, one in experiment.by_model.items():
            if model is not None and one.tune is not None:
                yield task_id(model), f"as many of {model}, over {', '.join(one.search)}"
    yield (
        "train",
        f"{trained} for up to {train.epochs} epochs, each on "
        + " + ".join(f"{count} x {_machine(one)}" for one, count in _alike(train.machines)),
    )
    if train.seeds > 1:
        yield "repeat", f"the best training with {train.seeds - 1} other seeds"
    for name in plan.baselines:
        yield name, "baseline"
    yield "compare", "all on one test split"
    if (serving := cost.serving(experiment, region)) is not None:
        yield "deploy", f"only if the gate is passed; serving costs {serving}"


def _alike(machines: TrainingMachines) -> list[tuple[Machine, int]]:
    """The machines of a training, without the difference between its chief and its workers."""
    training, servers = machines.pools[:2], machines.pools[2:]
    return [(machines, sum(count for _, count in training)), *servers]


def _machine(machine: Machine) -> str:
    gpu = f" with {machine.gpus} {machine.gpu}" if machine.gpu else ""
    spot = " (spot)" if isinstance(machine, Machines) and machine.spot else ""
    return f"{machine.type}{gpu}{spot}"
