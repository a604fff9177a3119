"""Columns of texts as the types that all their rows spell; whatever is not plain has a note."""

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any

from trellis.new import dates, numbers
from trellis.new.delimited import Texts
from trellis.new.described import DataError, Note, Reading
from trellis.workflow.validation.class_names import MISSING, folded

_SAID = 3
"""Number of a column's missing texts that are named with their counts."""

_MOSTLY = 0.5
"""Share of numbers from which a column of texts is reported as nearly numeric."""

_FEW_KINDS = 10
"""So few different texts are categories, such as `<50K` and `20-29`, whatever they look like."""

_FEW = 50
"""Texts of a column with up to so many are compared without case and blanks."""


@dataclass(frozen=True)
class _Column:
    name: str
    texts: Any
    line: Callable[[int], int]


def typed(
    texts: Texts, reading: Reading, kept: Container[int] = ()
) -> tuple[list[Any], list[Note]]:
    """The columns' values as pyarrow arrays, and notes. kept: columns that stay texts, whatever
    these spell. Raises DataError for what is ambiguous.
    """
    notes: list[Note] = []
    columns = []
    for number, name in enumerate(texts.names):
        column = _without_missing(texts.columns[number], reading.missing)
        columns.append(_Column(name, column, texts.line))
    decimal = reading.decimal or _decimal(columns)
    found = []
    for number, column in enumerate(columns):
        values = (
            None if number in kept else _as_values(texts, column, decimal, reading.dates, notes)
        )
        found.append(_as_text(texts, number, column, notes) if values is None else values)
    return found, notes


def _without_missing(column: Any, missing: tuple[str, ...]) -> Any:
    import pyarrow
    from pyarrow import compute

    if not missing:
        return column
    named = compute.is_in(compute.utf8_trim_whitespace(column), pyarrow.array(missing))
    return compute.if_else(named, None, column)


def _decimal(columns: list[_Column]) -> str | None:
    """The decimal mark of a file, if its columns agree on one."""
    found = set()
    for column in columns:
        present = _present(column.texts)
        if len(present):
            found.add(numbers.mark_of(present))
    marks = found & {numbers.Mark.POINT, numbers.Mark.COMMA}
    return next(iter(marks)).value if len(marks) == 1 else None


def _present(texts: Any) -> Any:
    """The texts that stand for a value, without blanks around them."""
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(texts)
    return trimmed.filter(_is_present(trimmed))


def _is_present(trimmed: Any) -> Any:
    import pyarrow
    from pyarrow import compute

    absent = compute.is_in(trimmed, pyarrow.array([None, "", *MISSING], pyarrow.string()))
    return compute.invert(absent)


def _as_values(
    texts: Texts, column: _Column, decimal: str | None, order: str | None, notes: list[Note]
) -> Any:
    """Numbers, booleans, dates or times; None for a column of texts."""
    import pyarrow
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(column.texts)
    there = _is_present(trimmed)
    present = trimmed.filter(there)
    if not len(present):
        return None
    spelled = _booleans(present)
    try:
        if spelled is None and (read := numbers.parsed(present, decimal)) is not None:
            spelled = read.values
            if read.how:
                notes.append(Note("numbers", f"{column.name} ({read.how})"))
    except numbers.CodesError as why:
        notes.append(Note("kept as text", f"{column.name} ({why})"))
        return None
    except numbers.AmbiguousError:
        raise _which(texts, column, trimmed, ",", "decimal") from None
    try:
        if spelled is None and (moments := dates.parsed(present, order)) is not None:
            spelled = moments.values
            if moments.order:
                notes.append(Note("dates", f"{column.name} ({moments.order})"))
    except dates.AmbiguousError:
        raise _which(texts, column, trimmed, "/-", "dates") from None
    if spelled is None:
        return None
    _say_missing(column, trimmed, there, notes)
    spelled = spelled.combine_chunks() if isinstance(spelled, pyarrow.ChunkedArray) else spelled
    # Back to the places of the rows: the n-th present value, null elsewhere.
    place = compute.subtract(compute.cumulative_sum(compute.cast(there, pyarrow.int64())), 1)
    return spelled.take(compute.if_else(there, place, None).combine_chunks())


def _booleans(present: Any) -> Any:
    import pyarrow
    from pyarrow import compute

    lower = compute.utf8_lower(present)
    words = pyarrow.array(["true", "false"])
    if not compute.all(compute.is_in(lower, words)).as_py():
        return None
    return compute.equal(lower, "true")


