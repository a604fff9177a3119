"""challenger.json: the training that a run may deploy. The comparison writes it, the deployment
reads it.

    {"schema": 1,
     "contender": "training/1",
     "model": "gs://BUCKET/EXPERIMENT/runs/RUN/training/1/model/",
     "examples": [{"key": "4711",                     of the test split
                   "instance": {"radius_mean": 17.9, ...},      in the format of trainer.serve
                   "prediction": {"label": "1", "probabilities": {"0": 0.1, "1": 0.9}}}, ...],
                                                      the expected prediction; for a
                                                      regression {"value": 152.1}
     "images": ["photo"],                             fields of an instance that hold an image, as
                                                      a file or by its address; absent:
                                                      ["image_uri"]
     "threshold": {"class": "1", "above": 0.23},      only if it labels by one
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

IMAGE_URI = "image_uri"
"""Field that names the image of an instance which is nothing else."""


@dataclass(frozen=True)
class Example(Part):
    """An example of the test split. instance: as trainer.serve takes it. prediction: as it must
    answer.
    """

    key: str
    instance: Mapping[str, Any]
    prediction: Mapping[str, Any]


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
    examples: tuple[Example, ...]
    threshold: NamedThreshold | None = optional()
    hyperparameters: Mapping[str, Value]
    provenance: Provenance
    images: tuple[str, ...] = optional((IMAGE_URI,))

    def addresses(self, example: Example) -> list[str]:
        """Addresses of the images that an example's instance names."""
        values = (example.instance.get(name) for name in self.images)
        return [value for value in values if isinstance(value, str)]
