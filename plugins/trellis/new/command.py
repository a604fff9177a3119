"""The commands `trellis new experiment` and `trellis upload`."""

import argparse
import getpass
import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from trellis import command_line
from trellis.new import bigquery, files, images, kinds, roles, text, uploading
from trellis.new.described import DataError, Images, Pictures, Reading, Rows, listed
from trellis.new.source import LEAST
from trellis.results.index import client_of
from trellis.workflow.assembly import chain
from trellis.workflow.spec import editor_schema
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.problems import GUIDE, FileError, Problem
from trellis.workflow.spec.yaml_file import parse
from trellis.workflow.validation import class_names, platform
from trellis.workflow.validation.file import NAME, check_on, load, validate
from trellis_contracts.catalog import load as load_catalog
from trellis_contracts.tasks import ALL, MULTILABEL, OF_PIXELS, REGRESSION, TASKS
from trellis_contracts.withheld import shown

DATASET = "data"
"""The dataset of BigQuery that a file goes to, unless another is named."""

_LARGEST = "1000000 USD"


def add(commands: Any) -> None:
    """The arguments of both commands. commands: argparse's subparsers."""
    new = commands.add_parser("new", help="write an experiment file for data of your own")
    experiment = new.add_subparsers(dest="what", required=True, metavar="experiment").add_parser(
        "experiment", help="write an experiment file from what the data show"
    )
    experiment.add_argument(
        "data",
        nargs="+",
        metavar="DATA",
        help="DATASET.TABLE of BigQuery; a .csv, .tsv (also .gz, .zip), .parquet or .feather file; "
        "TFRecords, FOLDER/*.tfrecord; tables in Cloud Storage, 'gs://BUCKET/FOLDER/*.parquet', "
        "also .csv, .jsonl, .avro; a manifest of images, gs://BUCKET/FILE.csv; a folder of images, "
        "FOLDER/CLASS/IMAGE.png, or with masks, FOLDER/images/IMAGE.png and "
        "FOLDER/masks/IMAGE.png, or beside a table of their names, FOLDER --table FILE",
    )
    experiment.add_argument("--name", help="of the experiment (default: the data's)")
    experiment.add_argument("--label", metavar="COLUMN", help="what to predict")
    experiment.add_argument("--task", choices=ALL, help="(default: what the label's values say)")
    experiment.add_argument("--owner", default=None, help="(default: your user name)")
    experiment.add_argument(
        "--to",
        metavar="PLACE",
        help=f"where a local file or folder goes: DATASET.TABLE (default: {DATASET}.NAME), or a "
        "folder in Cloud Storage (default: NAME in the group's bucket)",
    )
    experiment.add_argument(
        "--upload", action="store_true", help="upload a local file or folder there now"
    )
    upload = commands.add_parser(
        "upload", help="load a table into BigQuery, or a folder of images into Cloud Storage"
    )
    uploading.add(upload)
    for command in (experiment, upload):
        of_text = command.add_argument_group("of a text file, where it does not say it itself")
        of_text.add_argument("--encoding", help="in which it was saved, such as cp1252")
        of_text.add_argument("--decimal", choices=(".", ","), help="the decimal mark")
        of_text.add_argument(
            "--dates", choices=("day-first", "month-first"), help="what 03/04/2024 means"
        )
        of_text.add_argument(
            "--missing",
            action="append",
            default=[],
            metavar="TEXT",
            help="a text that stands for a missing value in every column, such as NA; repeatable",
        )
        command.add_argument(
            "--table",
            type=Path,
            metavar="FILE",
            help="a table with the names of the images in the folder DATA, and other columns: a "
            "name becomes an address of the image",
        )
        command.add_argument(
            "--image", metavar="COLUMN", help="of --table, what names the images (default: found)"
        )
        command.add_argument(
            "--feature",
            action="append",
            default=[],
            metavar="NAME",
            help="of TFRecords, a feature to read; repeatable (default: all that any record has)",
        )
        command_line.add_folder(command, "beside experiments/", "--platform")
        command.set_defaults(handler=run)


