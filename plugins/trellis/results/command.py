"""`trellis runs`, `note`, `compare`, `methods`, `export`, `export-split` and `digest`."""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from trellis import command_line
from trellis.google_api import GoogleApi
from trellis.results import addition, comparison, curves, digest, index, notes
from trellis.results.files import RunFiles, load_files, with_contender
from trellis.results.scores import score
from trellis.results.selection import FILTERS, ORDERS, NoRunError, Selection, find
from trellis.results.table import table
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.record import Note, Result, RunRecord
from trellis.workflow.spec import platform
from trellis_contracts.leaderboard import Contender

_SHOWN = 30

COMMANDS = ("runs", "note", "compare", "methods", "export", "export-split", "digest")


def add(commands: Any) -> None:
    """The commands' arguments. commands: argparse's subparsers."""
    runs = commands.add_parser("runs", help="list the runs of all experiments, newest first")
    runs.add_argument(
        "experiment", nargs="?", default="", metavar="EXPERIMENT", help="only its runs"
    )
    for name in FILTERS:
        if name != "experiment":
            runs.add_argument(f"--{name}", default="", metavar=name.upper(), help="only its runs")
    runs.add_argument(
        "--search",
        default="",
        metavar="WORDS",
        help="all of them in names, notes, users, tags, winners or causes of failure",
    )
    runs.add_argument(
        "--sort", choices=ORDERS, default=ORDERS[0], help=f"their order (default: {ORDERS[0]})"
    )
    runs.add_argument(
        "--last", type=int, default=_SHOWN, metavar="N", help=f"how many (default: {_SHOWN})"
    )
    runs.add_argument(
        "--add-missing",
        action="store_true",
        help="first add those runs to the index that are not in it, from their own files",
    )
    note = commands.add_parser(
        "note",
        help="name a run and write notes about it, for all who read its results",
        epilog="Notes are added with time and user; none is ever replaced. A new name of a run "
        "leaves the former ones among its notes. Without a text or a name, prints the notes.",
    )
    note.add_argument("run", metavar="EXPERIMENT[/RUN]", help="as of compare")
    note.add_argument("text", nargs="?", default="", metavar="TEXT")
    note.add_argument("--name", help="that lists show, and commands take instead of the run's id")
    compare = commands.add_parser(
        "compare",
        help="compare runs or any of their contenders: scores, curves' speed, what differs",
    )
    compare.add_argument(
        "runs",
        nargs="+",
        metavar="EXPERIMENT[/RUN[/CONTENDER]]",
        help="the run by id, folder or name; EXPERIMENT alone is its newest run with a result. A "
        "contender such as training/2 or baselines/bqml-linear_reg is compared instead of the "
        "run's winner and selected training",
    )
    methods = commands.add_parser(
        "methods", help="print a run's methods section, model card and TRIPOD+AI checklist"
    )
    methods.add_argument("run", metavar="EXPERIMENT[/RUN]", help="as of compare")
    export = commands.add_parser(
        "export", help="write a run's figures, tables and texts to files, for a paper"
    )
    export.add_argument("run", metavar="EXPERIMENT[/RUN]", help="as of compare")
    export.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="an empty folder")
    split = commands.add_parser(
        "export-split", help="write a run's frozen rows to files, to train on them elsewhere"
    )
    split.add_argument("run", metavar="EXPERIMENT[/RUN]", help="as of compare")
    split.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="an empty folder")
    split.add_argument(
        "--test-labels", action="store_true", help="with the labels of the test split, too"
    )
    split.add_argument(
        "--images",
        action="store_true",
        help="with the files of the images: of gs://BUCKET/OBJECT, FOLDER/images/BUCKET/OBJECT",
    )
    summary = commands.add_parser("digest", help="summarize the runs of the last days")
    summary.add_argument("--days", type=_days, default=7, metavar="N", help="how many (default: 7)")
    for command in (runs, note, compare, methods, export, split, summary):
        command_line.add_folder(command, "which names the bucket", "--platform")
        command.set_defaults(handler=run)


