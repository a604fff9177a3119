"""challenger.json: describes the best training for its deployment.

    {"schema": 1,
     "contender": "training/1",
     "model": "gs://BUCKET/EXPERIMENT/runs/RUN/training/1/model/",
     "examples": [{"key": "4711",                     of the test split
                   "instance": {"radius_mean": 17.9, ...},      in the format of trainer.serve
                   "prediction": {"label": "1", "probabilities": {"0": 0.1, "1": 0.9}}}, ...],
                                                      the expected prediction; for a
                                                      regression {"value": 152.1}
     "hyperparameters": {"learning_rate": 0.001, ...},
     "provenance": {"run": "gs://...", "dataset": its fingerprint, "versions": {"python": ...},
                    "code_sha256": "..."}}

The predictions come from predictions.parquet, and so from the dataset's records; the instances come
from the raw rows that the dataset was exported from. An endpoint that predicts anything else for
them does not serve the model that was trained and compared.
"""

import json
from typing import Any

import numpy as np

from trainer import contracts, storage
from trainer.comparison import provenance, raw_examples
from trainer.comparison.raw_examples import RawExamplesError
from trainer.comparison.run_folder import Contender, Run
from trainer.predictions import Predictions, Values

SCHEMA_VERSION = 1
FILE_NAME = "challenger.json"

# Fixed, so that comparing a run again selects the same examples.
_SEED = 0

# Bytes of an instance that fits into a request. Vertex AI's limit is 1.5 MB at a shared public
# endpoint, 10 MB at a private one:
# https://cloud.google.com/vertex-ai/docs/predictions/choose-endpoint-type
_LARGEST = 1_400_000
_LARGEST_PRIVATE = 9_000_000


def document(
    run: Run, contender: Contender, examples: int, private: bool = False
) -> dict[str, Any]:
    """The content of challenger.json for a training of the run, which must have predictions.

    examples: number of examples to include, at most all of the test split; those too large for a
    request are left out. private: whether the endpoint is private. Raises RawExamplesError.
    """
    largest = _LARGEST_PRIVATE if private else _LARGEST
    return {
        "schema": SCHEMA_VERSION,
        "contender": contender.name,
        "model": storage.join(contender.uri, "model") + "/",
        "examples": _examples(run, contender.scorable, examples, largest),
        "hyperparameters": dict(contender.parameters),
        "provenance": {
            "run": run.uri,
            "dataset": run.dataset.fingerprint,
            "versions": provenance.versions(),
            "code_sha256": provenance.code_sha256(),
        },
    }


def to_json(challenger: dict[str, Any]) -> str:
    """The text of challenger.json. Raises ContractError if it does not match its schema."""
    return contracts.to_json("challenger", challenger, FILE_NAME)


def _examples(
    run: Run, predicted: Predictions | Values, count: int, largest: int
) -> list[dict[str, Any]]:
    """A fixed random choice of examples, ordered by key."""
    order = np.argsort(predicted.keys)
    count = min(count, len(order))
    drawn = np.random.default_rng(_SEED).choice(len(order), count, replace=False)
    places = {predicted.keys[place]: place for place in order[np.sort(drawn)]}
    raw = raw_examples.of_test_split(run.dataset_uri, run.dataset, keys=places.keys())
    instances = {example.key: example.instance for example in raw}
    if missing := places.keys() - instances.keys():
        raise RawExamplesError(
            f"the raw rows of {run.dataset_uri} lack {len(missing)} of {len(places)} keys of the "
            f"test split, such as {min(missing)!r}: the dataset was exported from other rows"
        )
    sizes = {key: len(json.dumps(instance)) for key, instance in instances.items()}
    if sizes and min(sizes.values()) > largest:
        raise RawExamplesError(
            f"none of {count} examples fits into a request: the smallest has "
            f"{min(sizes.values()) / 1e6:.1f} MB, the endpoint's limit is {largest / 1e6:.1f} MB; "
            "choose a smaller `size` for images, or `encoding: jpeg`"
        )
    return [
        {"key": key, "instance": instances[key], "prediction": _prediction(predicted, place)}
        for key, place in places.items()
        if sizes[key] <= largest
    ]


def _prediction(predicted: Predictions | Values, place: int) -> dict[str, Any]:
    """In the format of trainer.serve."""
    if isinstance(predicted, Values):
        return {"value": float(predicted.values[place])}
    row = predicted.probabilities[place]
    return {
        "label": predicted.classes[row.argmax()],
        # Through text: the digits of the float32, not those of the double it converts to.
        "probabilities": {
            name: float(str(share)) for name, share in zip(predicted.classes, row, strict=True)
        },
    }
