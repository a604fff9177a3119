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
     "threshold": {"class": "1", "above": 0.23},      only if it labels by one
     "hyperparameters": {"learning_rate": 0.001, ...},
     "provenance": {"run": "gs://...", "dataset": its fingerprint, "versions": {"python": ...},
                    "code_sha256": "..."}}
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from trellis_contracts.decision import NamedThreshold
from trellis_contracts.hyperparameter_field import Value

SCHEMA = 1


@dataclass(frozen=True)
class Example:
    """An example of the test split. instance: as trainer.serve takes it. prediction: as it must
    answer.
    """

    key: str
    instance: Mapping[str, Any]
    prediction: Mapping[str, Any]


@dataclass(frozen=True)
class Provenance:
    """run: its folder. dataset: its fingerprint. versions: of Python and libraries."""

    run: str
    dataset: str
    versions: Mapping[str, str]
    code_sha256: str


@dataclass(frozen=True)
class Challenger:
    """challenger.json; the module's docstring explains the fields. threshold: None if the most
    probable class is the label.
    """

    contender: str
    model: str
    examples: tuple[Example, ...]
    hyperparameters: Mapping[str, Value]
    provenance: Provenance
    threshold: NamedThreshold | None = None

    def to_document(self) -> dict[str, Any]:
        """The content of the file."""
        return {
            "schema": SCHEMA,
            "contender": self.contender,
            "model": self.model,
            "examples": [asdict(example) for example in self.examples],
            **({"threshold": self.threshold.to_document()} if self.threshold else {}),
            "hyperparameters": dict(self.hyperparameters),
            "provenance": asdict(self.provenance),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """From content that fits the schema."""
        threshold = document.get("threshold")
        return cls(
            contender=document["contender"],
            model=document["model"],
            examples=tuple(Example(**entry) for entry in document["examples"]),
            threshold=NamedThreshold.from_document(threshold) if threshold else None,
            hyperparameters=document["hyperparameters"],
            provenance=Provenance(**document["provenance"]),
        )