def run(options: argparse.Namespace) -> int:
    """Run either of them; returns the exit code."""
    group = platform.load(options.platform)
    if options.command == "upload":
        uploading.run(group, options, _reading(options))
    else:
        _experiment(group, options)
    return 0


def _experiment(group: Platform, options: argparse.Namespace) -> None:
    data = options.data[0]
    paths = _local(options.data)
    name = options.name or _name(data, paths)
    if not NAME.fullmatch(name):
        raise DataError(
            f"'{name}' is no name of an experiment: expected a lower-case letter, then up to 39 "
            "lower-case letters, digits and dashes; give one with --name"
        )
    target = options.platform / "experiments" / f"{name}.yaml"
    if target.exists():
        raise DataError(f"{target} exists and stays as it is; choose another name with --name")
    found = _found(group, options, paths, name)
    content = _within_budget(name, found.write, group)
    if found.upload and options.upload:
        print(found.upload())
    _write(target, content, options.platform)
    experiment = load(target)
    check_on(group, target, experiment, chain.at_most)
    _tell(target, experiment, group)
    if found.upload and not options.upload:
        beside = uploading.Beside.of(options)
        more = [*(beside.options() if beside else ()), *_reading(options).options()]
        words = shlex.join(["trellis", "upload", *map(str, paths), found.place, *more])
        print(f"\nIts data are not on Google Cloud yet: {words}")


class _Found(NamedTuple):
    """Data of an experiment. write: the text of its file, for a budget. upload, place: of data
    here, what uploads them, and where.
    """

    write: Callable[[str], str]
    upload: Callable[[], str] | None = None
    place: str = ""


def _found(
    group: Platform, options: argparse.Namespace, paths: Sequence[Path], name: str
) -> _Found:
    """Look at the data, and say what they are. paths: of data here. name: the experiment's."""
    data = options.data[0]
    beside = uploading.Beside.of(options)
    if paths and paths[0].is_dir() and beside is None:
        place = options.to or name
        address = group.uri(f"{place.rstrip('/')}/{images.MANIFEST}")
        of_folder = images.of_folder(paths[0], address)
        what = "with their masks" if of_folder.masks else "a class each folder in it"
        uploading.say(f"{data}: a folder of images, {what}", of_folder.notes)
        upload = partial(uploading.upload_images, group, paths[0], place)
        return _Found(_of_images(of_folder, group, options), upload, place)
    if paths or beside:
        place = options.to or f"{DATASET}.{name.replace('-', '_')}"
        file = uploading.read(group, paths or [Path(data)], place, _reading(options), beside)
        rows, counts_of = files.describe(file, place), partial(files.classes, file)
        write = _of_rows(rows, counts_of, options, group, file.pictures)
        return _Found(write, partial(uploading.load, group, file, place), place)
    return _found_there(group, options)


def _found_there(group: Platform, options: argparse.Namespace) -> _Found:
    """Look at data that are in Google Cloud."""
    # With BigQuery's library and Airflow's, which take seconds to import: most commands need none.
    from trellis.new import bucket

    data = options.data[0]
    if data.startswith("gs://") and bucket.is_manifest(client_of(group), data):
        listed_ = images.describe(client_of(group), data, options.task == MULTILABEL)
        uploading.say(f"{data}: a manifest of images", listed_.notes)
        return _Found(_of_images(listed_, group, options))
    client, table = uploading.bigquery(group), data
    if data.startswith("gs://"):
        rows, table = bucket.describe(group, client_of(group), client, data)
        print(f"{data}: files of a table, which BigQuery has loaded (free, for 30 days: {table})")
    else:
        print(f"{data}: a table of BigQuery")
        rows = bigquery.describe(client, data)
    return _Found(_of_rows(rows, partial(bigquery.classes, client, table), options, group))


