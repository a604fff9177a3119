"""The job images: their tag, and what runs in them, `python -m trainer COMMAND` or a module."""

from dataclasses import dataclass

from trellis_contracts import VERSION

TAG = "0.1.0"
"""Tag of the images that have this version of the trainer."""

STARTED_BY = "TRELLIS_CONTRACTS"
"""Variable of a job with the version of the contracts of the program that started it."""


@dataclass(frozen=True)
class Command:
    """module: the one to run with `python -m`. about: its purpose in one line."""

    module: str
    about: str

    @property
    def argv(self) -> list[str]:
        """The container's command."""
        return ["python", "-m", self.module]


COMMANDS = {
    "export": Command("trainer.export", "labelled images or a table's rows -> a TFRecord dataset"),
    "folds": Command("trainer.folds", "a dataset -> those of a cross-validation's folds"),
    "check_files": Command("trainer.check_files", "files of predictions -> can they be scored?"),
    "train": Command("trainer.task", "a dataset -> one tuning trial or one full training"),
    "try": Command("trainer.try_model", "a model's own file -> does it build, learn and export?"),
    "weights": Command("trainer.weights", "a backbone's ImageNet weights -> a file for the bucket"),
    "ensemble": Command("trainer.ensemble", "a run's trainings -> one model, their mean"),
    "outputs": Command(
        "trainer.outputs", "files that a program not ours has left -> are they whole?"
    ),
    "compare": Command("trainer.compare", "all contenders' predictions -> leaderboard and report"),
    "performance": Command(
        "trainer.performance", "predictions with labels that came later -> scores of what is served"
    ),
    "serve": Command("trainer.serve", "a trained model -> predictions over HTTP"),
}


def variables() -> list[dict[str, str]]:
    """The environment of a job's container, in the form of Vertex AI's ContainerSpec."""
    return [{"name": STARTED_BY, "value": VERSION}]


def other_release(started_by: str | None) -> str | None:
    """Return why this image cannot do a job; None if it can. started_by: value of STARTED_BY; None
    of a job that was started by hand.

    A tag stands for one version of the contracts: an image that was built of another checkout and
    pushed under this tag would misread its flags, or what it is given, after money was spent.
    """
    if started_by in (None, VERSION):
        return None
    return (
        f"this image has trellis-contracts {VERSION}, and the job was started by DAGs with "
        f"trellis-contracts {started_by}: build the image with the contracts of the DAGs' release, "
        "and ours with the TAG of their contracts/trellis_contracts/job_image.py"
    )
