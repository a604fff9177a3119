"""Reads a manifest of images as rows: key, image, label, and what decides the split.

    [ML_USE,]gs://BUCKET/OBJECT,label        UTF-8, no header line, quotes around fields with commas
    gs://BUCKET/OBJECT,label,group           where groups of images, as a patient's, stay together
    gs://BUCKET/OBJECT,label,2024-03-01      where days decide the split, or moments; UTC if no
                                             offset says otherwise
    gs://BUCKET/OBJECT,label,label           of a multi-label task: any number of labels, also none
    gs://BUCKET/OBJECT,gs://BUCKET/OBJECT    of a segmentation: the image and its mask

ML_USE is the example's split, on every line or on none. An image's key is its object name, with its
bucket before it where the lines name several buckets: sites of a study number their files alike.

BigQuery loads the lines as texts, which costs nothing, and sql/manifest.sql takes them apart. So no
step holds a manifest. Called by tasks only.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from google.cloud.bigquery import LoadJobConfig, SchemaField
from google.cloud.exceptions import Forbidden, NotFound

from trellis.workflow import labels, sql
from trellis.workflow.contracts import table
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.lookups import bucket_files, own_dataset, storage, table_state
from trellis.workflow.lookups.manifest_lines import (
    FORMAT,
    LARGEST,
    LEAST_GROUPS,
    ML_USES,
    NUMBER,
    separator,
)
from trellis.workflow.lookups.source import Form, Source, dry_run
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.source import ImageSource
from trellis.workflow.spec.split import ColumnSplit, GroupSplit, TimeSplit
from trellis_contracts.dataset_features import IMAGE_ADDRESS
from trellis_contracts.tasks import (
    MULTILABEL,
    NAMED,
    REGRESSION,
    SEPARATOR,
    classes_in,
)
from trellis_contracts.withheld import quoted

ML_USE = "ML_USE"
"""The column of the splits that lines name."""

_MOST_LABELS = 100_000
_SHOWN = 3
ONE_FIELD = "\x01"
"""Delimiter of a load job's fields that no line has, so that each line is one value."""


class ManifestForm(Form):
    """The lines of a manifest."""

    def find(
        self, client: Any, platform: Platform, section: str, given: ImageSource, task: str
    ) -> Source:
        found = version(platform, given)
        own_dataset.create(platform)
        address = found["manifest"]
        statement = rows(given, task, load(client, platform, given, found))
        lines = facts(client, given, task, statement)
        check(address, lines, given)
        return Source(
            client,
            section,
            f"{address} (source.images)",
            f"(\n{statement}\n)",
            table.columns(dry_run(client, section, statement, None).schema),
            version=[found],
            examples=lines["examples"],
            classes=classes(lines, task),
            split=ColumnSplit(column=ML_USE) if lines["named"] else None,
        )

    def version(self, client: Any, platform: Platform, given: ImageSource) -> list[dict[str, Any]]:
        return [version(platform, given)]


def version(platform: Platform, source: ImageSource) -> dict[str, Any]:
    """Identifies the manifest's content; its generation changes with every upload. Raises
    SourceError if it is not there.
    """
    address = platform.uri(source.images)
    found = storage.blob(platform, address)
    try:
        found.reload()
    except NotFound:
        what = "manifest" if found.bucket.exists() else f"bucket gs://{found.bucket.name}"
        raise SourceError(
            f"There is no {what} (source.images: {address}), or this project may not see it."
        ) from None
    except Forbidden as error:
        raise SourceError(
            f"This project may not read {address} (source.images): {error.message}"
        ) from None
    return {"manifest": address, "generation": found.generation, "crc32c": found.crc32c}


def load(client: Any, platform: Platform, source: ImageSource, found: Mapping[str, Any]) -> str:
    """Load the manifest's lines into a table, unless they were loaded before; returns its name.

    found: as `version` finds it. Raises SourceError.
    """
    address = found["manifest"]
    name = platform.own_table(f"manifest_{bucket_files.digest(found)}")
    config = LoadJobConfig(
        source_format="CSV",
        schema=[SchemaField("line", "STRING")],
        field_delimiter=ONE_FIELD,
        quote_character="",
        write_disposition="WRITE_TRUNCATE",
    )
    where = f"{address} (source.images)"
    bucket_files.loaded(
        client,
        name,
        address,
        lambda: bucket_files.run(client, [address], name, config, where, FORMAT),
        lambda: version(platform, source) == found,
    )
    return name


def rows(source: ImageSource, task: str, loaded: str) -> str:
    """The SELECT that takes the lines apart; sql/manifest.sql names its columns. loaded: table of
    the lines.
    """
    return sql.render(
        "manifest",
        table=loaded,
        address=IMAGE_ADDRESS,
        ml_uses=ML_USES,
        by=_by(source),
        days=isinstance(source.split, TimeSplit),
        several=task == MULTILABEL,
        regression=task == REGRESSION,
        of_files=labels.of(task).of_files,
        separator=SEPARATOR,
        number=NUMBER,
        largest=LARGEST,
    )


