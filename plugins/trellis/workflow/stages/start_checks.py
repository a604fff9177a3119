"""Reasons why a run cannot go on from the weights of the champion's training, in words.

Their texts have marks around what they quote of rows: trellis_contracts.withheld.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.spec.experiment import Experiment
from trellis_contracts.catalog import Hyperparameter
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import Feature
from trellis_contracts.hyperparameter_field import Value
from trellis_contracts.training import Training
from trellis_contracts.withheld import some_of


def of_training(before: Training, plan: Plan) -> Iterator[str]:
    """Differences of model and task."""
    experiment = plan.experiment
    if before.model != experiment.model:
        yield f"its model is {before.model}, and this run's {experiment.model}"
    elif before.model_sha256 != (own.sha256 if (own := experiment.own_model) else None):
        yield f"{before.model} has changed since it was trained"
    if before.task != experiment.task:
        yield f"its task is {before.task}, and this run's {experiment.task}"


def of_values(values: Mapping[str, Value], known: Mapping[str, Hyperparameter]) -> Iterator[str]:
    """Values of hyperparameters that the trainer took then, and refuses now."""
    for name, value in values.items():
        if problem := known[name].problem_with(value):
            yield f"its {name} is {value}; {problem}"


def of_split(before: Mapping[str, Any] | None, experiment: Experiment) -> Iterator[str]:
    """Why the champion may have learned from examples that select or score this run's trainings.

    before: the configuration of the champion's run; None if that is gone. Key, group and time
    decide an example's split by themselves; of other rules nobody can tell without the rows of both
    runs.
    """
    if before is None:
        yield "the plan of its run is gone: nobody can tell from which examples it has learned"
        return
    if "folds" in before.get("train", {}):
        yield "it has learned from all folds but one, and so from this run's test split"
    old, new = before["source"], experiment.configuration()["source"]
    if old.get("key") != new.get("key"):
        yield f"its examples' key was {old.get('key')}, and this run's is {new.get('key')}"
    then, now = old["split"], new["split"]
    by = ("by", "time", "stratify", "column")
    if [then.get(name) for name in by] != [now.get(name) for name in by]:
        yield f"its examples were divided by {_rule(then)}, and this run's are by {_rule(now)}"
    elif "time" in now:
        for name in ("validation", "test"):
            if now[name] < then[name]:
                yield (
                    f"it has learned from examples of {now[name]} to {then[name]}, which are in "
                    f"this run's {name} split: let that begin on {then[name]} or later"
                )
    elif "stratify" in now or "column" in now:
        yield (
            f"the split by {now.get('stratify') or now.get('column')} may have put examples from "
            "which it has learned into this run's test split: divide by key, group or time"
        )
    else:
        learned, seen = then["train"], then["train"] + then["validation"]
        if now["train"] < learned or now["train"] + now["validation"] < seen:
            yield (
                f"it has learned from {learned}% of the examples and chosen by {then['validation']}"
                f"%, and some of these are in this run's validation or test split "
                f"({now['train']}/{now['validation']}/{now['test']}%)"
            )


def _rule(split: Mapping[str, Any]) -> str:
    found = next((name for name in ("by", "time", "stratify", "column") if name in split), None)
    return f"{found}: {split[found]}" if found else "their key"


def of_data(before: DatasetDescription | None, now: DatasetDescription) -> Iterator[str]:
    """Differences of features, vocabularies and classes, each of which changes what the weights
    mean. before: None if the description was deleted.
    """
    if before is None:
        yield "the description of its dataset is gone: nobody can tell what its weights mean"
        return
    old, new = ({f.name: f for f in one.features} for one in (before, now))
    if came := [name for name in new if name not in old]:
        yield f"it knows no {', '.join(came)}"
    if went := [name for name in old if name not in new]:
        yield f"it needs {', '.join(went)}"
    common = [name for name in old if name in new]
    if common != [name for name in new if name in old]:
        yield "the features stand in another order"
    for name in common:
        yield from _feature(old[name], new[name])
    if before.classes != now.classes:
        lost = [name for name in before.classes if name not in now.classes]
        more = [name for name in now.classes if name not in before.classes]
        yield "the classes differ" + _changes(more, lost, "class", "classes")


def _feature(old: Feature, new: Feature) -> Iterator[str]:
    title = f"feature '{new.name}'"
    if (old.kind, old.shape) != (new.kind, new.shape):
        yield f"{title} was {_form(old)}, and is {_form(new)}"
        return
    if old.vocabulary is not None and old.vocabulary != new.vocabulary:
        was, now = old.vocabulary, new.vocabulary or ()
        lost = [term for term in was if term not in now]
        more = [term for term in now if term not in was]
        yield f"the vocabulary of {title} has changed" + _changes(more, lost, "term", "terms")
    # Networks mark missing values by an input of their own.
    if old.vocabulary is None and _missing(old) != _missing(new):
        first, then = ("had", "none are") if _missing(old) else ("had no", "some are")
        yield f"{title} {first} missing values in its train split, and {then} missing now"


def _changes(more: list[str], lost: list[str], one: str, many: str) -> str:
    parts = [f"new: {some_of(more, one, many)}"] if more else []
    parts += [f"gone: {some_of(lost, one, many)}"] if lost else []
    return f" ({'; '.join(parts) or 'their order'})"


def _missing(feature: Feature) -> bool:
    return feature.statistics is not None and feature.statistics.missing > 0


def _form(feature: Feature) -> str:
    return (
        f"{feature.kind} of {'x'.join(map(str, feature.shape))}" if feature.shape else feature.kind
    )
