"""The argument that all commands of `trellis` share."""

from pathlib import Path
from typing import Any


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
