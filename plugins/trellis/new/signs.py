"""Recognizes columns by their names and values: an identifier, a split, a person, time to an
event.
"""

import re
from collections.abc import Sequence

from trellis.new.described import Column, Rows
from trellis.workflow.stages.data_checks import FEW_VALUES

KEY_TYPES = ("STRING", "INT64")

_LABEL = re.compile(
    r"(label|target|class|y|outcome|response|diagnosis|species|category|survived|malignant|churn)s?"
    r"|.*_(label|target|class|outcome)"
)
_KEY = re.compile(r"(.*_)?(id|uid|uuid|key|nr|number|index|name|code|accession)")
_WHO = (
    "patient|subject|participant|person|proband|donor|animal|mouse|user|customer|client|family"
    "|household|case"
)
_PERSON = re.compile(
    rf"({_WHO})(_?(id|nr|no|num|number|name|code|key))?|mrn|pat_?id|pt_?id|u?subj_?id|pid|eid"
)
_GROUP = re.compile(
    r"(.*_)?id(_?(nr|no|num|number))?"
    r"|(device|sensor|station|site|slide|plate|batch|group)(_?(id|nr|number|name|code))?"
)
_PRIVATE = re.compile(
    r"(.*_)?(first|last|given|sur|maiden)_?name|(full|patient)_?name|(.*_)?e_?mail(_address)?"
    r"|(.*_)?(phone|telephone|mobile|fax)(_?(nr|no|number))?|(.*_)?(street|address)"
    r"|ssn|social_security.*|nhs_number|mrn|passport.*|iban"
)
_INDEX = re.compile(
    r"unnamed_\d+|index|row|row_?names?|row_?(id|nr|no|num|number|index)|level_0|index_level_\d+"
)
_FOLD = re.compile(r"(.*_)?(k?fold|cv)(_?(id|nr|no|number))?|(is_|in_)?(train|test|holdout)(ing)?")
_TIME = re.compile(
    r"(.*_)?(time|duration|tte|futime|survival|survtime|followup|follow_up|os|pfs|dfs|rfs|efs)"
    r"(_?(time|days?|weeks?|months?|years?))?|(days|weeks|months|years)_(to|until)_.*|time_to_.*"
)
_EVENT = re.compile(
    r"(.*_)?(event|censor(ed|ing)?|death|dead|died|deceased|fustat|relapsed?|recurrence"
    r"|progression)(_?(event|status|indicator|flag|observed|occurred|censored))?"
)
_STATUS = re.compile(r"((vital|survival|follow_?up|os|pfs|dfs|rfs|efs|dss)_?)?status")
_EVENTS = {"dead", "deceased", "died", "event", "progressed", "progression"}
_EVENTS |= {"recurred", "recurrence", "relapsed", "relapse"}
_FATES = _EVENTS | {"alive", "living", "censored", "lost"}

_SPLITS = {
    "train": ("train", "training", "trn", "tr"),
    "validation": ("val", "valid", "validation", "validate", "dev", "tune"),
    "test": ("test", "testing", "tst", "holdout", "eval", "evaluation"),
}


def words(column: Column) -> str:
    """The column's name in lower case, its words joined by _: `PatientID` is patient_id."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", column.name)
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def split_of(name: str) -> str | None:
    """train, validation or test: the split that people call so; None for another name."""
    plain = re.sub(r"[^a-z]", "", name.lower().removesuffix("_set").removesuffix("set"))
    return next((split for split, names in _SPLITS.items() if plain in names), None)


def splits(column: Column) -> dict[str, list[str]] | None:
    """Map each split to the column's value for it; None if it has another value, or one split
    alone.
    """
    found: dict[str, list[str]] = {}
    for value in column.values:
        split = split_of(value)
        if split is None:
            return None
        found.setdefault(split, []).append(value)
    return found if len(found) > 1 and column.type == "STRING" else None


def is_label(column: Column) -> bool:
    """Return whether the column's name is that of a label."""
    return bool(_LABEL.fullmatch(words(column)))


