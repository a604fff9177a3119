"""What the lines of a manifest of images look like: for runs and for `trellis new`, whose commands
begin without Google's libraries.
"""

from collections.abc import Iterable, Sequence

ML_USES = {
    "": "",
    "train": "train",
    "training": "train",
    "validation": "validation",
    "test": "test",
    "unassigned": "",
}
"""Words for a line's split, in any case, and the split; "": none. TRAIN and UNASSIGNED are AutoML
Vision's (https://cloud.google.com/vision/automl/docs/prepare), which public manifests have."""

# Not all that BigQuery takes for a number: an underscore or `nan` is no value to learn.
NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
LARGEST = 3.4028234663852886e38
"""The largest number that float32 holds."""

LEAST_GROUPS = 6
"""Groups that three splits take."""

FORMAT = "Expected lines of [ML_USE,]gs://BUCKET/OBJECT,label without a header"


def separator(lines: Iterable[Sequence[str]]) -> str | None:
    """The mark that separates the fields of all lines in place of commas; None if there is none.

    lines: split at commas.
    """
    found = list(lines)
    alone = all(len(fields) == 1 for fields in found)
    for mark, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")):
        if found and alone and all(mark in fields[0] for fields in found):
            return name
    return None
