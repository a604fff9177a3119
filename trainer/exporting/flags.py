"""The command line of trainer.export.

docker/export_template.json has the same parameters but dry-run: Dataflow would miss a job after it.
"""

import argparse
import difflib
import re
from collections.abc import Sequence
from datetime import date
from typing import Any

from trainer import storage
from trainer.exporting.settings import (
    CHANNELS,
    ENCODINGS,
    MAX_SIDE,
    ExportSettings,
    ImageExportSettings,
)
from trellis_contracts.dataset import CLASSIFICATION, FAMILIES
from trellis_contracts.dataset_features import IMAGE, RESIZES, Feature

_MAX_SHARDS = 99_999  # file names have five digits

# Flags of images only. Their default is None, so that a table can refuse those that are given.
_IMAGE_DEFAULTS: dict[str, Any] = {
    "image_size": None,
    "channels": 3,
    "encoding": None,
    "resize": "stretch",
    "scale": None,
    "max_rejected": 0.05,
    "split_fractions": (80, 10, 10),
    "split_by": None,
    "split_days": None,
    "stratify": False,
    "task": CLASSIFICATION,
    "positive": None,
}


def parse_flags(argv: Sequence[str], description: str) -> tuple[ExportSettings, list[str]]:
    """The settings, and the remaining flags, for Beam. Exits with code 2 on a wrong flag."""
    parser = _parser(description)
    flags, others = parser.parse_known_args(argv)
    # Beam's --dry_run, which says nothing of the data, is not taken for ours.
    ours = [f"--{name}" for name in vars(flags) if name != "dry_run"]
    _refuse_misspelt(parser, ours, others)
    if flags.source.endswith(".json"):
        return _table_settings(parser, flags), others
    return _image_settings(parser, flags), others


def _common(flags: argparse.Namespace) -> dict[str, Any]:
    names = ("source", "output", "fingerprint", "shards", "dry_run")
    return {name: getattr(flags, name) for name in names}


def _table_settings(parser: argparse.ArgumentParser, flags: argparse.Namespace) -> ExportSettings:
    if given := [name for name in _IMAGE_DEFAULTS if getattr(flags, name) is not None]:
        parser.error(
            f"--{', --'.join(given)}: for images only, but {flags.source} is a table's columns.json"
        )
    return ExportSettings(**_common(flags))


def _image_settings(
    parser: argparse.ArgumentParser, flags: argparse.Namespace
) -> ImageExportSettings:
    if flags.image_size is None:
        parser.error(
            "--image_size is required for images (of a table, --source is the address of its "
            "columns.json)"
        )
    values = {
        name: default if getattr(flags, name) is None else getattr(flags, name)
        for name, default in _IMAGE_DEFAULTS.items()
    }
    if values["split_days"] and not values["split_by"]:
        parser.error("--split_days: --split_by has to say what the days are")
    if values["stratify"] and (values["split_by"] or values["task"] != CLASSIFICATION):
        parser.error("--stratify true divides single classes, not groups, days, sets or numbers")
    scale = values["scale"]
    encoding = values["encoding"] or ("jpeg" if scale is None else "png")
    if scale is not None and encoding == "jpeg":
        parser.error("--encoding jpeg keeps 8 bits, and --scale makes 16: leave it out")
    shape = (*flags.image_size, values["channels"])
    return ImageExportSettings(
        **_common(flags),
        image=Feature(
            "image",
            IMAGE,
            "uint8" if scale is None else "uint16",
            encoding,
            shape,
            resize=values["resize"],
            scale=scale,
        ),
        max_rejected=values["max_rejected"],
        fractions=values["split_fractions"],
        split_by=values["split_by"],
        days=values["split_days"],
        stratify=values["stratify"],
        task=values["task"],
        positive=values["positive"],
    )


