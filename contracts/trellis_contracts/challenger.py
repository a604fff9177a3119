"""challenger.json: what a run may deploy. The comparison writes it, the deployment reads it.

{"schema": 1,
"contender": "training/1",
"model": "gs://BUCKET/EXPERIMENT/runs/RUN/training/1/model/",
"service": "automl",                             only of a service's model: automl or bqml;
then "model" is the service's name of it
"examples": [{"key": "4711",                     of the test split
"instance": {"radius_mean": 17.9, ...},      in the format of trainer.serve, or
of the service
"prediction": {"label": "1", "probabilities": {"0": 0.1, "1": 0.9}}}, ...],
the expected prediction; for a
regression {"value": 152.1}, of a
time to an event {"risk": 0.3,
"survival": {"365": 0.8}}, of a
segmentation {"mask": {"b64": "..."},
"shares": {"cell": 0.2, ...}}; with
"abstained", "set" or "interval", if the
model has it (trainer.postprocessing)
"images": ["photo"],                             fields of an instance that hold an image, as
a file or by its address
"threshold": {"class": "1", "above": 0.23},      only if it labels by one
"abstain_below": 0.1, "set_above": 0.07,         only if it hands examples back, or tells sets
"hyperparameters": {"learning_rate": 0.001, ...},
"provenance": {"run": "gs://...", "dataset": its fingerprint, "versions": {"python": ...},
"code_sha256": "..."}}
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from trellis_contracts.decision import NamedThreshold
from trellis_contracts.files import File, Part, optional
from trellis_contracts.hyperparameter_field import Value


@dataclass(frozen=True)
class Example(Part):
    """An example of the test split. instance: as trainer.serve, or the service, takes it.
    prediction: as trainer.serve must answer; a service answers the same in its own form.
    """

    key: str
    instance: Mapping[str, Any]
    prediction: Mapping[str, Any]


@dataclass(frozen=True)
class Edges:
    """What a classifier decides by: where a number that is nearly equal to one of them may have
    decided otherwise. Each is None of a model that has no such decision.
    """

    threshold: NamedThreshold | None = None
    abstain_below: float | None = None
    set_above: float | None = None


LARGEST = Edges()
"""The most probable class is the label, and that is all."""


@dataclass(frozen=True)
class Versions(Part):
    """versions: of Python and libraries in the job image. code_sha256: of the trainer's files."""

    versions: Mapping[str, str]
    code_sha256: str


@dataclass(frozen=True, kw_only=True)
class Provenance(Versions):
    """run: its folder. dataset: its fingerprint."""

    run: str
    dataset: str


@dataclass(frozen=True, kw_only=True)
class Challenger(File):
    """challenger.json; the module's docstring explains the fields. threshold: None if the most
    probable class is the label.
    """

    CONTRACT: ClassVar[str] = "challenger"

    contender: str
    model: str
    service: str | None = optional()
    examples: tuple[Example, ...]
    threshold: NamedThreshold | None = optional()
    abstain_below: float | None = optional()
    set_above: float | None = optional()
    hyperparameters: Mapping[str, Value]
    provenance: Provenance
    images: tuple[str, ...] = optional(())

    @property
    def edges(self) -> Edges:
        """What the model decides by."""
        return Edges(self.threshold, self.abstain_below, self.set_above)

    def addresses(self, example: Example) -> list[str]:
        """Addresses of the images that an example's instance names."""
        values = (example.instance.get(name) for name in self.images)
        return [value for value in values if isinstance(value, str)]
