"""Read the plan of a run: the only place that does."""

from airflow.sdk.exceptions import AirflowFailException

from trellis.workflow.contracts import plan, prediction_plan
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.prediction_layout import Prediction
from trellis.workflow.lookups import documents
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.problems import FileError
from trellis_contracts.plan import PlanFile

_REMEDY = "Another version of Trellis wrote this plan: clear `plan` to plan the run again."


def load(experiment: Experiment, platform: Platform, run_id: str) -> plan.Plan:
    """Load the plan of a run of the experiment's DAG.

    Raises AirflowFailException if there is no plan, or this version does not understand it.
    """
    run = Run.of(experiment, platform, run_id)
    file = documents.read_file(platform, PlanFile, run.plan, _REMEDY)
    try:
        return plan.from_file(file, run)
    except FileError as error:
        raise _not_understood(error) from None


def load_prediction(
    experiment: Experiment, platform: Platform, run_id: str
) -> prediction_plan.PredictionPlan:
    """Load the plan of a run of the DAG EXPERIMENT-predict."""
    address = Prediction(experiment, platform, run_id).plan
    content = documents.read(platform, "prediction_plan", address, _REMEDY)
    try:
        return prediction_plan.from_json(content, platform)
    except FileError as error:
        raise _not_understood(error) from None


def _not_understood(error: FileError) -> AirflowFailException:
    return AirflowFailException(f"{error}\n{_REMEDY}")
