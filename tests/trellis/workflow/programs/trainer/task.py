"""A training that is over at once; the learning rate is its accuracy.

--seed 0 works, 1 fails the full training ranked 2, 2 fails every trial but the first, 3 fails all.
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

assert path(options.dataset).joinpath("dataset.json").exists()
output = path(os.environ["AIP_MODEL_DIR"]).parent
output.mkdir(parents=True, exist_ok=True)
trial = os.environ.get("CLOUD_ML_TRIAL_ID")
if options.outputs == "metrics":
    if options.seed == 3 or (options.seed == 2 and trial != "1"):
        sys.exit("this trial was to fail")
    line = {"trial": trial, "global_step": 1, "timestamp": 0, "accuracy": options.learning_rate}
    with open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "a") as file:
        file.write(json.dumps(line) + "\n")
elif options.seed == 1 and output.name == "2":
    sys.exit("this training was to fail")
(output / "metrics.json").write_text(json.dumps({"accuracy": options.learning_rate}))
