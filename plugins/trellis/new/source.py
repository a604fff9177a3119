"""The section `source` of a new experiment file on rows: every choice with its reason beside it."""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from trellis.new.described import DataError, Images, Rows, listed
from trellis.new.roles import Roles
from trellis.workflow.sql import identifier
from trellis_contracts.tasks import MULTICLASS, MULTILABEL

KEY = "row_key"
"""The column that identifies rows which no column of their own identifies."""

SMALL = 2000
"""Examples, or groups of them, below which validation and test get larger shares."""

SHARES = "train: 60, validation: 20, test: 20"
"""These."""

LEAST = 10
"""Examples of a class below which it is hardly learned and judged."""

WIDTH = 96

_MANY_COPIES = 0.05
"""Share of rows that equal another one from which they are no mistake."""


def of_rows(
    rows: Rows, roles: Roles, classes: Mapping[str, int], pictures: Mapping[str, Images]
) -> Iterator[str]:
    """The lines of the section. classes, pictures: as `trellis.new.text.of_rows` has them."""
    yield "source:"
    yield from _source(rows, roles, classes)
    yield from _pictures(pictures)
    yield from _split(rows, roles, classes)


def _check_files(rows: Rows, roles: Roles) -> None:
    """Raise DataError for rows that need a query, where the source is files: a run takes these as
    they are.
    """
    label = roles.label
    pictures = [c for name in roles.images if (c := rows.column(name)) and c.nulls]
    problems = [
        *(["no column identifies a row"] if roles.key is None else []),
        *([f"{label.nulls:,} rows have no {label.name}, the label"] if label.nulls else []),
        *([f"the classes in {label.name} are written with decimals"] if roles.cast else []),
        *([f"{roles.event.name} is not 0 or 1"] if roles.event and roles.occurred else []),
        *(f"{c.nulls:,} rows have no image in {c.name}" for c in pictures),
    ]
    if problems:
        raise DataError(
            f"{rows.address}: {'; '.join(problems)}. A run takes the rows of files as they are: "
            "correct the files, or load them into a table (`bq load`, or `trellis upload` of files "
            "here) and name that: its experiment has a query"
        )


def _source(rows: Rows, roles: Roles, classes: Mapping[str, int]) -> Iterator[str]:
    if rows.of_files:
        _check_files(rows, roles)
    yield from _selected(rows, roles, classes)
    if rows.partition:
        yield f"  partition: {scalar(rows.partition)}   # a run takes its interval's rows"
    yield f"  key: {scalar(roles.key or KEY)}   # identifies a row"
    yield _label(roles)
    yield from _features(roles)


def _selected(rows: Rows, roles: Roles, classes: Mapping[str, int]) -> Iterator[str]:
    """Which rows there are."""
    replaced = _replaced(roles)
    columns, usable = "*", []
    if replaced is not None:
        name, value, why = replaced
        columns = f"* REPLACE ({value} AS {name})"
        yield f"  # {why}"
    if roles.label.nulls and roles.task != MULTILABEL:
        usable = [f"{identifier(roles.label.name)} IS NOT NULL"]
        yield f"  # {roles.label.nulls:,} rows without a label are left out."
    if roles.event is not None and roles.event.nulls:
        usable.append(f"{identifier(roles.event.name)} IS NOT NULL")
        yield f"  # {roles.event.nulls:,} rows of which {line(roles.event.name)} is not known, too."
    for name in roles.images:
        if (column := rows.column(name)) and column.nulls:
            usable.append(f"{identifier(name)} IS NOT NULL")
            yield f"  # {column.nulls:,} rows without an image in {line(name)} are left out."
    where = [f"WHERE {' AND '.join(usable)}"] if usable else []
    yield from _rows(rows, roles, classes, columns, where)


def _features(roles: Roles) -> Iterator[str]:
    for name, why in roles.left_out:
        yield f"  # no feature: {line(name)}, {why}"
    if roles.texts:
        yield from _wrapped(
            "If its words are informative, name such a column in `features` and in `text: [...]`: "
            f"{listed(roles.texts)}"
        )
    if roles.features is not None:
        yield from _list("  features:", roles.features)
    if roles.free_texts:
        yield from _list("  text:", roles.free_texts)
    if roles.codes:
        yield from _wrapped(
            "Whole numbers with few values; name those that are codes, not amounts, in "
            f"`categorical: [...]`: {listed(roles.codes)}"
        )


