"""The contract with an image of a group's own, as tables. Its helpers, its checks and the page of
`trellis contract` are made from them, and from `forms`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from trellis_contracts.columns import SPLIT_BY, WEIGHT
from trellis_contracts.job_image import STARTED_BY
from trellis_contracts.program.forms import FORMS
from trellis_contracts.tasks import BY_PROGRAMS

OUTPUT = "AIP_MODEL_DIR"
CHECKPOINTS = "AIP_CHECKPOINT_DIR"
CLUSTER = "CLUSTER_SPEC"
"""https://cloud.google.com/vertex-ai/docs/training/distributed-training"""
MOUNT = "GCS_ROOT"
"""Variable with the folder below which every bucket is a folder; /gcs where it is not set."""

VARIABLES: Mapping[str, str] = {
    OUTPUT: "gs:// folder OUTPUT/model/ that the model goes to; the other files go beside it, to "
    "OUTPUT/. In a trial it is that trial's own.",
    CHECKPOINTS: "gs:// folder that is there again when lost work starts anew.",
    "AIP_TENSORBOARD_LOG_DIR": "gs:// folder of logs for TensorBoard.",
    "CLOUD_ML_TRIAL_ID": "Number of the trial; not set in a full training.",
    "CLOUD_ML_HP_METRIC_FILE": "File that a trial's metric is appended to; where it is not set, "
    "/tmp/hypertune/output.metrics.",
    MOUNT: "Where it is set (on one machine), gs://BUCKET/OBJECT is the file $GCS_ROOT/BUCKET/"
    "OBJECT; elsewhere it is /gcs/BUCKET/OBJECT.",
    CLUSTER: "JSON with the machines of the job: `cluster` lists the host:port of each by worker "
    "pool, `task` has the own pool (`type`) and the place in it (`index`). `workerpool0` and then "
    "`workerpool1` hold the workers, which may start one after the other. The first "
    "alone leaves what OUTPUT/ must have; the others end with 0. If one is lost, all start again.",
    STARTED_BY: "Version of trellis-contracts that started the job; `inputs.job` ends the program "
    "if its own is another.",
}

FLAGS: Mapping[str, str] = {
    "dataset": "gs:// folder of the dataset; in a cross-validation that of a fold, or of all rows "
    "for the model to deploy, which has no test split.",
    "model": "gs:// address of the file that declares the hyperparameters.",
    "model_sha256": "SHA-256 of that file.",
    "task": f"One of {', '.join(BY_PROGRAMS)}.",
    "metric": "The metric that decides, on the validation split.",
    "epochs": "Passes over the train split, of the experiment's `epochs`; what they are of is the "
    "program's to say.",
    "seed": "Of all that is drawn at random.",
    "outputs": "metrics in a trial, whose metric alone counts; all in a full training.",
}
"""Flags, each as --NAME=VALUE; a hyperparameter is one more, under its own name."""

DATASET: Mapping[str, str] = {
    "dataset.json": "Description: features, classes, counts of each split, the rule of the split.",
    "SPLIT-NNNNN-of-NNNNN.tfrecord": "tf.train.Example messages of the splits train, validation "
    "and test: key, features, label. An image is a PNG or JPEG in the dataset's size; a mask is "
    "a PNG.",
    "source/rows-*.parquet": "The same rows as Parquet, of all splits: key, split (train, "
    "validation, test), the label, a column for each feature, "
    f"`{WEIGHT}` where rows have weights, and `{SPLIT_BY}`, the row's group, where groups decide "
    "the split.",
}

PROGRAM = "program"
"""`strategy` in metrics.json of a training in an image that is not ours."""

MODEL = "model/"
PREDICTIONS = "predictions.parquet"
METRICS = "metrics.json"


@dataclass(frozen=True)
class Output:
    """A file or folder that a full training leaves. about: what it holds."""

    name: str
    about: str


OUTPUTS = (
    Output(MODEL, "The model, in any form: what the server, of this or another image, reads."),
    Output(
        PREDICTIONS,
        "A prediction for each key of the test split, or, where dataset.json counts no example in "
        "it, of the validation split: key (string), and the task's columns below. The schema's "
        "metadata has schema=1, and what is the task's own.",
    ),
    Output(
        METRICS,
        "Figures of the training, in the form below; written last: a training that has one is "
        "complete.",
    ),
)

RULES: Mapping[str, str] = {
    "there": "every file is there, and model/ holds at least one",
    "form": "predictions.parquet has the columns, types and metadata of this page, without NULL, "
    "and the task, the classes and the times of dataset.json",
    "keys": "the keys are those of the test split (where it is empty, of the validation split), "
    "each once",
    "labels": "the labels are those of the dataset",
    "finite": "no predicted number is NaN or infinite",
    **{name: about for form in FORMS.values() for name, about in form.rules.items()},
    "metric": "metrics.json has the metric that decides, on the validation split, and `loss`",
    "dataset": "metrics.json names the dataset that the training was given",
    "strategy": f"metrics.json says {PROGRAM!r} as `strategy`",
}
"""Rules by which the outputs are checked when the trainings have ended, before anything later is
paid. The text is part of the message of one that is broken."""

SERVER: Mapping[str, str] = {
    "AIP_HTTP_PORT": "Port to listen at, on all interfaces.",
    "AIP_HEALTH_ROUTE": "GET of it answers 200 when the model is loaded.",
    "AIP_PREDICT_ROUTE": 'POST of {"instances": [...]} to it answers {"predictions": [...]}.',
    "AIP_STORAGE_URI": "gs:// folder with a copy of model/.",
}
ANSWERS: Mapping[str, str] = {
    "instance": "An object with a field for each feature, under its name in the source, or, of a "
    "table that a batch prediction reads, under its `column` in dataset.json; an image is its "
    'address, or {"b64": ...}.',
    "parameters": 'A batch prediction sends {"each": true} beside the instances: one that has no '
    'prediction is answered {"error": TEXT}, and the others are predicted. Where the whole request '
    "is answered with an error, none of its instances has a prediction.",
}
"""Instances and answers of the server. Those of the smoke test must equal predictions.parquet
within 1e-4."""
