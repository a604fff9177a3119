"""predictions.parquet: a contender's predictions for every example of the test split. Trainings and
the comparison write it; the comparison and `trellis.results` read it.

One row per example of the test split, in any order. Classification:

    key            string          the example's key in the dataset, unique
    label          int32           true class, an index into the classes
    probabilities  list<float32>   one per class, in the order of the classes, summing to 1

    schema metadata  b"schema"   b"1"
                     b"classes"  JSON list of class names; class i is its i-th entry
                     b"threshold"  optional, of two classes: JSON, {"class": ..., "above": ...}

A multi-label task:

    key            string          as above
    label          int64           set of the true classes: bit i says whether it has class i
    probabilities  list<float32>   as above, but each of its own

    schema metadata  b"schema"   b"1"
                     b"task"     b"multilabel_classification"
                     b"classes"  as above

Regression:

    key            string          as above
    label          double          true value, in the unit of the label's column
    value          double          predicted value, in the same unit

    schema metadata  b"schema"   b"1"
                     b"task"     b"regression"

Time to an event:

    key            string          as above
    label          double          time, in the unit of the label's column
    event          bool            whether the event happened then; else it was not seen until then
    risk           double          the higher, the sooner the event
    survival       list<double>    probability that it has not happened until each of the times

    schema metadata  b"schema"   b"1"
                     b"task"     b"time_to_event"
                     b"times"    JSON list of rising numbers

Segmentation: what each metric needs of an image, by class, in the order of the classes; the masks
themselves are files beside it (layout.mask).

    key            string          as above
    truth          list<int64>     pixels that have the class in the mask
    predicted      list<int64>     pixels that have it in the prediction
    both           list<int64>     pixels that have it in both
    distance       list<double>    95th percentile of the distances between the boundaries of both,
                                   in both directions, in pixels; NaN where either has no such pixel

    schema metadata  b"schema"   b"1"
                     b"task"     b"segmentation"
                     b"classes"  as above; the first is the background

The metadata may also have b"origin", a JSON object that identifies the model and its input. What
is here needs no pyarrow: columns are names with Arrow's names of their types.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from trellis_contracts import documents
from trellis_contracts.decision import NamedThreshold
from trellis_contracts.documents import ContractError
from trellis_contracts.tasks import MULTICLASS, TASKS, Task

SCHEMA = 1

DECIDED_ABOVE = 0.5
"""Of a multi-label task, a class is decided if its probability is greater."""

SUM_TOLERANCE = 1e-3
"""How far from 1 the probabilities of an example's classes may sum. A float32 softmax over
thousands of classes stays within 1e-5, services that round to four digits within this; logits and
unnormalised scores do not."""

_JSON = ("classes", "threshold", "times", "origin")


@dataclass(frozen=True)
class PredictionsHeader:
    """The metadata of a predictions.parquet. task: of one class for each example None, else one
    of TASKS. classes: empty of numbers. threshold: None: the most probable class.
    times: of a time to an event.
    """

    task: str | None = None
    classes: tuple[str, ...] = ()
    threshold: NamedThreshold | None = None
    origin: Mapping[str, str] | None = None
    times: tuple[float, ...] = ()

    @property
    def columns(self) -> dict[str, str]:
        """Arrow's type of each column."""
        return {"key": "string", **self._entry.predictions}

    @property
    def _entry(self) -> Task:
        return TASKS[self.task or MULTICLASS]

    @property
    def metadata(self) -> dict[str, str]:
        """The schema's metadata."""
        values = {
            "classes": list(self.classes) or None,
            "threshold": self.threshold and self.threshold.to_document(),
            "origin": self.origin and dict(self.origin),
            "times": list(self.times) or None,
        }
        return {
            "schema": str(SCHEMA),
            **({"task": self.task} if self.task else {}),
            **{name: json.dumps(value) for name, value in values.items() if value is not None},
        }

    @classmethod
    def parse(cls, metadata: Mapping[bytes, bytes], columns: Mapping[str, str]) -> Self:
        """Read the schema of a file. columns: Arrow's type of each, of a list without the name of
        its elements. Raises ContractError.
        """
        named = {name.decode(): _decoded(name.decode(), text) for name, text in metadata.items()}
        described = {"metadata": named, "columns": dict(columns)}
        documents.check("predictions", described, "its Parquet schema")
        threshold = named.get("threshold")
        found = cls(
            task=named.get("task"),
            classes=tuple(named.get("classes", ())),
            threshold=NamedThreshold.from_document(threshold) if threshold else None,
            origin=named.get("origin"),
            times=tuple(named.get("times", ())),
        )
        if lacking := [name for name in found._entry.metadata if name not in named]:
            raise ContractError(f"its Parquet schema has no metadata {', '.join(lacking)}")
        if dict(columns) != found.columns:
            raise ContractError(
                f"its Parquet schema has the columns {_listed(columns)}; expected "
                f"{_listed(found.columns)}"
            )
        return found


def _listed(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def _decoded(name: str, text: bytes) -> Any:
    if name not in _JSON:
        return text.decode(errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        return text.decode(errors="replace")