def _local(data: Sequence[str]) -> list[Path]:
    """The files or the folder here that the words name; none if they name data on Google Cloud."""
    one = data[0]
    table = one.count(".") in (1, 2) and not kinds.is_table(Path(one)) and not Path(one).exists()
    if len(data) == 1 and (one.startswith("gs://") or table):
        return []
    try:
        return uploading.expanded(data)
    except DataError as error:
        if len(data) > 1 or Path(one).is_symlink():
            raise
        raise DataError(f"{error}, no gs:// address and no DATASET.TABLE") from None


def _of_rows(
    rows: Rows,
    counts_of: Callable[..., dict[str, int]],
    options: argparse.Namespace,
    group: Platform,
    local: Pictures | None = None,
) -> Callable[[str], str]:
    """The text of a table's file, for a budget. counts_of: rows by the value of a column. local:
    images that are not in Cloud Storage yet.
    """
    chosen = roles.propose(rows, options.label, options.task)
    whole = {"whole": True} if chosen.cast else {}
    counts = counts_of(chosen.label.name, **whole) if chosen.classification else {}
    chosen, classes = roles.with_sets(chosen, counts, options.task)
    if (empty := classes.get("")) and chosen.task != MULTILABEL:
        raise DataError(
            f"{rows.address}: the label '{chosen.label.name}' is an empty text in {empty:,} rows, "
            "and no class has that name: of a file, add --missing '' to read empty texts as "
            "missing ones; of a table, make them NULL in a view (NULLIF) and name the view"
        )
    why = "" if not chosen.guessed else "; another one: --label COLUMN"
    print(f"{rows.address}: {rows.rows:,} rows, {len(rows.columns)} columns")
    label = f"{chosen.label.name}, and {chosen.event.name}" if chosen.event else chosen.label.name
    print(f"label: {label} ({chosen.task}){why}")
    _say_few("rows", classes)
    known: Sequence[tuple[str, int | str]] = ()
    if TASKS[chosen.task].of_pixels:
        label_of = partial(client_of, group), chosen.label.name, chosen.label.addresses, local
        known = images.masks_of_column(*label_of)
        _say_masks(known)
    if chosen.label.nulls:
        count = f"{chosen.label.nulls:,} rows without a label"
        print(f"{count} {'are of no class' if chosen.task == MULTILABEL else 'are left out'}")
    print(f"key: {chosen.key or 'none; the content of a row identifies it'}")
    if chosen.group or chosen.splits:
        by = chosen.group or (chosen.splits or ("",))[0]
        print(f"split: by {by}")
    pictures = {}
    for name in chosen.images:
        column = rows.column(name)
        assert column is not None
        pictures[name] = images.of_column(partial(client_of, group), name, column.addresses, local)
        uploading.say(f"images: the addresses in {name}", pictures[name].notes)
    if chosen.left_out:
        print(f"no feature: {listed([f'{name} ({why})' for name, why in chosen.left_out])}")
    for warning in (*chosen.warnings, *class_names.doubts(classes)):
        print(f"warning: {shown(warning)}")
    names = " or ".join(column.name for column in chosen.repeating[:3])
    of = f" of one {names}" if names else ""
    together = "" if chosen.group else f"; whether rows{of} belong together (split: {{by: COLUMN}})"
    print(f"not known: whether each feature is known before the label{together}; see {GUIDE}")
    owner = _owner(options)
    return lambda budget: text.of_rows(rows, chosen, classes, pictures, known, owner, budget)


def _of_images(found: Images, group: Platform, options: argparse.Namespace) -> Callable[[str], str]:
    if found.masks or options.task in OF_PIXELS:
        return _of_masks(found, group, options)
    several = found.several and options.task is None
    chosen = MULTILABEL if several else roles.task_of_labels(found.classes, options.task)
    print(f"{found.address}: {found.count:,} images, {len(found.classes):,} labels ({chosen})")
    if chosen != REGRESSION:
        _say_few("images", found.classes)
    for warning in class_names.doubts(found.classes):
        print(f"warning: {shown(warning)}")
    source = found.address.removeprefix(f"gs://{group.bucket}/")
    owner = _owner(options)
    return lambda budget: text.of_images(found, chosen, source, owner, budget)


