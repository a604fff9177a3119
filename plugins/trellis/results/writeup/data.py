"""Sentences about a run's data, in the past tense, as Markdown. Each function takes its facts."""

from datetime import UTC, datetime

from trellis.results.writeup.facts import Facts
from trellis.results.writeup.markdown import code, listed, open_, table
from trellis_contracts.dataset import GROUP_RULE, HASH_RULE, SPLITS
from trellis_contracts.dataset_features import (
    BOOLEAN,
    IMAGE,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
    Feature,
    TermStatistics,
)
from trellis_contracts.models import MODELS
from trellis_contracts.tasks import TASKS

_NAMED = 30
"""Features that a sentence names; of more, it says how many."""

_TERMS = 5
"""Terms of a category that a sentence names, the most frequent ones."""

_RESIZED = {
    "stretch": "stretched to that size",
    "letterbox": "scaled to fit and padded",
    "crop": "scaled to cover and cropped",
}


def source(f: Facts) -> str:
    """Where the examples came from, and how many there were."""
    counts = {split: f.dataset.examples(split) for split in SPLITS}
    by_split = listed(f"{n:,} for {split}" for split, n in counts.items())
    rows = ""
    if part := f.plan.dataset.partition:
        rows = f", rows whose {code(part['column'])} is from {part['from']} to before {part['to']}"
    out = f" {f.dataset.rejected:,} rows were left out as unusable." if f.dataset.rejected else ""
    return (
        f"The examples came from {code(f.plan.dataset.source)}{rows}, as it was on "
        f"{f.plan.created[:10]}: {sum(counts.values()):,} examples, {by_split}.{out}"
        f"{_groups(f)} All were copied before anything else read them (fingerprint "
        f"{code(f.plan.dataset.fingerprint)})."
    )


def _groups(f: Facts) -> str:
    """How many groups the examples of each split are of; empty if no groups decide it."""
    by = f.dataset.split.by
    if by is None:
        return ""
    if not f.groups:
        return " " + open_(f"how many values of {code(by)} they are of: the rows do not tell")
    of_each = listed(f"{f.groups[split]:,} for {split}" for split in SPLITS)
    more = ", with the rows that were left out" if f.dataset.rejected else ""
    return f" They are of {sum(f.groups.values()):,} values of {code(by)}, {of_each}{more}."


def dates(f: Facts) -> str:
    """From when the examples of each split are."""
    if not f.dates:
        return open_("dates; no column of the frozen rows has any: `source.keep` may name one")
    spans = [
        f"{code(one.column)} was "
        + listed(f"{low} to {high} in {split}" for split, (low, high) in one.by_split.items())
        for one in f.dates
    ]
    return f"{'; '.join(spans)}."


def outcome(f: Facts) -> str:
    """What was to be predicted."""
    label = f.dataset.label
    name = code(label.column) if label.column else "the label of the manifest"
    if label.event is not None and label.statistics is not None:
        events = sum(map(label.event.count, SPLITS))
        examples = sum(f.dataset.examples(split) for split in SPLITS)
        return (
            f"The outcome was the time until {code(label.event.column)}, {name}, right-censored: "
            f"{events:,} of {examples:,} examples had the event; times in the training split up to "
            f"{label.statistics.max:.4g}."
        )
    if label.statistics is not None:
        known = label.statistics
        return (
            f"The outcome was {name}, a number: in the training split mean {known.mean:.4g}, "
            f"standard deviation {known.stddev:.4g}, range {known.min:.4g} to {known.max:.4g}."
        )
    positive = f"; positive is {code(f.dataset.positive)}" if f.dataset.positive else ""
    what = TASKS[f.settings["task"]].description
    return f"The outcome was {name}, {what}: {listed(map(code, f.dataset.classes))}{positive}."


