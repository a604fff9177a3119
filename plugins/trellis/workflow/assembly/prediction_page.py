"""The page of a DAG EXPERIMENT-predict in the UI, and what to do when one of its tasks fails."""

from trellis.workflow.pricing import prediction
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.prediction import DATE, ImagePredict, Predict, TablePredict
from trellis.workflow.spec.quantities import duration_text, usd_text
from trellis.workflow.stages.prediction import files

ADVICE = {
    "plan": "Nothing was spent. Follow the message: promote a model, fix the table, or choose "
    "another version in the trigger form; then trigger a new run.",
    "snapshot": "BigQuery's message, in the console, names what it could not read. Fix the source "
    "and trigger a new run; if the fault was Google's, clear this task.",
    "changes": "The prediction was not paid for. Correct the rows, train on newer data, or trigger "
    "a run with `accept_changes`.",
    "predict": "The job's log names the cause. Clear this task once it is fixed; if the model is "
    "at fault, trigger a new run with an earlier version.",
    "masks": "The predictions are safe in the job's own output. Clear this task to write them.",
    "publish": "The predictions are safe in the job's own output. Clear this task to publish them.",
    "truth": "No prediction is touched. Correct the query `predict.truth`, then clear this task.",
    "score": "No prediction is touched. The job's log says which labels cannot be scored; correct "
    "them, then clear the tasks from `truth` on.",
    "performance": "No prediction is touched. Clear this task.",
    "result": "The message says where the predictions are. If the input is at fault, fix it and "
    "trigger a new run; predict.max_failed is the share of instances that may fail.",
}

_PAGE = """\
Batch prediction: the champion of `{name}` predicts {what}.

**Owner** {owner} · **Schedule** `{schedule}` · **Budget** {budget} per run; {cost}

| stage | what it does |
|---|---|
| plan | finds the champion; checks columns, instances and cost before anything is spent |
{rows}| predict | runs on {replicas} machine(s) (Vertex AI); stopped after {timeout}{skipped} |
{publish}| result | checks completeness; fails if more than {max_failed:.1%} have no prediction |
{truth}
**Results** {output}. Each run has its own; the task `result` and
`gs://{bucket}/{name}/predictions/RUN/predictions.json` name it. No run overwrites another's.

A run with nothing to predict is green, and its stages are skipped. `plan` chooses the model, once:
clearing a later stage predicts with the same version, and adopts a job that exists. To repeat a
finished run, trigger a new one.

### When it fails at night

It can wait until the morning: the job has a timeout, and what is served does not change. The last
lines of the red task's log (`TRELLIS FAILURE`) name the cause and what to do. After a bad
deployment, return to the previous model with the DAG `{rollback}`; then clear the run from `plan`
on, or trigger a new one: "Model" in the trigger form takes any version.
"""

_ROWS = """\
| snapshot | freezes key and features of the run's rows in BigQuery for two weeks |
| changes | compares them with those that the model learned from; {does} what is beyond a limit |
"""
_TRUTH = """\
| truth, score, performance | score earlier predictions whose labels have arrived since |
"""
_SKIPPED = "; skipped for a model of BigQuery ML's, which publish asks by a query (ML.PREDICT)"
_PUBLISH = "| publish | writes the run's table: key, label or value, prediction (JSON), error |\n"
_PUBLISH_LINES = """\
| publish | loads the answers into a table, for the labels that arrive later; a run from before \
the file had `truth` has none, and is not scored |
"""


def page(experiment: Experiment, platform: Platform) -> str:
    """The DAG's doc_md."""
    predict = experiment.prediction
    writing = files.stage(experiment)
    return _PAGE.format(
        name=experiment.name,
        rollback=platform.dag_id("rollback"),
        what=_what(experiment, platform),
        owner=experiment.owner,
        schedule=predict.schedule,
        budget=usd_text(experiment.budget),
        cost=prediction.at_most(experiment, platform),
        rows=_rows(predict),
        truth=_TRUTH if predict.truth else "",
        publish=(writing.LINE if writing else "") + _publish(predict),
        replicas=predict.machines.replicas,
        timeout=duration_text(predict.timeout),
        skipped=_SKIPPED if experiment.deploy and "bqml" in experiment.deploy.services else "",
        max_failed=predict.max_failed,
        output=_output(experiment, platform),
        bucket=platform.bucket,
    )


def _publish(predict: Predict) -> str:
    if isinstance(predict, ImagePredict):
        return _PUBLISH_LINES if predict.truth else ""
    return _PUBLISH


def _rows(predict: Predict) -> str:
    if isinstance(predict, ImagePredict):
        return ""
    return _ROWS.format(does={"warn": "warns of", "refuse": "refuses"}[predict.changes.beyond])


def _what(experiment: Experiment, platform: Platform) -> str:
    predict = experiment.prediction
    if isinstance(predict, ImagePredict):
        day = " for the first day of a run's data interval" if DATE in predict.images else ""
        return f"all images below `{platform.uri(predict.images)}`{day}"
    table = (
        f"`{platform.table(predict.bigquery)}`"
        if isinstance(predict, TablePredict)
        else "its query"
    )
    if predict.partition is None:
        return f"all rows of {table}"
    return f"the rows of {table} whose `{predict.partition}` is in a run's data interval"


def _output(experiment: Experiment, platform: Platform) -> str:
    given = experiment.prediction.output
    if isinstance(experiment.prediction, ImagePredict):
        folder = platform.uri(given or f"{experiment.name}/predictions").rstrip("/")
        return f"JSON lines below `{folder}/RUN/`"
    name = platform.table(given) if given else platform.own_table(f"predictions_{experiment.name}")
    return f"table `{name}_RUN`"
