"""What a batch prediction's job has written of an instance, read."""

import json
from collections.abc import Mapping
from typing import Any

from trellis.vertex.registry import AUTOML
from trellis.workflow.stages.deploy import answers

Answer = tuple[str, str | None, Mapping[str, Any]]
"""(instance, why it failed or None, the prediction)."""


def of_file(line: str) -> Answer:
    """The answer in a line of a job's results. Its instance is the image's address.

    AutoML has files of its own, predictions_* and errors_*, with answers of another form.
    """
    try:
        content = json.loads(line)
        instance = content["instance"]
        if "error" in content:
            return instance["content"], content["error"]["message"], {}
        prediction = content["prediction"]
        if "displayNames" in prediction:
            prediction = answers.plain(AUTOML, prediction)
    except (ValueError, KeyError, TypeError):
        return "?", f"unreadable line of results: {line}", {}
    name = next(iter(instance.values()), "?") if isinstance(instance, dict) else instance
    return _answer(str(name), prediction)


def of_row(key: str, prediction: Any) -> Answer:
    """The answer in a row of the job's table, whose prediction is JSON."""
    try:
        return _answer(key, json.loads(prediction))
    except (ValueError, TypeError):
        return key, f"unreadable prediction: {prediction}", {}


def number(prediction: Mapping[str, Any]) -> float | None:
    """What a model that predicts numbers has answered; of masks the share of the pixels that are
    not background. None of classes.
    """
    if "shares" in prediction:
        return 1 - float(next(iter(prediction["shares"].values())))
    found = prediction.get("value", prediction.get("risk"))
    return None if found is None else float(found)


def _answer(name: str, prediction: Any) -> Answer:
    """The server has answered each instance by itself: with an error, if it refuses it."""
    prediction = prediction if isinstance(prediction, dict) else {}
    failed = prediction.get("error")
    return name, None if failed is None else str(failed), prediction