def class_counts(f: Facts) -> str:
    """Table of examples by split, by class where there are any."""
    rows = [("all", *(f"{f.dataset.examples(split):,}" for split in SPLITS))]
    rows += [
        (code(name), *(_share(f, split, name) for split in SPLITS)) for name in f.dataset.classes
    ]
    return table(["class" if f.dataset.classes else "examples", *SPLITS], rows)


def _share(f: Facts, split: str, name: str) -> str:
    counts = f.dataset.counts[split]
    found = counts.classes.get(name, 0)
    return f"{found:,} ({found / counts.examples:.1%})" if counts.examples else "0"


def split_rule(f: Facts) -> str:
    """How the examples were divided."""
    split = f.dataset.split
    if folds := f.board.folds:
        again = f", {folds.repeats} times anew" if folds.repeats > 1 else ""
        together = f"; all examples of one {code(split.by)} were in one fold" if split.by else ""
        return (
            f"The examples were divided into {folds.count} folds of equal shares of each class"
            f"{again}{together}. Each fold was tested once, the next one validated, and the others "
            "trained. The same division held for every model."
        )
    shares = listed(f"{high - low}% {name}" for name, (low, high) in split.ranges.items())
    if split.rule == HASH_RULE:
        rule = f"by a hash of each example's key ({shares})"
    elif split.rule == GROUP_RULE:
        rule = (
            f"by a hash of {code(split.by)} ({shares}), so that all examples of one "
            f"{code(split.by)} were in one split"
        )
    else:
        rule = f"by a fixed rule ({split.rule})"
    return f"The examples were divided {rule}. The same division held for every model."


def tested(f: Facts) -> str:
    """What the scores are of."""
    if f.board.folds:
        return "All folds of the same data, each predicted by models that had not seen it."
    return "The test split of the same data."


def predictors(f: Facts) -> str:
    """What the models learned from."""
    features = f.dataset.features
    kinds: dict[str, int] = {}
    for feature in features:
        kinds[feature.kind] = kinds.get(feature.kind, 0) + 1
    what = listed(f"{n} {kind}" for kind, n in kinds.items())
    if [one.kind for one in features] == [IMAGE]:
        return "Each example was one image; there were no other predictors."
    names = f": {listed(code(one.name) for one in features)}" if len(features) <= _NAMED else ""
    return f"There were {len(features)} predictors ({what}){names}."


def missing(f: Facts) -> str:
    """How many values were missing in the training split."""
    rows = f.dataset.examples("train")
    lacking = {
        one.name: one.statistics.missing / rows
        for one in f.dataset.features
        if one.statistics is not None and one.statistics.missing and rows
    }
    if not lacking:
        return "No predictor had missing values in the training split."
    worst = max(lacking, key=lambda name: lacking[name])
    return (
        f"{len(lacking)} of {len(f.dataset.features)} predictors had missing values in the "
        f"training split, at most {lacking[worst]:.1%} ({code(worst)})."
    )


def characteristics(f: Facts) -> str | None:
    """Distribution of each predictor in the training split; None if none has statistics."""
    known = [one for one in f.dataset.features if one.statistics is not None]
    if not known:
        return None
    told = "; ".join(f"{code(one.name)} {_distribution(one)}" for one in known[:_NAMED])
    more = f"; and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return f"In the training split: {told}{more}."


