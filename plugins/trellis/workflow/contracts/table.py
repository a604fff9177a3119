"""The columns of a table or query: which are features, their kinds and names.

Pure functions from the source's schema in BigQuery to the dataset's columns. The error for an
unusable source lists everything that is wrong with it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from trellis.workflow import labels
from trellis.workflow.contracts import column_names, frozen_columns
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.labels.number import INFINITE
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import did_you_mean
from trellis.workflow.spec.split import ColumnSplit, GroupSplit, StratifiedSplit, TimeSplit
from trellis.workflow.sql import identifier
from trellis_contracts.columns import SPLIT_BY, WEIGHT, ImageForm, TableFeature
from trellis_contracts.dataset_features import IMAGE, IMAGE_ADDRESS
from trellis_contracts.files import Part, optional
from trellis_contracts.tasks import CLASS_TYPES, NUMBER_TYPES, NUMBERS, TASKS

MOST_FEATURES = 1000
"""AutoML's limit of columns, and more than a person selects by name:
https://cloud.google.com/vertex-ai/docs/quotas#tabular"""

# Names of snapshot.sql's own columns while it divides each value of a column.
_OF_STRATIFYING = ("stratum_place", "stratum_size", "stratum_test", "stratum_validation")

RESERVED = (
    "key",
    "split",
    "label",
    "ml_use",
    "is_validation",
    # Columns that BigQuery ML's predictions and Vertex AI's batch predictions add.
    "predicted_label",
    "predicted_label_probs",
    "prediction",
    "errors",
    "errors_label",
    *_OF_STRATIFYING,
)
"""Columns other than the features, of the dataset and of all that is made from it: a feature of one
of these names has another one within Trellis."""

KINDS = {
    "INT64": "numeric",
    "FLOAT64": "numeric",
    "NUMERIC": "numeric",
    "BIGNUMERIC": "numeric",
    "BOOL": "boolean",
    "STRING": "categorical",
    "DATE": "timestamp",
    "DATETIME": "timestamp",
    "TIMESTAMP": "timestamp",
    "ARRAY<INT64>": "sequence",
    "ARRAY<FLOAT64>": "sequence",
}
_KEY_TYPES = ("STRING", "INT64")
PARTITION_TYPES = ("DATE", "DATETIME", "TIMESTAMP")

# Types of a column that decides the split, by the rule.
_DECIDING: dict[type, tuple[Sequence[str], str]] = {
    GroupSplit: (_KEY_TYPES, "a group is text or a whole number"),
    TimeSplit: (PARTITION_TYPES, "a day or a moment"),
    ColumnSplit: (CLASS_TYPES, "a split's name is text, a whole number or a BOOL"),
    StratifiedSplit: (CLASS_TYPES, "what is divided is text, a whole number or a BOOL"),
}

# The REST API's type names that differ from GoogleSQL's.
_SQL_TYPES = {"FLOAT": "FLOAT64", "INTEGER": "INT64", "BOOLEAN": "BOOL", "RECORD": "STRUCT"}


@dataclass(frozen=True)
class Column(Part):
    """A column of the source, its type as GoogleSQL writes it."""

    name: str
    type: str


@dataclass(frozen=True)
class Feature(TableFeature):
    """A feature with its SQL."""

    def expression(self, source: str) -> str:
        """SQL of the dataset's column; `source`: the quoted source column."""
        if self.kind == "sequence":
            return source
        if self.kind == "timestamp":
            return f"TIMESTAMP({source})"
        return f"CAST({source} AS {self.type})"

    @property
    def missing(self) -> str:
        """SQL: the value is missing. BigQuery stores a NULL array as an empty one."""
        column = identifier(self.column)
        if self.kind == IMAGE:
            return f"IFNULL({column}, '') = ''"
        if self.kind == "sequence":
            return f"IFNULL(ARRAY_LENGTH({column}), 0) = 0"
        return f"{column} IS NULL OR IS_NAN({column})" if self.floats else f"{column} IS NULL"

    @property
    def not_a_number(self) -> str:
        """SQL: the value is NaN, or a NaN is among its elements."""
        return self._any("IS_NAN({})")

    @property
    def infinite(self) -> str:
        """SQL: the value is infinite as float32, in which records hold it, or an element is."""
        return self._any(INFINITE)

    @property
    def empty(self) -> str:
        """SQL: there is nothing in the value to learn from; of a sequence, no number."""
        if self.type != "ARRAY<FLOAT64>":
            return self.missing
        elements = f"UNNEST({identifier(self.column)})"
        return f"NOT EXISTS(SELECT 1 FROM {elements} AS element WHERE NOT IS_NAN(element))"

    @property
    def no_address(self) -> str:
        """SQL: the value, of an image feature, is missing or no address of an object."""
        return f"NOT REGEXP_CONTAINS(IFNULL({identifier(self.column)}, ''), r'^{IMAGE_ADDRESS}$')"

    @property
    def length(self) -> str:
        """SQL: elements of a sequence; NULL of all else."""
        if self.kind != "sequence":
            return "CAST(NULL AS INT64)"
        return f"IFNULL(ARRAY_LENGTH({identifier(self.column)}), 0)"

    @property
    def clean(self) -> str:
        """SQL: the value as a baseline gets it, with NULL instead of NaN."""
        column = identifier(self.column)
        return f"IF(IS_NAN({column}), NULL, {column})" if self.floats else column

    @property
    def floats(self) -> bool:
        return self.type == "FLOAT64"

    def _any(self, condition: str) -> str:
        column = identifier(self.column)
        if self.type == "ARRAY<FLOAT64>":
            of_element = condition.format("element")
            return f"EXISTS(SELECT 1 FROM UNNEST({column}) AS element WHERE {of_element})"
        return condition.format(column) if self.floats else "FALSE"


