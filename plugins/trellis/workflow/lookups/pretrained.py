"""The weights that a backbone begins with: which files a run reads, and whether they are there."""

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.validation.backbone import MODEL
from trellis.workflow.validation.hyperparameters import possible
from trellis_contracts.catalog import Value
from trellis_contracts.catalog import load as load_catalog

_SUFFIX = ".weights.h5"


def with_address(experiment: Experiment, bucket: str) -> dict[str, Value]:
    """The experiment's hyperparameters, `weights` as the trainer takes it."""
    values = dict(experiment.hyperparameters)
    if experiment.model == MODEL and "weights" in values:
        values["weights"] = _address(str(values["weights"]), bucket)
    return values


def require(experiment: Experiment, platform: Platform) -> None:
    """Raises SourceError unless the file of every backbone that may be trained is there."""
    from trellis.workflow.lookups import storage

    for name, file in (
        item for one in experiment.by_model.values() for item in files(one, platform.bucket).items()
    ):
        if not storage.blob(platform, file).exists():
            raise SourceError(
                f"hyperparameters.weights: there is no {file}, and jobs download nothing from the "
                "internet. Write it where there is internet access, then start the run again:\n"
                f"  python -m trainer weights {name} && gcloud storage cp {name}{_SUFFIX} {file}"
            )


def files(experiment: Experiment, bucket: str) -> dict[Value, str]:
    """The addresses of the weights that trainings may read, by backbone."""
    weights = str(experiment.hyperparameters.get("weights", "none"))
    if experiment.model != MODEL or weights == "none":
        return {}
    found = _address(weights, bucket)
    return {
        name: found if found.endswith(".h5") else f"{found.rstrip('/')}/{name}{_SUFFIX}"
        for name in possible(experiment, load_catalog(), "backbone")
    }


def _address(weights: str, bucket: str) -> str:
    """imagenet is a folder of the group's bucket."""
    return layout.weights(bucket) if weights == "imagenet" else weights
