"""One validator for the files that pass between stages, each with a JSON Schema.

    dataset, metrics, predictions, saved_model, ensemble, leaderboard,
    figures, postprocessing, challenger                      the trainer writes them
    decision                                                 a flag of the trainer's
    columns, plan, changes, trials, baseline, served         the trainer reads them
    deployment, prediction_plan, prediction_result, rollback stay on Airflow's side
    task                                                     the others refer to it

schemas/NAME.schema.json describes NAME.json (predictions: the Parquet schema of
predictions.parquet). Writers and readers of a file validate it.
"""

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from trellis_contracts import VERSION

if TYPE_CHECKING:
    import jsonschema

_FOLDER = Path(__file__).with_name("schemas")
_ERRORS_SHOWN = 5
_VALUE_LENGTH = 60


class ContractError(ValueError):
    """A file that is not as its schema says; the message names the file and each wrong field."""


def names() -> list[str]:
    """Names of the contracts: "dataset", "plan", ..."""
    return sorted(path.name.removesuffix(".schema.json") for path in _FOLDER.glob("*.schema.json"))


@functools.cache
def schema(name: str) -> Mapping[str, Any]:
    """The JSON Schema (draft 2020-12) of a contract."""
    text = (_FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def check(name: str, document: object, where: str) -> None:
    """Raise ContractError unless a document is as its schema says, and of a version that this
    program knows. where: the file's address.
    """
    if skew := _other_version(document):
        raise ContractError(f"{where} {skew}")
    errors = sorted(_validator(name).iter_errors(document), key=lambda error: list(error.path))
    if errors:
        problems = list(dict.fromkeys(text for error in errors for text in _problems(error)))
        shown = "".join(f"\n  {problem}" for problem in problems[:_ERRORS_SHOWN])
        if left := len(problems) - len(problems[:_ERRORS_SHOWN]):
            shown += f"\n  and {left} more"
        raise ContractError(f"{where} does not match {name}.schema.json:{shown}")


def parse(name: str, text: str | bytes, where: str) -> dict[str, Any]:
    """The checked document in a JSON text. Raises ContractError."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ContractError(f"{where} is not JSON: {error}") from error
    check(name, document, where)
    return cast(dict[str, Any], document)


def to_json(name: str, document: Mapping[str, Any], where: str) -> str:
    """The text of a document that is about to be written to `where`. Raises ContractError."""
    try:
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError as error:
        raise ContractError(f"{where} cannot be written as JSON: {error}") from error
    check(name, json.loads(text), where)
    return text


def _other_version(document: object) -> str | None:
    """Return why a document of another first number cannot be read; None for all others."""
    written = document.get("contracts") if isinstance(document, Mapping) else None
    if not isinstance(written, str) or written.partition(".")[0] == VERSION.partition(".")[0]:
        return None
    return (
        f"was written with trellis-contracts {written}, and this program has {VERSION}: deploy "
        "DAGs and job images of one release"
    )


@functools.cache
def _validator(name: str) -> "jsonschema.Draft202012Validator":
    # Takes 0.1 s to import: not for programs that only need names of this module.
    import jsonschema
    import referencing

    task = referencing.Resource[Any].from_contents(schema("task"))
    registry = referencing.Registry[Any]().with_resource("task.schema.json", task)
    return jsonschema.Draft202012Validator(schema(name), registry=registry)


def _problems(error: "jsonschema.ValidationError") -> Iterator[str]:
    """List the problems as "PATH: what was expected"; one text for each missing or unknown key."""
    from jsonschema.exceptions import best_match

    if error.context:
        error = best_match(iter([error])) or error
    path = _path(error)
    keyword = str(error.validator)
    wanted: Any = error.validator_value
    found: Any = error.instance
    if keyword == "required":
        missing = [key for key in wanted if key not in found]
        yield from (f"{path}: the key {key!r} is missing" for key in missing)
    elif keyword == "additionalProperties" and wanted is False:
        known = error.schema.get("properties", {}) if isinstance(error.schema, Mapping) else {}
        yield from (f"{path}: unknown key {key!r}" for key in found if key not in known)
    else:
        yield f"{path}: expected {_expected(keyword, wanted, error.message)}, got {_short(found)}"


def _path(error: "jsonschema.ValidationError") -> str:
    """features[3].kind; "the document" for the whole."""
    text = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path)
    return text.removeprefix(".") or "the document"


def _expected(keyword: str, wanted: Any, message: str) -> str:
    match keyword:
        case "type":
            return " or ".join([wanted] if isinstance(wanted, str) else wanted)
        case "const":
            return json.dumps(wanted)
        case "enum":
            return "one of " + ", ".join(map(json.dumps, wanted))
        case "minimum":
            return f"at least {wanted}"
        case "maximum":
            return f"at most {wanted}"
        case "minItems" | "minLength" | "minProperties":
            return f"a length of at least {wanted}"
        case "maxItems":
            return f"a length of at most {wanted}"
        case "pattern":
            return f"text that matches {wanted}"
        case _:
            return message


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _VALUE_LENGTH else f"{text[:_VALUE_LENGTH]}..."
