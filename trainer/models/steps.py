"""The sequences of a row as a model takes them: steps, each by its feature's name."""

from collections.abc import Mapping
from dataclasses import dataclass

import keras


@dataclass(frozen=True)
class Steps:
    """A sequence: values (b, any, 1), and mask (b, any), true where there is an element. Several as
    one, of `together`: values (b, any, 2 n).
    """

    values: keras.KerasTensor
    mask: keras.KerasTensor
    limit: int


class Sequences(list[Steps]):
    """Steps of each sequence feature, in order: by number, or by the feature's name."""

    def __init__(self, named: Mapping[str, Steps]):
        super().__init__(named.values())
        self._named = dict(named)

    def __getitem__(self, which):
        """Raises LookupError for an unknown name or number."""
        if isinstance(which, str) and which not in self._named:
            raise LookupError(f"there is no sequence {which!r}; known: {', '.join(self._named)}")
        return self._named[which] if isinstance(which, str) else super().__getitem__(which)
