"""What is wrong with the machines that a section names."""

from collections.abc import Container, Iterable, Iterator
from typing import Any, Protocol

from research.problems import Field as Where
from research.problems import Problem, did_you_mean


class _Names(Container[str], Iterable[str], Protocol):
    """Known names, as the keys of a table of prices."""


def machine_problems(
    machines: Any, where: Where, types: _Names, gpus: _Names, without: str
) -> Iterator[Problem]:
    """Problems of a section with `type`, `gpu` and `gpus`, which stands at `where`.

    types, gpus: those with a price. without: what there is not for one without, as in "no limit to
    what it costs".
    """
    for part, word, known in (("type", machines.type, types), ("gpu", machines.gpu, gpus)):
        if word is not None and word not in known:
            message = f"no price for '{word}', so {without} (prices.json); "
            yield Problem((*where, part), message + did_you_mean(word, known))
    if machines.gpu is None and machines.gpus != 1:
        message = f"{machines.gpus} of which type? Name it: `gpu: NVIDIA_TESLA_T4`"
        yield Problem((*where, "gpus"), message)
    elif machines.gpu and not machines.type.startswith("n1-"):
        yield Problem(where, f"{machines.gpu} goes with n1 machines, not {machines.type}")
