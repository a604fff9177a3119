"""Reads CSV files as rows of a table, by BigQuery's rules for the format of values.

https://cloud.google.com/bigquery/docs/loading-data-cloud-storage-csv. DuckDB splits the files into
texts, which casts for BigQuery's formats convert to values.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import re
from pathlib import Path
from typing import Any

from .database import literal, quoted
from .errors import invalid, not_emulated
from .files import is_gzip
from .schema import Field

_SAMPLE_ROWS = 500
_LONGEST_LINE = 4 << 20
"""Bytes; DuckDB's buffers are sixteen times as large."""
_DATE = r"\d{4}-\d{1,2}-\d{1,2}"
_CLOCK = r"\d{1,2}:\d{1,2}:\d{1,2}(\.\d{1,6})?"
_ZONE = r" ?(Z|UTC|[+-]\d{1,2}(:?\d{2})?)"
_DETECTED = [
    ("BOOL", re.compile(r"true|false", re.IGNORECASE)),
    ("INT64", re.compile(r"[+-]?\d{1,18}")),
    ("FLOAT64", re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?|nan", re.I)),
    ("DATE", re.compile(_DATE)),
    ("TIME", re.compile(_CLOCK)),
    ("TIMESTAMP", re.compile(rf"{_DATE}[ T]{_CLOCK}({_ZONE})?")),
]


class CsvSource:
    """The files, read with a load configuration's options."""

    def __init__(self, paths: list[Path], configuration: dict[str, Any]):
        self.paths = paths
        self.delimiter = _delimiter(configuration.get("fieldDelimiter") or ",")
        quote = configuration.get("quote")  # "" disables quoting
        self.quote = '"' if quote is None else quote
        self.null_marker = configuration.get("nullMarker") or ""
        self.skip = int(configuration.get("skipLeadingRows") or 0)
        self.skip_given = configuration.get("skipLeadingRows") is not None
        self.newlines = bool(configuration.get("allowQuotedNewlines"))
        self.jagged = bool(configuration.get("allowJaggedRows"))
        self.ignore_unknown = bool(configuration.get("ignoreUnknownValues"))
        encoding = (configuration.get("encoding") or "UTF-8").upper()
        if encoding not in ("UTF-8", "ISO-8859-1"):
            raise not_emulated(f"CSV files in the encoding {encoding}")
        self.encoding = {"UTF-8": "utf-8", "ISO-8859-1": "latin-1"}[encoding]

    def detect(self) -> list[Field]:
        """Names and types of the columns from the first rows, as `autodetect` does.

        A column without values is a STRING. Sets the number of skipped rows.
        """
        rows = self._sample()
        if not rows:
            return []
        first = self.skip if self.skip_given else 1
        body = rows[first:]
        types = _types(body)
        header = rows[first - 1] if 0 < first <= len(rows) else None
        if header is not None and not _is_header(header, types, bool(body)):
            header = None
        if not self.skip_given:
            self.skip = 0 if header is None else 1
            types = _types(rows) if header is None else types
        names = [] if header is None else header
        types += ["STRING"] * (len(names) - len(types))
        names = [*names, *(f"{types[i].lower()}_field_{i}" for i in range(len(names), len(types)))]
        return [
            Field(_column_name(n, i), t) for i, (n, t) in enumerate(zip(names, types, strict=True))
        ]

    def query(self, fields: list[Field], strict: bool) -> str:
        """DuckDB query for the rows. If not `strict`, bad values are NULL; see `wrong`."""
        for field in fields:
            if field.repeated or field.type == "STRUCT":
                raise invalid(f"Failed to load CSV: field {field.name} is nested or repeated.")
        values = [f"{self._value(field, strict)} AS {quoted(field.name)}" for field in fields]
        return f"SELECT {', '.join(values)} FROM ({self._texts(fields, strict)})"

    def wrong(self, fields: list[Field]) -> str:
        """DuckDB query for (field name, text, row number, file, problem) of bad values.

        The problem is NULL of a text that has not the column's type.
        """
        parts = []
        for f in fields:
            value, problem = self._value(f, False), self._problem(f)
            parts.append(
                f"SELECT {literal(f.name)}, {_raw(f)}, row, filename, {problem} FROM texts WHERE "
                f"{_raw(f)} IS NOT NULL AND (({value}) IS NULL OR ({problem}) IS NOT NULL)"
            )
        return " UNION ALL ".join(parts)

    def _problem(self, field: Field) -> str:
        """What the column's type parameters say of a value; NULL if nothing."""
        value = self._value(field, False)
        return field.parameters.problem(f"({value})", field.type) if field.parameters else "NULL"

    def texts(self, fields: list[Field]) -> str:
        """DuckDB query for the texts, without lines that cannot be split, with the number of the
        `row` in its file.
        """
        number = "row_number() OVER (PARTITION BY filename)"
        return f"SELECT *, {number} AS row FROM ({self._texts(fields, False)})"

    def values(self, fields: list[Field]) -> str:
        """DuckDB query for the rows of `texts` without bad values."""
        columns = [f"{self._value(f, False)} AS {quoted(f.name)}" for f in fields]
        good = [f"({_raw(f)} IS NULL OR ({self._value(f, False)}) IS NOT NULL)" for f in fields]
        good += [f"({self._problem(f)}) IS NULL" for f in fields if f.parameters]
        chosen = f"FROM texts WHERE {' AND '.join(good)} ORDER BY filename, row"
        return f"SELECT {', '.join(columns)} {chosen}"

    def _texts(self, fields: list[Field], strict: bool) -> str:
        columns = ", ".join(f"{literal(_raw_name(f))}: 'VARCHAR'" for f in fields)
        # Lines of a text: DuckDB's strict parser refuses one whose lines end in different ways.
        lines = len(fields) == 1 and not self.quote
        options = [
            "auto_detect = false",
            "header = false",
            f"skip = {self.skip}",
            f"delim = {literal(self.delimiter)}",
            f"quote = {literal(self.quote)}",
            f"escape = {literal(self.quote)}",
            f"nullstr = {literal(self.null_marker)}",
            "allow_quoted_nulls = false",
            f"max_line_size = {_LONGEST_LINE}",
            f"encoding = '{self.encoding}'",
            f"null_padding = {str(self.jagged).lower()}",
            f"strict_mode = {str(not self.ignore_unknown and not lines).lower()}",
            f"columns = {{{columns}}}",
        ]
        if not strict:
            options += ["filename = true", "store_rejects = true", "rejects_table = 'rejects'"]
            options += ["rejects_scan = 'rejects_scans'"]
        parts = []
        for zipped in (False, True):
            paths = [literal(str(p)) for p in self.paths if is_gzip(p) == zipped]
            if paths:
                kind = f"compression = '{'gzip' if zipped else 'none'}'"
                listed = ", ".join([f"[{', '.join(paths)}]", *options, kind])
                parts.append(f"SELECT * FROM read_csv({listed})")
        return " UNION ALL ".join(parts)

    def _value(self, field: Field, strict: bool) -> str:
        value = cast(_raw(field), field, strict)
        if self.newlines or field.type not in ("STRING", "BYTES", "JSON"):
            return value
        problem = "NULL"
        if strict:
            words = f"Newline in quoted field {field.name}: it needs allowQuotedNewlines."
            problem = f"error({literal(words)})"
        return f"CASE WHEN contains({_raw(field)}, chr(10)) THEN {problem} ELSE {value} END"

    def _sample(self) -> list[list[str]]:
        path = self.paths[0]
        with gzip.open(path, "rb") if is_gzip(path) else path.open("rb") as raw:
            text = io.TextIOWrapper(raw, encoding=self.encoding, errors="replace", newline="")
            quoting = csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE
            reader = csv.reader(
                text, delimiter=self.delimiter, quotechar=self.quote or None, quoting=quoting
            )
            rows = list(itertools.islice((r for r in reader if r), self.skip + _SAMPLE_ROWS))
        marker = self.null_marker
        return [["" if cell == marker else cell for cell in row] for row in rows]


def cast(text: str, field: Field, strict: bool = True) -> str:
    """DuckDB expression that parses a value of `field` from a text, as BigQuery's loads do."""
    do = "CAST" if strict else "TRY_CAST"
    kind = field.type
    if kind in ("STRING",):
        return text
    if kind == "BYTES":
        return f"from_base64({text})" if strict else f"try(from_base64({text}))"
    if kind == "BOOL":
        known = f"lower(trim({text}))"
        return (
            f"CASE WHEN {known} IN ('true', 't', 'yes', 'y', '1') THEN true "
            f"WHEN {known} IN ('false', 'f', 'no', 'n', '0') THEN false "
            f"ELSE {do}({text} AS BOOLEAN) END"
        )
    if kind == "INT64":  # DuckDB rounds 1.5; BigQuery rejects it
        whole = f"regexp_full_match(trim({text}), '[+-]?[0-9]+(\\.0*)?')"
        bad = f"{do}('not an integer: ' || {text} AS BIGINT)"
        return f"CASE WHEN {whole} THEN {do}({text} AS BIGINT) ELSE {bad} END"
    if kind == "TIMESTAMP":
        return f"{do}(replace({text}, ' UTC', '+00') AS TIMESTAMPTZ)"
    return f"{do}({text} AS {field.duckdb})"


def _raw_name(field: Field) -> str:
    return "text of " + field.name


def _raw(field: Field) -> str:
    return quoted(_raw_name(field))


def _delimiter(text: str) -> str:
    if text in ("\\t", "tab", "TAB"):
        return "\t"
    return codecs.decode(text, "unicode_escape") if text.startswith("\\") else text


def _types(rows: list[list[str]]) -> list[str]:
    width = max((len(row) for row in rows), default=0)
    return [_type([row[i] for row in rows if i < len(row)]) for i in range(width)]


def _type(values: list[str]) -> str:
    values = [value for value in values if value != ""]
    if not values:
        return "STRING"
    for kind, pattern in _DETECTED:
        if all(pattern.fullmatch(value.strip()) for value in values):
            return kind
    return "STRING"


def _is_header(header: list[str], types: list[str], body: bool) -> bool:
    """The first row is a header if its text has not the type of the column's other rows."""
    if not body or any(cell == "" for cell in header):
        return False
    own = [_type([cell]) for cell in header]
    return all(kind == "STRING" for kind in own) and any(kind != "STRING" for kind in types)


def _column_name(name: str, index: int) -> str:
    # https://cloud.google.com/bigquery/docs/schema-detect#csv_header: a character that is not
    # allowed in a name becomes an underscore.
    name = re.sub(r"[^\w]", "_", name.strip()) or f"_{index}"
    return f"_{name}" if name[0].isdigit() else name
