"""What jobs and deployed models run on: the keys that every section `machines` has."""

from pydantic import ValidationInfo, field_validator

from trellis.workflow.spec.sections import Section, broken, key


class Machine(Section):
    """One replica: a machine type, with or without accelerators."""

    type: str = key("Compute Engine machine type", "n1-standard-4")
    gpu: str | None = key("accelerator type of each replica, as in NVIDIA_TESLA_T4", None)
    gpus: int = key("accelerators of each replica, if `gpu` names a type", 1, ge=1, le=16)

    @field_validator("gpus")
    @classmethod
    def _named(cls, gpus: int, info: ValidationInfo) -> int:
        if gpus != 1 and info.data.get("gpu", "?") is None:
            raise broken(f"{gpus} of which type? Name it: `gpu: NVIDIA_TESLA_T4`")
        return gpus


class Machines(Machine):
    """What each replica of a job runs on."""

    spot: bool = key("use spot machines: far cheaper, but Google may stop them at any time", False)


class TrainingMachines(Machines):
    """What the replicas of one full training run on."""

    workers: int = key("machines that train one model together", 1, ge=1, le=64)
