"""Makes challenger.json of what the gate judges, for its deployment.

Of a service's model (AutoML, BigQuery ML) an instance has the columns that the service learned
from, under their names in the dataset; a whole number is text, since JSON's numbers are doubles.
Of AutoML's model of images it has the file as its `content`.

The predictions come from predictions.parquet, and so from the dataset's records; the instances are
what callers send: the raw rows, and the original image files, that the dataset was exported from.
The images of every fourth example, and one that no request can carry, are named by their addresses,
as batch predictions name them. An endpoint that predicts anything else for them does not serve the
model that was trained and compared.
"""

import base64
import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from trainer import families
from trainer.comparison import originals, provenance, raw_examples
from trainer.comparison.originals import HeldOutImage, OriginalError
from trainer.comparison.raw_examples import RawExamplesError
from trainer.comparison.run_folder import Contender, Run
from trainer.images import ImageError
from trainer.prediction_forms import AnyPredictions
from trainer.prediction_forms.classification import Predictions
from trainer.serving.images import inspect
from trainer.serving.limits import MAX_FETCHED_BYTES
from trellis_contracts import layout
from trellis_contracts.baseline import Baseline
from trellis_contracts.challenger import Challenger, Example, Provenance
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import IMAGE
from trellis_contracts.decision import NamedThreshold
from trellis_contracts.withheld import RowsError, quoted

FILE_NAME = "challenger.json"

# Fixed, so that comparing a run again selects the same examples.
_SEED = 0

# Bytes of an instance that fits into a request. Vertex AI's limit is 1.5 MB at a shared public
# endpoint, 10 MB at a private one:
# https://cloud.google.com/vertex-ai/docs/predictions/choose-endpoint-type
_LARGEST = 1_400_000
_LARGEST_PRIVATE = 9_000_000

# The images of one example in _ADDRESSED are requested by address, as are all after _CARRIED_BYTES
# of others, since Airflow reads the whole file at once.
_ADDRESSED = 4
_CARRIED_BYTES = 10_000_000


def of(run: Run, contender: Contender, examples: int, private: bool = False) -> Challenger:
    """challenger.json for a training of the run, or a baseline of a service, which must have
    predictions.

    examples: number of examples to include, at most all of the test split; those too large for a
    request are left out. private: whether the endpoint is private. Raises RawExamplesError.
    """
    largest = _LARGEST_PRIVATE if private else _LARGEST
    predicted, done = contender.scorable, contender.postprocessing
    baseline = contender.baseline
    return Challenger(
        contender=contender.name,
        model=str(baseline.model) if baseline else layout.trained_model(contender.uri),
        service=contender.kind if baseline else None,
        examples=tuple(_examples(run, contender, examples, largest)),
        images=() if baseline else _image_fields(run.dataset),
        threshold=_threshold(predicted),
        abstain_below=done.abstention.below if done.abstention else None,
        set_above=done.conformal.above if done.conformal else None,
        hyperparameters=dict(contender.parameters),
        provenance=Provenance(
            run=run.uri,
            dataset=run.dataset.fingerprint,
            versions=provenance.versions(run),
            code_sha256=provenance.code_sha256(),
        ),
    )


def _examples(run: Run, contender: Contender, count: int, largest: int) -> list[Example]:
    """A fixed random choice of examples, ordered by key."""
    predicted, done = contender.scorable, contender.postprocessing
    order = np.argsort(predicted.keys)
    count = min(count, len(order))
    drawn = np.random.default_rng(_SEED).choice(len(order), count, replace=False)
    places = {predicted.keys[place]: place for place in order[np.sort(drawn)]}
    if contender.baseline is not None and run.dataset.inputs != {IMAGE}:
        instances = _of_service(run, contender.baseline, places.keys())
    else:
        instances = _instances(run, places.keys(), largest, contender.baseline is not None)
    family, label = families.of(predicted), run.dataset.label

    def answer(key: str, place: int) -> Mapping[str, Any]:
        found = family.response(predicted, place, done, label)
        try:
            return family.beside(contender.uri, key) | found
        except OSError as error:
            raise RawExamplesError(
                f"a mask of {contender.name} is gone ({error.filename}): train it again"
            ) from error

    return [
        Example(key, instances[key], answer(key, place))
        for key, place in places.items()
        if key in instances
    ]


def _image_fields(dataset: DatasetDescription) -> tuple[str, ...]:
    """The fields of an instance that may name an image by its address."""
    return tuple(feature.name for feature in dataset.features if feature.kind == IMAGE)


