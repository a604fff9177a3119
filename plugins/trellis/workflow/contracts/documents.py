"""The files that pass between stages, and their JSON schemas: both writer and reader validate them.

schemas/KIND.schema.json describes every field. Schemas of files that pass between Airflow and the
job image are in trainer/contracts/ too; a test keeps both copies equal.
"""

import functools
import json
from pathlib import Path
from typing import Any

import jsonschema
from referencing import Registry, Resource

FOLDER = Path(__file__).with_name("schemas")


class DocumentError(ValueError):
    """A file does not fit its schema; the message names file, field and what was expected."""


def check(kind: str, content: Any, where: str) -> None:
    """Raise DocumentError unless `content` is a document of this kind.

    kind: of schemas/KIND.schema.json. where: address of the file, for the message.
    """
    error = jsonschema.exceptions.best_match(_validator(kind).iter_errors(content))
    if error is not None:
        field = error.json_path.removeprefix("$").lstrip(".") or "the file"
        raise DocumentError(f"{where} does not fit {kind}.schema.json: {field}: {error.message}")


@functools.cache
def _validator(kind: str) -> Any:
    schemas = _schemas()
    schema = schemas.contents(f"{kind}.schema.json")
    return jsonschema.Draft202012Validator(schema, registry=schemas)


@functools.cache
def _schemas() -> Registry:
    """All schemas by file name, as one may refer to another."""
    return Registry().with_resources(
        (path.name, Resource.from_contents(json.loads(path.read_text(encoding="utf-8"))))
        for path in FOLDER.glob("*.schema.json")
    )
