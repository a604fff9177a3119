"""The command `trellis upload`: files and folders of this machine, brought to Google Cloud."""

import argparse
import dataclasses
import glob
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trellis.google_api import check_emulator
from trellis.new import appending, files, images, named_images, pictures
from trellis.new.described import DataError, File, Note, Reading, and_more, lines
from trellis.new.loading import Load
from trellis.results.index import client_of
from trellis.workflow.spec.platform import Platform


class Beside(NamedTuple):
    """A table that names the images of a folder. column: of the names; None for what they say."""

    table: Path
    column: str | None

    @classmethod
    def of(cls, options: argparse.Namespace) -> "Beside | None":
        """The table that the arguments name. Raises DataError for --image without it."""
        if options.table is None:
            if options.image is not None:
                raise DataError("--image is a column of --table, which is not given")
            return None
        return cls(options.table, options.image)

    def options(self) -> list[str]:
        """The command's options that say the same."""
        return ["--table", str(self.table), *(["--image", self.column] if self.column else [])]


def add(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `trellis upload`."""
    command.add_argument(
        "data",
        nargs="+",
        metavar="DATA",
        help="a file or folder, as for `new`; several TFRecords or Parquet files are one table",
    )
    command.add_argument("to", metavar="PLACE", help="DATASET.TABLE, or a folder in Cloud Storage")
    command.add_argument(
        "--append",
        action="store_true",
        help="add the rows to a table that exists and has the same columns; a second upload of the "
        "same rows adds nothing",
    )
    command.add_argument(
        "--key",
        metavar="COLUMN",
        help="with --append: what identifies a row (default: what names and values say); keys that "
        "the table has already are refused",
    )


def run(group: Platform, options: argparse.Namespace, reading: Reading) -> None:
    """Upload what the arguments name; says what is where. Raises DataError."""
    if options.key and not options.append:
        raise DataError("--key is for --append, which compares the keys with those of the table")
    paths = expanded(options.data)
    beside = Beside.of(options)
    if paths[0].is_dir() and beside is None:
        if options.append:
            raise DataError(
                f"{paths[0]} is a folder, and --append is for rows of a table: upload these images "
                "to a folder of their own; a manifest may name images of several"
            )
        _check_alone(paths)
        print(upload_images(group, paths[0], options.to))
        return
    if not options.append:
        print(load(group, read(group, paths, options.to, reading, beside), options.to))
        return
    check_name(options.to)
    client = bigquery(group)
    known = appending.existing(client, options.to)
    reading = dataclasses.replace(reading, types=appending.types(known))
    file = read(group, paths, options.to, reading, beside)
    file = appending.fitted(file, options.to, known)
    rows = Load(client, file, options.to, known.location, known)
    if rows.earlier() is None:
        appending.refuse_known_keys(client, file, options.to, options.key)
    print(_loaded(group, rows))


def expanded(data: Sequence[str]) -> list[Path]:
    """The files or the folder that the words name: a pattern in quotes reaches us as it is."""
    found = []
    for word in data:
        several = [] if Path(word).exists() else sorted(glob.glob(word))
        found += [Path(name) for name in several or [word]]
    if len(found) == 1 and not found[0].exists():
        if found[0].is_symlink():
            raise DataError(f"{found[0]} is a link to {found[0].readlink()}, which is not there")
        raise DataError(f"{found[0]} is no file or folder here")
    return found


def read(
    group: Platform,
    paths: Sequence[Path],
    place: str,
    reading: Reading,
    beside: Beside | None = None,
) -> File:
    """The table in files, or of a folder of images; says what it was taken for, and what reading
    changed.

    place: DATASET.TABLE, where it will be. beside: the table that names a folder's images.
    """
    check_name(place)
    folder = group.uri("/".join(place.split(".")[-2:]))
    if beside is None:
        file = files.read(paths, reading, folder)
    elif not paths[0].is_dir():
        raise DataError(f"{paths[0]} is no folder, and --table names the images of one")
    else:
        _check_alone(paths)
        file = files.read(beside.table, reading)
        file = named_images.joined(
            paths[0], beside.table, file, folder, beside.column, tuple(reading.types)
        )
    what = and_more(paths) if beside is None else f"{paths[0]} and {beside.table}"
    count = f"{file.table.num_rows:,} rows, {file.table.num_columns} columns"
    say(f"{what}: a table ({file.form}), {count}", file.notes)
    return file


def load(group: Platform, file: File, place: str) -> str:
    """Upload a table that is not there yet; says what is where."""
    return _loaded(group, Load(bigquery(group), file, place, group.location))


def upload_images(group: Platform, folder: Path, place: str) -> str:
    """Upload a folder of images and its manifest; says what is where."""
    address = group.uri(place.rstrip("/"))
    count = images.upload(client_of(group), folder, address)
    return f"{count:,} images and {images.MANIFEST} are in {address}"


def say(what: str, notes: Sequence[Note]) -> None:
    """Print what data were taken for, and the notes below it."""
    print(what)
    for line in lines(notes):
        print(f"  {line}")


def bigquery(group: Platform) -> Any:
    """The project's google.cloud.bigquery.Client. Raises UnreachableError."""
    from google.cloud import bigquery as client

    check_emulator()
    return client.Client(project=group.project, location=group.location)


def check_name(place: str) -> None:
    """Raise DataError unless the place is DATASET.TABLE, or with a project."""
    if not re.fullmatch(r"([a-z][a-z0-9-]*\.)?\w+\.\w+", place):
        raise DataError(f"'{place}' is no DATASET.TABLE")


def _loaded(group: Platform, rows: Load) -> str:
    """Upload the images that the rows name, then the rows; says what is where."""
    found = rows.earlier()
    with_images = ""
    if found is None and (of_table := rows.file.pictures) is not None:
        rows.refuse_other_rows()
        count = pictures.upload(client_of(group), of_table)
        with_images = f", {count:,} images in {of_table.folder}"
    found = found or rows.run()
    if found.before is not None:
        return (
            f"The same {found.rows:,} rows have been in {rows.address} since "
            f"{found.before:%Y-%m-%d %H:%M} UTC, and are not loaded again"
        )
    how = "more rows" if rows.known else "rows"
    return f"{found.rows:,} {how} are in {rows.address}{with_images}"


def _check_alone(paths: Sequence[Path]) -> None:
    if len(paths) > 1:
        raise DataError(f"{and_more(paths)}: a folder of images is named alone")