def is_person(column: Column) -> bool:
    """Return whether the column's values name persons (animals, households), by its name."""
    return column.type in KEY_TYPES and bool(_PERSON.fullmatch(words(column)))


def is_private(column: Column) -> bool:
    """Return whether the column's values may identify a person."""
    return bool(_PRIVATE.fullmatch(words(column)))


def is_group(column: Column) -> bool:
    """Return whether rows of one value may belong together, by the column's name."""
    named = _GROUP.fullmatch(words(column))
    return column.type in KEY_TYPES and bool(named) and not is_person(column)


def may_group(column: Column, rows: Rows) -> bool:
    """Return whether rows of one value may belong together, by the values: many, which repeat, as
    those of a patient's number do in any language, and those of a town or a code, too.
    """
    names = column.type == "STRING" or (column.type == "INT64" and has_name_of_key(column))
    many = FEW_VALUES < column.distinct <= (rows.rows - column.nulls) / 2
    return names and many and not column.addresses


def is_key(column: Column, rows: Rows) -> bool:
    """Return whether the column identifies rows. Whole numbers may all differ by chance: their name
    decides.
    """
    unique = column.distinct == rows.rows and not column.nulls and column.type in KEY_TYPES
    return unique and (column.type == "STRING" or has_name_of_key(column))


def has_name_of_key(column: Column) -> bool:
    """Return whether the column has a name that identifiers have."""
    return bool(_KEY.fullmatch(words(column)) or _PERSON.fullmatch(words(column)))


def is_row_number(column: Column, rows: Rows) -> bool:
    """Return whether the column numbers the rows, or is an index that a program wrote."""
    if column.counting and not column.nulls:
        return True
    unnamed = column.own_name is not None and not column.own_name.strip()
    index = unnamed or bool(_INDEX.fullmatch(words(column)))
    return index and column.type in ("INT64", "FLOAT64") and column.distinct > 0.9 * rows.rows


def is_fold(column: Column) -> bool:
    """Return whether the column's name says which part of the data a row belongs to."""
    few = 1 < column.distinct <= 20 and column.type != "FLOAT64"
    return few and bool(_FOLD.fullmatch(words(column)))


def time_and_event(columns: Sequence[Column]) -> tuple[Column, Column] | None:
    """A time and whether it ended with an event or was censored; None if there is no such pair."""
    numbers = ("INT64", "FLOAT64", "NUMERIC")
    times = [
        c for c in columns if c.type in numbers and c.distinct > 2 and _TIME.fullmatch(words(c))
    ]
    events = [c for c in columns if c not in times and is_event(c)]
    return (times[0], events[0]) if times and events else None


def is_event(column: Column) -> bool:
    """Return whether the column says whether an event happened, by its name or its values."""
    told = set().union(*map(_texts, column.values))
    # A loan has a status, too.
    status = _STATUS.fullmatch(words(column)) and (not told or told & _FATES)
    named = bool(status or _EVENT.fullmatch(words(column)))
    return 2 <= column.distinct <= 3 and (named or (bool(told) and told <= _FATES))


def event_of(column: Column) -> str | None:
    """Which of two values is the event, as SQL writes it; None if it is not clear. Of 1 and 2 it is
    2, as R's `survival::Surv` takes them.
    """
    if column.distinct != 2 or "censor" in words(column):
        return None
    if column.type == "INT64":
        return "2" if column.values == ("1", "2") else None
    named = [value for value in column.values if _texts(value) & (_EVENTS | {"yes", "y", "true"})]
    if column.type != "STRING" or len(named) != 1:
        return None
    return "'" + named[0].replace("\\", "\\\\").replace("'", "\\'") + "'"


def _texts(value: str) -> set[str]:
    """The words of a value in lower case: dead, of `1:DEAD`."""
    return set(re.findall(r"[^\W\d_]+", value.lower()))
