"""Text divided by separators (CSV): its columns as texts, every value as the file has it.

pyarrow divides the text, in one block: its reader loses a character where a line break in quotes
meets the end of a block (https://github.com/apache/arrow/issues/51368). Python's csv module looks
at the first lines, and finds the line that pyarrow refuses.
"""

import csv
import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trellis.new import contents, headers, kinds
from trellis.new.described import DataError, Note, Reading

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}

_SAMPLE = 200
"""Records that show how a file is divided."""


@dataclass
class Texts:
    """A file's columns as texts. names: the header's. columns: pyarrow.ChunkedArrays of strings;
    null where nothing stands between two separators, and "" for a quoted empty text. form: what the
    file is. body: what is below the header, from the line `first` on, `width` values wide. places:
    of each column, among those values. rows: those that have a value; None for all.
    """

    path: Path
    form: str
    names: list[str]
    columns: list[Any]
    notes: list[Note]
    body: bytes
    separator: str
    first: int
    width: int
    places: list[int]
    rows: Any = None

    def line(self, row: int) -> int:
        """The line of the file, from 1, in which a row begins."""
        at = row if self.rows is None else self.rows[row].as_py()
        filled = (line for line, r in _records(self.body, self.separator, self.first) if r)
        return next(itertools.islice(filled, at, None), self.first + at)

    def unquoted(self, column: int, text: str) -> Any:
        """Return where the column has this text without quotes: a pyarrow array of booleans."""
        from pyarrow import compute

        place = self.places[column]
        plain = _divided(self.body, self.separator, self.width, [text], [place])
        nulls = compute.is_null(plain.column(0))
        if self.rows is not None:
            nulls = nulls.take(self.rows)
        has = compute.fill_null(compute.equal(self.columns[column], text), False)
        return compute.and_(nulls, has)


class _StrayReturnError(Exception):
    """A carriage return within an unquoted value. args: the line."""


def read(path: Path, reading: Reading) -> Texts:
    """The columns of a text file with a header. Raises DataError with line, column and remedy."""
    try:
        return _read(path, reading)
    except _StrayReturnError as error:
        raise DataError(
            f"{path}: line {error.args[0]} has a carriage return (byte 0x0D) within it; end all "
            "lines in the same way, or put quotes around a value with a line break"
        ) from None


def header_of(name: str, start: bytes) -> list[str]:
    """The names in the first line of a text. start: its first lines. Raises DataError for a line
    that cannot be a header.
    """
    separator = _separator(start)
    line, header = next(((line, r) for line, r in _records(start, separator, 1) if r), (1, []))
    return headers.check(name, header, _sample(start, separator)[1:], line)[0]


def _read(path: Path, reading: Reading) -> Texts:
    from pyarrow import compute

    raw = contents.unpacked(path)
    if not raw.strip():
        raise DataError(f"{path} is empty: expected a header and rows below it")
    kinds.check_text(path, raw)
    encoding = reading.encoding or contents.encoding_of(raw)
    if encoding is None:
        _check_text(path, raw)
        _check_utf8(path, raw)
        encoding = "utf-8"
    data = contents.in_utf8(path, raw, encoding)
    _check_text(path, data)
    data = _line_ends(data)
    data, first, separator, notes = _without_preamble(path, data)
    separator = separator or _separator(data)
    start, header = next(_records(data, separator, first))
    body, below = _below_header(data, separator, first)
    header, more = headers.check(path, header, _sample(body, separator), start)
    if not body.strip():
        raise DataError(f"{path} has no rows below its header (line {start})")
    notes += more
    form = f"text in {_shown(encoding)}, separated by {SEPARATORS[separator]}"
    try:
        table = _divided(body, separator, len(header), [""], range(len(header)))
    except ValueError:  # pyarrow.ArrowInvalid
        raise _uneven(path, header, body, separator, below) from None
    if body.count(b'"') % 2 and (open_at := _refused(body, separator, below, _UNCLOSED)):
        raise DataError(
            f"{path}: the quotes that line {open_at} opens are never closed; close them, or write "
            'a quote inside a value twice ("")'
        )
    if b'\\"' in body and (escaped := _refused(body, separator, below, _ESCAPED)):
        raise DataError(
            f"{path}: line {escaped} has a backslash before a quote inside a value in quotes; "
            'write such a quote twice ("")'
        )
    places = list(range(len(header)))
    found = Texts(
        path, form, header, table.columns, notes, body, separator, below, len(header), places
    )
    _drop_empty(found, compute)
    return found


