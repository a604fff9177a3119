"""requests: compare what the endpoint was asked since the last comparison with what its model
learned from. A task of the DAG watch, so that it happens also where the experiment rarely trains.

`deploy.requests` has a share of the requests kept in a table (lookups/requests_table.py). The same
rule and files as a batch prediction's are used: changes.json below predictions/, and a record in
the index, which the digest reads. It warns, and refuses nothing: what was asked has been answered.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.prediction_layout import (
    REQUESTS,
    Prediction,
    of_requests,
    requests_table,
)
from trellis.workflow.pricing import queries
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis_contracts.changes import DatasetChanges
from trellis_contracts.finding import Finding
from trellis_contracts.withheld import for_log, shown, withheld

MOST_BYTES = 2 * 2**30
"""Bytes that each of the two queries of a day may be billed for."""

ADVICE = "Nothing that is served changes. Clear this task once the cause is fixed."
"""For a failed task."""


@dataclass(frozen=True)
class Model:
    """The model that is served. version: its resource name. run, dataset: folders of the run that
    trained it, and of its dataset. answer: as in Rows of a prediction's plan. deployed: IDs by
    which the endpoint has it.
    """

    version: str
    run: str
    dataset: str
    answer: str
    deployed: Sequence[str]


def task(experiment: Experiment, platform: Platform, tell: Callable[[Any, str], None]) -> Any:
    """The Airflow task: compares once a day (UTC), however often it runs. Returns the warnings,
    without a value of a request. tell: sends people a text, called with the task's context.
    """
    from airflow.sdk import task as airflow_task
    from airflow.sdk.exceptions import AirflowSkipException

    @airflow_task(task_id=f"{platform.dag_id(experiment.name)}.requests")
    def requests(run_id=None, **context):
        from trellis.workflow.lookups import records

        if records.compared_requests_on(platform, experiment) == today():
            raise AirflowSkipException("They were compared today.")
        where = of_requests(experiment, platform, run_id)
        model = served(experiment, platform, run_id)
        if isinstance(model, str):
            raise AirflowSkipException(model)
        count, findings, remark = compare(experiment, platform, model)
        warnings = conclude(where, model, count, findings, remark)
        if warnings:
            tell({**context, "run_id": run_id}, message(experiment, run_id, warnings))
        return warnings

    return requests()


def today() -> date:
    """The day in UTC."""
    return datetime.now(UTC).date()


def served(experiment: Experiment, platform: Platform, run_id: str) -> Model | str:
    """The model with most of the requests, or why there is none to compare with."""
    from trellis.workflow.contracts.table import Table
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
    answer = Table.from_document(file.table).answer
    return Model(now.name, version.run, file.dataset.uri, answer, now.deployed)


def compare(
    experiment: Experiment, platform: Platform, model: Model
) -> tuple[int, list[Finding], str | None]:
    """The instances that this version was asked since it was compared last, the differences beyond
    the limits, and why something was not compared.
    """
    from google.api_core.exceptions import BadRequest, NotFound
    from google.cloud.bigquery import QueryJobConfig

    from trellis.workflow.contracts.errors import SourceError
    from trellis.workflow.lookups import own_dataset, table_state
    from trellis.workflow.stages.prediction import answers, changes

    learned = changes.learned_from(model.dataset, platform)
    if learned is None or not (features := changes.compared_of(learned)):
        return 0, [], f"the description of {model.dataset} is gone, or has no columns to compare"
    asked = experiment.deployment.requests
    assert asked is not None
    limit = queries.limit(MOST_BYTES)
    bounded = QueryJobConfig.from_api_repr({"query": limit})
    place = _place(experiment, platform, model)
    statement = changes.statistics(features, _select(place, features=features))
    try:
        (row,) = table_state.answer(own_dataset.client(platform), statement, bounded)
        said = answers.of_rows(
            platform, _select(place, answer=model.answer), model.answer, experiment.task, limit
        )
    except NotFound:
        return 0, [], "the table of requests is gone; the next deployment makes it again"
    except (BadRequest, SourceError) as error:
        return 0, [], f"BigQuery reads no requests ({error}); keep a smaller share"
    count = int(row["examples"])
    if count < changes.LEAST:
        return count, [], f"{count:,} instances are too few, of {changes.LEAST} and more"
    found = changes.beyond(learned, dict(row.items()), asked.changes)
    label = experiment.source.label
    of_answers, remark = answers.compare(model.run, platform, said, label, asked.changes)
    return count, [*found, *of_answers], remark


def _place(experiment: Experiment, platform: Platform, model: Model) -> dict[str, Any]:
    """Where the requests are, and from when: since this version was compared last. Those of days
    with too few add up.
    """
    from trellis.workflow.lookups import records
    from trellis.workflow.stages.prediction.changes import LEAST

    earlier = [
        record.at
        for record in records.predictions(platform, experiment.name)
        if record.run_id.startswith(REQUESTS)
        and record.version == model.version
        and (record.predicted or 0) >= LEAST
    ]
    return {
        "table": requests_table(experiment, platform),
        "start": _literal(max(earlier, default="1970-01-01T00:00:00+00:00")),
        "end": _literal(datetime.now(UTC).isoformat(timespec="seconds")),
        "deployed": model.deployed,
    }


def _literal(moment: str) -> str:
    return f"TIMESTAMP '{moment}'"


def _select(place: dict[str, Any], features: Sequence[Any] = (), answer: str | None = None) -> str:
    from trellis.workflow import sql

    return sql.render("requests", **place, features=features, answer=answer)


def conclude(
    where: Prediction, model: Model, count: int, findings: Sequence[Finding], remark: str | None
) -> list[str]:
    """Write changes.json and the record; returns the warnings for everybody."""
    from trellis.workflow.lookups import documents, records

    requests = where.experiment.deployment.requests
    assert requests is not None
    whole = tuple(replace(finding, text=shown(finding.text)) for finding in findings)
    limits = {"beyond": "warn", **requests.changes.model_dump()}
    changes = DatasetChanges(model.dataset, remark, limits, whole)
    documents.write_file(where.platform, where.changes, changes)
    warnings = [withheld(finding.text) for finding in findings]
    records.add_requests(where, model.version, model.run, count, warnings)
    print(f"{count:,} instances of requests to {model.version}, which learned from {model.dataset}")
    if remark:
        print(f"Not compared: {remark}.")
    for text in for_log([finding.text for finding in findings], lambda _: where.changes):
        print(f"  Warning: {text}")
    return warnings


def message(experiment: Experiment, run_id: str, warnings: Sequence[str]) -> str:
    """What people are told of requests beyond a limit."""
    return "\n".join(
        [
            f"TRELLIS WARNING: the endpoint of {experiment.name} is asked beyond the limits of "
            "deploy.requests",
            f"Run: {run_id}",
            *warnings,
            "What to do: every request was answered. Where callers send what the model never saw, "
            "correct them; where the world has changed, train on newer data.",
        ]
    )
