"""Summarizes the runs of the last days as text: `trellis digest`, and the DAG of that name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from trellis.results.history import served
from trellis.results.index import Index
from trellis.results.scores import score
from trellis.results.table import table
from trellis.workflow.contracts.prediction_record import PredictionRecord
from trellis.workflow.contracts.record import Result, RunRecord
from trellis.workflow.pricing import services
from trellis.workflow.pricing.service_catalog import HOURS_OF_A_MONTH
from trellis.workflow.spec.platform import Limits, Platform
from trellis.workflow.spec.quantities import USD, usd_text

if TYPE_CHECKING:  # it imports Vertex AI's client, which a DAG file's import does without
    from trellis.workflow.endpoints.survey import Survey


def lines(index: Index, start: datetime, end: datetime, limits: Limits | None) -> list[str]:
    """Runs planned from `start` to before `end` (with time zones), and the champions of that time.

    The first line alone says the most important: it is the subject of a mail.
    """
    runs = [run for run in index.runs if start <= _moment(run.begun or run.created) < end]
    changes = [change for change in served(index) if start <= _moment(change.at) < end]
    changed = sum(change.changed for change in changes)
    failed = [(run, why) for run in runs if (why := _why(run))]
    warned = [one for one in index.predictions if one.warnings and start <= _moment(one.at) < end]
    open_ = [run for run in runs if run.result is None and run.failure is None]
    parts = [
        _count(len(runs), "run"),
        f"{sum(run.so_far_usd or 0 for run in runs):.2f} USD spent",
        f"{_count(changed, 'change')} of a champion",
        *([f"{len(failed)} failed"] if failed else []),
        *([f"{len(open_)} without a result"] if open_ else []),
        *([f"{_count(len(warned), 'prediction')} beyond limits"] if warned else []),
    ]
    found = [f"Trellis, {start:%Y-%m-%d} to {end:%Y-%m-%d}: {', '.join(parts)}"]
    if runs:
        found += ["", *_by_experiment(runs)]
    if changes:
        found += ["", "Champions"]
        for change in changes:
            instead = f" in place of {change.before}" if change.before else ""
            by = f" by {change.user}" if change.user else ""
            what = f"version {change.version}{instead}, {change.how}{by}"
            if not change.changed:
                what = f"a promoted training was not deployed, {change.how}{by}"
            found.append(f"  {_minute(change.at)}  {change.experiment}: {what}: {change.why}")
    if failed:
        found += ["", "Failed"]
        found += [f"  {_name(run)}: {why}" for run, why in failed]
    if open_:
        found += ["", "Without a result: cancelled, or still at work"]
        found += [f"  {_name(run)}, at most {run.at_most_usd:.2f} USD" for run in open_]
    if warned:
        found += ["", "Predictions, and requests of endpoints, beyond their limits"]
        found += [line for one in warned for line in _warnings(one)]
    if limits is not None:
        found += ["", *_limits(index.runs, end, limits)]
    return found


def around(
    client: Any, platform: Platform, start: datetime, end: datetime, surveyed: Survey | str
) -> list[str]:
    """Say what stands around the runs and is in no figure of theirs: the bucket, how it has grown
    from `start` to before `end`, deployed models, Composer, and what else is paid for.

    client: google.cloud.storage.Client. surveyed: the group's endpoints, or why nobody knows them.
    """
    size = new = 0
    fields = "items(size,timeCreated),nextPageToken"
    for blob in client.list_blobs(platform.bucket, fields=fields):
        size += blob.size or 0
        new += (blob.size or 0) * (start <= blob.time_created < end)
    prices = services.table(platform.region)
    gb_month, (few, many) = prices.storage_gb_month, prices.composer_dcus
    kept = "" if platform.retention else "; no `retention` in platform.yaml says what may go"
    return [
        "",
        "Around the runs, in none of these figures",
        f"  gs://{platform.bucket}: {size / 1e9:.2f} GB, {size / 1e9 * gb_month:.2f} USD a month; "
        f"{new / 1e9:.2f} GB of them new, {new / 1e9 * gb_month:.2f} USD a month{kept}",
        *_deployed(surveyed),
        f"  Airflow's environment: {prices.composer_dcu * HOURS_OF_A_MONTH:.2f} USD a month for "
        f"each of its DCUs; Composer's bill says how many (a small one has {few} to {many}, by "
        "others' estimate)",
        "  BigQuery's tables, logs",
    ]


def _deployed(surveyed: Survey | str) -> Iterator[str]:
    """Say what deployed models cost, and which nobody asks."""
    if isinstance(surveyed, str):
        yield f"  Deployed models: not known: {surveyed}"
        return
    paid = [endpoint for endpoint in surveyed.endpoints if endpoint.models]
    known = [endpoint.usd_per_day for endpoint in paid]
    usd = sum(cost for cost in known if cost is not None)
    unpriced = f", {known.count(None)} without a price" if None in known else ""
    yield f"  Deployed models: {usd:.2f} USD a day, of {_count(len(paid), 'endpoint')}{unpriced}"
    for endpoint in surveyed.idle:
        cost = endpoint.usd_per_day
        a_day = "at an unknown price" if cost is None else f"{cost:.2f} USD a day"
        yield f"    idle: {endpoint.experiment}, {a_day} (`trellis endpoints --undeploy`)"
    if surveyed.refused is not None:
        yield "    which of them are idle is not known: Cloud Monitoring did not answer"


def _why(run: RunRecord) -> str | None:
    """Return why a run failed, in one line."""
    if run.failure:
        return " ".join(f"{run.failure.task}: {run.failure.why}".split())
    return " ".join(run.result.failure.split()) if run.result and run.result.failure else None


def _warnings(prediction: PredictionRecord) -> Iterator[str]:
    """Say what is beyond the limits, and that it was refused, or not compared."""
    none, some = ("too many", "compared") if prediction.until else ("refused", "predicted")
    what = none if prediction.predicted is None else f"{prediction.predicted:,} {some}"
    yield f"  {_minute(prediction.at)}  {prediction.experiment}, {prediction.run_id}: {what}"
    yield from (f"    {text}" for text in prediction.warnings)


def _by_experiment(runs: Sequence[RunRecord]) -> list[str]:
    by_name: dict[str, list[RunRecord]] = defaultdict(list)
    for run in runs:
        by_name[run.experiment].append(run)
    return table(
        ["experiment", "owner", "runs", "spent", "at most", "newest winner"],
        [
            [
                name,
                ", ".join(sorted({run.owner for run in own})),
                str(len(own)),
                f"{sum(run.so_far_usd or 0 for run in own):.2f} USD",
                f"{sum(run.at_most_usd for run in own):.2f} USD",
                next((_winner(run.result) for run in own if run.result), "no result"),
            ]
            for name, own in sorted(by_name.items())
        ],
    )


def _winner(result: Result) -> str:
    found = f"{result.winner}, {result.title} {score(result, result.decimals)}"
    if result.selected and result.selected != result.first:
        what = "served" if result.serves else "selected"
        found += f"; {what}: {result.selected.name}, {score(result.selected, result.decimals)}"
    return found


def _limits(runs: Sequence[RunRecord], end: datetime, limits: Limits) -> Iterator[str]:
    """Say how much of the month's limits is used, as `plan` counts it: see RunRecord.usd."""
    month = f"{end.astimezone(UTC):%Y-%m}"
    spent: dict[str | None, float] = defaultdict(float)
    for run in runs:
        if run.month == month:
            spent[None] += run.usd
            spent[run.owner] += run.usd
    bounds: list[tuple[str | None, USD | None]] = [(None, limits.group), *limits.owners.items()]
    for who, limit in bounds:
        if limit is not None:
            yield f"{month}, {who or 'the group'}: {spent[who]:.2f} of {usd_text(limit)}"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _minute(text: str) -> str:
    return text[:16].replace("T", " ")


def _name(run: RunRecord) -> str:
    return f"{run.experiment}/{run.folder}"


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
