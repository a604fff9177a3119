"""The page of a DAG EXPERIMENT-predict in the Airflow UI, and what its failures advise."""

from research.experiment import Experiment
from research.platform import Platform
from research.prediction import cost
from research.prediction.section import DATE
from research.quantities import duration_text, usd_text

ADVICE = {
    "plan": "Nothing was spent. Do as the message says: promote a model, mend the table, or choose "
    "another version in the trigger form; then trigger a new run.",
    "snapshot": "BigQuery's message says what it would not read. Mend the source and trigger a new "
    "run; clear this task if the fault was Google's.",
    "predict": "The log of the job says why. Clear this task once the cause is gone; if the model "
    "is at fault, trigger a new run with an earlier version.",
    "publish": "The predictions are safe in the job's own table. Clear this task to publish them.",
    "result": "What was predicted lies where the message says. If the input is at fault, mend it "
    "and trigger a new run; predict.max_failed says how many may fail.",
}

_PAGE = """\
The champion of `{name}` predicts {what}.

**Owner** {owner} · **Schedule** `{schedule}` · **Budget** {budget} a run; {cost}

| stage | what it does |
|---|---|
| plan | finds the champion, checks columns, instances and cost; refuses before anything is spent |
{rows}| predict | on {replicas} machine(s), by Vertex AI; stopped after {timeout} |
{publish}| result | as many out as in; fails if more than {max_failed:.1%} have no prediction |

**Where they are** {output}. Each run has its own, and its task `result` and
`gs://{bucket}/{name}/predictions/RUN/predictions.json` name it. Nothing is ever overwritten.

A run without anything to predict is green, its stages skipped. The model is chosen once, in plan:
clearing later stages predicts by the same version, and adopts the job that is there. To do a
finished run again, trigger a new one.

### When it fails at night

It can wait until the morning: nothing burns, and what is served is not touched. The last lines of
the red task's log (`TRELLIS FAILURE`) name the cause and what to do. After a bad deployment, put
the model before back with the DAG `rollback`, then clear the run from `plan` on, or trigger a new
one: Model in the form takes any version.
"""

_ROWS = "| snapshot | key and features of the run's rows, frozen in BigQuery for two weeks |\n"
_PUBLISH = "| publish | one table of the run: key, label or value, prediction (JSON), error |\n"


def page(experiment: Experiment, platform: Platform) -> str:
    """The DAG's doc_md."""
    predict = experiment.predict
    rows = predict.kind == "table"
    return _PAGE.format(
        name=experiment.name,
        what=_what(experiment, platform),
        owner=experiment.owner,
        schedule=predict.schedule,
        budget=usd_text(experiment.budget),
        cost=cost.at_most(experiment),
        rows=_ROWS if rows else "",
        publish=_PUBLISH if rows else "",
        replicas=predict.machines.replicas,
        timeout=duration_text(predict.timeout),
        max_failed=predict.max_failed,
        output=_output(experiment, platform),
        bucket=platform.bucket,
    )


def _what(experiment: Experiment, platform: Platform) -> str:
    predict = experiment.predict
    if predict.images is not None:
        day = ", of the first day of a run's interval" if DATE in predict.images else ""
        return f"all images below `{platform.uri(predict.images)}`{day}"
    table = f"`{platform.table(predict.bigquery)}`" if predict.bigquery else "its query"
    if predict.partition is None:
        return f"all rows of {table}"
    return f"the rows of {table} whose `{predict.partition}` is in a run's data interval"


def _output(experiment: Experiment, platform: Platform) -> str:
    given = experiment.predict.output
    if experiment.predict.kind == "image":
        folder = platform.uri(given or f"{experiment.name}/predictions").rstrip("/")
        return f"JSON lines below `{folder}/RUN/`"
    name = platform.table(given) if given else platform.own_table(f"predictions_{experiment.name}")
    return f"table `{name}_RUN`"
