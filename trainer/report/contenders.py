"""The colours of contenders, the same in every chart, and shortened names."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainer.comparison.run_folder import Contender
from trellis_contracts.charts import INK, PALETTE


@dataclass(frozen=True)
class ContenderStyle:
    """A scored contender's name, CSS classes, and whether it is the winner."""

    name: str
    style: str
    winner: bool

    @property
    def colour(self) -> str:
        """Colour in charts."""
        return INK if self.style == "served" else PALETTE[int(self.style.split()[0][1:]) - 1]

    @property
    def again(self) -> bool:
        """True if its curves are dashed: another contender has the same colour."""
        return self.style.endswith("again")


def contender_styles(
    contenders: Sequence[Contender], ranked: Sequence[str]
) -> list[ContenderStyle]:
    """The contenders in the order of `ranked`, the winner first.

    A contender has the colour of its place in the run, as in the learning curves; beyond six, the
    colours repeat with dashed lines. The served model is black.
    """
    classes = {
        contender.name: "served" if contender.kind == "served" else _style(place)
        for place, contender in enumerate(contenders, start=1)
    }
    return [ContenderStyle(name, classes[name], winner=name == ranked[0]) for name in ranked]


def _style(place: int) -> str:
    return f"s{(place - 1) % len(PALETTE) + 1}" + (" again" if place > len(PALETTE) else "")


def colour(place: int) -> str:
    """The n-th colour, from 1. A full training and the trial it came from share it."""
    return PALETTE[(place - 1) % len(PALETTE)]


def shortened(name: str, letters: int) -> str:
    """The name, its middle replaced by … if it has more than that many letters."""
    if len(name) <= letters:
        return name
    head = (letters - 1) // 2
    return f"{name[:head]}…{name[head + 1 - letters :]}"