def _as_text(texts: Texts, number: int, column: _Column, notes: list[Note]) -> Any:
    """The texts as they are. `NA` without quotes is missing where the other texts have quotes, as R
    writes it; else it may be a class or a country, stays, and is said.
    """
    import pyarrow
    from pyarrow import compute

    found = column.texts
    alike = compute.is_in(found, pyarrow.array(["", *MISSING]))
    counts = found.filter(alike).value_counts().to_pylist()
    other = found.filter(compute.invert(alike)).drop_null()
    quoted = bool(counts) and len(other) > 0 and not _is_bare(texts, number, other[0].as_py())
    for entry in sorted(counts, key=lambda each: each["values"]):
        text, count = entry["values"], entry["counts"]
        bare = texts.unquoted(number, text) if text else None
        if quoted and bare is not None and (missing := compute.sum(bare).as_py()):
            found = compute.if_else(bare, None, found)
            of = f"{column.name} ({text} without quotes, in {missing:,} rows)"
            notes.append(Note("missing", of))
            count -= missing
        elif not len(other) and text:
            found = compute.if_else(compute.equal(found, text), None, found)
            notes.append(Note("missing", f"{column.name} ({text} in {count:,} rows, no other)"))
            count = 0
        if count:
            of = f"{column.name} has {text!r} in {count:,} rows"
            notes.append(Note("texts, not missing values, unless --missing names them", of))
    if len(other):
        _say_nearly(column, other, notes)
        _say_variants(column, other, notes)
    return found


def _is_bare(texts: Texts, number: int, text: str) -> bool:
    from pyarrow import compute

    return bool(compute.any(texts.unquoted(number, text)).as_py())


def _say_missing(column: _Column, trimmed: Any, there: Any, notes: list[Note]) -> None:
    from pyarrow import compute

    absent = trimmed.filter(compute.invert(there)).drop_null()
    named = absent.filter(compute.not_equal(absent, ""))
    counts = sorted(named.value_counts().to_pylist(), key=lambda each: -each["counts"])
    if counts:
        shown = ", ".join(f"{c['values']} in {c['counts']:,} rows" for c in counts[:_SAID])
        notes.append(Note("missing", f"{column.name} ({shown})"))


def _say_nearly(column: _Column, other: Any, notes: list[Note]) -> None:
    """Adds a note for a column that would be one of numbers or dates but for some texts, or for
    how its texts are written.
    """
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(other)
    alike = numbers.number_like(trimmed)
    share = compute.mean(alike).as_py()
    if share == 1:
        return
    if share >= _MOSTLY:
        odd = trimmed.filter(compute.invert(alike))
        more = f" and {len(odd) - 1:,} more" if len(odd) > 1 else ""
        what = "kept as text, though most values are numbers (--missing names texts that are none)"
        notes.append(Note(what, f"{column.name} ({_shown(column, odd[0].as_py())}{more})"))
    elif len(trimmed.unique()) <= _FEW_KINDS:
        return
    elif (text := dates.odd(trimmed)) is not None:
        what = "kept as text, though most values look like dates; write all as 2024-03-31 08:30:00"
        notes.append(Note(what, f"{column.name} ({_shown(column, text)})"))
    elif compute.mean(decorated := numbers.decorated(trimmed)).as_py() >= _MOSTLY:
        text = trimmed.filter(compute.and_not(decorated, alike))[0].as_py()
        what = "kept as text, though most values are numbers with something beside; write 1234.5"
        notes.append(Note(what, f"{column.name} ({_shown(column, text)})"))


def _shown(column: _Column, text: str) -> str:
    """A text of the column, and its line."""
    from pyarrow import compute

    at = compute.index(compute.utf8_trim_whitespace(column.texts), text).as_py()
    return f"{text[:30]!r} in line {column.line(at)}"


def _say_variants(column: _Column, other: Any, notes: list[Note]) -> None:
    """Texts of a few that differ in case, blanks and accents' encoding alone."""
    counts = other.value_counts().to_pylist() if len(other.unique()) <= _FEW else []
    spellings: dict[str, list[str]] = {}
    for entry in counts:
        spelled = f"{entry['values']!r} {entry['counts']:,}"
        spellings.setdefault(folded(entry["values"]), []).append(spelled)
    for several in spellings.values():
        if len(several) > 1:
            what = "values that differ in case, blanks or accents' encoding alone"
            notes.append(Note(what, f"{column.name} ({', '.join(several)})"))


def _which(texts: Texts, column: _Column, trimmed: Any, marks: str, option: str) -> DataError:
    """Refuses a value that can be read in two ways."""
    from pyarrow import compute

    at = compute.index(compute.match_substring_regex(trimmed, f"[{marks}]"), True).as_py()
    value = trimmed[at].as_py()
    if option == "decimal":
        two = f"{value.replace(',', '')} or {value.replace(',', '.')}"
        how = "--decimal . (a comma stands between thousands) or --decimal , (decimal commas)"
    else:
        two = "day, month or month, day"
        how = "--dates day-first or --dates month-first, or write dates as 2024-03-31"
    return DataError(
        f"{texts.path}: line {texts.line(at)}, column '{column.name}': {value!r} can be {two}, and "
        f"no value of the column decides: add {how}"
    )
