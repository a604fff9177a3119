"""The search space: the values of hyperparameters and their scales.

Rules from Vertex AI's `StudySpec.ParameterSpec`: DOUBLE and INTEGER have inclusive bounds, DISCRETE
and CATEGORICAL list their values; the scale is the axis on which values are evenly spaced.

Each parameter has two representations: the *value* for the training program, and the *coordinate*
for the optimiser (Optuna). `decode` and `encode` convert.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Value = float | int | str
"""DOUBLE and DISCRETE: float, INTEGER: int, CATEGORICAL: str."""

Coordinate = float | int | str


class Scale(enum.Enum):
    """The axis on which a numeric parameter is searched evenly (`ParameterSpec.ScaleType`)."""

    LINEAR = "linear"
    LOG = "log"
    REVERSE_LOG = "reverse_log"
    """Logarithmic in the distance from the top: values close to the upper bound are spread out."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One hyperparameter of a study."""

    id: str

    @property
    def size(self) -> float:
        """Number of values (`math.inf` for a DOUBLE with different bounds)."""
        raise NotImplementedError

    @property
    def centre(self) -> Value:
        """The middle of the range on its scale: the value of a study's first trial."""
        raise NotImplementedError

    def distribution(self) -> BaseDistribution:
        """Optuna's distribution of the coordinate."""
        raise NotImplementedError

    def at(self, index: int) -> Value:
        """The value number `index` in the feasible order; finite parameters only."""
        raise NotImplementedError

    def decode(self, coordinate: Coordinate) -> Value:
        """The value of a coordinate."""
        raise NotImplementedError

    def encode(self, value: Value) -> Coordinate:
        """The coordinate of a value; `decode(encode(v))` is v up to rounding of floats."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class _Range(Parameter):
    """Inclusive numeric bounds. Reverse log is log on the axis reflected about the middle."""

    low: float
    high: float
    scale: Scale = Scale.LINEAR

    def _reflect(self, x: float) -> float:
        if self.scale is not Scale.REVERSE_LOG:
            return x
        # Clamped: low + high - x may leave the bounds by one rounding.
        return min(max(self.low + self.high - x, self.low), self.high)

    def _middle(self) -> float:
        if self.scale is Scale.LINEAR:
            return self.low + (self.high - self.low) / 2
        geometric_mean = math.exp((math.log(self.low) + math.log(self.high)) / 2)
        return self._reflect(min(max(geometric_mean, self.low), self.high))


@dataclasses.dataclass(frozen=True)
class Double(_Range):
    """Any float between two bounds."""

    @property
    def size(self) -> float:
        return 1 if self.low == self.high else math.inf

    @property
    def centre(self) -> float:
        return self._middle()

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import FloatDistribution

        return FloatDistribution(self.low, self.high, log=self.scale is not Scale.LINEAR)

    def at(self, index: int) -> float:
        if self.low != self.high:
            raise TypeError(f"{self.id} is continuous: its values cannot be counted.")
        return self.low

    def decode(self, coordinate: Coordinate) -> float:
        return self._reflect(float(coordinate))

    def encode(self, value: Value) -> float:
        return self._reflect(float(value))


@dataclasses.dataclass(frozen=True)
class Integer(_Range):
    """Any whole number between two bounds."""

    low: int
    high: int

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    @property
    def centre(self) -> int:
        return round(self._middle())

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import IntDistribution

        return IntDistribution(self.low, self.high, log=self.scale is not Scale.LINEAR)

    def at(self, index: int) -> int:
        return self.low + index

    def decode(self, coordinate: Coordinate) -> int:
        return int(self._reflect(int(coordinate)))

    def encode(self, value: Value) -> int:
        return int(self._reflect(int(value)))


@dataclasses.dataclass(frozen=True)
class Discrete(Parameter):
    """Listed numbers in increasing order.

    Searched by rank: the optimiser knows which values are neighbours, not how far apart they are.
    """

    values: tuple[float, ...]

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def centre(self) -> float:
        return self.values[(len(self.values) - 1) // 2]

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import IntDistribution

        return IntDistribution(0, len(self.values) - 1)

    def at(self, index: int) -> float:
        return self.values[index]

    def decode(self, coordinate: Coordinate) -> float:
        return self.values[int(coordinate)]

    def encode(self, value: Value) -> int:
        return self.values.index(float(value))


@dataclasses.dataclass(frozen=True)
class Categorical(Parameter):
    """Listed strings without an order."""

    values: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def centre(self) -> str:
        return self.values[0]

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import CategoricalDistribution

        return CategoricalDistribution(self.values)

    def at(self, index: int) -> str:
        return self.values[index]

    def decode(self, coordinate: Coordinate) -> str:
        return str(coordinate)

    def encode(self, value: Value) -> str:
        return str(value)


def size(parameters: tuple[Parameter, ...]) -> float:
    """Number of points (`math.inf` if a parameter is continuous)."""
    return math.prod(parameter.size for parameter in parameters)


def point(parameters: tuple[Parameter, ...], index: int) -> dict[str, Value]:
    """Point number `index` of a finite space, in lexicographic order: the last varies fastest."""
    values: dict[str, Value] = {}
    for parameter in reversed(parameters):
        index, digit = divmod(index, int(parameter.size))
        values[parameter.id] = parameter.at(digit)
    if index:
        raise IndexError("The search space has no more points.")
    return {parameter.id: values[parameter.id] for parameter in parameters}


def flags(values: dict[str, Value]) -> list[str]:
    """A trial's hyperparameters as arguments: `--learning_rate=0.1`.

    Whole numbers are written without a fraction, DISCRETE ones too: Google's own sample (vertex-ai-
    samples, hyperparameter_tuning_tensorflow) reads DiscreteParameterSpec([64, 128, 512]) with
    argparse's `type=int`. One argument each, because a negative number after a space looks like
    another flag to argparse.
    """
    return [f"--{name}={as_text(value)}" for name, value in values.items()]


def as_text(value: Value) -> str:
    """A value as text: 128, not 128.0, also for a float."""
    # From 2**53 on every float is whole; repr (1e+16) is shorter there and as exact.
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)
