"""A request's body -> its instances, or an error that names every wrong field.

    {"instances": [{"image_bytes": {"b64": "iVBORw0KGgo..."}},
                   {"image_uri": "gs://bucket/flowers/0001.jpg"}]}

An instance has exactly one of

    image_bytes  {"b64": BASE64}: the image file, standard alphabet, padded, no line breaks, as
                 TensorFlow Serving and Vertex AI's prebuilt containers read it
    image_uri    gs:// address of the image file, which the server's service account may read

or is {"b64": BASE64} itself, as batch prediction sends the files of a `file-list`.

Reads JPEG, PNG, BMP, GIF, WEBP and TIFF of up to 33.6 megapixels. "parameters" may be present, see
trainer.serving.parameters.
"""

import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from trainer import storage
from trainer.images import ImageError
from trainer.serving import parameters, strict_json
from trainer.serving.errors import InvalidFieldError, InvalidRequestError, Violation, short
from trainer.serving.images import EncodedImage, inspect
from trainer.serving.limits import MAX_INSTANCES
from trainer.serving.parameters import Request

# https://cloud.google.com/storage/docs/objects#naming: 1024 bytes, and 222 for a bucket's name.
_LONGEST_ADDRESS = 1300

_FIELDS = ("image_bytes", "image_uri")
_ONE_OF = '{"image_bytes": {"b64": "..."}} or {"image_uri": "gs://..."}'


Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class ImageAddress:
    """An image that is still in a bucket."""

    bucket: str
    name: str

    def __str__(self):
        return f"gs://{self.bucket}/{self.name}"


def read(body: bytes) -> Request[EncodedImage | ImageAddress]:
    """The request, its instances in order. Raises InvalidRequestError."""
    images: list[EncodedImage | ImageAddress] = []
    violations = []
    request = unwrap(body, _ONE_OF, parameters.OF_IMAGES)
    for index, instance in enumerate(request.instances):
        try:
            images.append(_read(instance))
        except InvalidFieldError as error:
            violations.append(error.of_instance(index))
    if violations:
        raise InvalidRequestError(violations)
    return Request(images, request.explain)


def checked(requested: Sequence[object], outcomes: Sequence[Outcome | Exception]) -> list[Outcome]:
    """The results of a request's instances; raises if any is an exception.

    ImageErrors become one InvalidRequestError, which names them; others are raised unchanged.
    """
    good: list[Outcome] = []
    violations = []
    for index, (instance, outcome) in enumerate(zip(requested, outcomes, strict=True)):
        if isinstance(outcome, ImageError):
            field = "image_uri" if isinstance(instance, ImageAddress) else "image_bytes"
            violations.append(InvalidFieldError(field, str(outcome)).of_instance(index))
        elif isinstance(outcome, Exception):
            raise outcome
        else:
            good.append(outcome)
    if violations:
        raise InvalidRequestError(violations)
    return good


def unwrap(body: bytes, expected: str, options: Sequence[str]) -> Request[Any]:
    """A request, its instances as they are. expected: what one is, for messages; options: the
    fields that `explain` may have.

    Raises InvalidRequestError.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequestError([strict_json.why_not_json(body, error)]) from error
    if not isinstance(document, dict):
        raise InvalidRequestError([_expected("body", '{"instances": [...]}', document)])
    violations = [
        Violation(short(name), 'unknown; expected {"instances": [...]}')
        for name in document
        if name not in ("instances", "parameters")
    ]
    explain, wrong = parameters.read(document.get("parameters"), options)
    violations += wrong
    instances = document.get("instances")
    if not isinstance(instances, list):
        violations.append(_expected("instances", f"a list of {expected}", instances))
        raise InvalidRequestError(violations)
    if not 1 <= len(instances) <= MAX_INSTANCES:
        violations.append(
            Violation("instances", f"expected 1 to {MAX_INSTANCES} instances, got {len(instances)}")
        )
    if violations:
        raise InvalidRequestError(violations)
    if strict_json.may_repeat(body, document) and (repeated := strict_json.repeated(body)):
        raise InvalidRequestError(repeated)
    return Request(instances, explain)


def apart(body: bytes) -> list[bytes] | None:
    """The bodies of requests for each instance by itself, if the parameter `each` asks for them.

    Raises InvalidRequestError for what is wrong with the whole request; None if nothing asks.
    """
    if b'"each"' not in body:
        return None
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None  # `unwrap` says why
    given = document.get("parameters") if isinstance(document, dict) else None
    if not isinstance(given, dict) or given.get("each") is not True:
        return None
    others = {name: value for name, value in given.items() if name != "each"}
    whole = unwrap(orjson.dumps({**document, "parameters": {}}), "instances", ())
    if strict_json.may_repeat(body, document) and (repeated := strict_json.repeated(body)):
        raise InvalidRequestError(repeated)
    return [orjson.dumps({"instances": [one], "parameters": others}) for one in whole.instances]


def _read(instance: Any) -> EncodedImage | ImageAddress:
    if not isinstance(instance, dict):
        raise InvalidFieldError("", f"expected {_ONE_OF}, got {kind_of(instance)}")
    if list(instance) == ["b64"]:
        instance = {"image_bytes": instance}
    for name in instance:
        if name not in _FIELDS:
            raise InvalidFieldError(short(name), f"unknown field; expected {_ONE_OF}")
    if len(instance) != 1:
        found = "both" if instance else "neither"
        raise InvalidFieldError("", f"expected {_ONE_OF}, got {found}")
    if "image_uri" in instance:
        return _address(instance["image_uri"])
    try:
        return inspect(_decoded(instance["image_bytes"]))
    except ImageError as error:
        raise InvalidFieldError("image_bytes", str(error)) from error


def _decoded(value: Any) -> bytes:
    if not isinstance(value, dict) or list(value) != ["b64"] or not isinstance(value["b64"], str):
        raise InvalidFieldError("image_bytes", f'expected {{"b64": "..."}}, got {kind_of(value)}')
    try:
        return binascii.a2b_base64(value["b64"], strict_mode=True)
    except ValueError as error:  # binascii.Error, or a character that is not ASCII
        reason = f"not base64 (RFC 4648, standard alphabet, padded, no line breaks): {error}"
        raise InvalidFieldError("image_bytes.b64", reason) from error


def _address(value: Any) -> ImageAddress:
    if not isinstance(value, str) or len(value) > _LONGEST_ADDRESS:
        raise InvalidFieldError("image_uri", f"expected gs://BUCKET/OBJECT, got {kind_of(value)}")
    try:
        bucket, name = storage.split_uri(value)
    except storage.StorageError as error:
        raise InvalidFieldError("image_uri", str(error)) from error
    if not name or name.endswith("/"):
        raise InvalidFieldError("image_uri", f"{value!r} names a folder, not an image")
    return ImageAddress(bucket, name)


def _expected(field: str, what: str, value: Any) -> Violation:
    return Violation(field, f"expected {what}, got {kind_of(value)}")


def kind_of(value: Any) -> str:
    """A short description of a JSON value, for messages."""
    match value:
        case None:
            return "nothing"
        case bool() | int() | float():
            return f"the value {value!r}"
        case str():
            return f"a string of {len(value)} characters"
        case list():
            return f"a list of {len(value)}"
        case _:
            names = ", ".join(map(short, list(value)[:5]))
            return f"an object with {names}" if value else "an empty object"
