"""What two ways of learning cost and give. A round is another seed, the same for all candidates.

`scaled`: scikit-learn's digits by plain descent on four devices of 32 images each, 20 epochs: with
a rate that is raised for the larger steps and warmed up (https://arxiv.org/abs/1706.02677), with
the rate of one device, and on one device.

`short_score` and `short_hours`: six random settings of the dense network on noisy rows. Ours
tries each for three epochs and trains the best two in full, of 20 epochs; the peer trains each in
full. What is chosen is scored, so their difference is the regret; machine time is the seconds of
all their epochs, without the start of a training: the first epoch, in which TensorFlow traces the
step, counts as the second. Scores are accuracies of the best epoch on
the validation split.
"""

import itertools
import json
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from sklearn.datasets import load_digits, make_classification

from benchmarks.speed.fitting import shared
from testbed.tables import write_table
from testbed.trainings import arguments, write_dataset
from trainer.estimators import run
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags

EPOCHS, SHORT, TRIALS, TOP = 20, 3, 6, 2
DEVICES = 4


def accuracy(metrics):
    """On the validation split, of the best epoch."""
    return max(row["val_accuracy"] for row in metrics["history"])


def each_seed(score):
    """A candidate: `score` of the next seed at each call, from 0."""
    seeds = itertools.count()
    return lambda: score(next(seeds))


@contextmanager
def scaled(scratch):
    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    pixels = (found.images[order, ..., np.newaxis] * 255 / 16).astype(np.uint8)
    files = {"train": [1280], "validation": [256], "test": [261]}
    address = write_dataset(scratch / "d", pixels, found.target[order], files=files)
    alike = {
        "model": "dense",
        "optimizer": "sgd",
        "learning_rate": 0.01,
        "epochs": EPOCHS,
        "outputs": "metrics",
    }
    alike |= {"plateau_patience": 0, "early_stopping_patience": 0}

    def score(devices, **flags):
        def of(seed):
            own = arguments(address, seed=seed, **alike, **flags)
            return shared(scratch, ("chief:0",), own, figure=accuracy, accelerators=devices)

        return each_seed(of)

    yield {
        "ours": score(DEVICES, learning_rate_scaling="linear", warmup_epochs=2),
        "peer": score(DEVICES, learning_rate_scaling="none", warmup_epochs=0),
        "limit": score(1, warmup_epochs=0),
    }


class Search:
    """Trainings of the random settings of each seed, in this process; each is done once."""

    def __init__(self, scratch):
        self._scratch = scratch
        x, y = make_classification(
            1500, 30, n_informative=8, n_classes=2, flip_y=0.1, class_sep=0.7, random_state=0
        )
        columns = {f"x{i}": ("numeric", x[:, i].tolist()) for i in range(x.shape[1])}
        files = {"train": [900], "validation": [500], "test": [100]}
        self._address = write_table(scratch / "d", columns, y.tolist(), files=files)
        self._done = {}

    def trained(self, seed, number, epochs):
        """Validation accuracy of the best epoch, and seconds."""
        key = seed, number, epochs
        if key not in self._done:
            self._done[key] = self._train(*key)
        return self._done[key]

    def every_one(self, seed):
        """Each setting in full: the best score, and seconds in all."""
        found = [self.trained(seed, number, EPOCHS) for number in range(TRIALS)]
        return max(score for score, _ in found), sum(seconds for _, seconds in found)

    def short_first(self, seed):
        """Each setting shortly, then the best TOP in full: the same of these."""
        short = [self.trained(seed, number, SHORT) for number in range(TRIALS)]
        best = sorted(range(TRIALS), key=lambda number: -short[number][0])[:TOP]
        full = [self.trained(seed, number, EPOCHS) for number in best]
        return max(score for score, _ in full), sum(seconds for _, seconds in short + full)

    def _train(self, seed, number, epochs):
        random = np.random.default_rng([seed, number])
        flags = {
            "learning_rate": 10 ** random.uniform(-4, -1.5),
            "units": int(random.choice([16, 32, 64, 128])),
            "layers": int(random.integers(1, 4)),
            "dropout": round(random.uniform(0, 0.6), 2),
        }
        flags |= {"task": "binary_classification", "epochs": epochs, "seed": seed}
        flags |= {"early_stopping_patience": 0}
        output = Path(mkdtemp(dir=self._scratch))
        given = arguments(self._address, output=output, outputs="metrics", **flags)
        settings = parse_flags(given, "")
        if run.train(settings, checked_dataset(settings)):
            raise SystemExit("a training was stopped")
        metrics = json.loads(settings.places.metrics.read_text())
        _, *seconds = (row["seconds"] for row in metrics["history"])
        return accuracy(metrics), seconds[0] + sum(seconds)


@contextmanager
def short_score(scratch):
    yield _searched(scratch, 0)


@contextmanager
def short_hours(scratch):
    yield _searched(scratch, 1)


def _searched(scratch, figure):
    """Both ways of a search, by one of its two figures: 0 the best score, 1 the seconds."""
    search = Search(scratch)
    return {
        "ours": each_seed(lambda seed: search.short_first(seed)[figure]),
        "peer": each_seed(lambda seed: search.every_one(seed)[figure]),
    }
