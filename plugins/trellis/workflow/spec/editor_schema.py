"""JSON Schema of an experiment file, for editors: completion, hover texts, and most mistakes while
they are typed.

The schema is built from the classes that check the file, and the declarations of
`trellis_contracts`. It leaves out what only a program can check; `trellis check` reports
everything.
"""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.quantities import duration_text
from trellis.workflow.spec.sections import fields
from trellis_contracts.catalog import Catalog, Hyperparameter
from trellis_contracts.metrics import METRICS
from trellis_contracts.tasks import TASKS

DRAFT = "http://json-schema.org/draft-07/schema#"
"""The one that editors' YAML servers understand best."""


class _Generator(GenerateJsonSchema):
    """Generates the schema of values as people write them; without the titles that pydantic makes
    of names.
    """

    def encode_default(self, dft: Any) -> Any:
        if isinstance(dft, timedelta):
            return duration_text(dft)
        if isinstance(dft, BaseModel):
            return dft.model_dump(mode="json", by_alias=True, exclude_none=True)
        return super().encode_default(dft)

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def text(catalog: Catalog) -> str:
    """The schema as JSON, the same at every call."""
    return json.dumps(schema(catalog), indent=1, ensure_ascii=False) + "\n"


def schema(catalog: Catalog) -> dict[str, Any]:
    """The schema. catalog: its models and hyperparameters are offered."""
    document = Experiment.model_json_schema(schema_generator=_Generator)
    keys = document["properties"]
    for name in set(keys) - {name for name, _ in fields(Experiment)}:
        # They come from the file's name and first lines.
        del keys[name]
    document["required"] = [name for name in document["required"] if name in keys]
    known = {
        name: {**_bounds(each), "description": _hover(each)}
        for name, each in catalog.hyperparameters.items()
    }
    keys["model"] |= _offered(catalog.models)
    keys["task"] |= {"enum": list(TASKS)}
    keys["hyperparameters"]["properties"] = known
    for search in ("Maximize", "Minimize"):
        properties = document["$defs"][search]["properties"]
        metrics = [
            name
            for name, metric in METRICS.items()
            if not metric.gate_only and metric.goal == search.lower()
        ]
        properties[search.lower()] |= _offered(metrics)
        ranges = properties["search"]["additionalProperties"]
        properties["search"]["properties"] = {
            name: {**ranges, "description": _hover(each)}
            for name, each in catalog.hyperparameters.items()
        }
    return {"$schema": DRAFT, "title": "Experiment of Trellis", **_without_titles(document)}


def _offered(names: Any) -> dict[str, Any]:
    """An editor offers them, and takes others: a group may have its own."""
    return {"anyOf": [{"enum": list(names)}, {"type": "string"}]}


def _hover(each: Hyperparameter) -> str:
    """Text for the editor: the meaning, and the values."""
    about = str(each.schema["description"])
    return "; ".join(part for part in (about, each.expected, each.only) if part)


def _bounds(each: Hyperparameter) -> dict[str, Any]:
    """Type and bounds, without the trainer's own words."""
    if "by_class" in each.schema:
        numbers = {"type": "number", **each.schema["by_class"]}
        mapping = {"type": "object", "additionalProperties": numbers, "minProperties": 1}
        return {"anyOf": [{"enum": each.schema["enum"]}, mapping]}
    wanted = ("type", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    return {name: each.schema[name] for name in wanted if name in each.schema}


def _without_titles(node: Any) -> Any:
    """Names of classes are nothing for the author of a file."""
    if isinstance(node, Mapping):
        # A key of a file may be called so, too: then its value is a schema.
        return {
            name: _without_titles(value)
            for name, value in node.items()
            if not (name == "title" and isinstance(value, str))
        }
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    return node
