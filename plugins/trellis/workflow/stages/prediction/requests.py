"""requests: compare what the endpoint was asked since the last comparison with what its model
learned from. A task of the DAG watch, so that it happens also where the experiment rarely trains.

`deploy.requests` has a share of the requests kept in a table (lookups/requests_table.py). The same
rule and files as a batch prediction's are used: changes.json below predictions/, and a record in
the index, which the digest reads. It warns, and refuses nothing: what was asked has been answered.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from trellis.workflow import labels
from trellis.workflow.contracts.index_document import short
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.prediction_layout import (
    Prediction,
    of_requests,
    requests_table,
)
from trellis.workflow.contracts.prediction_record import PredictionRecord
from trellis.workflow.pricing import queries
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis_contracts.changes import DatasetChanges
from trellis_contracts.finding import Finding
from trellis_contracts.withheld import for_log, shown, withheld

MOST_BYTES = 2 * 2**30
"""Bytes that each of the two queries of a day and endpoint may be billed for."""

LATE = timedelta(minutes=10)
"""Requests younger than this wait for the next comparison: Vertex AI writes them some time after it
has answered, and documents no limit of that time."""

ADVICE = (
    "Nothing that is served changes. A comparison that had begun is not repeated, so that no query "
    "is paid twice: tomorrow's takes its requests, too."
)
"""For a failed task."""


@dataclass(frozen=True)
class Model:
    """The model that is served. version: its resource name. run, dataset: folders of the run that
    trained it, and of its dataset. answer: as in Rows of a prediction's plan. deployed: IDs by
    which the endpoint has it. since: when its deployment was done, ISO 8601.
    """

    version: str
    run: str
    dataset: str
    answer: str
    deployed: Sequence[str]
    since: str


@dataclass(frozen=True)
class Comparison:
    """What a day's comparison has found. count: instances; None: they are too many to be read.
    findings: the differences beyond the limits. remark: why something was not compared.
    """

    count: int | None
    findings: Sequence[Finding] = ()
    remark: str | None = None

    @property
    def warnings(self) -> list[str]:
        """For everybody: without a value of a request."""
        unread = [self.remark] if self.count is None and self.remark else []
        return [*unread, *(withheld(finding.text) for finding in self.findings)]


def task(experiment: Experiment, platform: Platform, tell: Callable[[Any, str], None]) -> Any:
    """The Airflow task: compares once a day (UTC), however often it runs, and whether or not that
    fails. Returns the warnings, without a value of a request. tell: sends people a text, called
    with the task's context.
    """
    from airflow.sdk.exceptions import AirflowSkipException

    from trellis.workflow.stages.function_operator import function_task

    # A second attempt would find the day claimed, and hide the failure of the first.
    @function_task(task_id=f"{platform.dag_id(experiment.name)}.requests", retries=0)
    def requests(run_id=None, **context):
        from trellis.workflow.lookups import records, storage

        where = of_requests(experiment, platform, today())
        done = AirflowSkipException("Today's comparison has been made, or has failed.")
        if storage.exists(platform.connection, where.indexed):
            raise done
        model = served(experiment, platform, run_id)
        if isinstance(model, str):
            raise AirflowSkipException(model)
        begun = _begin(where, model)
        # Before the queries, so that they are paid once a day whatever happens to this task.
        if not records.claim_requests(where, begun):
            raise done
        found = compare(experiment, platform, model, str(begun.until))
        conclude(where, model, begun, found)
        if found.warnings:
            tell({**context, "run_id": run_id}, message(experiment, run_id, found))
        return found.warnings

    return requests()


def today() -> date:
    """The day in UTC."""
    return datetime.now(UTC).date()


def served(experiment: Experiment, platform: Platform, run_id: str) -> Model | str:
    """The model with most of the requests, or why there is none to compare with."""
    from trellis.workflow.lookups import documents, endpoint, versions
    from trellis_contracts.plan import PlanFile

    found = endpoint.find(platform, Run.of(experiment, platform, run_id))
    if found is None or not found.versions:
        return "Nothing is served yet."
    now = found.versions[0]
    known = versions.versions(experiment, platform)
    version = versions.find(known, now.name.rpartition("@")[2])
    file = None
    if version is not None and version.run:
        file = documents.find_file(platform, PlanFile, f"{version.run}plan.json")
    if version is None or file is None:
        return f"What {now.name} learned from is not known: the plan of its run is gone."
    answer = labels.of(experiment.task).answer
    since = _text(max([now.since or version.created, *_champion(experiment, platform, version)]))
    return Model(now.name, version.run, file.dataset.uri, answer, now.deployed, since)


def _champion(experiment: Experiment, platform: Platform, version: Any) -> Iterator[datetime]:
    """When a run, or the DAG EXPERIMENT-reserve, had made it the champion: what it was asked before
    were mostly smoke tests, rows that no caller sent.
    """
    from trellis.workflow.lookups import documents, records
    from trellis_contracts.deployment import Deployment

    number = f"@{version.number}"
    file = documents.find_file(platform, Deployment, f"{version.run}deployment.json")
    times = [file.time_of("champion")] if file and file.model.endswith(number) else []
    times += [
        record.at
        for record in records.reserves(platform, experiment.name)
        if record.version.endswith(number)
    ]
    # They are of whole seconds, in which the last smoke test may have ended.
    yield from (datetime.fromisoformat(at) + timedelta(seconds=1) for at in times if at)


def _begin(where: Prediction, model: Model) -> PredictionRecord:
    """The record of a comparison that has found nothing yet: the next one takes its requests."""
    now = datetime.now(UTC)
    return PredictionRecord(
        experiment=where.experiment.name,
        run_id=where.run_id,
        uri=where.uri,
        at=_text(now),
        version=model.version,
        trained=model.run,
        predicted=0,
        output=None,
        warnings=(),
        until=_text(now - LATE),
    )


def compare(experiment: Experiment, platform: Platform, model: Model, until: str) -> Comparison:
    """Compare what this version was asked since it was compared last. until: ISO 8601."""
    from google.api_core.exceptions import GoogleAPICallError, NotFound
    from google.cloud.bigquery import QueryJobConfig

    from trellis.bigquery.outcome import too_large
    from trellis.workflow.lookups import own_dataset, table_state
    from trellis.workflow.stages.prediction import answers, changes

    learned = changes.learned_from(model.dataset, platform)
    if learned is None or not (features := changes.compared_of(learned)):
        gone = f"the description of {model.dataset} is gone, or has no columns to compare"
        return Comparison(0, remark=gone)
    asked = experiment.deployment.requests
    assert asked is not None
    limit = queries.limit(MOST_BYTES)
    bounded = QueryJobConfig.from_api_repr({"query": limit})
    place = _place(experiment, platform, model, until)
    statement = changes.statistics(features, _select(place, features=features))
    try:
        (row,) = table_state.answer(own_dataset.client(platform), statement, bounded)
        said = answers.of_rows(
            platform, _select(place, answer=model.answer), model.answer, experiment.task, limit
        )
    except NotFound:
        gone = "the table of requests is gone; the next deployment makes it again"
        return Comparison(0, remark=gone)
    except GoogleAPICallError as error:
        if not too_large(error):
            raise
        return Comparison(
            None,
            remark=f"the requests since {place['since']} are more than a query may read "
            f"({MOST_BYTES / 2**30:g} GiB): keep a smaller share of them (deploy.requests.share)",
        )
    count = int(row["examples"])
    if count < changes.LEAST:
        few = f"{count:,} instances are too few, of {changes.LEAST} and more"
        return Comparison(count, remark=few)
    found = changes.beyond(learned, dict(row.items()), asked.changes)
    label = experiment.source.label
    of_answers, remark = answers.compare(model.run, platform, said, label, asked.changes)
    return Comparison(count, [*found, *of_answers], remark)


def _place(experiment: Experiment, platform: Platform, model: Model, until: str) -> dict[str, Any]:
    """Where the requests are, and from when: since this version was deployed, or compared last.
    Those of days with too few add up; those that were too many are left out from then on.
    """
    from trellis.workflow.lookups import records
    from trellis.workflow.stages.prediction.changes import LEAST

    earlier = [
        record.until
        for record in records.predictions(platform, experiment.name)
        if record.until is not None
        and record.version == model.version
        and (record.predicted is None or record.predicted >= LEAST)
    ]
    return {
        "table": requests_table(experiment, platform),
        "since": max((model.since, *earlier)),
        "until": until,
        "deployed": model.deployed,
    }


def _text(moment: datetime) -> str:
    """In UTC and whole seconds, so that texts are ordered as moments are."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _select(place: dict[str, Any], features: Sequence[Any] = (), answer: str | None = None) -> str:
    from trellis.workflow import sql

    return sql.render("requests", **place, features=features, answer=answer)


