"""What a worker's share of the training split takes once it is decoded, and where the planned
machine keeps it for all epochs: in memory, on disk or not at all.

These are the plan's estimates; a training measures what is free when it begins, and logs it.
"""

from collections.abc import Mapping

from trellis.workflow import labels
from trellis.workflow.contracts.table import Table
from trellis.workflow.pricing import machines
from trellis.workflow.pricing.cost import DISK_GB
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machine
from trellis_contracts import byte_size, decoded
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import IMAGE, SEQUENCE, TEXT, Feature
from trellis_contracts.plan import PlannedShare

_GB = 1 << 30
"""Bytes of a GB of memory or of a boot disk, as Compute Engine counts them."""

_TAKEN_GB = 2
"""GB of memory that the system and a process with TensorFlow take before they read examples."""

_IMAGE_GB = 10
"""GB of a boot disk that the system and the job's image take."""


def of(
    experiment: Experiment, table: Table, examples: int | None, known: DatasetDescription | None
) -> dict[str, PlannedShare]:
    """Estimate the share of each stage that trains networks, by the stage's name.

    examples: of all splits; None where only reading would tell. known: the dataset, if it exists.
    """
    if not experiment.networks:
        return {}
    if known is not None:
        size: int | None = decoded.example_bytes(known.features, known.label)
        examples = known.examples("train")
    else:
        size = _example_bytes(table, experiment.task)
        if examples is not None:
            examples = round(examples * (_train_share(experiment) or 1))
    total = None if size is None or examples is None else size * examples
    return {stage: _share(experiment, stage, total) for stage in _machines(experiment)}


def text(experiment: Experiment, share: PlannedShare, stage: str) -> str:
    """The estimate in words."""
    if share.bytes is None:
        return "what a worker's examples take decoded is known once they are exported"
    machine, _ = _machines(experiment)[stage]
    bound = "about" if _train_share(experiment) else "at most"
    taken = f"a worker's examples take {bound} {byte_size.text(share.bytes)} decoded"
    if share.kept is not None:
        return f"{taken}, kept {share.kept} of {machine.text}"
    again = f"{taken}, and are decoded again in every epoch"
    if _passes(experiment, stage):
        return f"{again}: beside parameter servers nothing is kept"
    memory, disk = map(byte_size.text, _free(machine))
    free = f"{machine.text} has about {memory} of memory and {disk} of disk free"
    return f"{again}: {free}. More memory or more workers would keep them"


def _machines(experiment: Experiment) -> Mapping[str, tuple[Machine, int]]:
    """The stages that train networks: one worker's machine, and among how many workers they divide
    the split.
    """
    found: dict[str, tuple[Machine, int]] = {}
    if experiment.tune is not None:
        found["tune"] = (experiment.tune.machines, 1)
    train = experiment.train.machines
    found["train"] = (train, train.workers if train.parameter_servers is None else 1)
    return found


def _share(experiment: Experiment, stage: str, total: int | None) -> PlannedShare:
    machine, workers = _machines(experiment)[stage]
    if total is None:
        return PlannedShare(None, None)
    size = -(-total // workers)
    kept = [] if _passes(experiment, stage) else decoded.places(size, *_free(machine))
    return PlannedShare(size, next(iter(kept), None))


def _passes(experiment: Experiment, stage: str) -> bool:
    """True if each worker reads the whole split at its own pace, and so keeps nothing."""
    return stage == "train" and experiment.train.machines.parameter_servers is not None


def _free(machine: Machine) -> tuple[float, float]:
    """Free bytes of a machine's memory and of its disk when a training begins."""
    memory = machines.table().types[machine.type].memory_gb - _TAKEN_GB
    return max(0.0, memory) * _GB, (DISK_GB - _IMAGE_GB) * float(_GB)


def _train_share(experiment: Experiment) -> float | None:
    """The share of the examples in the training split; None if their values decide it."""
    shares = getattr(experiment.source.split, "shares", None)
    return None if shares is None or experiment.folds else shares[0] / 100


def _example_bytes(table: Table, task: str) -> int | None:
    """The size of a decoded example; None if the values decide it, as of a sequence or a text."""
    if any(feature.kind in (SEQUENCE, TEXT) for feature in table.features):
        return None
    features = [
        feature.described()
        if feature.kind == IMAGE
        else Feature(feature.name, feature.kind, dtype="", column=feature.column)
        for feature in table.features
    ]
    return decoded.example_bytes(features, labels.of(task).decoded(features))