def run(options: argparse.Namespace) -> int:
    """Run one of them; returns the exit code."""
    group = platform.load(options.platform)
    client = index.client_of(group)
    if options.command == "compare":
        lines = _compare(client, group.bucket, options.runs)
    elif options.command == "note":
        lines = _note(client, group.bucket, options)
    elif options.command == "export-split":
        lines = _export_split(client, group.bucket, options)
    elif options.command in ("methods", "export"):
        lines = _write_up(client, group.bucket, options)
    elif options.command == "digest":
        from trellis.workflow.endpoints.survey import client_of, survey_or_why

        end = datetime.now(UTC)
        known = index.load_index(client, group.bucket)
        start = end - timedelta(days=options.days)
        lines = digest.lines(known, start, end, group.limits)
        api = GoogleApi()
        surveyed = survey_or_why(client_of(group, api), api, group, end, options.days)
        lines += digest.around(client, group, start, end, surveyed)
    else:
        lines = _runs(client, group.bucket, options)
    print("\n".join(lines))
    return 0


def _note(client: Any, bucket: str, options: argparse.Namespace) -> list[str]:
    known = index.load_index(client, bucket).runs
    record = find(known, options.run)
    whose = f"{record.experiment}/{record.folder}"
    if not options.text and options.name is None:
        return [whose, *(_told(note) for note in record.notes)]
    new = notes.note(options.text, options.name)
    notes.require_free(new, record, known)
    notes.append(client, Run(bucket, record.experiment, record.folder), new)
    was = f"; its name was {record.name}" if new.name and record.name else ""
    return [f"{whose}{was}", _told(new)]


def _told(note: Note) -> str:
    named = f"named {note.name}" if note.name else ""
    words = ". ".join(filter(None, (named, note.text)))
    return f"{note.at[:16].replace('T', ' ')} {note.by or 'unknown'}: {words}"


def _run(client: Any, bucket: str, name: str) -> tuple[RunRecord, RunFiles]:
    """Find a run by the words of the command."""
    record = find(index.load_index(client, bucket).runs, name)
    return record, load_files(client, Run(bucket, record.experiment, record.folder))


def _write_up(client: Any, bucket: str, options: argparse.Namespace) -> list[str]:
    # pandas and Arrow take long to import.
    from trellis.results.run import of_files
    from trellis.results.writeup import export, facts

    record, files = _run(client, bucket, options.run)
    found = facts.load(client, files, record)
    if options.command == "export":
        return export.export(of_files(client, files, files.run.uri), found, options.to)
    return ["\n\n---\n\n".join(make(found) for make in export.TEXTS.values())]


def _export_split(client: Any, bucket: str, options: argparse.Namespace) -> list[str]:
    # Arrow takes long to import.
    from trellis.results import split

    _, files = _run(client, bucket, options.run)
    if files.plan is None:
        raise NoRunError(f"{options.run}: {'; '.join(files.problems) or 'there is no plan.json'}")
    return split.export(
        client, files.plan, options.to, answers=options.test_labels, images=options.images
    )


def _runs(client: Any, bucket: str, options: argparse.Namespace) -> list[str]:
    added = []
    if options.add_missing:
        count = addition.add_missing(client, bucket)
        added = [f"{count} runs were added to the index."]
    known = index.load_index(client, bucket, options.experiment or None)
    asked = {name: getattr(options, name) for name in (*FILTERS, "search", "sort")}
    found = Selection(**asked).of(known.runs)
    lines = table(
        [
            *("run", "triggered", "owner", "winner", "score"),
            *("selected training", "promoted", "at most", "spent"),
        ],
        [_row(record) for record in found[: options.last]],
    )
    if len(found) > options.last:
        lines.append(f"and {len(found) - options.last} more")
    lines += _causes(found[: options.last])
    lines += [f"{name} cannot be read by this version of Trellis" for name in known.unreadable]
    return [*added, *lines] if found else [*added, f"No such run in gs://{bucket}."]


