"""The number of files that an experiment's dataset has."""

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.shards import AUTO, LEAST


def least(experiment: Experiment) -> int:
    """Files of the train split; with `shards: auto` the fewest that there can be."""
    shards = experiment.source.shards
    if isinstance(shards, int):
        return shards
    return max(LEAST, *(one.train.machines.workers for one in experiment.by_model.values()))


def flag(experiment: Experiment) -> str:
    """The export's flag `--shards`: `8`, or `8+` for 8 or more by bytes."""
    return f"{least(experiment)}{'+' if experiment.source.shards == AUTO else ''}"
