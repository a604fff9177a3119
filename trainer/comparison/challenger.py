"""Makes challenger.json of the best training, for its deployment.

The predictions come from predictions.parquet, and so from the dataset's records; the instances are
what callers send: the raw rows, or the original image files, that the dataset was exported from.
Every fourth image, and one that no request can carry, is named by its address, as batch predictions
name them: {"image_uri": "gs://..."}. An endpoint that predicts anything else for them does not
serve the model that was trained and compared.
"""

import base64
import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from trainer.comparison import originals, provenance, raw_examples
from trainer.comparison.originals import OriginalError
from trainer.comparison.raw_examples import RawExamplesError
from trainer.comparison.run_folder import Contender, Run
from trainer.decision import decide
from trainer.images import ImageError
from trainer.predictions import AnyPredictions, LabelSets, Predictions, Values
from trainer.serving.images import inspect
from trainer.serving.limits import MAX_FETCHED_BYTES
from trellis_contracts import layout
from trellis_contracts.challenger import Challenger, Example, Provenance
from trellis_contracts.decision import NamedThreshold
from trellis_contracts.predictions import DECIDED_ABOVE

FILE_NAME = "challenger.json"

# Fixed, so that comparing a run again selects the same examples.
_SEED = 0

# Bytes of an instance that fits into a request. Vertex AI's limit is 1.5 MB at a shared public
# endpoint, 10 MB at a private one:
# https://cloud.google.com/vertex-ai/docs/predictions/choose-endpoint-type
_LARGEST = 1_400_000
_LARGEST_PRIVATE = 9_000_000

# One image in _ADDRESSED is requested by its address, as are all after _CARRIED_BYTES of others,
# since Airflow reads the whole file at once.
_ADDRESSED = 4
_CARRIED_BYTES = 10_000_000


def of(run: Run, contender: Contender, examples: int, private: bool = False) -> Challenger:
    """challenger.json for a training of the run, which must have predictions.

    examples: number of examples to include, at most all of the test split; those too large for a
    request are left out. private: whether the endpoint is private. Raises RawExamplesError.
    """
    largest = _LARGEST_PRIVATE if private else _LARGEST
    predicted = contender.scorable
    return Challenger(
        contender=contender.name,
        model=layout.trained_model(contender.uri),
        examples=tuple(_examples(run, predicted, examples, largest)),
        threshold=_threshold(predicted),
        hyperparameters=dict(contender.parameters),
        provenance=Provenance(
            run=run.uri,
            dataset=run.dataset.fingerprint,
            versions=provenance.versions(),
            code_sha256=provenance.code_sha256(),
        ),
    )


def _examples(run: Run, predicted: AnyPredictions, count: int, largest: int) -> list[Example]:
    """A fixed random choice of examples, ordered by key."""
    order = np.argsort(predicted.keys)
    count = min(count, len(order))
    drawn = np.random.default_rng(_SEED).choice(len(order), count, replace=False)
    places = {predicted.keys[place]: place for place in order[np.sort(drawn)]}
    ask = _images if run.dataset.kind == "image" else _rows
    instances = ask(run, places.keys(), largest)
    return [
        Example(key, instances[key], _prediction(predicted, place))
        for key, place in places.items()
        if key in instances
    ]


def _rows(run: Run, keys: Collection[str], largest: int) -> Mapping[str, Any]:
    """Instances by key; without those of more than `largest` bytes."""
    raw = raw_examples.of_test_split(run.dataset_uri, run.dataset, keys=keys)
    instances = {example.key: example.instance for example in raw}
    if missing := keys - instances.keys():
        raise RawExamplesError(
            f"the raw rows of {run.dataset_uri} lack {len(missing)} of {len(keys)} keys of the "
            f"test split, such as {min(missing)!r}: the dataset was exported from other rows"
        )
    sizes = {key: len(json.dumps(instance)) for key, instance in instances.items()}
    if sizes and min(sizes.values()) > largest:
        raise RawExamplesError(
            f"none of {len(sizes)} examples fits into a request: the smallest has "
            f"{min(sizes.values()) / 1e6:.1f} MB, the endpoint's limit is {largest / 1e6:.1f} MB"
        )
    return {key: instance for key, instance in instances.items() if sizes[key] <= largest}


def _images(run: Run, keys: Collection[str], largest: int) -> Mapping[str, Any]:
    """Instances by key; without images whose file is gone, or that the server would refuse."""
    instances: dict[str, Any] = {}
    lacking = []
    carried_bytes = 0
    found = originals.of_test_split(run.dataset_uri, run.dataset, keys)
    for number, image in enumerate(sorted(found, key=lambda image: image.key)):
        try:
            data = image.original()
            inspect(data)
        except (ImageError, OriginalError) as error:
            lacking.append(f"{image.uri}: {error}")
            continue
        carried = {"image_bytes": {"b64": base64.b64encode(data).decode()}}
        size = len(json.dumps(carried))
        fits = size <= largest
        prefers_address = number % _ADDRESSED == 1 or carried_bytes + size > _CARRIED_BYTES
        if "://" in image.uri and len(data) <= MAX_FETCHED_BYTES and (prefers_address or not fits):
            instances[image.key] = {"image_uri": image.uri}
        elif fits:
            instances[image.key] = carried
            carried_bytes += size
        else:
            lacking.append(f"{image.uri}: {len(data) / 1e6:.1f} MB are too many for a request")
    if lacking and not instances:
        raise RawExamplesError(
            f"none of {len(lacking)} images of the test split can be sent as callers send them: "
            f"{lacking[0]}. Restore the files, or upload the manifest again for a new dataset"
        )
    return instances


def _threshold(predicted: AnyPredictions) -> NamedThreshold | None:
    if not isinstance(predicted, Predictions) or predicted.threshold is None:
        return None
    return predicted.threshold.named(predicted.classes)


def _prediction(predicted: AnyPredictions, place: int) -> dict[str, Any]:
    """Format a prediction as trainer.serve does."""
    if isinstance(predicted, Values):
        return {"value": float(predicted.values[place])}
    row = predicted.probabilities[place]
    label: dict[str, Any]
    if isinstance(predicted, LabelSets):
        decided = zip(predicted.classes, row > DECIDED_ABOVE, strict=True)
        label = {"labels": [name for name, present in decided if present]}
    else:
        label = {"label": predicted.classes[decide(row[None], predicted.threshold)[0]]}
    return {
        **label,
        # Through text: the digits of the float32, not those of the double it converts to.
        "probabilities": {
            name: float(str(share)) for name, share in zip(predicted.classes, row, strict=True)
        },
    }
