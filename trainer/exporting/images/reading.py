"""Reads one image file as a dataset stores it, and what a shard's images had beside that."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import farmhash
import google_crc32c

from trainer import images
from trainer.exporting.images.convert import convert
from trainer.images import ImageError, Loss
from trellis_contracts.dataset import Shard
from trellis_contracts.dataset_features import Feature
from trellis_contracts.withheld import some_of

_KEYS_SHOWN = 10

Read = Callable[[str], bytes]
"""Returns an object's bytes by its address, or raises FileNotFoundError."""


@dataclass(frozen=True)
class StoredImage:
    """stored: as it stands in the dataset. crc32c, hash: of the file that it was made of. lost:
    what of that file it lacks. size: (height, width) of that file, upright.
    """

    stored: bytes
    crc32c: int
    hash: int
    lost: tuple[Loss, ...]
    size: tuple[int, int]


def read_image(uri: str, feature: Feature, split: str, read: Read) -> StoredImage | str:
    """The image at an address, or why it is unusable.

    Any other exception of `read` is raised to the caller: a network failure must not be recorded as
    a missing image.
    """
    try:
        data = read(uri)
        # A checksum of 32 bits would find copies that are none among 100,000 images.
        hash_ = farmhash.fingerprint64(data)
        stored, seen = convert(data, feature, split)
    except FileNotFoundError:
        return "no such object"
    except ImageError as error:
        return str(error)
    return StoredImage(stored, google_crc32c.value(data), hash_, seen.lost, seen.size)


class ShardImages(Protocol):
    """A shard's images. files: a hash of each file, and the example's key, "" in train. lost: keys
    of the examples whose files hold more than the model is given, by what it is.
    """

    @property
    def split(self) -> str: ...
    @property
    def shard(self) -> Shard: ...
    @property
    def files(self) -> tuple[tuple[int, str], ...]: ...
    @property
    def lost(self) -> Mapping[Loss, tuple[str, ...]]: ...


def files_of(
    keys: Sequence[str], found: Sequence[StoredImage], split: str
) -> tuple[tuple[int, str], ...]:
    """ShardImages.files of these examples."""
    return tuple(
        (image.hash, "" if split == "train" else key)
        for key, image in zip(keys, found, strict=True)
    )


def lost_of(keys: Sequence[str], found: Sequence[StoredImage]) -> dict[Loss, tuple[str, ...]]:
    """ShardImages.lost of these examples."""
    lost: dict[Loss, list[str]] = {}
    for key, image in zip(keys, found, strict=True):
        for loss in image.lost:
            lost.setdefault(loss, []).append(key)
    return {loss: tuple(of) for loss, of in lost.items()}


def warnings(results: Sequence[ShardImages]) -> Iterator[str]:
    """Warnings about all images of a dataset."""
    yield from _losses(results)
    yield from _copies(results)


def _losses(results: Sequence[ShardImages]) -> Iterator[str]:
    """A warning for each kind of what files hold and the model is not given."""
    examples = sum(result.shard.examples for result in results)
    for loss, text in images.TEXTS.items():
        keys = sorted(key for result in results for key in result.lost.get(loss, ()))
        if keys:
            yield f"{len(keys)} of {examples} images have {text}: {_shown(keys)}"


def _copies(results: Sequence[ShardImages]) -> Iterator[str]:
    """A warning about files of the validation and test split that are in train too."""
    train = {hash_ for result in results if result.split == "train" for hash_, _ in result.files}
    others = [file for result in results if result.split != "train" for file in result.files]
    copies = sorted(key for hash_, key in others if hash_ in train)
    if copies:
        yield (
            f"{len(copies)} of the {len(others)} images of validation and test are in the train "
            f"split too, byte for byte, under another name: {_shown(copies)}; leave one of each "
            "out, or keep them together (split.by)"
        )


def _shown(keys: Iterable[str]) -> str:
    return some_of(keys, "key", most=_KEYS_SHOWN)
