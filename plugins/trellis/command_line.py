"""What all commands of `trellis` share: the group's folder, and errors that a user can mend."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trellis.google_api import SIGN_IN, CredentialsError
from trellis.new.described import DataError
from trellis.results.selection import NoRunError
from trellis.workflow.spec.problems import FileError


def add_folder(command: Any, why: str, flag: str = "folder") -> None:
    """Add the argument for the folder of platform.yaml. why: what for. flag: its name; with dashes
    it is an option.
    """
    optional: dict[str, Any] = {} if flag.startswith("-") else {"nargs": "?"}
    command.add_argument(
        flag,
        type=Path,
        default=Path("dags"),
        metavar="FOLDER",
        help=f"folder of platform.yaml, {why} (default: dags)",
        **optional,
    )


def guarded(run: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Run a command; returns its exit code, or 1 after an error, which it prints."""
    try:
        return run(options)
    except (FileError, DataError, NoRunError, CredentialsError) as error:
        print(error, file=sys.stderr)
    except Exception as error:
        # Google's libraries take a second to import, and most commands need none.
        from google.api_core.exceptions import GoogleAPICallError
        from google.auth.exceptions import GoogleAuthError

        if isinstance(error, GoogleAPICallError):
            print(f"Google refuses: {error.message}", file=sys.stderr)
        elif isinstance(error, GoogleAuthError):
            print(f"{error}\n{SIGN_IN}", file=sys.stderr)
        else:
            raise
    return 1
