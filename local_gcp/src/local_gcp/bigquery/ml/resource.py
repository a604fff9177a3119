"""REST Model of a trained model: https://cloud.google.com/bigquery/docs/reference/rest/v2/models

Numbers of type int64 are strings in it, and NaN is left out.
"""

from __future__ import annotations

import math
from typing import Any

from local_gcp.bigquery.schema import Field

from . import answers, metrics, options
from .learning import Iteration
from .training import Trained, label_text

Resource = dict[str, Any]

_TYPES = {"LINEAR_REG": "LINEAR_REGRESSION", "LOGISTIC_REG": "LOGISTIC_REGRESSION"}


def of(model: Trained, started: str) -> Resource:
    """REST Model without names, times and location. `started`: RFC 3339."""
    evaluation = _evaluation(model)
    used = options.rest(model.options)
    if used.get("optimizationStrategy") == "AUTO_STRATEGY":
        # REST has the one that was taken. The normal equation has no learning rate.
        exact = model.iterations[-1].learn_rate is None
        used["optimizationStrategy"] = "NORMAL_EQUATION" if exact else "BATCH_GRADIENT_DESCENT"
    run: Resource = {
        "trainingOptions": used,
        "startTime": started,
        "results": [_iteration(i) for i in model.iterations],
        "evaluationMetrics": evaluation,
        "trainingStartTime": started,
    }
    resource: Resource = {
        "modelType": _TYPES.get(model.model_type, model.model_type),
        "trainingRuns": [run],
        "featureColumns": [_column(f) for f in model.encoder.fields],
        "labelColumns": [_column(model.label)],
        "description": "",
        "labels": {},
    }
    return resource


def _column(field: Field) -> Resource:
    return {"name": field.name, "type": _type(field)}


def _type(field: Field) -> Resource:
    """REST StandardSqlDataType."""
    if field.repeated:
        return {"typeKind": "ARRAY", "arrayElementType": _type(field.element)}
    if field.type == "STRUCT":
        return {"typeKind": "STRUCT", "structType": {"fields": [_column(f) for f in field.fields]}}
    return {"typeKind": field.type}


def _iteration(iteration: Iteration) -> Resource:
    found: Resource = {"index": iteration.index, "durationMs": str(iteration.duration_ms)}
    return found | _numbers(
        {
            "trainingLoss": iteration.loss,
            "evalLoss": iteration.eval_loss,
            "learnRate": iteration.learn_rate,
        }
    )


def _evaluation(model: Trained) -> Resource:
    found = model.evaluation
    if not model.classifies:
        names = {"r2_score": "rSquared"}
        kept = {k: v for k, v in found.items() if k != "explained_variance"}
        return {"regressionMetrics": _numbers(_camel(kept, names))}
    aggregate = {
        **_numbers(_camel(found)),
        "threshold": metrics.THRESHOLD,
    }
    if len(model.classes) == 2:
        return {
            "binaryClassificationMetrics": {
                "aggregateClassificationMetrics": aggregate,
                "binaryConfusionMatrixList": _binary_confusion(model),
                "positiveLabel": label_text(model.classes[1]),
                "negativeLabel": label_text(model.classes[0]),
            }
        }
    del aggregate["threshold"]
    return {
        "multiClassClassificationMetrics": {
            "aggregateClassificationMetrics": aggregate,
            "confusionMatrixList": [{"rows": _confusion(model)}],
        }
    }


def _binary_confusion(model: Trained) -> list[Resource]:
    found = []
    for point in answers.roc(model, None, {}):
        hits, alarms = point["true_positives"], point["false_positives"]
        misses, passes = point["false_negatives"], point["true_negatives"]
        ratios = {
            "positiveClassThreshold": point["threshold"],
            "precision": hits / (hits + alarms) if hits + alarms else None,
            "recall": point["recall"],
            "f1Score": 2 * hits / (2 * hits + alarms + misses) if hits + alarms + misses else None,
            "accuracy": (hits + passes) / (hits + alarms + misses + passes),
        }
        counts = {
            "truePositives": str(hits),
            "falsePositives": str(alarms),
            "trueNegatives": str(passes),
            "falseNegatives": str(misses),
        }
        found.append({**_numbers(ratios), **counts})
    return found


def _confusion(model: Trained) -> list[Resource]:
    labels = [label_text(c) for c in model.classes]
    return [
        {
            "actualLabel": label_text(row.pop("expected_label")),
            "entries": [
                {"predictedLabel": label, "itemCount": str(count)}
                for label, count in zip(labels, row.values(), strict=True)
            ],
        }
        for row in answers.confusion(model, None, {})
    ]


def _camel(values: metrics.Metrics, names: dict[str, str] | None = None) -> metrics.Metrics:
    def camel(name: str) -> str:
        first, *rest = name.split("_")
        return first + "".join(word.capitalize() for word in rest)

    return {(names or {}).get(name) or camel(name): value for name, value in values.items()}


def _numbers(values: metrics.Metrics) -> dict[str, float]:
    return {k: v for k, v in values.items() if v is not None and math.isfinite(v)}
