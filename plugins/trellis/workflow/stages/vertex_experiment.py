"""A run's contenders in Vertex AI Experiments, if platform.yaml asks for it: part of `result`."""

import json
from typing import Any

from airflow.providers.google.common.hooks.base_google import GoogleBaseHook

from trellis.vertex.experiments import ExperimentRun, record
from trellis.workflow.contracts.layout import Run
from trellis.workflow.spec.platform import Platform
from trellis_contracts.leaderboard import Contender, Leaderboard


def write(platform: Platform, run: Run, board: Leaderboard) -> None:
    """Write each scored contender as a run of the experiment, with its scores on the test split."""
    from google.cloud.aiplatform_v1 import MetadataServiceClient

    client = MetadataServiceClient(
        credentials=GoogleBaseHook(gcp_conn_id=platform.connection).get_credentials(),
        client_options={"api_endpoint": f"{platform.region}-aiplatform.googleapis.com"},
    )
    location = f"projects/{platform.project}/locations/{platform.region}"
    found = runs(run.folder, board)
    record(client, location, run.experiment, found, platform.encryption_key)
    contenders = "1 contender" if len(found) == 1 else f"{len(found)} contenders"
    print(f"Vertex AI Experiments has {contenders} of {run.folder} in {run.experiment}")


def runs(folder: str, board: Leaderboard) -> list[ExperimentRun]:
    """The scored contenders of a run. folder: of the run."""
    return [
        ExperimentRun(f"{folder} {one.name}", _parameters(one), _metrics(one))
        for one in board.contenders
        if one.status == "ok"
    ]


def _parameters(contender: Contender) -> dict[str, float | str]:
    training = contender.training
    facts = {"model": training.model, "seed": training.seed} if training else {}
    values = {"kind": contender.kind, **facts, **contender.hyperparameters}
    return {name: _parameter(value) for name, value in values.items()}


def _parameter(value: Any) -> float | str:
    """The SDK takes numbers and texts."""
    return value if type(value) in (int, float) else json.dumps(value).strip('"')


def _metrics(contender: Contender) -> dict[str, float]:
    return {name: estimate.value for name, estimate in contender.metrics.items()}
