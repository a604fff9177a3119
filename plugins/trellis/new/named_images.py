"""A folder of images and a table with their names: together a table with a column of addresses.

A name is compared with the path of a file below the folder, its last part or more of it, in any
case and form of accents, with / or \\. Folders that stand before all names of a column, as
`C:\\study\\images`, are left away. If no column has names of files, one may have them without the
suffix, as an identifier is.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from trellis.new import files, folders, signs
from trellis.new.described import IMAGE_SUFFIXES, Column, DataError, File, Note, Pictures, Rows
from trellis.workflow.spec.problems import did_you_mean

COLUMN = "image"
"""The column of addresses beside one of names that identifies the rows."""

_MOSTLY = 0.5
_SHOWN = 5


@dataclass(frozen=True)
class _Named:
    """A column of names. whole: with the file's suffix. found: the file of each name that has one.
    ambiguous: a name, and the files that it may mean. rows: those with a name.
    """

    name: str
    whole: bool
    found: Mapping[Any, Path]
    ambiguous: tuple[Any, Sequence[Path]] | None
    share: float

    @property
    def count(self) -> int:
        """Files that are named."""
        return len(set(self.found.values()))


class _Index(NamedTuple):
    """Files by the last parts of their paths below the folder, one or more, and by whole paths."""

    ends: dict[str, list[Path]]
    paths: dict[str, list[Path]]


def joined(
    folder: Path, table: Path, file: File, place: str, column: str | None, known: Sequence[str] = ()
) -> File:
    """The table with a column of addresses in place of names, or beside the names where these alone
    identify rows.

    table: what `file` was read from. place: gs://... of the images. column: the names; None for
    what the values say. known: columns, in lower case, of the table that the rows are appended to.
    Raises DataError.
    """
    images, notes = folders.files(folder)
    columns = _columns(folder, table, file, images, column)
    for each in columns:
        if each.ambiguous:
            name, some = each.ambiguous
            paths = " and ".join(str(path.relative_to(folder)) for path in some[:2])
            raise DataError(
                f"{table}: '{name}' in column {each.name} may be {paths} in {folder}: write "
                "the path below the folder, with the suffix"
            )
    rows = files.describe(file, str(table))
    names = {each.name for each in columns}
    rest = [c for c in rows.columns if c.name not in names]
    arrow = file.table
    for each in columns:
        beside = not each.whole or _stays(each.name, rows, rest, known)
        target = each.name
        if beside:
            target = COLUMN if len(columns) == 1 else f"{each.name}_{COLUMN}"
            if target.lower() in {name.lower() for name in arrow.column_names}:
                raise DataError(
                    f"{table} has a column '{target}', which is to hold the addresses of what "
                    f"{each.name} names: rename it"
                )
        addresses = {name: _address(place, folder, path) for name, path in each.found.items()}
        arrow = _with(arrow, target, file.table.column(each.name), addresses)
        notes += _said(each, file.table.column(each.name), target, beside, folder)
    used = {path for each in columns for path in each.found.values()}
    if unused := [str(path.relative_to(folder)) for path in images if path not in used]:
        notes.append(Note("images without a row, which are not uploaded", _some(unused)))
    chosen = sorted(used)
    return replace(
        file,
        table=arrow,
        notes=(*file.notes, *notes),
        pictures=Pictures(place, partial(_each, place, folder, chosen)),
    )


def _each(place: str, folder: Path, chosen: Sequence[Path]) -> Iterator[tuple[str, Any]]:
    for path in chosen:
        yield _address(place, folder, path), path.read_bytes


def _address(place: str, folder: Path, path: Path) -> str:
    return f"{place}/images/{path.relative_to(folder).as_posix()}"


def _stays(name: str, rows: Rows, rest: Sequence[Column], known: Sequence[str]) -> bool:
    """Return whether the names themselves stay in the table, as what identifies its rows."""
    if known:
        return COLUMN in known
    column = rows.column(name)
    identifies = column is not None and signs.is_key(column, rows)
    return identifies and not any(signs.is_key(each, rows) for each in rest)


def _columns(
    folder: Path, table: Path, file: File, images: Sequence[Path], column: str | None
) -> list[_Named]:
    """The columns of names: all with suffixes, or the one without that names most files."""
    rows = files.describe(file, str(table))
    given = rows.column(column) if column else None
    if column and given is None:
        hint = did_you_mean(column, file.table.column_names)
        raise DataError(f"{table} has no column '{column}' (--image); {hint}")
    usable = [given] if given else [c for c in rows.columns if c.type in signs.KEY_TYPES]
    texts = [c for c in usable if c.type == "STRING"]
    whole = _index(folder, images, True)
    named = [_named(file.table.column(c.name), c.name, True, whole) for c in texts]
    good = [each for each in named if each.found and (each.share >= _MOSTLY or given)]
    if not good:
        stems = _index(folder, images, False)
        named = [_named(file.table.column(c.name), c.name, False, stems) for c in usable]
        many = _MOSTLY * len(images)
        good = [n for n in named if n.found and (n.share >= _MOSTLY or n.count >= many or given)]
        good = _best(table, rows, good)
    if not good:
        where = f"column {column} of {table}" if column else f"no column of {table}"
        has = "has no" if column else "has"
        raise DataError(
            f"{where} {has} names of the {len(images):,} images in {folder}, such as "
            f"{images[0].relative_to(folder)}: add a column of names, or name it with --image"
        )
    return good


def _best(table: Path, rows: Rows, named: list[_Named]) -> list[_Named]:
    """The one that names most files; of several, the one that has the name of an identifier."""
    most = max((each.count for each in named), default=0)
    best = [each for each in named if each.count == most]
    if len(best) > 1:
        keys = {c.name for c in rows.columns if signs.has_name_of_key(c)}
        best = [each for each in best if each.name in keys] or best
    if len(best) > 1:
        names = ", ".join(each.name for each in best)
        raise DataError(
            f"{table}: the values of {names} are names of images without the suffix: say which "
            "column names them with --image"
        )
    return best


def _index(folder: Path, images: Sequence[Path], whole: bool) -> _Index:
    found = _Index({}, {})
    for path in images:
        relative = path.relative_to(folder)
        parts = (relative if whole else relative.with_suffix("")).parts
        keys = {_folded("/".join(parts[start:])) for start in range(len(parts))}
        if not whole and parts[-1].isdecimal():
            keys.add(parts[-1].lstrip("0") or "0")  # a table has 7 for 0007.png
        for key in keys:
            found.ends.setdefault(key, []).append(path)
        found.paths.setdefault(_folded("/".join(parts)), []).append(path)
    return found


def _named(column: Any, name: str, whole: bool, index: _Index) -> _Named:
    values = [v for v in column.unique().drop_null().to_pylist() if str(v).strip()]
    if any(str(value).startswith("gs://") for value in values):
        values = []  # addresses already
    parts = {value: _parts(str(value)) for value in values}
    best = {v: index.ends[key] for v, each in parts.items() if (key := _key(each)) in index.ends}
    # Folders before most names. What is left is the whole path then: `b/1.png` is no `a/1.png`.
    above = _above(list(parts.values()))
    for end in range(1, len(above) + 1):
        keys = {
            v: _key(each[end if each[:end] == above[:end] else 0 :]) for v, each in parts.items()
        }
        found = {value: index.paths[key] for value, key in keys.items() if key in index.paths}
        if len(found) > len(best):
            best = found
    exact = {value: _exact(value, paths) for value, paths in best.items()}
    ambiguous = next(((v, paths) for v, paths in exact.items() if len(paths) > 1), None)
    looks = [v for v in values if whole and str(v).strip().lower().endswith(IMAGE_SUFFIXES)]
    share = max(len(best), len(looks)) / len(values) if values else 0.0
    return _Named(name, whole, {v: paths[0] for v, paths in exact.items()}, ambiguous, share)


def _above(names: Sequence[Sequence[str]]) -> list[str]:
    """The folders that stand before most of the names. names: the parts of each."""
    found: list[str] = []
    while True:
        place = len(found)
        inside = [each[place] for each in names if each[:place] == found and len(each) > place + 1]
        ((most, count),) = Counter(inside).most_common(1) or [("", 0)]
        if count <= _MOSTLY * len(names):
            return found
        found.append(most)


def _exact(value: Any, paths: list[Path]) -> list[Path]:
    """The files that a name means: those spelled like it, if there are any among several."""
    if len(paths) == 1:
        return paths
    last = _parts(str(value))[-1]
    return [path for path in paths if last in (path.name, path.stem)] or paths


def _parts(name: str) -> list[str]:
    return [part for part in name.strip().replace("\\", "/").split("/") if part not in ("", ".")]


def _key(parts: Sequence[str]) -> str:
    return _folded("/".join(parts))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _with(arrow: Any, target: str, names: Any, addresses: Mapping[Any, str]) -> Any:
    """The table with a column of addresses, in its place if there is one of this name."""
    import pyarrow

    values = pyarrow.array([addresses.get(name) for name in names.to_pylist()], pyarrow.string())
    if target in arrow.column_names:
        return arrow.set_column(arrow.column_names.index(target), target, values)
    return arrow.append_column(target, values)


def _said(named: _Named, names: Any, target: str, beside: bool, folder: Path) -> list[Note]:
    """What the screen says of a column of names."""
    values = names.to_pylist()
    with_file = sum(value in named.found for value in values)
    what = f"has their addresses, by the names in {named.name}" if beside else "becomes addresses"
    notes = [Note(f"images of {folder}", f"{with_file:,} of {len(values):,} rows; {target} {what}")]
    lost = [str(v) for v in values if v is not None and str(v).strip() and v not in named.found]
    if lost:
        notes.append(Note(f"rows whose image is not in {folder}", f"{named.name}: {_some(lost)}"))
    if empty := len(values) - with_file - len(lost):
        notes.append(Note("rows without the name of an image", f"{named.name}: {empty:,}"))
    return notes


def _some(names: Sequence[str]) -> str:
    """How many, and some of them."""
    more = ", ..." if names[_SHOWN:] else ""
    return f"{len(names):,}, such as {', '.join(names[:_SHOWN])}{more}"