def _distribution(feature: Feature) -> str:
    """Mean, deviation and range of numbers, or the most frequent terms; and what is missing."""
    found = feature.statistics
    assert found is not None
    rows = found.count + found.missing
    lacking = f", {found.missing / rows:.1%} missing" if found.missing and rows else ""
    if not found.count:
        return f"without a value{lacking}"
    if isinstance(found, TermStatistics):
        terms = zip(feature.terms[:_TERMS], found.frequencies[:_TERMS], strict=True)
        shares = [f"{code(term)} {n / found.count:.1%}" for term, n in terms]
        rest = found.count - sum(found.frequencies[:_TERMS])
        return (
            f"{listed([*shares, *([f'others {rest / found.count:.1%}'] if rest else [])])}{lacking}"
        )
    if feature.kind == TIMESTAMP:
        first, last = (datetime.fromtimestamp(n, UTC).date() for n in (found.min, found.max))
        return f"{first} to {last}{lacking}"
    if feature.kind == BOOLEAN:
        return f"true {found.mean:.1%}{lacking}"
    of = {TEXT: "characters: ", SEQUENCE: "elements: "}.get(feature.kind, "")
    spread = f"mean {found.mean:.4g} (SD {found.stddev:.4g}), {found.min:.4g} to {found.max:.4g}"
    return f"{of}{spread}{lacking}"


def outcome_by_split(f: Facts) -> str:
    """How often the outcome is what in each split, and from when the examples are."""
    label, classes = f.dataset.label, f.dataset.classes
    if classes and f.dataset.counts["train"].classes:
        shares = [
            f"{code(name)} " + listed(f"{_share(f, split, name)} in {split}" for split in SPLITS)
            for name in classes[:_NAMED]
        ]
        text = f"Outcome: {'; '.join(shares)}."
    elif label.event is not None:
        events = [
            f"{label.event.count(split):,} of {f.dataset.examples(split):,} in {split}"
            for split in SPLITS
        ]
        text = f"Examples with the event: {listed(events)}."
    else:
        counts = listed(f"{f.dataset.examples(split):,} in {split}" for split in SPLITS)
        text = f"Examples: {counts}."
    return f"{text} Dates: {dates(f)}" if f.dates else text


def preprocessing(f: Facts) -> str:
    """How predictors became the models' inputs."""
    names = {f.name_of(model) for model in f.models}
    own = sorted(name for name in names if name not in MODELS)
    parts: list[str] = []
    for image in f.dataset.features_of(IMAGE):
        height, width, channels = image.image_shape
        form = f"{height}x{width} pixels with {channels} channel{'s' if channels > 1 else ''}"
        parts.append(f"Images of {code(image.name)} became {form}, {_RESIZED[image.image_resize]}.")
    kinds = {feature.kind for feature in f.dataset.features}
    if names - {*own} and kinds & {"numeric", "boolean", "timestamp"}:
        parts.append(
            "In the networks, numbers and times were standardized by mean and standard deviation "
            "of the training split, and compressed beyond ten standard deviations; a missing one "
            "was replaced by that mean, and an indicator marked it where the training split had "
            "any."
        )
    if names - {*own} and "timestamp" in kinds:
        parts.append("Of a time, time of day and day of week were points on a circle, too.")
    if names - {*own} and "categorical" in kinds:
        most = max(
            len(one.vocabulary or ())
            for one in f.dataset.features
            if isinstance(one.statistics, TermStatistics)
        )
        parts.append(
            f"Categories were embedded, with a vocabulary of the training split (up to {most:,} "
            "terms) and embeddings of their own for missing and for unknown terms."
        )
    if names - {*own} and "sequence" in kinds:
        parts.append(
            "Missing elements of a sequence were skipped, and those beyond the length of the "
            "training split's longest one."
        )
    if names - {*own} and "text" in kinds:
        parts.append(
            "Texts became sums of embeddings of their hashed words and pairs of words, over the "
            "root of their number."
        )
    if own:
        files = {name: known["sha256"] for name, known in f.plan.model_files.items() if name in own}
        whose = listed(f"{code(n)} (SHA-256 {sha[:12]})" for n, sha in files.items())
        parts.append(f"{whose} prepared its inputs itself: {open_('how')}.")
    if names - {*own}:
        parts.append("Every statistic came from the training split alone.")
    if {"bqml", "automl"} & {k for k, v in f.settings.get("baselines", {}).items() if v}:
        parts.append(f"The baselines' services prepared their inputs themselves: {open_('how')}.")
    return " ".join(parts)