@dataclass(frozen=True)
class Kept(Part):
    """A column that is no feature: `name` in the source, `column` in the snapshot."""

    name: str
    column: str


@dataclass(frozen=True)
class Table(Part):
    """The columns of a table dataset. split_by: None where the key decides an example's split.
    weight: None where all rows count the same. kept: further columns, for `run.rows()`. rejected:
    the column with the reason why a manifest's line is no example; None of other sources.
    regression: whether the label is a number. beside: its further columns.
    """

    key: Column
    label: Column
    partition: Column | None
    features: Sequence[Feature]
    regression: bool
    split_by: Column | None = None
    weight: Column | None = None
    kept: Sequence[Kept] = ()
    rejected: Column | None = None
    beside: Sequence[Kept] = optional(())

    @property
    def label_type(self) -> str:
        return "FLOAT64" if self.regression else "STRING"

    @property
    def images(self) -> list[Feature]:
        """The features that are images."""
        return [feature for feature in self.features if feature.kind == IMAGE]

    @property
    def label_image(self) -> Feature:
        """The label as a column of addresses."""
        return Feature(self.label.name, "label", "STRING", IMAGE)

    def of_baselines(self) -> list[Feature]:
        """Features for BigQuery ML and AutoML.

        All but sequences and images, which they do not support, and free text: BigQuery ML takes
        each text as a category of its own.
        """
        left_out = ("sequence", "text", IMAGE)
        return [feature for feature in self.features if feature.kind not in left_out]

    def left_out(self) -> list[str]:
        """Names of the features that baselines do not use."""
        used = self.of_baselines()
        return [feature.name for feature in self.features if feature not in used]


def columns(fields: Iterable[Any]) -> list[Column]:
    """The columns of a BigQuery schema: google.cloud.bigquery.SchemaFields."""
    found = []
    for field in fields:
        plain = field.field_type.upper()
        plain = _SQL_TYPES.get(plain, plain)
        found.append(Column(field.name, f"ARRAY<{plain}>" if field.mode == "REPEATED" else plain))
    return found


def resolve(experiment: Experiment, source: str, known: Sequence[Column]) -> Table:
    """The dataset's columns, from an experiment and its source's columns.

    `source`: its name for messages. Raises SourceError with everything that does not fit.
    """
    wanted = experiment.source
    by_name = {column.name.lower(): column for column in known}
    problems: list[str] = []

    def find(role: str, name: str | None, types: Sequence[str], why: str) -> Column:
        column = by_name.get((name or "").lower())
        if column is None:
            hint = did_you_mean(name or "", _names(known))
            problems.append(f"{role}: there is no column '{name}'; {hint}")
            return Column(name or "", types[0])
        if column.type not in types:
            expected = ", ".join(types)
            problems.append(f"{role}: '{name}' is {column.type}, {why} ({expected})")
        return column

    regression = experiment.task in NUMBERS
    key = find("source.key", wanted.key_, _KEY_TYPES, "a key is text or a whole number")
    form, task = labels.of(experiment.task), TASKS[experiment.task]
    label = find(form.key, wanted.label_column, task.types, task.why)
    more = {one.column: find(one.key, one.name, one.types, one.why) for one in form.beside(wanted)}
    partition = None
    if wanted.partition is not None:
        why = "a run's interval selects days or moments"
        partition = find("source.partition", wanted.partition, PARTITION_TYPES, why)
    split_by = None
    if wanted.split.decided_by is not None:
        types, why = _DECIDING[type(wanted.split)]
        role = f"source.split.{wanted.split.opening[0]}"
        split_by = find(role, wanted.split.decided_by, types, why)
    weight = None
    if wanted.weight is not None:
        weight = find("source.weight", wanted.weight, NUMBER_TYPES, "a weight is a number")
    roles = (key, label, *more.values(), partition, weight, split_by)
    own = _own(split_by, weight, more)
    features = _features(experiment, known, by_name, roles, own, problems)
    texts = {feature.name.lower(): feature.kind == "categorical" for feature in features}
    texts[label.name.lower()] = not regression
    kept = frozen_columns.find(experiment, find, texts)
    if problems:
        raise SourceError("\n  ".join([f"{source} does not fit this experiment:", *problems]))
    taken = (*own, *(feature.column.lower() for feature in features))
    aliases = column_names.unique([column.name for column in kept], taken)
    frozen = tuple(Kept(column.name, alias) for column, alias in zip(kept, aliases, strict=True))
    rejected = by_name[wanted.rejected] if wanted.rejected else None
    beside = tuple(Kept(column.name, name) for name, column in more.items())
    decided = (split_by, weight, frozen, rejected, beside)
    return Table(key, label, partition, tuple(features), regression, *decided)


