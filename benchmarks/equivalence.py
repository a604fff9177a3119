"""Ways to spread the same batches over devices, processes and time. About 15 minutes.

    PYTHONPATH=. .venv/trainer/bin/python benchmarks/equivalence.py

64 training examples of scikit-learn's digits, and 64 made-up rows with features of every kind. One
step an epoch takes all of them, so that every way has the same examples in every step: 1 x 64; 2 x
32 as two devices of one machine (logical CPUs) and as two processes that talk over the loopback
interface; 4 x 16 by accumulation; and killed by SIGKILL in the middle and started again. No
dropout, no scaling of the rate.

The table has the largest relative difference of the training and validation loss over all epochs
against 1 x 64, and whether the weights at the end are the same bit for bit. Fails for a difference
above TOLERANCE, and for a resumed training whose weights differ from the undisturbed one's.
README.md has the result.
"""

import itertools
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from testbed.tables import mixed_rows, write_table
from testbed.trainings import MODULE, Job, arguments, write_dataset

TOLERANCE = 1e-3
"""Relative. Sums of float32 gradients in another order differ by 1e-7 in a step; 40 steps of a
network multiply that.
"""

EPOCHS = 40
FILES = {"train": [32, 32], "validation": [40], "test": [40]}
PAIR = ("chief:0", "worker:0")
SINGLE = {"strategy": "single", "batch_size": 64}
WAYS = {
    "1 x 64, again": ((PAIR[0],), 0, SINGLE),
    "1 x 64, killed and resumed": ((PAIR[0],), 0, SINGLE),
    "4 x 16, accumulated": ((PAIR[0],), 0, {"batch_size": 16, "accumulation": 4}),
    "2 x 32, two devices": (
        (PAIR[0],),
        2,
        {"strategy": "mirrored", "batch_size": 32},
    ),
    "2 x 32, two processes": (PAIR, 0, {"batch_size": 32}),
    "2 x 32, two processes, killed and resumed": (PAIR, 0, {"batch_size": 32}),
}
CASES = (
    ("digits", "convolutional"),
    ("digits", "vision_transformer"),
    ("rows", "dense"),
    ("rows", "recurrent"),
)
OPTIMIZERS = ("sgd", "adam")
ALIKE = {
    "epochs": EPOCHS,
    "learning_rate_scaling": "none",
    "outputs": "metrics",
    "early_stopping_patience": 0,
}


def data(folder: Path) -> dict[str, tuple[str, str]]:
    """Address and task, by name."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))[
        : sum(map(sum, FILES.values()))
    ]
    images = (digits.images[order, ..., np.newaxis] * 255 / 16).astype(np.uint8)
    rows = mixed_rows(len(order))
    return {
        "digits": (
            write_dataset(folder / "digits", images, digits.target[order], files=FILES),
            "multiclass_classification",
        ),
        "rows": (write_table(folder / "rows", *rows, files=FILES), "binary_classification"),
    }


def train(folder: Path, dataset: str, way: str, **flags: object) -> dict:
    """metrics.json of a training, which is killed once in the middle if the way says so."""
    names, devices, own = WAYS.get(way, ((PAIR[0],), 0, SINGLE))
    folder.mkdir(parents=True)
    job = Job(folder, names, [*MODULE, *arguments(dataset, **flags, **own)], accelerators=devices)
    try:
        job.start()
        if "killed" in way:
            job.wait_for(names[-1], f"epoch {EPOCHS // 4}/{EPOCHS}")
            job.kill(names[-1])
            ended = job.wait()
            if all(code == 0 for code in ended.values()):
                raise SystemExit(f"{way}: the training had ended before it could be killed")
            job.start()
        if any(job.wait().values()):
            raise SystemExit("\n".join(job.log(name) for name in names))
        return job.metrics
    finally:
        job.end()


def difference(metrics: dict, reference: dict) -> float:
    """The largest relative difference of a loss in any epoch."""
    pairs = zip(metrics["history"], reference["history"], strict=True)
    return max(abs(a[n] / b[n] - 1) for a, b in pairs for n in ("loss", "val_loss"))


def compare(folder: Path, dataset: str, **flags: object) -> Iterator[tuple[str, float, str, bool]]:
    """Compare the ways: for each its name, the largest difference, whether the weights are the same
    in words, and whether all is as it must be.
    """
    reference = train(folder / "reference", dataset, "", **flags)
    undisturbed = {"1 x 64": reference["weights_sha256"]}
    for way in WAYS:
        found = train(folder / way.replace(" ", "-"), dataset, way, **flags)
        weights, off = found["weights_sha256"], difference(found, reference)
        same = "yes" if weights == reference["weights_sha256"] else "no"
        good = off <= TOLERANCE
        base, killed, _ = way.partition(", killed")
        if killed:
            good &= weights == undisturbed[base]
            same = "as undisturbed" if good else "no"
        undisturbed.setdefault(base, weights)
        yield way, off, same, good


def main() -> int:
    """Print the table; 1 if a difference is larger than it may be."""
    failed = False
    print("| data | model | optimizer | way | largest difference | same weights |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        sets = data(root)
        for (name, model), optimizer in itertools.product(CASES, OPTIMIZERS):
            address, task = sets[name]
            folder = root / f"{name}-{model}-{optimizer}"
            flags = {"task": task, "model": model, "optimizer": optimizer, **ALIKE}
            for way, off, same, good in compare(folder, address, **flags):
                failed |= not good
                print(
                    f"| {name} | {model} | {optimizer} | {way} | {off:.1e} | {same} |", flush=True
                )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
