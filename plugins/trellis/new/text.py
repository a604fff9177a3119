"""The text of a new experiment file: every choice with its reason beside it."""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import yaml

from trellis.new.described import Images, Rows
from trellis.new.roles import Roles
from trellis.workflow.sql import identifier
from trellis_contracts import catalog
from trellis_contracts.tasks import BINARY, MULTILABEL, natural_order

MODELINE = "# yaml-language-server: $schema=../experiment.schema.json"
KEY = "row_key"
"""The column that identifies rows which no column of their own identifies."""

_SMALL = 2000
"""Examples below which validation and test get larger shares."""

_MANY_COPIES = 0.05
"""Share of rows that equal another one from which they are no mistake."""

_WIDTH = 96


def of_rows(
    rows: Rows,
    roles: Roles,
    classes: Mapping[str, int],
    pictures: Mapping[str, Images],
    owner: str,
    budget: str,
) -> str:
    """An experiment on a table. classes: rows by class, empty for a regression. pictures: what the
    images of each column of addresses are like.
    """
    model = "recurrent   # the ARRAY columns are sequences" if roles.sequences else "dense"
    heavy = _heavy(rows.rows, pictures.values())
    what = f"{roles.label.name} from {_columns(rows, roles)} columns of {rows.address}"
    return "\n".join(
        [
            *_head(f"{what}, {rows.rows:,} rows.", _counts(classes), owner, budget),
            "source:",
            *_source(rows, roles),
            *_pictures(pictures),
            *_split(rows, roles, classes),
            "",
            f"model: {'convolutional   # and the other columns' if pictures else model}",
            f"task: {roles.task}{_guessed(roles)}",
            *_positive(roles.task, classes),
            *_batch(rows.rows),
            "",
            *_training(
                _METRICS[roles.task],
                rows.rows,
                _IMAGE_SEARCH if pictures else _ROW_SEARCH,
                *_machine(heavy),
            ),
            "",
            *_row_baselines(roles),
            "",
            *_deploy(roles.task),
            "",
        ]
    )


def of_images(images: Images, task: str, source: str, owner: str, budget: str) -> str:
    """An experiment on images. source: the manifest as the file names it."""
    regression = task == "regression"
    what = "with a number each" if regression else f"in {len(images.classes)} classes"
    if task == MULTILABEL:
        what = f"with any number of {len(images.classes)} classes each"
    split = ["  split: {by: group}   # the third field of every line"] if images.grouped else []
    if not split and not images.frozen and images.count < _SMALL:
        rule = "" if regression or task == MULTILABEL else "stratify: label, "
        split = _shares(f"  split: {{{rule}train: 60, validation: 20, test: 20}}", "few images")
    heavy = _heavy(images.count, [images])
    return "\n".join(
        [
            *_head(
                f"{images.count:,} images {what}.",
                "" if regression else _counts(images.classes),
                owner,
                budget,
            ),
            "source:",
            f"  images: {_scalar(source)}",
            f"  size: {images.size}   # pixels of one side; smaller is faster",
            *(
                ["  resize: letterbox   # the images have several shapes: proportions are kept"]
                if images.resize == "letterbox"
                else []
            ),
            f"  channels: {images.channels}",
            *_scale(images.bits),
            f"  encoding: {'png' if images.size <= 64 or images.bits > 8 else 'jpeg'}",
            f"  shards: {_shards(images.count)}",
            *split,
            "",
            "model: convolutional",
            f"task: {task}"
            + (f"   # {len(images.classes):,} numbers are labels" if regression else ""),
            *_positive(task, images.classes),
            *_batch(images.count),
            "",
            *_training(
                _METRICS[task],
                images.count,
                _IMAGE_SEARCH,
                *_machine(heavy),
            ),
            "",
            *_deploy(task),
            "",
        ]
    )


def _heavy(examples: int, of_each: Iterable[Images]) -> bool:
    """Return whether a GPU pays for itself."""
    return examples * sum(images.size**2 for images in of_each) > 20_000 * 96**2


def _machine(heavy: bool) -> tuple[str, str | None]:
    return ("n1-standard-8", "NVIDIA_TESLA_T4") if heavy else ("n1-standard-4", None)


def _pictures(pictures: Mapping[str, Images]) -> Iterator[str]:
    if pictures:
        yield "  image_columns:   # addresses of images, which are features beside the others"
    for name, images in pictures.items():
        yield f"    {_scalar(name)}:"
        yield f"      size: {images.size}   # pixels of one side; smaller is faster"
        if images.resize == "letterbox":
            yield "      resize: letterbox   # the images have several shapes"
        yield f"      channels: {images.channels}"
        yield from (f"    {line}" for line in _scale(images.bits))
        yield f"      encoding: {'png' if images.size <= 64 or images.bits > 8 else 'jpeg'}"