def _replaced(roles: Roles) -> tuple[str, str, str] | None:
    """A column that needs other values than its own: its name, these in SQL, and why."""
    label = identifier(roles.label.name)
    if roles.cast:
        why = f"{roles.label.name} is stored as numbers with decimals; a class is a whole one."
        return label, f"CAST({label} AS INT64)", why
    if roles.label.nulls and roles.task == MULTILABEL:
        why = f"{roles.label.nulls:,} rows without a label count as rows of no class."
        return label, f"IFNULL({label}, '')", why
    if roles.event is not None and roles.occurred is not None:
        event = identifier(roles.event.name)
        why = f"The event is {line(roles.event.name)} = {roles.occurred}, and true then."
        return event, f"{event} = {roles.occurred}", why
    return None


def _label(roles: Roles) -> str:
    if roles.event is None:
        return f"  label: {scalar(roles.label.name)}   # what is predicted"
    pair = f"time: {scalar(roles.label.name)}, event: {scalar(roles.event.name)}"
    return f"  label: {{{pair}}}   # horizons: [...] are those that matter to you"


def _rows(
    rows: Rows, roles: Roles, classes: Mapping[str, int], columns: str, usable: list[str]
) -> Iterator[str]:
    """The table, or a query where it lacks a key. columns: what to select. usable: a WHERE."""
    table = identifier(rows.address)
    if roles.key is None:
        content = "TO_HEX(SHA256(TO_JSON_STRING(t)))"
        number = "ROW_NUMBER() OVER (PARTITION BY TO_JSON_STRING(t))"
        if rows.copies > _MANY_COPIES * rows.rows:
            # Few columns of few values: copies are what such rows look like, not a mistake.
            yield "  # No column identifies a row: its content does, with a number among copies."
            yield f"  # {rows.copies:,} of {rows.rows:,} rows equal another one, and stay. If these"
            yield "  # are the same things twice, add as the query's last line"
            yield f"  #   QUALIFY {number} = 1"
            key = f"CONCAT({content}, '-', CAST({number} AS STRING))"
            lines = [f"SELECT {key} AS {KEY}, t.{columns}", f"FROM {table} AS t", *usable]
        else:
            yield "  # No column identifies a row, so its content does; copies count once."
            lines = [
                f"SELECT {content} AS {KEY}, t.{columns}",
                f"FROM {table} AS t",
                *usable,
                f"QUALIFY {number} = 1",
            ]
    else:
        lines = [f"SELECT {columns} FROM {table}", *usable]
    if rows.of_files:
        yield f"  files: {scalar(rows.address)}   # a run loads them into BigQuery, which is free"
        return
    queried = len(lines) > 1 or columns != "*"
    if queried:
        yield "  query: |"
        yield from (f"    {line}" for line in lines)
    else:
        yield f"  bigquery: {scalar(rows.address)}"
    if roles.task == MULTICLASS:
        yield from _few(roles.label.name, classes, lines, queried)


def _few(
    label: str, classes: Mapping[str, int], lines: Sequence[str], queried: bool
) -> Iterator[str]:
    """How to leave out the classes of few rows. lines: of the query that selects the rows. queried:
    whether the file has it, and not the table's name.
    """
    few = sum(count < LEAST for count in classes.values())
    if not few:
        return
    condition = f"COUNT(*) OVER (PARTITION BY {identifier(label)}) >= {LEAST}"
    if queried:
        where = "add as the query's last line"
        told = f"{'AND' if lines[-1].startswith('QUALIFY') else 'QUALIFY'} {condition}"
    else:
        where = "write in place of `bigquery`"
        told = f'query: "{lines[-1]} QUALIFY {condition}"'
    yield from _wrapped(
        f"{few:,} of {len(classes):,} classes have under {LEAST} rows, and a run whose train split "
        f"lacks a class is refused. To leave these out, {where}"
    )
    yield f"  #   {told}"


