"""The label of a time to an event, against what else the file says of the source."""

from collections.abc import Iterator

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import Problem
from trellis.workflow.spec.source import RowSource
from trellis_contracts.tasks import SURVIVAL


def problems(experiment: Experiment) -> Iterator[Problem]:
    """List what a time to an event lacks, or another task has of it."""
    source, learned = experiment.source, experiment.task == SURVIVAL
    if not isinstance(source, RowSource):
        if learned:
            yield Problem(
                ("task",),
                "a manifest has one label, and a time to an event two: write `bigquery`, `query` "
                "or `files` with the images' addresses as `image_columns`",
            )
    elif source.event is not None and not learned:
        yield Problem(
            ("source", "label"),
            f"the time and the event are for the task {SURVIVAL}, and it is {experiment.task}: "
            "name one column",
        )
    elif source.event is None and learned:
        label = source.label_column
        yield Problem(
            ("source", "label"),
            f"'{label}' is one column, and a {SURVIVAL} has two: write {{time: {label}, event: "
            "COLUMN}, COLUMN being 1 where the event happened then, 0 where it was not seen until "
            "then",
        )
