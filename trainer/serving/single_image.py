"""Requests for a model of images, whose instances are an image each.

    {"instances": [{"image_bytes": {"b64": "iVBORw0KGgo..."}},
                   {"image_uri": "gs://bucket/flowers/0001.jpg"}]}

An instance has exactly one of `image_bytes` and `image_uri`, in the forms of
trainer.serving.image_values, or is {"b64": BASE64} itself, as batch prediction sends the files of a
`file-list`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from trainer.serving import image_values
from trainer.serving.errors import InvalidFieldError, short
from trainer.serving.instances import kind_of
from trainer.serving.rows import Field, Row, RowReader

_ONE_OF = '{"image_bytes": {"b64": "..."}} or {"image_uri": "gs://..."}'

_FORMS: Mapping[str, Callable[[Any, str], Any]] = {
    "image_bytes": image_values.file,
    "image_uri": image_values.address,
}


class SingleImageReader(RowReader):
    """Reads requests for one model of images: each becomes a row of one value."""

    def __init__(self, field: Field):
        super().__init__([field])
        self._expected = _ONE_OF

    def _row(self, instance: Any, wrong: list[InvalidFieldError], hints: bool) -> Row | None:
        try:
            return Row((_read(instance),))
        except InvalidFieldError as error:
            wrong.append(error)
            return None


def _read(instance: Any) -> Any:
    if not isinstance(instance, dict):
        raise InvalidFieldError("", f"expected {_ONE_OF}, got {kind_of(instance)}")
    if list(instance) == ["b64"]:
        instance = {"image_bytes": instance}
    for name in instance:
        if name not in _FORMS:
            raise InvalidFieldError(short(name), f"unknown field; expected {_ONE_OF}")
    if len(instance) != 1:
        found = "both" if instance else "neither"
        raise InvalidFieldError("", f"expected {_ONE_OF}, got {found}")
    ((name, value),) = instance.items()
    try:
        return _FORMS[name](value, name)
    except InvalidFieldError as error:
        raise InvalidFieldError(name + error.path, str(error)) from error