def _split(rows: Rows, roles: Roles, classes: Mapping[str, int]) -> Iterator[str]:
    if roles.splits:
        name, values = roles.splits
        named = "; ".join(f"{k}: {', '.join(v)}" for k, v in values.items())
        yield from _wrapped(f"{name} says which split a row is in ({named}).")
        parts = ", ".join(f"{k}: [{', '.join(map(scalar, v))}]" for k, v in values.items())
        yield f"  split: {{column: {scalar(name)}, names: {{{parts}}}}}"
        return
    if roles.group and (column := rows.column(roles.group)):
        yield f"  # Rows of one {roles.group} stay in one split: they are no independent evidence."
        by = f"by: {scalar(roles.group)}"
        if column.distinct < SMALL:
            yield from because(f"  split: {{{by}, {SHARES}}}", f"of {column.distinct:,} alone")
        else:
            yield f"  split: {{{by}}}"
    elif roles.event is not None and rows.rows < 10 * SMALL:
        event = scalar(roles.event.name)
        shares = f"  split: {{stratify: {event}, {SHARES}}}"
        yield from because(shares, "so that each has as many events")
    elif classes and rows.rows < SMALL and roles.task != MULTILABEL:
        label = scalar(roles.label.name)
        shares = f"  split: {{stratify: {label}, {SHARES}}}"
        yield from because(shares, "few rows, so every class is divided exactly")
    elif rows.rows < SMALL:
        yield from because(f"  split: {{{SHARES}}}", "few rows")
    if roles.repeating:
        found = listed([f"{c.name} ({c.distinct:,} values)" for c in roles.repeating])
        yield from _wrapped(
            f"Many values that repeat: {found}. If rows of one value belong together, as those "
            "of a patient or a site do, keep them in one split, and the column out of `features`: "
            f"split: {{by: {scalar(roles.repeating[0].name)}}}"
        )
    if roles.moments and not roles.group:
        yield from _wrapped(
            "To learn from the past and be scored on what came later: "
            f"split: {{time: {roles.moments[0]}, validation: DAY, test: DAY}}"
        )


def because(split: str, why: str) -> list[str]:
    """The line of a split, with its reason."""
    return [f"{split}   # {why}"]


def _pictures(pictures: Mapping[str, Images]) -> Iterator[str]:
    if pictures:
        yield "  image_columns:   # addresses of images, which are features beside the others"
    for name, images in pictures.items():
        yield f"    {scalar(name)}:"
        yield f"      size: {images.size}   # pixels of one side; smaller is faster"
        if images.resize == "letterbox":
            yield "      resize: letterbox   # the images have several shapes"
        yield f"      channels: {images.channels}"
        yield from (f"    {line}" for line in values_and_pages(images))
        yield f"      encoding: {'png' if images.size <= 64 or images.bits > 8 else 'jpeg'}"


def values_and_pages(images: Images) -> Iterator[str]:
    """How more than 8 bits become pixels, right for any file, as the values in use are unknown; and
    which page of several is the image, for the author to choose.
    """
    if images.bits > 8:
        yield f"  # Files have {images.bits} bits per channel. Each is scaled by its own"
        yield "  # percentiles; where the values mean something, `scale: {range: [BLACK, WHITE]}`"
        yield "  # keeps them comparable."
        yield "  scale: percentiles"
    if images.pages > 1:
        yield f"  # Files have up to {images.pages} pages or frames. Choose the one that is the"
        yield "  # image, by its number, or the mean of all (mean)."
        yield "  pages: first"


def _list(key: str, names: Sequence[str]) -> Iterator[str]:
    yield key
    indent = "    "
    text = ", ".join(scalar(name) for name in names)
    lines = textwrap.wrap(text, WIDTH, break_on_hyphens=False, break_long_words=False)
    yield f"{indent}[{lines[0]}" + ("]" if len(lines) == 1 else "")
    for number, line in enumerate(lines[1:], 2):
        yield f"{indent} {line}" + ("]" if number == len(lines) else "")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        line(text), WIDTH, initial_indent="  # ", subsequent_indent="  # ", break_on_hyphens=False
    )


def line(text: Any) -> str:
    """The text in one line."""
    return " ".join(str(text).split())


def scalar(value: str) -> str:
    """A text as YAML, quoted where it must be."""
    plain = re.fullmatch(r"[A-Za-z_][\w./-]*|gs://[\w./-]+", value)
    return (
        value if plain and yaml.safe_load(value) == value else json.dumps(value, ensure_ascii=False)
    )
