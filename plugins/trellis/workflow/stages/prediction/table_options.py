"""Description and labels of a prediction's tables."""

from typing import Any

from trellis.workflow import sql
from trellis.workflow.contracts.prediction_plan import PredictionPlan
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages


def table_options(plan: PredictionPlan, platform: Platform, what: str) -> dict[str, Any]:
    """OPTIONS of a table that the run creates, for the SQL templates."""
    labels = job_messages.labels(plan.experiment, platform).items()
    pairs = (f"({sql.literal(name)}, {sql.literal(value)})" for name, value in labels)
    return {
        "description": f"{what} in {plan.run.uri}",
        "labels": ", ".join(pairs),
        "encryption_key": platform.encryption_key,
    }
