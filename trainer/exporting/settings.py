"""The settings of an export."""

from dataclasses import dataclass
from datetime import date

from trellis_contracts.dataset import CLASSIFICATION
from trellis_contracts.dataset_features import Feature

ENCODINGS = ("png", "jpeg")
CHANNELS = (1, 3)
# Larger than the input of any image model; a size above it is a typing error.
MAX_SIDE = 8192


@dataclass(frozen=True)
class ExportSettings:
    """The flags of trainer.export, checked; `python -m trainer.export --help` explains them.

    source: address of a table's columns.json, or of a manifest of images (ImageExportSettings).
    output: address of the dataset's folder. shards: number of train shards. dry_run: only say what
    would be written.
    """

    source: str
    output: str
    fingerprint: str
    shards: int
    dry_run: bool = False


@dataclass(frozen=True, kw_only=True)
class ImageExportSettings(ExportSettings):
    """The flags of an export of images.

    image: height, width, channels, encoding and resize of the stored images. max_rejected: share
    (0 to 1) of manifest lines that may be rejected. fractions: percent of train, validation, test.
    split_by: what the lines' last fields are, groups or days, which then decide the split; None:
    the images' names do. days: the first ones (UTC) of validation and test, if split_by is a day.
    stratify: each class is divided by the fractions, exactly.
    task: what labels are, one of dataset.FAMILIES. positive: of two classes the positive one; None:
    the second in natural order.
    """

    image: Feature
    max_rejected: float
    fractions: tuple[int, int, int]
    split_by: str | None = None
    days: tuple[date, date] | None = None
    stratify: bool = False
    task: str = CLASSIFICATION
    positive: str | None = None
