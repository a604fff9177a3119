"""The machines that train one model together, as a group's own code is told them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Workers:
    """The machines that train one model together, each with the same data and arguments.

    addresses: host:port of each, the first one's first, in the same order everywhere; the ports are
    free, and reached from all of them. rank: the own place among them, from 0. What the first
    learns is saved and scored; what others do is not looked at.
    """

    addresses: tuple[str, ...] = ("",)
    rank: int = 0

    def __len__(self) -> int:
        return len(self.addresses)


ALONE = Workers()
