"""The explanation_spec of a model in Vertex AI's registry: what its endpoint can explain, and how.

Features of a table's rows are explained by sampled Shapley, which only needs predictions: a
feature's attribution is the change of the prediction when the feature goes from its baseline to its
value. Baselines are typical values of the train split:

    numeric      mean
    timestamp    mean
    boolean      the more frequent value
    categorical  the most frequent term

Sequences are not explained (Vertex AI takes only arrays of one length): they keep the instance's
values, so the attributions add up to the difference between the prediction and that for a row of
baselines with this instance's sequences. Images are not explained: the methods for them need
gradients, which only Google's TensorFlow containers offer. So there is no specification for images,
nor for rows that only have sequences.

The output is the field of a prediction that holds its numbers. Google documents numbers and arrays
of numbers; `probabilities`, an object of numbers by class, works with local_gcp and has not been
tried on Google's endpoints.

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

# Sampled permutations of the features, at most 50: each costs one prediction per feature.
_PATHS = 10


def specification(dataset: DatasetDescription) -> dict[str, Any] | None:
    """An ExplanationSpec of google.cloud.aiplatform.v1 as JSON; None if nothing is explained.

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
    """A feature's baseline, in the format of an instance."""
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