def _parser(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainer.export",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        # An abbreviation of a flag here may be the full name of one of Beam's.
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--source",
        required=True,
        type=_object_address,
        metavar="ADDRESS",
        help="manifest of images, gs://BUCKET/NAME.csv, or a table's columns.json, "
        "gs://BUCKET/.../columns.json (or a path, for a run by hand)",
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
        "from the manifest and the flags, so that equal fingerprints mean equal datasets",
    )
    add(
        "--image_size",
        type=_image_size,
        metavar="N|HxW",
        help=f"images only, required: height and width of the stored images in pixels, 1 to "
        f"{MAX_SIDE}",
    )
    add(
        "--channels",
        type=int,
        choices=CHANNELS,
        help="images only: 3: RGB, 1: grey (default: 3)",
    )
    add(
        "--encoding",
        choices=ENCODINGS,
        help="images only: png: lossless; jpeg: quality 95, a fifth of the size for "
        "photographs (default: jpeg; with --scale png, of 16 bits)",
    )
    add(
        "--resize",
        choices=RESIZES,
        help="images only: how an image of another shape becomes that size: stretch; letterbox: "
        "all of it, between black bars; crop: the largest part around its middle "
        "(default: stretch)",
    )
    add(
        "--scale",
        type=_scale,
        metavar="RULE",
        help="images only: how values of more than 8 bits per channel become pixels, of 16 bits: "
        "full: the whole range of the file's type; range:LOW,HIGH; percentiles:LOW,HIGH of each "
        "image (default: a file of more than 8 bits is rejected)",
    )
    add(
        "--shards",
        type=_shards,
        default=8,
        metavar="N",
        help="number of train files; the other splits get fewer, in proportion. Use at least as "
        "many as workers will train, and about 100 MB each for large datasets "
        "(default: %(default)s)",
    )
    add(
        "--max_rejected",
        type=_share,
        metavar="SHARE",
        help="images only: share of manifest lines, 0 to 1, that may be rejected (missing or "
        "corrupt image, no label) before the export fails (default: 0.05)",
    )
    add(
        "--split_fractions",
        type=_fractions,
        metavar="A,B,C",
        help="images only: percent of train, validation and test; not used when the manifest names "
        "the splits (default: 80,10,10). For a table, columns.json has them",
    )
    add(
        "--split_by",
        metavar="NAME",
        help="images only: the last field, after the label, is a group, such as a patient, whose "
        "images stay in one split; NAME says what they are. For a table, columns.json says it",
    )
    add(
        "--split_days",
        type=_days,
        metavar="DAY,DAY",
        help="images only: the last field, after the label, is no group but a day or moment (ISO "
        "8601, UTC); these are the first days of validation and test, such as "
        "2024-01-01,2024-03-01",
    )
    add(
        "--stratify",
        type=_choice,
        metavar="true|false",
        help="images only: divide each class by the fractions, exactly, in the order of the hashes "
        "of the images' names (default: false)",
    )
    add(
        "--task",
        choices=FAMILIES,
        help="images only: a line has one label, the name of a class; any number of them; or a "
        "number to predict (default: classification). For a table, columns.json says it",
    )
    add(
        "--positive",
        metavar="CLASS",
        help="images only: of two classes the positive one (default: the second in natural order). "
        "For a table, columns.json says it",
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


def _image_size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,5})(?:[xX](\d{1,5}))?", text)
    height, width = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not (1 <= height <= MAX_SIDE and 1 <= width <= MAX_SIDE):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an image size: N or HEIGHTxWIDTH, each 1 to {MAX_SIDE} pixels"
        )
    return height, width


def _scale(text: str) -> str:
    from trainer.images.scale import Scale

    try:
        return str(Scale.parse(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is none of full, range:LOW,HIGH and percentiles:LOW,HIGH"
        ) from error


def _shards(text: str) -> int:
    if not re.fullmatch(r"\d{1,5}", text) or not 1 <= int(text) <= _MAX_SHARDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {_MAX_SHARDS}")
    return int(text)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0 to 1 (5 percent: 0.05)")
    return share


def _days(text: str) -> tuple[date, date]:
    try:
        validation, test = (date.fromisoformat(part.strip()) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not two days, such as 2024-01-01,2024-03-01"
        ) from None
    if validation >= test:
        raise argparse.ArgumentTypeError(f"{text!r}: validation has to begin before test")
    return validation, test


def _choice(text: str) -> bool:
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text == "true"


def _fractions(text: str) -> tuple[int, int, int]:
    parts = text.split(",")
    if len(parts) != 3 or not all(re.fullmatch(r"\d{1,3}", part.strip()) for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not three whole percentages, like 80,10,10")
    train, validation, test = (int(part) for part in parts)
    fractions = (train, validation, test)
    if sum(fractions) != 100 or min(fractions) < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} must add up to 100 (it adds up to {sum(fractions)}) with at least 1 "
            "for each of train, validation and test"
        )
    return fractions
