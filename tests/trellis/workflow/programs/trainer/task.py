"""A training that is over at once; the learning rate is its accuracy.

--seed 0 works, 1 fails the full training ranked 2, 2 fails every trial but the first, 3 fails all;
5: the accuracy is 1, whatever the learning rate, and the loss falls with the learning rate.
"""

import argparse
import json
import os
import sys

from trainer import path

parser = argparse.ArgumentParser()
for name in ("--dataset", "--outputs", "--metric"):
    parser.add_argument(name, required=True)
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--learning_rate", type=float, required=True)
options, _ = parser.parse_known_args()

accuracy = 1.0 if options.seed == 5 else options.learning_rate
loss = 1 - options.learning_rate
assert path(options.dataset).joinpath("dataset.json").exists()
output = path(os.environ["AIP_MODEL_DIR"]).parent
output.mkdir(parents=True, exist_ok=True)
trial = os.environ.get("CLOUD_ML_TRIAL_ID")
if options.outputs == "metrics":
    if options.seed == 3 or (options.seed == 2 and trial != "1"):
        sys.exit("this trial was to fail")
    line = {"trial": trial, "global_step": 1, "timestamp": 0, "accuracy": accuracy}
    with open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "a") as file:
        file.write(json.dumps(line) + "\n")
elif options.seed == 1 and output.name == "2":
    sys.exit("this training was to fail")
digest = "0" * 64
metrics = {
    "schema": 1,
    "model": "convolutional",
    "task": "multiclass_classification",
    "metric": options.metric,
    "hyperparameters": {"learning_rate": options.learning_rate},
    "seed": options.seed,
    "strategy": "single",
    "epochs_run": 2,
    "best_epoch": 1,
    "history": [
        {"epoch": 1, "val_loss": loss, "learning_rate": options.learning_rate, "seconds": 1},
        {"epoch": 2, "val_loss": 2 * loss, "learning_rate": options.learning_rate, "seconds": 1},
    ],
    "validation": {"accuracy": accuracy, options.metric: accuracy, "loss": loss},
    "test": None,
    "replicas": {
        "chief:0": {
            "steps": 2,
            "examples": 64,
            "weights_sha256": digest,
            "last_weights_sha256": digest,
        }
    },
    "weights_sha256": digest,
    "parameters": 1,
    "dataset": {"uri": options.dataset, "fingerprint": "f00d"},
}
(output / "metrics.json").write_text(json.dumps(metrics))