def _own(split_by: Column | None, weight: Column | None, beside: Iterable[str]) -> Sequence[str]:
    """The dataset's own columns."""
    own = {SPLIT_BY: split_by, WEIGHT: weight}
    return (*RESERVED, *(name for name, column in own.items() if column), *beside)


def _features(
    experiment: Experiment,
    known: Sequence[Column],
    by_name: dict[str, Column],
    others: tuple[Column | None, ...],
    own: Sequence[str],
    problems: list[str],
) -> list[Feature]:
    wanted = experiment.source
    if wanted.features is None:
        stays = isinstance(wanted.split, StratifiedSplit)
        roles = others[:-1] if stays else others
        taken = {column.name.lower() for column in roles if column is not None}
        taken |= {name.lower() for name in wanted.keep}
        chosen = [column for column in known if column.name.lower() not in taken]
    else:
        chosen = []
        for name in wanted.features:
            if name.lower() in by_name:
                chosen.append(by_name[name.lower()])
            else:
                hint = did_you_mean(name, _names(known))
                problems.append(f"source.features: there is no column '{name}'; {hint}")
    if not chosen and not problems:
        problems.append("there is no column left to be a feature")
    if len(chosen) > MOST_FEATURES:
        problems.append(
            f"source.features: {len(chosen):,} columns would be features, at most "
            f"{MOST_FEATURES:,} can be; name those that matter"
        )
        return []
    kinds = {}
    for kind, named, types in (
        ("categorical", wanted.categorical, ("INT64", "STRING")),
        ("text", wanted.text, ("STRING",)),
        (IMAGE, list(wanted.image_columns), ("STRING",)),
    ):
        where = "source.image_columns" if kind == IMAGE else f"source.{kind}"
        for name in named:
            kinds[name.lower()] = kind
            column = by_name.get(name.lower())
            if column is None:
                hint = did_you_mean(name, _names(known))
                problems.append(f"{where}: there is no column '{name}'; {hint}")
            elif column.type not in types:
                problems.append(
                    f"{where}: '{name}' is {column.type}; {kind} is {' or '.join(types)}"
                )
    unknown = [column for column in chosen if column.type not in KINDS]
    for column in unknown:
        way_out = (
            "leave it out of source.features"
            if wanted.features
            else "name the others in source.features"
        )
        problems.append(
            f"source.features: '{column.name}' is {column.type}, which is none of "
            f"{', '.join(KINDS)}; {way_out}, or CAST it in a query"
        )
    aliases = column_names.unique([column.name for column in chosen], own)
    forms = {name.lower(): form.form for name, form in wanted.image_columns.items()}
    return [
        _feature(column, alias, kinds.get(column.name.lower()), forms.get(column.name.lower()))
        for column, alias in zip(chosen, aliases, strict=True)
        if column.type in KINDS
    ]


def _feature(column: Column, alias: str, chosen: str | None, form: ImageForm | None) -> Feature:
    kind = chosen or KINDS[column.type]
    stored = {"categorical": "STRING", "timestamp": "TIMESTAMP"}.get(kind, column.type)
    if stored in ("NUMERIC", "BIGNUMERIC"):
        stored = "FLOAT64"  # every contender computes with floats
    return Feature(column.name, alias, stored, kind, form)


def _names(known: Sequence[Column]) -> list[str]:
    return [column.name for column in known]
