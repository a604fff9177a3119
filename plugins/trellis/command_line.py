"""The argument that all commands of `trellis` share."""

import argparse
from pathlib import Path
from typing import Any


def add_folder(command: Any, why: str, flag: str = "folder") -> None:
    """Add the argument for the folder of platform.yaml. why: what for. flag: its name; with dashes
    it is an option.
    """
    optional: dict[str, Any] = {} if flag.startswith("-") else {"nargs": "?"}
    command.add_argument(
        flag,
        type=_folder,
        default="dags",  # a text, which argparse checks, too, where the argument is left out
        metavar="FOLDER",
        help=f"folder of platform.yaml, {why} (default: dags)",
        **optional,
    )


def _folder(name: str) -> Path:
    if not Path(name).is_dir():
        raise argparse.ArgumentTypeError(
            f"{name} is no folder here: run the command beside the group's folder of DAG files, or "
            "name that"
        )
    return Path(name)
