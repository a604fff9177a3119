"""The champion that is registered once more, for another image to serve it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trellis.workflow.contracts.aliases import FIRST_LABEL
from trellis.workflow.contracts.layout import ReserveRun, reserve_decision, run_folder
from trellis.workflow.lookups import documents
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.deploy.subject import Subject
from trellis_contracts.challenger import Challenger
from trellis_contracts.reserve import Reserve


@dataclass(frozen=True)
class Reserved:
    """A run's decision, with today's experiment: its machines and canary count."""

    experiment: Experiment
    run: ReserveRun
    decided: Reserve

    @property
    def images(self) -> Mapping[str, str]:
        """None: the decision has named its image by digest already."""
        return {}


class ReservedSubject(Subject):
    """The champion that a run of EXPERIMENT-reserve serves anew: with its own files and examples,
    in today's image.
    """

    def run(self, run_id: str) -> ReserveRun:
        """The addresses of a run. Raises AirflowFailException before `resolve` has decided."""
        return self.addresses(run_id, self.decided(run_id).trained)

    def addresses(self, run_id: str, trained: str) -> ReserveRun:
        """The addresses of a run that serves the model of a run's folder anew."""
        folder = f"reserve-{run_folder(run_id)}"
        return ReserveRun(self.platform.bucket, self.experiment.name, folder, trained)

    def decided(self, run_id: str) -> Reserve:
        """Read what `resolve` has decided. Raises AirflowFailException if it has not."""
        address = reserve_decision(self.platform.bucket, self.experiment.name, run_id)
        return documents.read_file(self.platform, Reserve, address)

    def load(self, experiment: Experiment, platform: Platform, run_id: str) -> Reserved:
        """Read what the run has decided. Raises AirflowFailException."""
        decided = self.decided(run_id)
        return Reserved(experiment, self.addresses(run_id, decided.trained), decided)

    def approved(self, context: Any) -> None:
        """Nobody is asked: people approved of the model before, and a person has triggered this."""

    def model(self, plan: Reserved, platform: Platform, challenger: Challenger) -> dict[str, Any]:
        """The Model to upload; it remembers the number that its training had first."""
        model = super().model(plan, platform, challenger)
        labels = {**model["labels"], FIRST_LABEL: plan.decided.first}
        container = {**model["container_spec"], "image_uri": plan.decided.image}
        return {**model, "labels": labels, "container_spec": container}
