"""`trellis clean` and `trellis erase`: name what is to go; with --yes it is removed."""

import argparse
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from trellis import command_line
from trellis.results.index import load_index
from trellis.retention import needs
from trellis.workflow.spec import platform

if TYPE_CHECKING:
    from trellis.retention.inventory import Item


def add(commands: Any) -> None:
    """The command's arguments. commands: argparse's subparsers."""
    clean = commands.add_parser(
        "clean", help="list data and models that nobody needs any more, and remove them"
    )
    command_line.add_folder(clean, "whose `retention` says what is kept")
    clean.add_argument("--yes", action="store_true", help="remove what is listed")
    clean.add_argument("--kept", action="store_true", help="also list the kept runs, and why")
    clean.set_defaults(handler=clean_up)
    erase = commands.add_parser(
        "erase", help="find the rows of a patient or another group in what runs have made"
    )
    command_line.add_folder(erase, "which names the bucket and the dataset")
    erase.add_argument(
        "--group",
        required=True,
        metavar="KEY",
        help="a value of the column that `split: {by: ...}` names, or of the source's key",
    )
    erase.add_argument("--yes", action="store_true", help="remove what is listed")
    erase.set_defaults(handler=erase_group)


def clean_up(options: argparse.Namespace, now: datetime | None = None) -> int:
    """Run `trellis clean`; returns the exit code. now: the present, if it is another."""
    from trellis.retention.inventory import Services, removable

    group = platform.load(options.folder)
    if group.retention is None:
        print(
            f"{options.folder / platform.FILE} has no section `retention`: nothing says what is "
            "kept. `trellis reference` has its keys.",
            file=sys.stderr,
        )
        return 1
    services = Services(group)
    index = load_index(services.storage, group.bucket)
    if index.unreadable:
        print(
            f"{len(index.unreadable)} records of runs cannot be read, such as "
            f"{index.unreadable[0]}: what they need is not known, so nothing is removed. Restore "
            "or delete them.",
            file=sys.stderr,
        )
        return 1
    now = now or datetime.now(UTC)
    found = needs.of(index.runs, services.versions(), group.retention.runs, now)
    if options.kept:
        for folder, why in found.reasons.items():
            print(f"Kept: {folder}: {why}")
    return _each(removable(services, found, now), options.yes)


def erase_group(options: argparse.Namespace) -> int:
    """Run `trellis erase`; returns the exit code."""
    from trellis.retention import erasure
    from trellis.retention.inventory import Services

    group = platform.load(options.folder)
    services = Services(group)
    index = load_index(services.storage, group.bucket)
    found = erasure.find(services, options.group, index.runs, services.versions())
    for fingerprint, count in found.datasets.items():
        print(f"Dataset {fingerprint}: {count} rows")
    for run_ in found.runs:
        if training := found.began.get(run_.uri):
            print(f"Began with weights that learned from them: {run_.uri}, of {training}")
        else:
            print(f"Trained on them: {run_.uri}")
    code = _each(erasure.removable(services, found), options.yes)
    for version in found.versions:
        print(
            f"To be retrained without these rows: {version.name}, by {version.run}. Once another "
            "version serves, delete this one, and that folder; later, `trellis clean` removes it"
        )
    for item in erasure.staying(services, found):
        print(
            f"Learned from these rows, and stays as long as that version: {item.name}, "
            f"by {item.why}"
        )
    print(
        "Remove the rows from the source, too, or the next run has them again. Not searched: "
        f"tables outside {group.project}.{group.dataset}, images, copies that people have made."
    )
    return code


def _each(items: Iterable["Item"], yes: bool) -> int:
    from trellis.retention.inventory import NeededAgainError

    count = size = 0
    for item in items:
        try:
            if yes:
                item.remove()
        except NeededAgainError as error:
            print(f"Kept: {error}")
            continue
        print(f"{'Removed' if yes else 'Would remove'} {item.name}: {item.why}")
        count, size = count + 1, size + item.bytes
    what = f"{count} items, {size / 1e9:.2f} GB"
    print(f"{what} removed." if yes else f"{what}. Nothing was removed. With --yes it is.")
    return 0
