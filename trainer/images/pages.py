"""The page of a TIFF file, or the frame of a DICOM file, that a model sees.

    first   the first
    3       the third
    mean    the mean of all, of their values

A file of several is refused without a choice: which of them shows what the label says, only its
owner knows.
"""

from collections.abc import Callable, Sequence

import numpy as np

from trainer.images.errors import ImageError
from trellis_contracts.dataset_features import MEAN, Pages


def chosen(pages: Pages | None, count: int, format_: str) -> Sequence[int]:
    """Indexes of the pages to take the mean of; one, mostly. Raises ImageError.

    count: of the file.
    """
    name = "frames" if format_ == "DICOM" else "pages"
    if pages is None:
        if count > 1:
            raise ImageError(
                f"a {format_} file of {count} {name}; say in source.pages which one is the image: "
                "its number, first, or mean for the mean of all"
            )
        return (0,)
    if pages == MEAN:
        return range(count)
    index = 0 if pages == "first" else int(pages) - 1
    if index >= count:
        raise ImageError(
            f"a {format_} file of {count} {name if count > 1 else name[:-1]}; source.pages names "
            f"number {index + 1}"
        )
    return (index,)


def mean(indexes: Sequence[int], read: Callable[[int], np.ndarray]) -> np.ndarray:
    """The mean of pages, float64; of one page its values as they are."""
    if len(indexes) == 1:
        return read(indexes[0])
    total = read(indexes[0]).astype(np.float64)
    for index in indexes[1:]:
        page = read(index)
        if page.shape != total.shape:
            raise ImageError("pages of several sizes, which have no mean")
        total += page
    return total / len(indexes)
