"""Plan of one run of EXPERIMENT-predict: `plan` decides it, all others read it.

prediction_plan.schema.json of trellis_contracts describes each field of the file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trellis.workflow.contracts.prediction_layout import Prediction
from trellis.workflow.spec import own_model
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.validation.file import of_configuration

SCHEMA = 1


@dataclass(frozen=True)
class Rows:
    """Input and output of a prediction of a table or query.

    statement: the SELECT of key and features. expires: when the frozen rows are deleted.
    answer: column of the predictions that has the model's answer: label, value, or risk.
    images: number of a row's images. abstained: whether the model hands examples back. conformal:
    what its answers have for `coverage`, "set" or "interval"; None: nothing. bqml:
    PROJECT.DATASET.MODEL of a model of BigQuery ML's, which answers a query; None: a job predicts.
    """

    statement: str
    expires: datetime
    answer: str
    images: int = 0
    abstained: bool = False
    conformal: str | None = None
    bqml: str | None = None


@dataclass(frozen=True)
class PredictionPlan:
    """A prediction's plan.json, from which the stages make their jobs.

    run: paths of its files; run.experiment has this run's Params applied. model: resource name of
    the version, so that a retry, or an alias that moves meanwhile, changes nothing. service: automl
    or bqml, if a service of Google's has trained it. model_run: the
    folder of the run that trained it; dataset: that of its dataset. rows: None for images.
    instances: how many, None if only reading would tell. left_out: columns that the model does not
    use; for images, the number of other objects. cost: the limit that was checked against the
    budget.
    """

    run: Prediction
    data_interval: Mapping[str, str | None]
    model: str
    service: str | None
    model_run: str
    dataset: str
    source: str
    partition: Mapping[str, str] | None
    rows: Rows | None
    instances: int | None
    left_out: Sequence[str] | int
    output: str
    cost: Mapping[str, Any]

    @property
    def experiment(self) -> Experiment:
        return self.run.experiment

    @property
    def table(self) -> str | None:
        """PROJECT.DATASET.TABLE of the predictions; None of images of which no label is asked."""
        if self.rows is not None:
            return self.output
        return self.run.own_output_table if self.experiment.prediction.truth else None

    def to_json(self) -> dict[str, Any]:
        """The content of plan.json."""
        rows = self.rows
        return {
            "schema": SCHEMA,
            "experiment": self.experiment.name,
            "run_id": self.run.run_id,
            "data_interval": self.data_interval,
            "model": self.model,
            "service": self.service,
            "model_run": self.model_run,
            "dataset": self.dataset,
            "configuration": self.experiment.configuration(),
            "model_files": {
                name: own_model.to_plan(own) for name, own in self.experiment.own_models.items()
            },
            "source": self.source,
            "partition": self.partition,
            "rows": rows
            and {
                "statement": rows.statement,
                "expires": rows.expires.isoformat(timespec="seconds"),
                "answer": rows.answer,
                "images": rows.images,
                "abstained": rows.abstained,
                "conformal": rows.conformal,
                "bqml": rows.bqml,
            },
            "instances": self.instances,
            "left_out": self.left_out,
            "output": self.output,
            "cost": self.cost,
        }


def from_json(content: dict[str, Any], platform: Platform) -> PredictionPlan:
    """The plan in a plan.json that fits its schema.

    Raises FileError if this version does not understand its configuration.
    """
    name, rows = content["experiment"], content["rows"]
    experiment = of_configuration(
        f"The plan of {content['run_id']}",
        name,
        "",
        content["configuration"],
        own_model.from_plan(content["model_files"]),
        # A version's server is that with which it was registered.
        {},
    )
    return PredictionPlan(
        run=Prediction(experiment, platform, content["run_id"]),
        rows=rows and Rows(**{**rows, "expires": datetime.fromisoformat(rows["expires"])}),
        **{
            name: content[name]
            for name in (
                *("data_interval", "model", "service", "model_run", "dataset", "source"),
                *("partition", "instances", "left_out", "output", "cost"),
            )
        },
    )
