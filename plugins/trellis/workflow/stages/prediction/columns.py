"""Checks a table's columns against the features that the champion learned from. Pure."""

from collections.abc import Sequence

from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.contracts.table import KINDS, PARTITION_TYPES, Column, Feature, Table
from trellis.workflow.spec.problems import did_you_mean
from trellis_contracts.dataset_features import IMAGE

PREDICTION = "prediction"
"""The column that a batch prediction adds to its source's columns."""

# Types that a dataset's column accepts without loss beside its own.
_WIDER = {
    "FLOAT64": ("INT64", "FLOAT64", "NUMERIC", "BIGNUMERIC"),
    "STRING": ("STRING", "INT64"),
    "TIMESTAMP": ("DATE", "DATETIME", "TIMESTAMP"),
    "ARRAY<FLOAT64>": ("ARRAY<INT64>", "ARRAY<FLOAT64>"),
}


def fit(
    source: str, model: str, learned: Table, known: Sequence[Column], partition: str | None
) -> tuple[Column | None, list[str]]:
    """The partition column, and the names of the columns that are left out.

    source, model: their names for messages. learned: the table that the model learned from. known:
    the columns to predict from. Raises SourceError with everything that does not fit.
    """
    by_name = {column.name.lower(): column for column in known}
    names = [column.name for column in known]
    problems = []
    if learned.key.name.lower() not in by_name:
        problems.append(f"there is no key column '{learned.key.name}'; {_near(learned.key, names)}")
    for feature in learned.features:
        column = by_name.get(feature.name.lower())
        if column is None:
            problems.append(f"there is no column '{feature.name}'; {_near(feature, names)}")
        elif feature.column == PREDICTION:
            problems.append(
                f"the feature '{feature.name}' has the name of the column that Vertex AI adds for "
                "predictions: rename it in a view, and use that for training, too"
            )
        elif column.type not in _takes(feature):
            problems.append(
                f"'{column.name}' is {column.type}; the model learned from {feature.type}, which "
                f"takes {', '.join(_takes(feature))}"
            )
    by = by_name.get(partition.lower()) if partition is not None else None
    if partition is not None and by is None:
        hint = did_you_mean(partition, names)
        problems.append(f"there is no column '{partition}' (predict.partition); {hint}")
    elif by is not None and by.type not in PARTITION_TYPES:
        problems.append(
            f"predict.partition: '{by.name}' is {by.type}, a run's interval selects days or "
            f"moments ({', '.join(PARTITION_TYPES)})"
        )
    if problems:
        raise SourceError("\n  ".join([f"{source} does not fit {model}:", *problems]))
    used = {feature.name.lower() for feature in learned.features} | {learned.key.name.lower()}
    return by, [name for name in names if name.lower() not in used]


def _takes(feature: Feature) -> Sequence[str]:
    if feature.kind == IMAGE:  # an address
        return [feature.type]
    types = _WIDER.get(feature.type, (feature.type,))
    return [type_ for type_ in types if type_ in KINDS]


def _near(wanted: Column | Feature, names: Sequence[str]) -> str:
    return did_you_mean(wanted.name, names)
