"""The models that compete with an experiment's own `model`, each checked as if it were that."""

from collections.abc import Iterator

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import Field as Where
from trellis.workflow.spec.problems import Problem, did_you_mean
from trellis.workflow.validation import backbone, hyperparameters, layers, own_file
from trellis_contracts.catalog import Catalog
from trellis_contracts.models import words_for
from trellis_contracts.tasks import TASKS


def problems(experiment: Experiment, catalog: Catalog) -> Iterator[Problem]:
    """List the problems of one of the other models, at its place in the file."""
    for name, other in experiment.other_models.items():
        where = ("other_models", name)
        if name not in catalog.models:
            yield Problem(where, f"unknown model '{name}'; {did_you_mean(name, catalog.models)}")
        elif name == experiment.model:
            yield Problem(where, "is the experiment's `model` already")
        elif other.search and experiment.tune is None:
            message = "without `tune` there is no search: fix them under its `hyperparameters`"
            yield Problem((*where, "search"), message)
        else:
            one = experiment.of(name)
            if wrong := unfit(one, catalog):
                yield Problem(where, wrong)
            for found in (
                *hyperparameters.problems(one, catalog),
                *backbone.problems(one),
                *layers.problems(one, catalog),
                *own_file.problems(one),
            ):
                yield Problem(_place(where, found.field), found.message)


def unfit(experiment: Experiment, catalog: Catalog) -> str | None:
    """Return why the experiment's model cannot learn from its source; None if it can."""
    inputs, models, task = experiment.source.inputs, catalog.models, experiment.task
    # Another problem names a task that there is not.
    if task not in TASKS or experiment.model not in models:
        return None
    if models[experiment.model].fits(inputs, task):
        return None
    known = ", ".join(name for name, entry in models.items() if entry.fits(inputs, task))
    source = f"{words_for(inputs)} for {task}"
    return f"{experiment.model} is not for a source of {source}; known: {known}"


def _place(where: Where, found: Where) -> Where:
    """`tune.search.units` of a model alone is `other_models.NAME.search.units` of the file."""
    if found[:2] == ("tune", "search"):
        return (*where, *found[1:])
    return (*where, *found) if found[:1] == ("hyperparameters",) else found
