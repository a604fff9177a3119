"""automl: a model that Vertex AI AutoML trains on the same rows, and its test predictions.

Of rows: views -> dataset -> train -> predict -> export, see `automl_tables`.
Of one image each: images -> dataset (with its import) -> train -> predict, see `automl_images`.
"""

import functools
from typing import Any

from trellis.workflow.pricing import cost, services
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import vertex_job
from trellis.workflow.stages.planned import planned, returned
from trellis.workflow.stages.stage import FAILED_BASELINE, Stage

NAME = "automl"


def tasks(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow tasks; skipped when AutoML is switched off for the run."""
    from airflow.sdk import TaskGroup

    from trellis.bigquery.operators import BigQueryJobOperator
    from trellis.vertex.datasets import DatasetOperator
    from trellis.vertex.operators import (
        AutoMLImageOperator,
        AutoMLTabularOperator,
        BatchPredictionJobOperator,
    )
    from trellis.workflow.lookups import left
    from trellis.workflow.stages import automl_images, automl_tables

    of_images = experiment.source.automl == "image"
    messages = automl_images if of_images else automl_tables
    in_bigquery: dict[str, Any] = {
        "project_id": platform.project,
        "gcp_conn_id": platform.connection,
        "generation": experiment.generation,
        "poll_interval": platform.poll_seconds,
        "location": platform.location,
    }
    job = vertex_job.arguments(experiment, platform, 1)
    field = functools.partial(planned, experiment, platform)
    with TaskGroup(NAME) as group:
        if of_images:
            ready = automl_images.task(experiment, platform)
        else:
            ready = BigQueryJobOperator(
                task_id="views",
                configuration=field(automl_tables.views, needs=left.snapshot),
                **in_bigquery,
            )
        dataset = DatasetOperator(
            task_id="dataset",
            dataset=field(messages.dataset, needs=left.automl_input),
            import_configs=field(automl_images.imports) if of_images else None,
            generation=experiment.generation,
            **vertex_job.place(platform),
        )
        train = (AutoMLImageOperator if of_images else AutoMLTabularOperator)(
            task_id="train",
            training_pipeline=field(messages.pipeline, returned(f"{NAME}.dataset", "name")),
            **job,
        )
        predict = BatchPredictionJobOperator(
            task_id="predict",
            batch_prediction_job=field(messages.prediction, returned(f"{NAME}.train", "model")),
            limit=cost.AUTOML_PREDICTION_LIMIT.total_seconds(),
            usd_per_hour=cost.automl_prediction(experiment, 1, platform.region),
            **job,
        )
        ready >> dataset >> train >> predict
        if not of_images:
            predicted = returned(f"{NAME}.predict", "output")
            predict >> BigQueryJobOperator(
                task_id="export",
                configuration=field(automl_tables.export, predicted),
                **in_bigquery,
            )
    return group


STAGE = Stage(
    name=NAME,
    where="Vertex AI",
    writes=["baselines/NAME/"],
    when=lambda experiment: experiment.baselines.automl is not None,
    tasks=lambda dag: tasks(dag.experiment, dag.platform),
    dry_run=lambda *_: [(NAME, "baseline")],
    at_most=lambda experiment, platform, bytes_: {
        NAME: cost.baseline(experiment, NAME, bytes_, platform.region)
    },
    assumes="; AutoML trains for all its node hours, whose price is of "
    f"{services.table().by_hand[services.AUTOML][0]}, and predicts for an hour, when it is "
    "stopped; it reads its rows in BigQuery once for each",
    spent=lambda jobs: jobs.baselines("automl"),
    jobs=lambda plan: {"automl": 1, "batch": 1},
    advice={f"{NAME}.": FAILED_BASELINE},
)
