"""Train a network of Keras, and a forest of scikit-learn's, on the same made-up rows: run in the
trainer's environment, with a folder.

It leaves keras/model/ and forest/model/, and prints the test split: instances of a request, and
their probabilities by both.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from testbed.tables import write_table
from testbed.trainings import MODULE, ROOT, arguments
from trainer import predictions
from trellis_contracts.dataset_features import NUMERIC

MODELS = {
    "keras": {"model": "dense", "epochs": 2},
    "forest": {"model": ROOT / "dags/experiments/forest.py", "epochs": 1, "trees": 20},
}
SPLITS = {"train": [120], "validation": [40], "test": [20]}


def main(folder: Path) -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(sum(map(sum, SPLITS.values())), 2)).astype(np.float32)
    columns = {name: (NUMERIC, rows[:, i].tolist()) for i, name in enumerate("ab")}
    labels = [int(a > b) for a, b in rows]
    address = write_table(folder / "dataset", columns, labels, files=SPLITS)
    found = {}
    for name, flags in MODELS.items():
        flags = {"task": "binary_classification", "output": folder / name, **flags}
        command = [sys.executable, *MODULE, *arguments(address, **flags)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
        written = predictions.read(folder / name / "predictions.parquet")
        places = [int(key) for key in written.keys]
        found[name] = written.probabilities.tolist()
    instances = [dict(zip("ab", rows[place].tolist(), strict=True)) for place in places]
    print(json.dumps({"instances": instances, **found}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
