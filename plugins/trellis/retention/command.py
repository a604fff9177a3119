"""`trellis clean`: names what nobody needs any more; with --yes it is removed."""

import argparse
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trellis.google_api import SIGN_IN, CredentialsError
from trellis.results.index import load_index
from trellis.retention import needs
from trellis.retention.inventory import Item, Services, removable
from trellis.workflow.spec import platform
from trellis.workflow.spec.problems import FileError


def add(commands: Any) -> None:
    """The command's arguments. commands: argparse's subparsers."""
    clean = commands.add_parser(
        "clean", help="list data and models that nobody needs any more, and remove them"
    )
    clean.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path("dags"),
        metavar="FOLDER",
        help="folder of platform.yaml, whose `retention` says what is kept (default: dags)",
    )
    clean.add_argument("--yes", action="store_true", help="remove what is listed")
    clean.add_argument("--kept", action="store_true", help="also list the kept runs, and why")


def run(options: argparse.Namespace, now: datetime | None = None) -> int:
    """List, and with --yes remove; returns the exit code."""
    from google.api_core.exceptions import GoogleAPICallError
    from google.auth.exceptions import GoogleAuthError

    now = now or datetime.now(UTC)
    try:
        group = platform.load(options.folder)
        if group.retention is None:
            print(
                f"{options.folder / platform.FILE} has no section `retention`: nothing says what "
                "is kept. `trellis reference` has its keys.",
                file=sys.stderr,
            )
            return 1
        services = Services(group)
        index = load_index(services.storage, group.bucket)
        if index.unreadable:
            print(
                f"{len(index.unreadable)} records of runs cannot be read, such as "
                f"{index.unreadable[0]}: what they need is not known, so nothing is removed. "
                "Restore or delete them.",
                file=sys.stderr,
            )
            return 1
        found = needs.of(index.runs, services.versions(), group.retention.runs, now)
        if options.kept:
            for folder, why in found.reasons.items():
                print(f"Kept: {folder}: {why}")
        return _each(removable(services, found, now), options.yes)
    except (FileError, CredentialsError) as error:
        print(error, file=sys.stderr)
        return 1
    except GoogleAPICallError as error:
        print(f"Google refuses: {error.message}", file=sys.stderr)
        return 1
    except GoogleAuthError as error:
        print(f"{error}\n{SIGN_IN}", file=sys.stderr)
        return 1


def _each(items: Iterable[Item], yes: bool) -> int:
    count = size = 0
    for item in items:
        if yes:
            item.remove()
        print(f"{'Removed' if yes else 'Would remove'} {item.name}: {item.why}")
        count, size = count + 1, size + item.bytes
    what = f"{count} items, {size / 1e9:.2f} GB"
    print(f"{what} removed." if yes else f"{what}. Nothing was removed. With --yes it is.")
    return 0
