"""Counts the images of each class in a manifest's splits, before any image is read."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from trellis.workflow.lookups.image_manifest import Contents, Image
from trellis.workflow.spec.split import GroupSplit, KeySplit, StratifiedSplit

SPLITS = {"training": "train", "validation": "validation", "test": "test"}
"""The splits by Vertex AI's words for them."""

# BigQuery hashes what decides an image's split, 5,000 at a time. Of more images than this, only
# those of rare classes are asked for: of the others the shares say enough.
_MOST_ASKED = 20_000
_RARE = 200

SplitsOf = Callable[[Sequence[str]], Mapping[str, str]]


def images_of(contents: Contents, split: object, splits_of: SplitsOf) -> dict[str, list[Image]]:
    """The images of each split, by the file's rule (spec.split).

    splits_of: the ML_USE of each text that decides a split by its hash.
    """
    images = list(contents.images.values())
    if isinstance(split, StratifiedSplit) and not any(image.ml_use for image in images):
        return _stratified(images, split)
    by_hash: dict[str, str] = {}
    if isinstance(split, KeySplit | GroupSplit):
        hashed = [image for image in images if not image.ml_use]
        by_hash = _ask(hashed, contents.classes, split, splits_of)
    found: dict[str, list[Image]] = {name: [] for name in SPLITS.values()}
    for image in images:
        use = image.ml_use or by_hash.get(image.decides, image.decides)
        found[SPLITS[use]].append(image)
    return found


def _ask(
    images: Sequence[Image],
    classes: Mapping[str, int],
    split: KeySplit | GroupSplit,
    splits_of: SplitsOf,
) -> dict[str, str]:
    """The ML_USE of what decides each image's split; of too many, of frequent classes by shares."""
    if len({image.decides for image in images}) <= _MOST_ASKED:
        return dict(splits_of(sorted({image.decides for image in images})))
    rare = [image for image in images if any(classes[name] < _RARE for name in image.labels)]
    found = dict(splits_of(sorted({image.decides for image in rare})))
    edges = (split.train, split.train + split.validation)
    for n, decides in enumerate(sorted({image.decides for image in images} - set(found))):
        use = "training" if n % 100 < edges[0] else "validation" if n % 100 < edges[1] else "test"
        found[decides] = use
    return found


def _stratified(images: Iterable[Image], split: StratifiedSplit) -> dict[str, list[Image]]:
    """Take as many of each class as the export gives each split; which ones does not matter
    here.
    """
    by_class: dict[frozenset[str], list[Image]] = {}
    for image in images:
        by_class.setdefault(image.labels, []).append(image)
    found: dict[str, list[Image]] = {name: [] for name in SPLITS.values()}
    for one in by_class.values():
        size = len(one)
        test = min(max((size * split.test + 50) // 100, 1), size - 1)
        validation = min(max((size * split.validation + 50) // 100, 1), size - 1 - test)
        found["train"] += one[: size - test - validation]
        found["validation"] += one[size - test - validation : size - test]
        found["test"] += one[size - test :]
    return found