def conclude(where: Prediction, model: Model, begun: PredictionRecord, found: Comparison) -> None:
    """Write changes.json and the record."""
    from trellis.workflow.lookups import documents, records

    requests = where.experiment.deployment.requests
    assert requests is not None
    whole = tuple(replace(finding, text=shown(finding.text)) for finding in found.findings)
    limits = {"beyond": "warn", **requests.changes.model_dump()}
    changes = DatasetChanges(model.dataset, found.remark, limits, whole)
    documents.write_file(where.platform, where.changes, changes)
    warnings = tuple(short(text) for text in found.warnings)
    result = {"at": records.now(), "predicted": found.count, "warnings": warnings}
    records.end_requests(where, begun.model_copy(update=result))
    count = "Too many" if found.count is None else f"{found.count:,}"
    print(f"{count} instances of requests to {model.version}, which learned from {model.dataset}")
    if found.remark:
        print(f"Not compared: {found.remark}.")
    for text in for_log([finding.text for finding in found.findings], lambda _: where.changes):
        print(f"  Warning: {text}")


def message(experiment: Experiment, run_id: str, found: Comparison) -> str:
    """What people are told of requests beyond a limit, or of too many."""
    if found.count is None:
        what = f"what the endpoint of {experiment.name} was asked is not compared"
        todo = "every request was answered, and later ones are compared from tomorrow on."
    else:
        what = f"the endpoint of {experiment.name} is asked beyond the limits of deploy.requests"
        todo = (
            "every request was answered. Where callers send what the model never saw, correct "
            "them; where the world has changed, train on newer data."
        )
    lines = [f"TRELLIS WARNING: {what}", f"Run: {run_id}", *found.warnings, f"What to do: {todo}"]
    return "\n".join(lines)
