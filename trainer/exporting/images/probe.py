"""Looks at a few images before any is exported: a paid job need not read all to refuse them."""

from collections.abc import Callable, Sequence

from trainer.exporting import ExportError
from trainer.exporting.images.convert import convert
from trainer.exporting.images.manifest import Row
from trainer.images import DeepImageError, ImageError
from trellis_contracts.dataset_features import Feature
from trellis_contracts.withheld import quoted

_IMAGES = 8


def refuse_deep(rows: Sequence[Row], feature: Feature, read: Callable[[str], bytes]) -> None:
    """Raise ExportError if all of a few images, spread over the rows, need a scale and none is
    given. Other faults of images are reported one by one in rejected.jsonl.

    read(uri) returns an object's bytes or raises FileNotFoundError.
    """
    reason = ""
    for row in rows[:: max(1, len(rows) // _IMAGES)][:_IMAGES]:
        try:
            convert(read(row.uri), feature, "test")
        except DeepImageError as error:
            reason = reason or f"{quoted(row.uri, 'an image')} is {error}"
        except (ImageError, FileNotFoundError):
            return
        else:
            return
    if reason:
        raise ExportError(f"{reason}. So are the others that were looked at")
