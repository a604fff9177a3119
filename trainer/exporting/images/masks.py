"""Reads one mask's file as a dataset stores it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trainer import masks
from trainer.exporting.images.reading import Read
from trainer.images import ImageError
from trainer.images.masks import Mask
from trellis_contracts.columns import MaskClass
from trellis_contracts.dataset_features import Feature


@dataclass(frozen=True)
class StoredMask:
    """stored: as it stands in the dataset. classes: indices of those that it has."""

    stored: bytes
    classes: tuple[int, ...]


def read_mask(
    uri: str, known: Sequence[MaskClass], images: Feature, size: tuple[int, int], read: Read
) -> StoredMask | str:
    """The mask at an address, or why it is unusable. images: whose size it becomes. size: (height,
    width) of its image's file.

    Any other exception of `read` is raised to the caller, as by reading.read_image.
    """
    try:
        mask = Mask(read(uri), known)
    except FileNotFoundError:
        return "no such object"
    except ImageError as error:
        return str(error)
    if mask.classes.shape != size:
        found, of_image = (f"{width} x {height}" for height, width in (mask.classes.shape, size))
        return f"the mask has {found} pixels, and its image {of_image}"
    pixels = mask.like(images)
    return StoredMask(masks.encode(pixels), tuple(np.unique(pixels).tolist()))
