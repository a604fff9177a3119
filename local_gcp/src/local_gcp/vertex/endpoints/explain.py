"""Sampled Shapley attributions: the contribution of each feature to the model's output.

As on Vertex AI, the container only predicts: it gets instances between the baseline and the
instance; the change of the output when a feature takes its own value is that feature's
contribution. `path_count` random orders of the features are used, the same for each request.
https://cloud.google.com/vertex-ai/docs/explainable-ai/overview, https://arxiv.org/abs/1306.4265

The keys of ExplanationMetadata.inputs are fields of the instances, its only output is a field of
the predictions: a number, an array, or an object of numbers, whose names are then display names.
Gradient methods, which need the model's internals, and arrays as features are not emulated.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.cloud import aiplatform_v1 as api

from local_gcp.field_errors import invalid_field
from local_gcp.vertex.endpoints import values
from local_gcp.wire import failed_precondition, not_emulated

Instance = Mapping[str, Any]
Predict = Callable[[Sequence[Instance]], list[Any]]
_MOST_PATHS = 50


def attribute(
    spec: api.ExplanationSpec, instances: Sequence[Any], predict: Predict
) -> tuple[list[Any], list[list[dict[str, Any]]]]:
    """(prediction, attributions) of each instance; the attributions as fields of Attribution.

    UNIMPLEMENTED for other methods, FAILED_PRECONDITION and INVALID_ARGUMENT if the instances or
    predictions are not as the specification says.
    """
    parameters = spec.parameters
    if "sampled_shapley_attribution" not in parameters:
        raise not_emulated(
            "explanations other than sampled_shapley_attribution",
            "Deploy the model with that in explanation_spec.parameters.",
        )
    paths = parameters.sampled_shapley_attribution.path_count
    if not 1 <= paths <= _MOST_PATHS:
        raise invalid_field("path_count", f"{paths} is not from 1 to {_MOST_PATHS}.")
    if len(spec.metadata.outputs) != 1 or not spec.metadata.inputs:
        raise failed_precondition(
            "explanation_spec.metadata needs inputs (fields of the instances) and one output (a "
            "field of the predictions)."
        )
    found = [
        _attributions(spec, instance, n, paths, predict) for n, instance in enumerate(instances)
    ]
    return [prediction for prediction, _ in found], [attributions for _, attributions in found]


def _attributions(
    spec: api.ExplanationSpec, instance: Any, number: int, paths: int, predict: Predict
) -> tuple[Any, list[dict[str, Any]]]:
    features = sorted(spec.metadata.inputs)
    baselines = _baselines(spec, instance, f"instances[{number}]")
    dice = random.Random(0)
    orders = [
        (baseline, dice.sample(features, len(features)))
        for baseline in baselines
        for _ in range(paths)
    ]
    points = [instance]
    for baseline, order in orders:
        point = {**instance, **baseline}
        points.append(point)
        for feature in order:
            point = {**point, feature: instance[feature]}
            points.append(point)
    predictions = predict(points)
    (output_name,) = spec.metadata.outputs
    outputs = [_output(prediction, output_name) for prediction in predictions]
    explained = outputs[0]
    walks = [
        (order, outputs[1 + i * (len(features) + 1) :][: len(features) + 1])
        for i, (_, order) in enumerate(orders)
    ]
    result = []
    for key in _chosen(spec.parameters, explained):
        moves: dict[str, list[float]] = {feature: [] for feature in features}
        for order, walk in walks:
            for step, feature in enumerate(order):
                moves[feature].append(walk[step + 1][key] - walk[step][key])
        fields = {
            "baseline_output_value": statistics.fmean(walk[0][key] for _, walk in walks),
            "instance_output_value": explained[key],
            "feature_attributions": {f: statistics.fmean(m) for f, m in moves.items()},
            "approximation_error": _error(list(moves.values())),
            "output_name": output_name,
        }
        if key is not None:
            fields["output_index"] = [list(explained).index(key)]
            fields["output_display_name"] = _name(spec, predictions[0], output_name, key)
        result.append(fields)
    return predictions[0], result


def _baselines(spec: api.ExplanationSpec, instance: Any, where: str) -> list[dict[str, Any]]:
    """The baselines: as many as the feature with the most baselines has."""
    given: dict[str, list[Any]] = {}
    for feature, metadata in spec.metadata.inputs.items():
        if not isinstance(instance, dict) or feature not in instance:
            raise invalid_field(where, f"The field {feature!r} to explain is missing.")
        own = instance[feature]
        if isinstance(own, (list, dict)):
            raise not_emulated(
                f"explanations of fields that are arrays or objects ({feature!r})",
                "Leave it out of explanation_spec.metadata.inputs.",
            )
        pb = type(metadata).pb(metadata)
        given[feature] = [values.to_json(value) for value in pb.input_baselines]
        if not given[feature]:
            if isinstance(own, str):
                raise failed_precondition(
                    f"explanation_spec.metadata.inputs[{feature!r}] has no input_baselines, and "
                    "only numbers have one by nature: 0."
                )
            given[feature] = [False if isinstance(own, bool) else 0]
    most = max(map(len, given.values()))
    return [
        {feature: own[min(n, len(own) - 1)] for feature, own in given.items()} for n in range(most)
    ]


def _output(prediction: Any, name: str) -> dict[Any, float]:
    """The explained output's numbers: by None if it is one, by index, or by name."""
    output = prediction.get(name) if isinstance(prediction, dict) else prediction
    if isinstance(output, list):
        numbers: dict[Any, Any] = dict(enumerate(output))
    else:
        numbers = output if isinstance(output, dict) else {None: output}
    if not numbers or not all(isinstance(number, (int, float)) for number in numbers.values()):
        raise failed_precondition(
            f"The output {name!r} of the predictions is not a number, array or object of numbers: "
            f"{str(output)[:200]}"
        )
    return numbers


def _chosen(parameters: api.ExplanationParameters, output: Mapping[Any, float]) -> list[Any]:
    """The explained numbers of the output: output_indices, else the top_k largest."""
    if None in output:
        return [None]
    keys = list(output)
    pb = type(parameters).pb(parameters)
    if indices := [int(value.number_value) for value in pb.output_indices.values]:
        if not all(0 <= index < len(keys) for index in indices):
            raise invalid_field("output_indices", f"The output has {len(keys)} elements.")
        return [keys[index] for index in indices]
    ranked = sorted(keys, key=lambda key: -output[key])
    return ranked if parameters.top_k == -1 else ranked[: parameters.top_k or 1]


def _name(spec: api.ExplanationSpec, prediction: Any, output: str, key: Any) -> str:
    """The display name of one of the output's numbers, "" if it has none."""
    if isinstance(key, str):
        return key
    field = spec.metadata.outputs[output].display_name_mapping_key
    names = prediction.get(field) if field and isinstance(prediction, dict) else None
    return str(names[key]) if isinstance(names, list) and key < len(names) else ""


def _error(moves: list[list[float]]) -> float:
    """The standard error of the attributions in relation to their size; 0 with one path."""
    size = sum(abs(statistics.fmean(move)) for move in moves)
    if len(moves[0]) < 2 or not size:
        return 0.0
    return sum(statistics.stdev(move) / len(move) ** 0.5 for move in moves) / size
