"""The SQL that runs send to BigQuery: templates in this folder, filled in here.

A name of a table or column reaches SQL through `identifier` and a text through `literal`, never as
it is: a column may be called anything, a backtick or a quote included.
"""

import functools
import json
from pathlib import Path
from typing import Any

import jinja2

FOLDER = Path(__file__).parent


def render(name: str, **values: Any) -> str:
    """The statement or script in NAME.sql. Raises jinja2.UndefinedError for a value forgotten."""
    return _environment().get_template(f"{name}.sql").render(values)


def identifier(name: str) -> str:
    """A name, quoted: `radius mean`, `project.dataset.table`.

    https://cloud.google.com/bigquery/docs/reference/standard-sql/lexical#quoted_identifiers
    """
    text = name.replace("\\", "\\\\").replace("`", "\\`").replace("\n", "\\n")
    return f"`{text}`"


def literal(text: str) -> str:
    """A text as a string literal: JSON's escapes are among GoogleSQL's."""
    return json.dumps(text, ensure_ascii=False)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.filters |= {"identifier": identifier, "literal": literal}
    return environment
