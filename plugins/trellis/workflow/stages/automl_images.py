"""AutoML's input from examples of one image each, those that the export accepted with their split,
and the jobs that use it.

baselines/automl/import.csv    ML_USE,gs://image,label: a manifest that names every split
baselines/automl/test.jsonl    {"content": "gs://image", "mimeType": "image/png"} of the test split
"""

import csv
import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from airflow.sdk.exceptions import AirflowSkipException
from google.cloud.storage import Blob

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.lookups import bigquery_source, plans, storage
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages
from trellis.workflow.stages.automl_tables import common, display_name, milli_node_hours
from trellis.workflow.stages.deploy.answers import ALL_CLASSES
from trellis.workflow.stages.function_operator import function_task
from trellis.workflow.stages.prediction.images import of_automl

_SCHEMA = "gs://google-cloud-aiplatform/schema"
_ML_USES = {"train": "training"}
_ML_USE = "labels.aiplatform.googleapis.com/ml_use"


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task that writes the two files for the baseline."""
    return _written(
        *(experiment, platform, "images"),
        lambda plan: plan.experiment.baselines.automl is not None,
        lambda run: run.baseline("automl"),
    )


def served(experiment: Experiment, platform: Platform, asked: Callable[..., bool]) -> Any:
    """The Airflow task that writes them for the model that is served. asked: whether a plan's run
    asks it; takes the plan and the platform.
    """
    return _written(
        *(experiment, platform, "rows"),
        lambda plan: asked(plan, platform),
        lambda run: run.contender("served"),
    )


def _written(
    experiment: Experiment,
    platform: Platform,
    name: str,
    needed: Callable[[Plan], bool],
    folder_of: Callable[[layout.Run], str],
) -> Any:
    # The export is skipped if its dataset exists.
    @function_task(task_id=name, trigger_rule="none_failed")
    def written(run_id=None):
        plan = plans.load(experiment, platform, run_id)
        if not needed(plan):
            raise AirflowSkipException("This run does not need it.")
        folder = folder_of(plan.run)
        count = write(_usable(plan, platform), folder, partial(storage.blob, platform))
        print(f"{count} images for AutoML in {folder}import.csv")

    return written()


def _usable(plan: Plan, platform: Platform) -> Iterator[tuple[str, str, str]]:
    """(split, address, label) of the images that the export took."""
    rejected = storage.blob(platform, f"{plan.dataset.uri}rejected.jsonl")
    lines = rejected.download_as_text().splitlines() if rejected.exists() else []
    found = bigquery_source.images_of(platform, job_messages.snapshot(plan, platform), plan.table)
    return without(found, unusable(map(json.loads, lines)))


def unusable(rejected: Iterable[Mapping[str, Any]]) -> set[str]:
    """Addresses of the images that cannot be read: a line that is no example, such as a second one
    of a good image, has no split.
    """
    return {row["uri"] for row in rejected if row["split"]}


def without(
    images: Iterable[tuple[str, str, str]], rejected: Container[str]
) -> Iterator[tuple[str, str, str]]:
    """(split, address, label) of the images whose address was not rejected."""
    return (image for image in images if image[1] not in rejected)


def write(images: Iterable[tuple[str, str, str]], folder: str, blob: Callable[[str], Blob]) -> int:
    """Write the two files, image by image; the number of images. blob: the object at an address."""
    count = 0
    with (
        blob(f"{folder}import.csv").open("w") as table,
        blob(f"{folder}test.jsonl").open("w") as test,
    ):
        lines = csv.writer(table, lineterminator="\n")
        for split, uri, label in images:
            lines.writerow([_ML_USES.get(split, split), uri, label])
            if split == "test":
                test.write(json.dumps(of_automl(uri)) + "\n")
            count += 1
    return count


def dataset(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The Dataset, still empty."""
    return {
        "display_name": display_name(plan.experiment),
        "metadata_schema_uri": f"{_SCHEMA}/dataset/metadata/image_1.0.0.yaml",
        **common(plan, platform),
    }


def imports(plan: Plan, platform: Platform) -> list[dict[str, Any]]:
    """The ImportDataConfigs that fill it."""
    return [
        {
            "gcs_source": {"uris": [f"{plan.run.baseline('automl')}import.csv"]},
            "import_schema_uri": f"{_SCHEMA}/dataset/ioformat/"
            "image_classification_single_label_io_format_1.0.0.yaml",
        }
    ]


def pipeline(plan: Plan, platform: Platform, dataset: str) -> dict[str, Any]:
    """The TrainingPipeline. dataset: resource name of what `dataset` made."""
    name = display_name(plan.experiment)
    filters = {
        f"{split}_filter": f"{_ML_USE}={split}" for split in ("training", "validation", "test")
    }
    return {
        "display_name": name,
        "training_task_definition": f"{_SCHEMA}/trainingjob/definition/"
        "automl_image_classification_1.0.0.yaml",
        "training_task_inputs": {
            "modelType": "CLOUD",
            "budgetMilliNodeHours": milli_node_hours(plan.experiment),
        },
        "input_data_config": {
            "filter_split": filters,
            "annotation_schema_uri": f"{_SCHEMA}/dataset/annotation/"
            "image_classification_1.0.0.yaml",
            "dataset_id": dataset.rpartition("/")[2],
        },
        "model_to_upload": {"display_name": name},
        **common(plan, platform),
    }


def prediction(
    plan: Plan, platform: Platform, model: str, folder: str | None = None
) -> dict[str, Any]:
    """The BatchPredictionJob of the test images. model: resource name of what `pipeline` made.
    folder: of the contender, with test.jsonl; None: of the run's own baseline.
    """
    folder = folder or plan.run.baseline("automl")
    return {
        "display_name": display_name(plan.experiment),
        "model": model,
        "input_config": {
            "instances_format": "jsonl",
            "gcs_source": {"uris": [f"{folder}test.jsonl"]},
        },
        "output_config": {
            "predictions_format": "jsonl",
            "gcs_destination": {"output_uri_prefix": f"{folder}raw"},
        },
        "model_parameters": ALL_CLASSES,
        **common(plan, platform),
    }
