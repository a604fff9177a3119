"""The explanation_spec of a model in Vertex AI's registry: what its endpoint can explain, and how.

Features of a table's rows are explained by sampled Shapley, which only needs predictions: what is
attributed to a feature is by how much the prediction moves when it goes from its baseline to its
value. Baselines are what the train split says is ordinary:

    numeric      its mean
    timestamp    its mean
    boolean      what most rows have
    categorical  the most frequent term

and null for a feature without one value in the train split. Sequences are not explained (Vertex AI
takes arrays only of one length): they stay as they are in the instance, so that the attributions
add up to the difference between the prediction and that for a row of baselines with this instance's
sequences. Images are not explained: the methods for them need gradients, which only Google's own
TensorFlow containers offer. So None: of images, and of rows that have sequences only.

The output is the field of a prediction that holds its numbers. Google documents numbers and arrays
of them; `probabilities`, an object of numbers by class, is explained by local_gcp and has not been
tried on Google's own endpoints.

https://cloud.google.com/vertex-ai/docs/explainable-ai/configuring-explanations-feature-based
"""

from typing import Any

from trainer.comparison.raw_examples import time_text
from trainer.dataset_description import (
    BOOLEAN,
    CATEGORICAL,
    SEQUENCE,
    TIMESTAMP,
    DatasetDescription,
    Feature,
)

# Orders of the features that are drawn, of at most 50: each costs a prediction for every feature.
_PATHS = 10


def specification(dataset: DatasetDescription) -> dict[str, Any] | None:
    """google.cloud.aiplatform.v1.ExplanationSpec in protobuf's JSON, None if nothing is explained.

    Inputs are keyed by the fields of an instance, the output by the field of a prediction.
    """
    explained = [f for f in dataset.features if f.kind != SEQUENCE]
    if dataset.kind == "image" or not explained:
        return None
    return {
        "parameters": {"sampledShapleyAttribution": {"pathCount": _PATHS}},
        "metadata": {
            "inputs": {f.table_column: {"inputBaselines": [baseline(f)]} for f in explained},
            "outputs": {"value" if dataset.is_regression else "probabilities": {}},
        },
    }


def baseline(feature: Feature) -> float | bool | str | None:
    """A feature's ordinary value, as an instance has it."""
    if feature.kind == CATEGORICAL:
        return feature.terms[0] if feature.term_statistics.count else None
    known = feature.number_statistics
    if not known.count:
        return None
    if feature.kind == BOOLEAN:
        return known.mean > 0.5
    if feature.kind == TIMESTAMP:
        return time_text(round(known.mean * 1e6))
    return known.mean