def _of_masks(found: Images, group: Platform, options: argparse.Namespace) -> Callable[[str], str]:
    task = options.task or OF_PIXELS[0]
    if task not in OF_PIXELS:
        raise DataError(
            f"the labels of {found.address} are masks, which {options.task} (--task) does not "
            f"learn: leave it out, or write {OF_PIXELS[0]}"
        )
    if not found.masks:
        raise DataError(
            f"{found.address} has no masks: a {task} learns from images/NAME.png with "
            "masks/NAME.png, or from lines gs://BUCKET/IMAGE,gs://BUCKET/MASK"
        )
    print(f"{found.address}: {found.count:,} images with masks ({task})")
    _say_masks(found.masks)
    source = found.address.removeprefix(f"gs://{group.bucket}/")
    owner = _owner(options)
    return lambda budget: text.of_images(found, task, source, owner, budget)


def _say_masks(known: Sequence[tuple[str, int | str]]) -> None:
    values = ", ".join(f"{name} {value}" for name, value in known)
    print(f"values of the masks' pixels, of some that were looked at, under our names: {values}")


def _owner(options: argparse.Namespace) -> str:
    return options.owner or getpass.getuser()


def _say_few(examples: str, classes: Mapping[str, int]) -> None:
    """Names the classes that have too few examples, rows or images."""
    few = [f"{value} ({n})" for value, n in classes.items() if n < LEAST]
    if few:
        more = ", ..." if few[10:] else ""
        print(
            f"few {examples}: {', '.join(few[:10])}{more}; a class needs about {LEAST} to be "
            "learned and judged"
        )


def _within_budget(name: str, write: Callable[[str], str], group: Platform) -> str:
    """The file's text, its budget the most that a run may cost, in whole US dollars."""
    experiment = _parsed(name, write(_LARGEST))
    most = math.ceil(1.05 * chain.at_most(experiment, group).usd)
    content = write(f"{most} USD")
    _parsed(name, content)
    return content


def _parsed(name: str, content: str) -> Experiment:
    document = parse(f"{name}.yaml", content)
    found, problems = validate(name, document.comment, document.values, load_catalog())
    if found is None:
        raise document.error(problems)
    return found


def _write(target: Path, content: str, folder: Path) -> None:
    try:
        target.parent.mkdir(exist_ok=True)
        schema = folder / "experiment.schema.json"
        if not schema.exists():  # what the file's first line names
            schema.write_text(editor_schema.text(load_catalog()))
        with target.open("x", encoding="utf-8") as file:
            file.write(content)
    except OSError as error:
        raise FileError(str(target), [Problem((), f"cannot be written: {error}")]) from None


def _tell(target: Path, experiment: Experiment, group: Platform) -> None:
    dag, check = group.dag_id(experiment.name), shlex.join(["trellis", "check", str(target)])
    print(f"\n{target}: one run costs {chain.at_most(experiment, group)}")
    print(
        f"Read it, then `{check}`. Airflow shows the DAG {dag} within a minute, "
        f"paused: unpause and trigger it there, or\n"
        f"  airflow dags unpause {dag} && airflow dags trigger {dag}"
    )


def _reading(options: argparse.Namespace) -> Reading:
    return Reading(
        options.encoding,
        options.decimal,
        options.dates,
        tuple(options.missing),
        tuple(options.feature),
    )


def _name(data: str, paths: Sequence[Path]) -> str:
    """The name of a file, folder or table as one of an experiment; of several files, their
    folder's.
    """
    if len(paths) > 1:
        last = paths[0].resolve().parent.name
    elif data.startswith("gs://"):
        # Without suffixes; of a pattern, the folder that it is in.
        parts = [part.partition(".")[0] for part in data.removeprefix("gs://").split("/")]
        named = [part for part in parts if part and "*" not in part and part != "manifest"]
        last = named[-1] if named else ""
    else:
        last = paths[0].resolve().name if paths else data.rsplit("/", 1)[-1]
    stem = kinds.stem_of(last)
    slug = re.sub(r"[^a-z0-9]+", "-", stem.rsplit(".", 1)[-1].lower()).strip("-")
    return slug[:40].rstrip("-")
