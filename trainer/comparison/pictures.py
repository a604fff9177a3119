"""The images of a dataset's examples as a served model takes them."""

from collections.abc import Sequence

from trainer.comparison.originals import HeldOutImages, OriginalError
from trainer.images import ImageError
from trainer.serving.model import Model
from trainer.serving.rows import Row
from trellis_contracts.dataset_features import Feature
from trellis_contracts.withheld import RowsError, quoted


class PictureError(RowsError, ValueError):
    """An image cannot be read; the message names the example and says why."""


class Pictures:
    """Puts the pixels of the dataset's images into rows. features: of the model's images.

    They are those that the dataset stores, or, if it stores them in another form than the model's,
    made of the original files.
    """

    def __init__(self, model: Model, features: Sequence[Feature]):
        self._images = []
        for place, feature in zip(model.rows.images, features, strict=True):
            image = model.rows.fields[place].image
            assert image is not None
            scale = None if image.scale is None else str(image.scale)
            form = (feature.image_shape, feature.image_resize, feature.scale, feature.pages)
            stored = (image.shape, image.resize, scale, image.pages) == form
            self._images.append((place, feature.name, image, stored))

    def put(self, row: Row, found: HeldOutImages) -> Row:
        """The row with the images of its example. Raises PictureError."""
        values = list(row.values)
        for place, name, image, stored in self._images:
            held = found.images[name]
            try:
                values[place] = (
                    image.stored(held.stored) if stored else image.pixels(held.original())
                )
            except (ImageError, OriginalError) as error:
                raise PictureError(f"{quoted(repr(found.key), 'an example')}: {error}") from error
        return Row(tuple(values))