def _scale(bits: int) -> list[str]:
    """How more than 8 bits become pixels: right for any file, as the values in use are unknown."""
    if bits <= 8:
        return []
    return [
        f"  # Files have {bits} bits per channel. Each is scaled by its own percentiles; where the",
        "  # values mean something, `scale: {range: [BLACK, WHITE]}` keeps them comparable.",
        "  scale: percentiles",
    ]


_METRICS = {
    "binary_classification": "maximize: auc",
    "multiclass_classification": "maximize: accuracy",
    MULTILABEL: "maximize: auc",
    "regression": "minimize: rmse",
}
_ROW_SEARCH = (
    "    learning_rate: {from: 3e-4, to: 3e-2, scale: log}",
    "    units:         {choose: [16, 64, 256]}",
    "    dropout:       {from: 0.0, to: 0.4}",
)
_IMAGE_SEARCH = (
    "    learning_rate: {from: 3e-4, to: 1e-2, scale: log}",
    "    filters:       {choose: [16, 32, 64]}",
    "    dropout:       {from: 0.0, to: 0.4}",
)


def _head(what: str, counts: str, owner: str, budget: str) -> Iterator[str]:
    yield MODELINE
    yield from textwrap.wrap(
        f"{what} {counts}".strip(),
        _WIDTH,
        initial_indent="# ",
        subsequent_indent="# ",
        break_on_hyphens=False,
    )
    yield "# Written by `trellis new experiment`: read every choice once. An editor shows what a"
    yield "# key means; `trellis reference` prints them all; `trellis check FILE` checks the file."
    yield f"owner: {_scalar(owner)}"
    yield 'schedule: manual   # or UTC cron, as in "0 6 * * 1", or @daily'
    yield f"budget: {budget}   # a run that may cost more is refused before anything is spent"
    yield ""


def _source(rows: Rows, roles: Roles) -> Iterator[str]:
    columns, usable = "*", []
    label = identifier(roles.label.name)
    if roles.cast:
        columns = f"* REPLACE (CAST({label} AS INT64) AS {label})"
        yield f"  # {roles.label.name} is stored as numbers with decimals; a class is a whole one."
    if roles.label.nulls and roles.task == MULTILABEL:
        columns = f"* REPLACE (IFNULL({label}, '') AS {label})"
        yield f"  # {roles.label.nulls:,} rows without a label count as rows of no class."
    elif roles.label.nulls:
        usable = [f"WHERE {label} IS NOT NULL"]
        yield f"  # {roles.label.nulls:,} rows without a label are left out."
    yield from _rows(rows, roles, columns, usable)
    if rows.partition:
        yield f"  partition: {_scalar(rows.partition)}   # a run takes its interval's rows"
    yield f"  key: {_scalar(roles.key or KEY)}   # identifies a row"
    yield f"  label: {_scalar(roles.label.name)}   # what is predicted"
    for name, why in roles.left_out:
        yield f"  # no feature: {_line(name)}, {why}"
    if roles.texts:
        yield from _wrapped(
            "If its words are informative, name such a column in `features` and in `text: [...]`: "
            f"{', '.join(roles.texts)}"
        )
    if roles.features is not None:
        yield from _list("  features:", roles.features)
    if roles.codes:
        yield from _wrapped(
            "Whole numbers with few values; name those that are codes, not amounts, in "
            f"`categorical: [...]`: {', '.join(roles.codes)}"
        )
    yield f"  shards: {_shards(rows.rows)}"


def _rows(rows: Rows, roles: Roles, columns: str, usable: list[str]) -> Iterator[str]:
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
    if len(lines) > 1 or columns != "*":
        yield "  query: |"
        yield from (f"    {line}" for line in lines)
    else:
        yield f"  bigquery: {_scalar(rows.address)}"


def _split(rows: Rows, roles: Roles, classes: Mapping[str, int]) -> Iterator[str]:
    if roles.splits:
        name, values = roles.splits
        named = "; ".join(f"{k}: {', '.join(v)}" for k, v in values.items())
        yield from _wrapped(f"{name} says which split a row is in ({named}).")
        parts = ", ".join(f"{k}: [{', '.join(map(_scalar, v))}]" for k, v in values.items())
        yield f"  split: {{column: {_scalar(name)}, names: {{{parts}}}}}"
        return
    if roles.group:
        yield f"  # Rows of one {roles.group} stay in one split: they are no independent evidence."
        yield f"  split: {{by: {_scalar(roles.group)}}}"
    elif classes and rows.rows < _SMALL and roles.task != MULTILABEL:
        label = _scalar(roles.label.name)
        shares = f"  split: {{stratify: {label}, train: 60, validation: 20, test: 20}}"
        yield from _shares(shares, "few rows, so every class is divided exactly")
    elif rows.rows < _SMALL:
        yield from _shares("  split: {train: 60, validation: 20, test: 20}", "few rows")
    if roles.moments and not roles.group:
        yield from _wrapped(
            "To learn from the past and be scored on what came later: "
            f"split: {{time: {roles.moments[0]}, validation: DAY, test: DAY}}"
        )


def _shares(split: str, why: str) -> list[str]:
    return [f"{split}   # {why}"]


