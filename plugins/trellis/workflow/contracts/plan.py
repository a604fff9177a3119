"""Plan of one run: the `plan` stage decides it, all others read it from plan.json.

trellis_contracts.plan has the file; here its configuration is an Experiment again, and its table a
Table.
"""

from dataclasses import dataclass, replace

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.layout import FoldRun, Run
from trellis.workflow.contracts.table import Table
from trellis.workflow.spec import own_model
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.own_model import OwnModel
from trellis.workflow.validation.file import of_configuration
from trellis_contracts import folds
from trellis_contracts.folds import EVERYTHING
from trellis_contracts.plan import PlanFile, Planned


@dataclass(frozen=True, kw_only=True)
class Plan(Planned):
    """A plan.json, from which the stages make their jobs.

    experiment: this run's Params applied.
    """

    experiment: Experiment
    run: Run
    table: Table

    def of(self, model: str | None) -> "Plan":
        """The plan of one of the experiment's models, as Experiment.of has it."""
        return replace(self, experiment=self.experiment.of(model))

    def part(self, part: str | None) -> "Plan":
        """The plan of what is done in a fold; None: of the model to deploy, whose run it is."""
        if self.experiment.folds is None:
            return self
        name, run = EVERYTHING if part is None else part, self.run
        if part is not None:
            run = FoldRun(run.bucket, run.experiment, run.folder, part)
        return replace(
            self, run=run, dataset=replace(self.dataset, uri=folds.dataset(self.dataset.uri, name))
        )

    def reused(self, folder: str) -> str | None:
        """The folder of an earlier run that stands in for this folder of the run, if there is one.

        folder: gs://.../ below the run's.
        """
        return self.reuse.steps.get(folder.removeprefix(self.run.uri).rstrip("/"))

    @property
    def model_address(self) -> str:
        """The trainer's flag --model: a name, or the address of the experiment's own file."""
        own = self.experiment.own_model
        if own is None:
            return self.experiment.model
        return self.address_of(own)

    def address_of(self, own: OwnModel) -> str:
        """Where the run has a model's file."""
        return layout.model_file(self.run.bucket, self.experiment.name, own)

    def file(self) -> PlanFile:
        """The plan as plan.json has it."""
        return PlanFile(
            experiment=self.experiment.name,
            description=self.experiment.about,
            run=self.run.uri,
            configuration=self.experiment.configuration(),
            model_files={
                name: own_model.to_plan(own, self.address_of(own))
                for name, own in self.experiment.own_models.items()
            },
            image_files=self.experiment.image_files,
            table=self.table.to_document(),
            **self.planned,
        )


def from_file(file: PlanFile, run: Run) -> Plan:
    """The plan in a plan.json.

    Raises FileError if this version does not understand its configuration.
    """
    experiment = of_configuration(
        run.plan,
        run.experiment,
        file.description,
        file.configuration,
        own_model.from_plan(file.model_files),
        file.image_files,
    )
    return Plan(
        experiment=experiment,
        run=run,
        table=Table.from_document(file.table),
        **file.planned,
    )
