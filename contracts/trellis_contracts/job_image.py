"""The job images: their tag, and what runs in them, `python -m trainer COMMAND` or a module."""

from dataclasses import dataclass

TAG = "0.1.0"
"""Tag of the images that have this version of the trainer."""


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
    "train": Command("trainer.task", "a dataset -> one tuning trial or one full training"),
    "try": Command("trainer.try_model", "a model's own file -> does it build, learn and export?"),
    "weights": Command("trainer.weights", "a backbone's ImageNet weights -> a file for the bucket"),
    "compare": Command("trainer.compare", "all contenders' predictions -> leaderboard and report"),
    "serve": Command("trainer.serve", "a trained model -> predictions over HTTP"),
}