def facts(client: Any, source: ImageSource, task: str, statement: str) -> Mapping[str, Any]:
    """The one row of sql/manifest_facts.sql. statement: of `rows`."""
    statement = sql.render(
        "manifest_facts",
        rows=statement,
        by=_by(source),
        names=task in NAMED,
        shown=_SHOWN,
        most_labels=_MOST_LABELS,
    )
    (row,) = table_state.answer(client, statement)
    return dict(row)


def _by(source: ImageSource) -> str | None:
    """What the field after the label is, a group or a day; None: there is none."""
    split = source.split
    return split.decided_by if isinstance(split, GroupSplit | TimeSplit) else None


def classes(found: Mapping[str, Any], task: str) -> dict[str, int] | None:
    """Examples by class; None if labels name none. found: as `facts` finds it."""
    if task not in NAMED:
        return None
    counts: dict[str, int] = {}
    for entry in found["labels"]:
        for name in classes_in(entry["label"], task):
            counts[name] = counts.get(name, 0) + entry["examples"]
    return dict(sorted(counts.items()))


def check(address: str, found: Mapping[str, Any], source: ImageSource) -> None:
    """Raise SourceError for a manifest from which no rows can be learned.

    found: as `facts` finds it. What is wrong with the labels of usable lines, and with the splits,
    the check of the snapshot finds, as of all rows.
    """
    # Each looks at lines that have none of the faults before it.
    faults = chain(_of_texts(found), _of_splits(found, source), _of_labels(found, source))
    if fault := next(faults, None):
        raise SourceError(f"{address} (source.images): {fault}")


def _of_texts(found: Mapping[str, Any]) -> Iterator[str]:
    """What makes the lines no manifest."""
    lines = found["lines"]
    if not lines:
        yield f"it is empty. {FORMAT}"
    if found["not_utf8"]:
        yield (
            f"{found['not_utf8']} lines are not UTF-8, such as {_line(found['a_line_not_in_utf8'])}"
            "; save the file as UTF-8"
        )
    if without := found["without_image"]:
        shown = _lines(found["lines_without_image"])
        yield f"{without} of {lines} lines name no image{shown}. {FORMAT}"
    if unknown := found["unknown_uses"]:
        words = ", ".join(word.upper() for word in ML_USES if word)
        shown = _lines(found["lines_of_unknown_uses"])
        yield f"{unknown} lines have an ML_USE that is none of {words}{shown}"
    if 0 < found["named"] < lines:
        yield (
            f"{found['named']} of {lines} lines name a split (ML_USE), as "
            f"{_line(found['a_named_line'])} does, and {_line(found['a_silent_line'])} does not: "
            "name it on every line or on none"
        )


def _of_splits(found: Mapping[str, Any], source: ImageSource) -> Iterator[str]:
    """What does not go with the file's split."""
    by = source.split.decided_by
    if isinstance(source.split, ColumnSplit) and not found["named"]:
        yield f"source.split ({by}): no line names a split (ML_USE)"
    if found["named"] and isinstance(source.split, GroupSplit | TimeSplit):
        yield (
            f"the lines name splits (ML_USE), as {_line(found['a_named_line'])} does, and "
            f"source.split ({by}) decides them too: leave one of the two out"
        )


def _of_labels(found: Mapping[str, Any], source: ImageSource) -> Iterator[str]:
    """What leaves too few examples."""
    lines, by = found["lines"], source.split.decided_by
    reasons = {entry["reason"]: entry for entry in found["rejected"]}
    if "no label" in reasons and reasons["no label"]["lines"] == lines:
        if mark := separator([reasons["no label"]["line"].split(",")]):
            yield f"its fields are separated by {mark}. {FORMAT}"
        yield f"no line has a label after its image, the label column is missing. {FORMAT}"
    if isinstance(source.split, GroupSplit) and found["groups_"] < LEAST_GROUPS:
        yield (
            f"{found['groups_']} groups ({by}) after the labels; each split needs 2 of them or "
            "more: expected lines of gs://BUCKET/OBJECT,label,group"
        )
    if isinstance(source.split, TimeSplit) and not found["groups_"]:
        yield (
            f"no line has a day ({by}) after its label: expected lines of "
            f"gs://BUCKET/OBJECT,label,DAY, the day such as {source.split.validation}"
        )
    rejected = lines - found["examples"]
    if rejected > source.max_rejected * lines:
        why = "".join(
            f"\n  {entry['lines']}: {entry['reason']}, such as {_line(entry['line'])}"
            for entry in found["rejected"]
        )
        yield (
            f"{rejected} of {lines} lines would be rejected, more than source.max_rejected "
            f"({source.max_rejected:g}) allows:{why}"
        )


def _line(text: str) -> str:
    return quoted(repr(text if len(text) <= 120 else f"{text[:120]}..."), "a line")


def _lines(texts: Sequence[str]) -> str:
    """`: ` and some lines; nothing in a log."""
    return quoted(": " + ", ".join(map(_line, texts)), "")
