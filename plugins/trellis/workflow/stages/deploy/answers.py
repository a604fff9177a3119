"""What models of Google's services answer, in the form of our own server.

    automl  {"classes": ["0", "1"], "scores": [0.1, 0.9]}
            {"value": 152.1, "lower_bound": 90.3, "upper_bound": 210.7}
            of images {"ids": ["7", "4"], "displayNames": ["1", "0"], "confidences": [0.9, 0.1]}
    bqml    {"label_values": ["1", "0"], "label_probs": [0.9, 0.1], "predicted_label": ["1"]}
            {"predicted_label": [152.1]}
    ours    {"label": "1", "probabilities": {"0": 0.1, "1": 0.9}}
            {"value": 152.1}

As executed notebooks of Google's show them. `label` is the name of the column that both services
learn in a run (sql/bqml.sql, sql/automl_views.sql).
"""

from collections.abc import Callable, Mapping
from typing import Any

_LABEL = "label"

ALL_CLASSES = {"confidenceThreshold": 0.0, "maxPredictions": 1000}
"""Parameters of AutoML's models of images: else they answer with the ten likeliest classes."""


def plain(service: str | None, answer: Any) -> Any:
    """The answer of a service's model in our form; of another one, and of another shape, itself.

    service: as in challenger.json.
    """
    if service is None or not isinstance(answer, Mapping):
        return answer
    try:
        return _FORMS[service](answer)
    except (KeyError, TypeError, ValueError, IndexError):
        return dict(answer)


def parameters(service: str | None, instance: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with which a model answers with the probabilities of all classes."""
    of_images = service == "automl" and "content" in instance
    return ALL_CLASSES if of_images else {}


def _automl(answer: Mapping[str, Any]) -> dict[str, Any]:
    if "value" in answer:
        return {"value": answer["value"]}
    if "displayNames" in answer:
        return _classes(answer["displayNames"], answer["confidences"])
    return _classes(answer["classes"], answer["scores"])


def _bqml(answer: Mapping[str, Any]) -> dict[str, Any]:
    if f"{_LABEL}_values" in answer:
        return _classes(answer[f"{_LABEL}_values"], answer[f"{_LABEL}_probs"])
    (value,) = answer[f"predicted_{_LABEL}"]
    return {"value": value}


def _classes(names: list[Any], shares: list[float]) -> dict[str, Any]:
    probabilities = {str(name): share for name, share in zip(names, shares, strict=True)}
    # The most probable class, as the comparison has scored it, whatever the service's threshold.
    label = max(probabilities, key=lambda name: probabilities[name])
    return {"label": label, "probabilities": probabilities}


_FORMS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "automl": _automl,
    "bqml": _bqml,
}
