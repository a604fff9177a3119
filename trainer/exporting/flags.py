"""The command line of trainer.export.

docker/export_template.json has the same parameters but dry-run: Dataflow would miss a job after it.
"""

import argparse
import difflib
import re
from collections.abc import Sequence

from trainer import storage
from trainer.exporting.settings import ExportSettings
from trellis_contracts import job_image

_MAX_SHARDS = 99_999  # file names have five digits


def parse_flags(argv: Sequence[str], description: str) -> tuple[ExportSettings, list[str]]:
    """The settings, and the remaining flags, for Beam. Exits with code 2 on a wrong flag."""
    release = _release()
    parser = _parser(description, release)
    # Before the other flags, which may be another release's.
    if problem := job_image.other_release(release.parse_known_args(argv)[0].contracts):
        parser.error(problem)
    flags, others = parser.parse_known_args(argv)
    del flags.contracts
    # Beam's --dry_run, which says nothing of the data, is not taken for ours.
    ours = [f"--{name}" for name in vars(flags) if name != "dry_run"]
    _refuse_misspelt(parser, ours, others)
    shards, by_bytes = flags.shards
    return ExportSettings(**{**vars(flags), "shards": shards, "by_bytes": by_bytes}), others


def _release() -> argparse.ArgumentParser:
    """The flag of STARTED_BY's value: Dataflow's launcher passes no variables."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(
        "--contracts",
        metavar="VERSION",
        help="version of trellis-contracts of whoever starts the export: another one than this "
        "image's is refused (default: any)",
    )
    return parser


def _parser(description: str, release: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainer.export",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        # An abbreviation of a flag here may be the full name of one of Beam's.
        allow_abbrev=False,
        parents=[release],
    )
    add = parser.add_argument
    add(
        "--source",
        required=True,
        type=_object_address,
        metavar="ADDRESS",
        help="the rows' columns.json, gs://BUCKET/.../columns.json (or a path, for a run by hand)",
    )
    add(
        "--output",
        required=True,
        type=_address,
        metavar="ADDRESS",
        help="folder of the dataset; each fingerprint needs its own",
    )
    add(
        "--fingerprint",
        required=True,
        type=_fingerprint,
        metavar="TEXT",
        help="name of this dataset's content: letters, digits, - and _. The caller derives it "
        "from the rows, so that equal fingerprints mean equal datasets",
    )
    add(
        "--shards",
        type=shards,
        default="8+",
        metavar="N",
        help="number of train files; the other splits get fewer, in proportion. N+: N or more, so "
        "many that each has about 150 MB. Use at least as many as workers will train "
        "(default: %(default)s)",
    )
    add(
        "--dry-run",
        action="store_true",
        help="only print the splits, and the bytes and the time to expect, from a sample that is "
        "exported on this machine to a temporary folder",
    )
    return parser


def _refuse_misspelt(parser: argparse.ArgumentParser, ours: list[str], others: list[str]) -> None:
    """Exit if a flag for Beam resembles one of ours; Beam checks the others later."""
    for argument in others:
        name = argument.partition("=")[0]
        if name.startswith("--") and (near := difflib.get_close_matches(name, ours, 1, cutoff=0.8)):
            parser.error(f"unknown flag {name}; did you mean {near[0]}?")


def _address(text: str) -> str:
    if "://" in text:
        try:
            storage.split_uri(text)
        except storage.StorageError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
    elif not text:
        raise argparse.ArgumentTypeError("the address is empty")
    return text


def _object_address(text: str) -> str:
    if "://" in _address(text) and not storage.split_uri(text)[1].strip("/"):
        raise argparse.ArgumentTypeError(f"{text!r} names a bucket, not an object in it")
    return text


def _fingerprint(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,128}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not 1 to 128 of A-Z, a-z, 0-9, _ and -")
    return text


def shards(text: str) -> tuple[int, bool]:
    """The value of --shards: a number, and whether there may be more, by bytes."""
    number = text.removesuffix("+")
    if not re.fullmatch(r"\d{1,5}", number) or not 1 <= int(number) <= _MAX_SHARDS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number from 1 to {_MAX_SHARDS}, or one with a + after it"
        )
    return int(number), number != text
