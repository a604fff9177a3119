"""Train a network of Keras, and a forest of scikit-learn's, on the same made-up rows, and make
their ensemble: run in the trainer's environment, with a folder.

It leaves the folder of a run, and prints the test split: instances of a request, and their
probabilities by each of keras, forest and ensemble.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from testbed.tables import write_table
from testbed.trainings import MODULE, ROOT, arguments
from tests.trainer.comparison.plans import plan_of
from trainer import ensemble, predictions
from trellis_contracts import layout
from trellis_contracts.dataset_features import NUMERIC

MODELS = {
    "training/1": {"model": "dense", "epochs": 2},
    "training/2": {"model": ROOT / "dags/experiments/forest.py", "epochs": 1, "trees": 20},
}
NAMES = {"training/1": "keras", "training/2": "forest", layout.ENSEMBLE: "ensemble"}
SPLITS = {"train": [120], "validation": [40], "test": [20]}


def main(folder: Path) -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(sum(map(sum, SPLITS.values())), 2)).astype(np.float32)
    columns = {name: (NUMERIC, rows[:, i].tolist()) for i, name in enumerate("ab")}
    labels = [int(a > b) for a, b in rows]
    address = write_table(folder / "dataset", columns, labels, files=SPLITS)
    for name, flags in MODELS.items():
        flags = {"task": "binary_classification", "output": folder / name, **flags}
        command = [sys.executable, *MODULE, *arguments(address, **flags)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
    (folder / "plan.json").write_text(plan_of(f"{address}/").to_json("plan.json"))
    print(ensemble.make(str(folder)))
    found = {}
    for name, title in NAMES.items():
        written = predictions.read(folder / name / "predictions.parquet")
        places = [int(key) for key in written.keys]
        found[title] = written.probabilities.tolist()
    instances = [dict(zip("ab", rows[place].tolist(), strict=True)) for place in places]
    print(json.dumps({"instances": instances, **found}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
