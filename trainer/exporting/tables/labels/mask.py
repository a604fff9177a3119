"""Labels that are masks: the class of each pixel, in a file beside the image's."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from trainer.exporting import ExportError
from trainer.exporting.images.masks import read_mask
from trainer.exporting.tables.checks import STRING
from trainer.exporting.tables.findings import values
from trainer.exporting.tables.labels.form import LabelForm
from trainer.images.masks import BACKGROUND, Mask, UnknownClassError
from trellis_contracts.dataset import Counts
from trellis_contracts.dataset_features import IMAGE, Label
from trellis_contracts.withheld import quoted


class Form(LabelForm):
    """See the module."""

    of_files = True

    def read(self, batch, keys, findings):
        return [batch.column("label").cast(STRING).fill_null("")]

    def classes(self, counts):
        """Those that are named; the masks are counted when they are read."""
        return tuple(one.name for one in self._columns.masks)

    def described(self, features, summary, name):
        return Label.of_masks(next(one for one in features if one.kind == IMAGE), name)

    def encoded(self, block, classes, files):
        return [one.stored for one in files]

    def file(self, address, image, images, read):
        return read_mask(address, self._columns.masks, images, image.size, read)

    def refuse(self, addresses, read):
        """Raise ExportError if all of a few masks have values that are no classes."""
        reason = ""
        for address in addresses:
            try:
                Mask(read(address), self._columns.masks)
            except UnknownClassError as error:
                reason = reason or f"{quoted(address, 'a mask')}: {error}"
            except (ValueError, FileNotFoundError):
                return  # the export says of each what it is
            else:
                return
        if reason:
            raise ExportError(f"{reason}. The others that were looked at have such values, too")

    def tally(self, block, label, files):
        """(classes + 1,) masks that have each class, and last those with the background alone."""
        found = np.zeros(len(self._columns.masks) + 1, int)
        for one in files:
            found[list(one.classes)] += 1
            found[-1] += one.classes == (BACKGROUND,)
        return found

    def counted(self, label, counts, tallies):
        """See LabelForm. Raises ExportError if the masks of a split are background alone, or no
        mask of train has some class. Warns of others of the background alone.
        """
        background, *foreground = names = self.classes({})
        nothing = np.zeros(len(names) + 1, int)
        found = {split: tallies.get(split, nothing).tolist() for split in counts}
        counts = {
            split: replace(known, classes=dict(zip(names, found[split], strict=False)))
            for split, known in counts.items()
        }
        for split in self._columns.needed:
            if not any(counts[split].classes[name] for name in foreground):
                raise ExportError(
                    f"all {counts[split].examples} masks of the {split} split are {background!r} "
                    "alone: take more images, give that split a larger share, or look whether "
                    "source.masks names the values rightly"
                )
        if absent := [name for name in foreground if not counts["train"].classes[name]]:
            raise ExportError(
                f"no mask of the train split has {len(absent)} of {len(names)} classes: "
                f"{values(absent)}; add images of them, or leave them out of source.masks"
            )
        blank = {split: count for split, (*_, count) in found.items() if count}
        return label, counts, _blank(counts, blank, background)


def _blank(
    counts: Mapping[str, Counts], blank: Mapping[str, int], background: str
) -> Iterator[str]:
    if blank:
        examples = sum(split.examples for split in counts.values())
        split = ", ".join(f"{count} of {name}" for name, count in blank.items())
        yield f"{sum(blank.values())} of {examples} masks are {background!r} alone ({split})"