def _divided(
    data: bytes, separator: str, width: int, nulls: Sequence[str], columns: Sequence[int]
) -> Any:
    """Columns as strings. nulls: unquoted texts that become null."""
    import pyarrow
    from pyarrow import csv as arrow

    names = [str(n) for n in range(width)]
    wanted = [names[n] for n in columns]
    return arrow.read_csv(
        pyarrow.BufferReader(data),
        arrow.ReadOptions(column_names=names, block_size=len(data) + 1),
        arrow.ParseOptions(delimiter=separator, newlines_in_values=True),
        arrow.ConvertOptions(
            column_types=dict.fromkeys(wanted, pyarrow.string()),
            include_columns=wanted,
            null_values=list(nulls),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _records(data: bytes, separator: str, first: int) -> Iterator[tuple[int, list[str]]]:
    """(line, values) of each record; no values for a blank line. first: the number of line 1."""
    csv.field_size_limit(contents.MOST_BYTES)
    reader = csv.reader(_lines(data), delimiter=separator)
    line = first
    try:
        for record in reader:
            yield line, record
            line = first + reader.line_num
    except csv.Error:
        raise _StrayReturnError(first + reader.line_num - 1) from None


def _line_ends(data: bytes) -> bytes:
    """The data with \\n where lines end in \\r alone, as on an old Macintosh."""
    return data if b"\n" in data else data.replace(b"\r", b"\n")


def _lines(data: bytes) -> Iterator[str]:
    position = 0
    while position < len(data):
        end = data.find(b"\n", position) + 1 or len(data)
        yield data[position:end].decode("utf-8", "replace")
        position = end


def _sample(data: bytes, separator: str) -> list[list[str]]:
    found = []
    for _, record in _records(data, separator, 1):
        if record:
            found.append(record)
        if len(found) == _SAMPLE:
            break
    return found


def _separator(data: bytes) -> str:
    """The separator that divides the first records evenly, and most finely; if none is even, one
    that divides the header as it does some record, so that the others are refused.
    """
    ranks = []
    for order, candidate in enumerate(SEPARATORS):
        counts = [len(record) for record in _sample(data, candidate)]
        below = counts[1:] or counts
        width = max(set(below), key=lambda w: (below.count(w), w))
        even = sum(count == width for count in below) / len(below)
        fits = width > 1 and even > 0.9
        matched = counts[0] == width if fits else counts[0] > 1 and counts[0] in below
        ranks.append((fits, matched, width, even, -order, candidate))
    return max(ranks)[-1]


def _without_preamble(path: Path, data: bytes) -> tuple[bytes, int, str | None, list[Note]]:
    """The data from the header on, the header's line, the separator if a line says it (Excel's
    `sep=;`), and notes.
    """
    notes, first, separator, comments = [], 1, None, 0
    position, last = 0, b""
    while position < len(data):
        end = data.find(b"\n", position) + 1 or len(data)
        line = data[position:end].strip()
        if first == 1 and (declared := re.fullmatch(rb"sep=([,;\t|])", line)):
            separator = declared.group(1).decode()
        elif line.startswith(b"#"):
            comments, last = comments + 1, data[position:end]
        elif line:
            break
        position, first = end, first + 1
    if comments and _is_header(last, data[position:]):
        # `#id<TAB>value`, as bioinformatics' tools write a header.
        position, first, comments = position - len(last), first - 1, comments - 1
        data = data[:position] + data[position:].replace(b"#", b"", 1)
        notes.append(Note("left out", "the # before the header"))
    if comments:
        notes.append(Note("left out", f"{comments} lines that begin with # above the header"))
    if position >= len(data):
        raise DataError(f"{path} has no header: all its lines are blank or begin with #")
    return data[position:], first, separator, notes


def _is_header(line: bytes, below: bytes) -> bool:
    """Return whether a line that begins with # is the header of what is below it: as many values,
    names above numbers.
    """
    separator = _separator(below) if below.strip() else ","
    names = next(csv.reader([line.decode("utf-8", "replace")], delimiter=separator))
    under = next((r for _, r in _records(below, separator, 1) if r), [])
    numbers = sum(bool(headers.NUMBER.fullmatch(value)) for value in under)
    return len(names) == len(under) > 1 and numbers > 0


def _below_header(data: bytes, separator: str, first: int) -> tuple[bytes, int]:
    """Return the text below the first record, and the line in which it begins."""
    records = _records(data, separator, first)
    next(records)
    below = next(records, (first, []))[0]
    position = 0
    for _ in range(below - first):
        position = data.find(b"\n", position) + 1
    return (data[position:], below) if below > first else (b"", first + 1)


def _drop_empty(found: Texts, compute: Any) -> None:
    """Leave out columns without a name and without a value, and rows without a value."""
    kept = [n for n, c in enumerate(found.columns) if found.names[n].strip() or len(c.drop_null())]
    for n in set(found.places) - set(kept):
        found.notes.append(Note("left out", f"column {n + 1}, without a name and without values"))
    found.places = kept
    found.names = [found.names[n] for n in kept]
    found.columns = [found.columns[n] for n in kept]
    empty = functools.reduce(compute.and_, map(compute.is_null, found.columns))
    count = compute.sum(empty).as_py() or 0
    if count == len(empty):
        raise DataError(f"{found.path} has no rows below its header: its lines have no values")
    if count:
        found.rows = compute.indices_nonzero(compute.invert(empty))
        found.columns = [column.take(found.rows) for column in found.columns]
        found.notes.append(Note("left out", f"{count:,} lines with separators and no value"))


def _check_utf8(path: Path, data: bytes) -> None:
    """Raises DataError that names the first value that is not UTF-8, and what it may be."""
    data = _line_ends(data)
    try:
        data.decode("utf-8")
        return
    except UnicodeDecodeError as error:
        at = error.start
    as_bytes = data.decode("latin-1").encode()
    separator = _separator(as_bytes)
    records = _records(as_bytes, separator, 1)
    header: list[str] = []
    line, column, value = data[:at].count(b"\n") + 1, None, ""
    for number, record in records:
        header = header or record
        bad = next((n for n, text in enumerate(record) if not _is_utf8(text)), None)
        if bad is not None:
            line, value = number, record[bad]
            column = header[bad] if bad < len(header) and header is not record else None
            break
    where = f"line {line}" + (f", column {_guess(column)!r}" if column else "")
    raise DataError(
        f"{path} is not in UTF-8: {where}, byte 0x{data[at]:02X}. In Windows-1252, in which Excel "
        f"saves a CSV in Western Europe and America, this value reads {_guess(value)[:60]!r}. If "
        "that is right, add --encoding cp1252; else name the encoding that it was saved in "
        "(--encoding cp1251, shift-jis, ...), or save it as `CSV UTF-8`"
    )


def _check_text(path: Path, data: bytes) -> None:
    if (at := data.find(b"\0")) >= 0:
        line = data[:at].count(b"\n") + 1
        raise DataError(
            f"{path}: line {line} has a byte of value 0: this is no text, or its encoding is "
            "another one: name it with --encoding, or save it as `CSV UTF-8`"
        )
    if re.match(rb"\s*<(!doctype|html|\?xml|table)", data[:200], re.IGNORECASE):
        raise DataError(
            f"{path} is HTML or XML, not a table of values: open it in a spreadsheet and save it "
            "as `CSV UTF-8`"
        )


def _is_utf8(text: str) -> bool:
    try:
        text.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _guess(text: str) -> str:
    return text.encode("latin-1").decode("cp1252", "replace").strip()


def _uneven(
    path: Path, header: Sequence[str], body: bytes, separator: str, first: int
) -> DataError:
    """The first line that has another number of values than the header has names."""
    open_at = _refused(body, separator, first, _UNCLOSED)
    uneven = ((n, r) for n, r in _records(body, separator, first) if r and len(r) != len(header))
    line, record = next(uneven, (None, []))
    if line is None:
        hint = " (a backslash before a quote does not escape it)" if b'\\"' in body else ""
        return DataError(
            f"{path} cannot be divided into the {len(header)} values of its header: look for a "
            f'quote inside a value, which must be written twice (""){hint}'
        )
    if open_at is not None and open_at <= line:
        return DataError(
            f"{path}: the quotes that line {open_at} opens are never closed; close them, or write "
            'a quote inside a value twice ("")'
        )
    shown = separator.join(record)[:60]
    message = f"{path}: line {line} has {_values(len(record))}, the header has {len(header)} names"
    if record[0].startswith("#"):
        return DataError(f"{message}: {shown!r}; if it is a comment, remove it")
    if len(record) > len(header) and len(header) <= 2:
        hint = "if the header is further below, remove the lines above it"
    elif len(record) > len(header):
        hint = f"a value that has one of its {SEPARATORS[separator]} in it needs quotes around it"
        if b'\\"' in body:
            hint += ", and a quote in it is written twice, not after a backslash"
    else:
        hint = "complete the line, or remove it"
    return DataError(f"{message}: {shown!r}; {hint}")


# The words with which Python's reader refuses a value in quotes: they are open at the end of the
# file; the value goes on behind them, as after a quote that a backslash was meant to keep.
_UNCLOSED, _ESCAPED = "end of data", "expected after"


def _refused(body: bytes, separator: str, first: int, why: str) -> int | None:
    """Return the line of the first record that the strict reader refuses for this reason; None if
    it refuses none. first: the line at which the body begins.
    """
    line = first
    reader = csv.reader(_lines(body), delimiter=separator, strict=True)
    while True:
        try:
            next(reader)
        except StopIteration:
            return None
        except csv.Error as error:
            if why in str(error):
                return line
        line = first + reader.line_num


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"


def _shown(encoding: str) -> str:
    return {"cp1252": "Windows-1252", "latin-1": "Latin-1"}.get(encoding, encoding.upper())
