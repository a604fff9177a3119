"""Checks requests for explanations, before anything is computed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from trainer.serving.errors import InvalidRequestError, Violation, short
from trainer.serving.limits import MAX_EXPLAINED_VALUES, MAX_EXPLAINING_COST
from trainer.serving.parameters import EXPLAIN, Explain
from trainer.serving.row_explanations import RowExplainer


class Explained(Protocol):
    """The part of trainer.serving.model.Model that is used here."""

    classes: list[str]
    explainer: RowExplainer | None


@dataclass(frozen=True)
class Unexplained:
    """A prediction to explain. label: of the class; None for a regression."""

    explainer: RowExplainer
    example: Any
    label: str | None
    index: int | None
    how: Explain

    @property
    def cost(self) -> int:
        """Cost in the unit of MAX_EXPLAINING_COST."""
        work = self.explainer.work(self.example, self.how)
        return MAX_EXPLAINING_COST * work // MAX_EXPLAINED_VALUES

    def explain(self) -> dict[str, Any] | Exception:
        """Explain the example by trainer.serving.explanations; return an error in place of raising
        it.
        """
        try:
            found = self.explainer.explain(self.example, self.index, self.how)
        except Exception as error:  # TensorFlow's, which are of many kinds
            return error
        return found if self.label is None else {"class": self.label, **found}


def check(model: Explained, how: Explain, examples: Sequence[Any]) -> None:
    """Raises InvalidRequestError if the model's predictions for them cannot be explained so."""
    explainer = _explainer(model)
    if how.label is not None and how.label not in model.classes:
        raise _refusal(f"{EXPLAIN}.class", _expected(model.classes))
    work = sum(explainer.work(example, how) for example in examples)
    if work > MAX_EXPLAINED_VALUES:
        reason = (
            f"they would take {work / 1e6:.1f} million values, and one request may take "
            f"{MAX_EXPLAINED_VALUES / 1e6:.1f}: ask for fewer {explainer.effort}, or send fewer "
            "instances"
        )
        raise _refusal(EXPLAIN, reason)


def of(
    model: Explained, how: Explain, examples: Sequence[Any], predictions: Sequence[dict[str, Any]]
) -> list[Unexplained]:
    """Each example with its predicted class, or with the requested one; checked. Of a multi-label
    task without one it is the most probable.
    """
    found = []
    explainer = _explainer(model)
    for example, prediction in zip(examples, predictions, strict=True):
        label = how.label if how.label is not None else _predicted_label(prediction)
        index = None if label is None else model.classes.index(label)
        found.append(Unexplained(explainer, example, label, index, how))
    return found


def _explainer(model: Explained) -> RowExplainer:
    if model.explainer is None:
        raise _refusal(
            EXPLAIN,
            "this model answers with masks: a mask has no single score to which columns or pixels "
            "could add up",
        )
    return model.explainer


def _predicted_label(prediction: dict[str, Any]) -> str | None:
    if "labels" in prediction:
        return max(prediction["probabilities"], key=prediction["probabilities"].__getitem__)
    return prediction.get("label")


def _expected(classes: Sequence[str]) -> str:
    if not classes:
        return "this model predicts a value, and has no classes"
    few = ", ".join(f'"{short(name)}"' for name in classes[:10])
    return f"not a class of this model; expected {few}{', ...' * (len(classes) > 10)}"


def _refusal(field: str, reason: str) -> InvalidRequestError:
    return InvalidRequestError([Violation(field, reason)])
