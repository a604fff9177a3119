"""What is asked of one export."""

from dataclasses import dataclass

from trainer.dataset_description import Feature

ENCODINGS = ("png", "jpeg")
CHANNELS = (1, 3)

# Larger than any image model of today takes; a size above it is a typing error.
MAX_SIDE = 8192


@dataclass(frozen=True)
class ExportSettings:
    """The flags of trainer.export, checked; `python -m trainer.export --help` explains them.

    source: address of the manifest of images, or of a table's columns.json. output: address of the
    dataset's folder. shards: number of train shards. Of images only, else None: image: height,
    width, channels and encoding of the stored images; max_rejected: share (0 to 1) of manifest
    lines that may be rejected; fractions: percent of train, validation, test.
    """

    source: str
    output: str
    fingerprint: str
    image: Feature | None
    shards: int
    max_rejected: float | None
    fractions: tuple[int, int, int] | None

    @property
    def is_table(self) -> bool:
        """Whether the source is a table."""
        return self.image is None
