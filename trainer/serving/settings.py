"""The settings of one server."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The flags of trainer.serve, checked; `python -m trainer.serve --help` explains them.

    model: gs:// address or path of a SavedModel. port 0: any free port.
    """

    model: str
    host: str
    port: int
    health_route: str
    predict_route: str
