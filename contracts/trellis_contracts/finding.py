"""One finding of a check of data, as columns.json and changes.json have it."""

from dataclasses import dataclass

from trellis_contracts.files import Part


@dataclass(frozen=True)
class Finding(Part):
    """check: by its name in the schema of the file. feature: None of the whole dataset, or of all
    features together. text: the finding in a sentence.
    """

    check: str
    feature: str | None
    text: str