def _instances(
    run: Run, keys: Collection[str], largest: int, of_service: bool
) -> Mapping[str, Any]:
    """Instances by key; without those of more than `largest` bytes, and those of which an image's
    file is gone, or the server would refuse it.
    """
    dataset = run.dataset
    rows: Mapping[str, Mapping[str, Any]] = {} if dataset.inputs == {IMAGE} else _rows(run, keys)
    images: Mapping[str, Mapping[str, HeldOutImage]] = {}
    if IMAGE in dataset.inputs:
        found = originals.of_test_split(run.dataset_uri, dataset, keys)
        images = {example.key: example.images for example in found}
    carrier = _Carrier(largest)
    instances: dict[str, Any] = {}
    lacking = []
    for number, key in enumerate(sorted(keys)):
        try:
            if of_service:
                instances[key] = carrier.content(images[key])
                continue
            by_address = number % _ADDRESSED == 1
            instances[key] = carrier.instance(rows.get(key, {}), images.get(key, {}), by_address)
        except _LackingError as error:
            lacking.append(f"{quoted(repr(key), 'the first')}: {error.text}")
    if lacking and not instances:
        raise RawExamplesError(
            f"none of {len(lacking)} examples of the test split can be sent as callers send them: "
            f"{lacking[0]}. Restore the files, or make the dataset again of those that there are"
        )
    return instances


def _of_service(
    run: Run, baseline: Baseline, keys: Collection[str]
) -> Mapping[str, Mapping[str, Any]]:
    """Instances by key for a model of a service."""
    learned = [
        feature
        for feature in run.dataset.features
        if feature.name not in baseline.features_left_out
    ]
    whole = {
        feature["column"] for feature in run.plan.table["features"] if feature["type"] == "INT64"
    }
    rows = _rows(run, keys, {feature.column: feature.column for feature in learned})
    return {
        key: {column: _worded(value, column in whole) for column, value in row.items()}
        for key, row in rows.items()
    }


def _worded(value: Any, whole: bool) -> Any:
    return str(int(value)) if whole and isinstance(value, float) else value


def _rows(
    run: Run, keys: Collection[str], names: Mapping[str, str] | None = None
) -> Mapping[str, Mapping[str, Any]]:
    """Raw rows by key. names: as in raw_examples."""
    raw = raw_examples.of_test_split(run.dataset_uri, run.dataset, names=names, keys=keys)
    rows = {example.key: example.instance for example in raw}
    if missing := keys - rows.keys():
        raise RawExamplesError(
            f"the raw rows of {run.dataset_uri} lack {len(missing)} of {len(keys)} keys of the "
            f"test split{quoted(f', such as {min(missing)!r}', '')}: the dataset was exported from "
            "other rows"
        )
    return rows


class _LackingError(RowsError):
    """An example cannot be sent; the message says why."""


class _Carrier:
    """Makes instances that requests of `largest` bytes can carry."""

    def __init__(self, largest: int):
        self._largest = largest
        self._carried = 0

    def instance(
        self, row: Mapping[str, Any], images: Mapping[str, HeldOutImage], by_address: bool
    ) -> dict[str, Any]:
        """The row with the files of its images, or their addresses. Raises _LackingError."""
        made = {**row, **dict.fromkeys(images)}
        fetched = 0
        for name, image in images.items():
            data = _original(image)
            carried = {"b64": base64.b64encode(data).decode()}
            size = len(json.dumps(made)) + len(json.dumps(carried))
            fits = size <= self._largest
            prefers_address = by_address or self._carried + size > _CARRIED_BYTES
            fetchable = "://" in image.uri and fetched + len(data) <= MAX_FETCHED_BYTES
            if fetchable and (prefers_address or not fits):
                fetched += len(data)
                made[name] = image.uri
            elif fits:
                self._carried += size
                made[name] = carried
            else:
                reason = f"{image.uri}: {len(data) / 1e6:.1f} MB are too many for a request"
                raise _LackingError(reason)
        if (size := len(json.dumps(made))) > self._largest:
            raise _LackingError(f"{size / 1e6:.1f} MB are too many for a request")
        return made

    def content(self, images: Mapping[str, HeldOutImage]) -> dict[str, Any]:
        """The file of the only image, as AutoML's model takes it. Raises _LackingError."""
        (image,) = images.values()
        content = base64.b64encode(_original(image)).decode()
        if len(content) > self._largest or self._carried + len(content) > _CARRIED_BYTES:
            raise _LackingError(f"{image.uri}: too many bytes for a request, or all of them")
        self._carried += len(content)
        return {"content": content}


def _original(image: HeldOutImage) -> bytes:
    """The file of an image that the server takes. Raises _LackingError."""
    try:
        data = image.original()
        inspect(data)
    except (ImageError, OriginalError) as error:
        raise _LackingError(f"{quoted(image.uri, 'an image')}: {error}") from error
    return data


def _threshold(predicted: AnyPredictions) -> NamedThreshold | None:
    if not isinstance(predicted, Predictions) or predicted.threshold is None:
        return None
    return predicted.threshold.named(predicted.classes)
