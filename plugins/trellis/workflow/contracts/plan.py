"""What one run does: decided by the `plan` stage, read by all others from plan.json.

plan.schema.json of trellis_contracts describes each field of the file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.table import Table
from trellis.workflow.contracts.table import from_json as table_from_json
from trellis.workflow.spec import own_model
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.validation.file import of_configuration

SCHEMA = 1


@dataclass(frozen=True)
class Dataset:
    """What a run trains on.

    uri: of its folder; fingerprint: the folder's name. exists: whether an earlier run created it.
    source: the manifest, table or query. statement: the SQL that freezes the rows; None for images.
    partition: {"column", "from", "to"}; None for images, and for the rows of all times. examples,
    classes: None where only reading would tell, or there are none. previous: the folder of the
    newest dataset before this one that a run of the experiment has trained on; None if there is
    none.
    """

    uri: str
    fingerprint: str
    exists: bool
    source: str
    statement: str | None
    partition: Mapping[str, str] | None
    examples: int | None
    classes: Mapping[str, int] | None
    previous: str | None


@dataclass(frozen=True)
class Reuse:
    """What a run takes from earlier ones, and by what later ones find it.

    digests: of the steps `tune` and `train`, without those whose image has no known digest; a
    training's is that of its job without the parameters of its trial. steps: folders of earlier
    runs by what they stand in for, as folders below the run: tuning, training/1,
    training/1/seeds/8. remark: why nothing more is reused, if that was asked for.
    """

    digests: Mapping[str, str] = field(default_factory=dict)
    steps: Mapping[str, str] = field(default_factory=dict)
    remark: str | None = None

    def lines(self) -> list[str]:
        """What is reused, a line each, and why nothing more; none if nothing was asked for."""
        told = [f"Reused, no job: {step} from {source}" for step, source in self.steps.items()]
        if self.remark is not None:
            told.append(f"Nothing {'more ' if told else ''}is reused: {self.remark}")
        return told


@dataclass(frozen=True)
class Plan:
    """A plan.json, from which the stages make their jobs.

    experiment: this run's Params applied. created: when the run was triggered, ISO 8601, as are
    start and end of the data_interval. table: None for images. jobs: how many, by kind. rates: US
    dollars an hour. cost: the limit that was checked against the budget.
    """

    experiment: Experiment
    run: Run
    run_id: str
    created: str
    data_interval: Mapping[str, str | None]
    dataset: Dataset
    table: Table | None
    baselines: Sequence[str]
    jobs: Mapping[str, int]
    rates: Mapping[str, float]
    cost: Mapping[str, Any]
    reuse: Reuse = Reuse()

    def of(self, model: str | None) -> "Plan":
        """The plan of one of the experiment's models, as Experiment.of has it."""
        return replace(self, experiment=self.experiment.of(model))

    def reused(self, folder: str) -> str | None:
        """The folder of an earlier run that stands in for this folder of the run, if there is one.

        folder: gs://.../ below the run's.
        """
        return self.reuse.steps.get(folder.removeprefix(self.run.uri).rstrip("/"))

    @property
    def model_address(self) -> str:
        """What --model of the trainer is: a name, or the address of the experiment's own file."""
        own = self.experiment.own_model
        if own is None:
            return self.experiment.model
        return layout.model_file(self.run.bucket, self.experiment.name, own)

    def to_json(self) -> dict[str, Any]:
        """The content of plan.json."""
        return {
            "schema": SCHEMA,
            "experiment": self.experiment.name,
            "description": self.experiment.about,
            "run": self.run.uri,
            "run_id": self.run_id,
            "created": self.created,
            "data_interval": self.data_interval,
            "configuration": self.experiment.configuration(),
            "model_file": own_model.to_plan(self.experiment.own_model, self.model_address),
            "dataset": asdict(self.dataset),
            "table": self.table.to_json() if self.table else None,
            "baselines": self.baselines,
            "jobs": self.jobs,
            "rates": self.rates,
            "cost": self.cost,
            "reuse": asdict(self.reuse),
        }


def from_json(content: dict[str, Any], run: Run) -> Plan:
    """The plan in a plan.json that fits its schema.

    Raises FileError if this version does not understand its configuration.
    """
    experiment = of_configuration(
        run.plan,
        run.experiment,
        content["description"],
        content["configuration"],
        own_model.from_plan(content["model_file"]),
    )
    return Plan(
        experiment=experiment,
        run=run,
        dataset=Dataset(**content["dataset"]),
        table=table_from_json(content["table"]) if content["table"] else None,
        reuse=Reuse(**content["reuse"]),
        **{
            name: content[name]
            for name in ("run_id", "created", "data_interval", "baselines", "jobs", "rates", "cost")
        },
    )