def _row(run: RunRecord) -> list[str]:
    result = run.result
    promoted = {True: "yes", False: "no", None: ""}[result.promoted if result else None]
    if result and result.failure:
        promoted = "failed"
    return [
        f"{run.experiment}/{run.name or run.folder}",
        run.created[:16].replace("T", " "),
        run.owner,
        result.winner if result else _no_result(run),
        f"{result.title} {score(result, result.decimals)}" if result else "",
        _training(result) if result else "",
        promoted,
        f"{run.at_most_usd:.2f} USD",
        f"{run.so_far_usd:.2f} USD" if run.so_far_usd is not None else "",
    ]


def _causes(runs: Sequence[RunRecord]) -> list[str]:
    """List the causes of failed runs, below the table."""
    lines: list[str] = []
    for run in runs:
        failed = run.failure.why if run.failure else (run.result and run.result.failure)
        if failed:
            first, *more = failed.splitlines()
            task = f"{run.failure.task}: " if run.failure else ""
            lines += ["", f"{run.experiment}/{run.folder} failed. {task}{first}", *more]
    return lines


def _training(result: Result) -> str:
    """Format the training with its own score, which is not the winner's if a baseline wins."""
    if result.selected is None:
        return ""
    if result.selected == result.first:
        return "the winner"
    return f"{result.selected.name} {score(result.selected, result.decimals)}"


def _no_result(run: RunRecord) -> str:
    return f"{run.failure.task} failed" if run.failure else "no result"


def _compare(client: Any, bucket: str, names: Sequence[str]) -> list[str]:
    # All of them: a name that none has is answered with the nearest one.
    known = index.load_index(client, bucket).runs
    asked = [name.split("/", 2) for name in names]
    records = [find(known, "/".join(parts[:2])) for parts in asked]
    contenders = [parts[2] if len(parts) > 2 else "" for parts in asked]
    files = [
        with_contender(load_files(client, Run(bucket, one.experiment, one.folder)), contender)
        for one, contender in zip(records, contenders, strict=True)
    ]
    found = comparison.compare(files)
    heads = [
        "/".join(filter(None, (one.experiment, one.name or one.folder, contender)))
        for one, contender in zip(records, contenders, strict=True)
    ]
    lines = [problem for run in files for problem in run.problems]
    if not found.same_split:
        lines.append(
            "The test splits differ: part of a difference may be that of the test examples."
        )
    parameters = [
        [name, *("-" if value is None else str(value) for value in row)]
        for name, row in found.parameters.items()
    ]
    lines += _scores(found.first, heads, [run.shown for run in files], found.metrics)
    if found.trainings:
        of_trainings = [run.trained for run in files]
        lines += ["", *_scores("selected training", heads, of_trainings, found.trainings)]
    if learned := curves.load_curves([(client, run) for run in files]):
        speeds = [[name, *row] for name, row in curves.speeds(learned.curves).items()]
        lines += ["", *table(["speed of the training", *heads], speeds)] if speeds else []
    if not parameters:
        return [*lines, "", "No parameter differs."]
    return [*lines, "", *table(["what differs", *heads], parameters)]


def _scores(
    whose: str,
    heads: Sequence[str],
    contenders: Sequence[Contender | None],
    metrics: Sequence[comparison.Metric],
) -> list[str]:
    rows = [[f"its {whose}", *(one.name if one else "-" for one in contenders)]]
    rows += [
        [
            f"{metric.title} {'↑' if metric.goal == 'maximize' else '↓'}",
            *(score(cell, metric.decimals) if cell else "-" for cell in metric.scores),
        ]
        for metric in metrics
    ]
    return table([f"{whose}'s score", *heads], rows)


def _days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 366:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days from 1 to 366")
    return int(text)