def _training(
    metric: str, examples: int, search: Sequence[str], machine: str, gpu: str | None = None
) -> Iterator[str]:
    trial, full = next(each for most, *each in _EPOCHS if examples < most)
    large = examples >= 100_000 or gpu
    machines = f"{{type: {machine}{f', gpu: {gpu}' if gpu else ''}, spot: true}}"
    yield "tune:"
    yield f"  {metric}"
    yield "  trials: 6"
    yield "  parallel: 2"
    yield f"  epochs: {trial}"
    yield "  search:"
    yield from search
    yield f"  machines: {machines}"
    yield f"  timeout: {'1 hour' if large else '30 minutes'}"
    yield ""
    yield "train:"
    yield "  top: 2                # the best trials, trained in full"
    yield f"  epochs: {full:<13} # at most; early stopping ends a training before"
    yield f"  machines: {machines}"
    yield f"  timeout: {'4 hours' if large else '1 hour'}"


# Examples below which: epochs of a trial, and of a training.
_EPOCHS: tuple[tuple[float, int, int], ...] = (
    (5_000, 15, 60),
    (100_000, 6, 30),
    (float("inf"), 2, 10),
)


def _positive(task: str, classes: Mapping[str, int]) -> list[str]:
    """The positive class of two: the one that the export would take, for the author to see."""
    if task != BINARY or len(classes) != 2:
        return []
    names = sorted(classes, key=natural_order)
    return [
        f"positive: {_scalar(names[1])}   # not {_line(names[0])}: its metrics, curves and "
        "thresholds lead"
    ]


def _batch(examples: int) -> list[str]:
    """A smaller batch than the default, if the train split would not fill four of those."""
    train = examples * 6 // 10  # as `_split` divides few rows
    default = int(catalog.load().hyperparameters["batch_size"].schema["default"])
    fitting = 1 << max(0, (train // 4).bit_length() - 1)
    if fitting >= default:
        return []
    return [f"hyperparameters: {{batch_size: {fitting}}}   # few examples: several steps an epoch"]


def _row_baselines(roles: Roles) -> list[str]:
    if roles.sequences:
        return ["# No baselines: BigQuery ML and AutoML read no sequences."]
    if roles.task == MULTILABEL:
        return ["# No baselines: BigQuery ML and AutoML learn one class of each row."]
    types = (
        "[logistic_reg, boosted_tree_classifier]"
        if roles.classification
        else "[linear_reg, boosted_tree_regressor]"
    )
    return ["baselines:", f"  bqml: {types}   # is the network worth it?"]


def _deploy(task: str) -> Iterator[str]:
    bound = {
        "binary_classification": "auc: 0.8",
        "multiclass_classification": "accuracy: 0.8",
        MULTILABEL: "auc: 0.8",
        "regression": "rmse: 1.0",
    }[task]
    yield "# To serve the selected training, remove the # below and choose its conditions."
    yield "# A deployed model costs money every day; `trellis check` says how much."
    yield "# deploy:"
    yield f"#   gate: {{require: {{{bound}}}}}"
    yield "#   machines: {type: n1-standard-2}"


def _columns(rows: Rows, roles: Roles) -> int:
    if roles.features is not None:
        return len(roles.features)
    column = roles.splits[0] if roles.splits else None
    roles_ = (roles.label.name, roles.key, roles.group, rows.partition, column)
    return sum(column.name not in roles_ for column in rows.columns)


def _counts(classes: Mapping[str, int]) -> str:
    if not classes:
        return ""
    shown = list(classes.items())[:10]
    more = f", and {len(classes) - 10} more" if len(classes) > 10 else ""
    return f"Classes: {', '.join(f'{_line(n)} {count:,}' for n, count in shown)}{more}."


def _guessed(roles: Roles) -> str:
    return f"   # the label has {roles.label.distinct:,} values and is {roles.label.type}"


def _shards(examples: int) -> int:
    return max(1, min(64, examples // 5_000 or 2))


def _list(key: str, names: Sequence[str]) -> Iterator[str]:
    yield key
    indent = "    "
    text = ", ".join(_scalar(name) for name in names)
    lines = textwrap.wrap(text, _WIDTH, break_on_hyphens=False, break_long_words=False)
    yield f"{indent}[{lines[0]}" + ("]" if len(lines) == 1 else "")
    for number, line in enumerate(lines[1:], 2):
        yield f"{indent} {line}" + ("]" if number == len(lines) else "")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        _line(text), _WIDTH, initial_indent="  # ", subsequent_indent="  # ", break_on_hyphens=False
    )


def _line(text: Any) -> str:
    return " ".join(str(text).split())


def _scalar(value: str) -> str:
    """A text as YAML, quoted where it must be."""
    plain = re.fullmatch(r"[A-Za-z_][\w./-]*|gs://[\w./-]+", value)
    return (
        value if plain and yaml.safe_load(value) == value else json.dumps(value, ensure_ascii=False)
    )
