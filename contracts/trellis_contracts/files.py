"""Base classes of the files that pass between stages: one dataclass for each file and each part of
one. Its fields are the keys of the document, so a class needs no code to be written and read. Lists
are tuples.
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

from trellis_contracts import documents

Decode = Callable[[Any], Any]


def optional(default: Any = None) -> Any:
    """A field that a document has only where it is not its default."""
    return dataclasses.field(default=default, metadata=_OPTIONAL)


_OPTIONAL = {"optional": True}


class Part:
    """A part of a file; subclasses are dataclasses."""

    def to_document(self) -> dict[str, Any]:
        """The part as JSON has it."""
        return {
            field.name: _encoded(value)
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if (value := getattr(self, field.name)) != field.default or not field.metadata
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """From content that fits the schema."""
        decoders = _decoders(cls).items()  # type: ignore[arg-type]
        return cls(**{key: decode(document[key]) for key, decode in decoders if key in document})


class File(Part):
    """A whole file. CONTRACT: the name of its schema; SCHEMA: the number that the file begins
    with.
    """

    CONTRACT: ClassVar[str]
    SCHEMA: ClassVar[int] = 1

    def to_document(self) -> dict[str, Any]:
        """The content of the file."""
        return {"schema": self.SCHEMA, **super().to_document()}

    def to_json(self, where: str) -> str:
        """The text of the file that is about to be written to `where`. Raises ContractError."""
        return documents.to_json(self.CONTRACT, self.to_document(), where)

    @classmethod
    def parse(cls, text: str | bytes, where: str) -> Self:
        """Read the text of the file `where`. Raises ContractError."""
        return cls.from_document(documents.parse(cls.CONTRACT, text, where))


F = TypeVar("F", bound=File)


def _encoded(value: Any) -> Any:
    if hasattr(value, "to_document"):
        return value.to_document()
    if isinstance(value, Mapping):
        return {key: _encoded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_encoded(one) for one in value]
    return value


@functools.cache
def _decoders(cls: type[Part]) -> Mapping[str, Decode]:
    hints = typing.get_type_hints(cls)
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    return {field.name: _decoder(hints[field.name]) for field in fields}


def _decoder(hint: Any) -> Decode:
    """Read values of a field of this type."""
    if hasattr(hint, "from_document"):
        return typing.cast(Decode, hint.from_document)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (tuple, Sequence):
        one = _decoder(arguments[0])
        return lambda value: tuple(map(one, value))
    if origin is Mapping:
        of_value = _decoder(arguments[1])
        return lambda value: {key: of_value(one) for key, one in value.items()}
    if origin in (typing.Union, types.UnionType) and type(None) in arguments:
        known = _either([one for one in arguments if one is not type(None)])
        return lambda value: None if value is None else known(value)
    return lambda value: value


def _either(hints: list[Any]) -> Decode:
    """Read values of one of these types: of several parts, the one that has all of the keys."""
    if len(hints) == 1:
        return _decoder(hints[0])
    keys = {one: {field.name for field in dataclasses.fields(one)} for one in hints}
    return lambda value: next(
        one.from_document(value) for one, known in keys.items() if value.keys() <= known
    )
