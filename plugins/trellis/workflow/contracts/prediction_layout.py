"""The paths of a prediction's files and tables.

gs://BUCKET/EXPERIMENT/predictions/RUN/
    plan.json           what this run does, and with which version of the model
    instances.jsonl     of images: {"image": "gs://..."} a line
    changes.json        of rows: how they differ from those that the model learned from
    predictions.json    the result, and where the predictions are
    masks/, masks.jsonl of a segmentation: the masks, and a table of their addresses
    labelled/           earlier predictions whose label has arrived, as Parquet files
    performance.json    their scores
    examples/TASK.txt   keys and values of rows that a task's messages leave out

Predictions of images, masks too, are files below the same folder, or below the experiment file's
`output`; those of rows a table DATASET.predictions_EXPERIMENT_RUN, or the `output` with _RUN
appended.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import date

from trellis.workflow.contracts.layout import prediction_records, run_folder
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.prediction import ImagePredict
from trellis_contracts.layout import examples

# A table's name has at most 1,024 characters, and people read only its start.
_LONGEST = 100


@dataclass(frozen=True)
class Prediction:
    """The addresses of one run of a DAG EXPERIMENT-predict."""

    experiment: Experiment
    platform: Platform
    run_id: str

    @property
    def folder(self) -> str:
        return run_folder(self.run_id, self.experiment.generation)

    @property
    def uri(self) -> str:
        name = self.experiment.name
        return f"gs://{self.platform.bucket}/{name}/predictions/{self.folder}/"

    @property
    def plan(self) -> str:
        return f"{self.uri}plan.json"

    @property
    def instances(self) -> str:
        return f"{self.uri}instances.jsonl"

    @property
    def changes(self) -> str:
        return f"{self.uri}changes.json"

    @property
    def record(self) -> str:
        return f"{self.uri}predictions.json"

    @property
    def labelled(self) -> str:
        """Folder of the earlier predictions that this run scores."""
        return f"{self.uri}labelled/"

    @property
    def performance(self) -> str:
        return f"{self.uri}performance.json"

    @property
    def indexed(self) -> str:
        """Address of the record in the index of all runs."""
        return f"{prediction_records(self.platform.bucket, self.experiment.name)}{self.folder}.json"

    def examples_of(self, task: str) -> str:
        """Keys and values of rows that a task's messages leave out."""
        return examples(self.uri, task)

    @property
    def snapshot(self) -> str:
        """PROJECT.DATASET.TABLE of the frozen rows: the key and the model's features."""
        return self.platform.own_table(_name("instances", self.experiment.name, self.folder))

    @property
    def output_table(self) -> str:
        """PROJECT.DATASET.TABLE of the predictions of rows."""
        given = self.experiment.prediction.output
        if given is None:
            return self.own_output_table
        return f"{self.platform.table(given)}_{_name(self.folder)}"

    @property
    def own_output_table(self) -> str:
        """PROJECT.DATASET.TABLE in the group's dataset: of rows, unless the experiment's file names
        another; of images the lines of the job's files, if `predict.truth` asks for their labels.
        """
        return self.platform.own_table(_name("predictions", self.experiment.name, self.folder))

    @property
    def output_folder(self) -> str:
        """gs://... of the folder in which the job creates its own, without a slash at the end."""
        given = self.experiment.prediction.output
        if given is None:
            return self.uri.rstrip("/")
        return f"{self.platform.uri(given).rstrip('/')}/{self.folder}"

    @property
    def masks_folder(self) -> str:
        """Folder of masks/ and masks.jsonl."""
        of_images = isinstance(self.experiment.prediction, ImagePredict)
        return f"{self.output_folder}/" if of_images else self.uri

    @property
    def masks(self) -> str:
        """A line for each instance: key, mask, foreground, prediction, error."""
        return f"{self.masks_folder}masks.jsonl"


def requests_table(experiment: Experiment, platform: Platform) -> str:
    """PROJECT.DATASET.TABLE of what the experiment's endpoint was asked, a sample of it."""
    return platform.own_table(_name("requests", experiment.name))


def of_requests(experiment: Experiment, platform: Platform, day: date) -> Prediction:
    """The addresses of what a day's comparison finds in these: as those of a prediction."""
    return Prediction(experiment, platform, f"requests of {day}")


def _name(*parts: str) -> str:
    """The text as part of a table's name: letters, digits and _; different texts stay different."""
    text = "_".join(parts)
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")
    if plain == text and len(plain) <= _LONGEST:
        return plain
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]
    return f"{plain[:_LONGEST]}_{digest}"
