"""Variants of a step: accumulated, clipped, averaged, by other optimizers."""

import json

import pytest

from testbed.trainings import arguments, without_seconds, write_dataset
from trainer.estimators import run
from trainer.training import TrainingError, checkpoints, loop
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags

CHIEF, WORKER = PAIR = ("chief:0", "worker:0")

pytestmark = pytest.mark.timeout(600)


class Interruption(BaseException):
    """Ends a training as a kill would."""


def trained(dataset, folder, **flags):
    """metrics.json of a training."""
    flags = {"outputs": "metrics", "units": 16, **flags}
    settings = parse_flags(arguments(dataset, output=folder, **flags), "")
    assert run.train(settings, checked_dataset(settings)) == 0
    return json.loads(settings.places.metrics.read_text())


@pytest.fixture
def train(tmp_path):
    """A function: dataset, output folder, flags -> metrics.json."""

    def train(dataset, output="out", **flags):
        return trained(dataset, tmp_path / output, **flags)

    return train


@pytest.fixture(scope="module")
def one_batch(digits_arrays, tmp_path_factory):
    """A train split of 64 digits: one global batch, so its order does not matter."""
    files = {"train": [32, 32], "validation": [40], "test": [10]}
    folder = tmp_path_factory.mktemp("datasets") / "one_batch"
    return write_dataset(folder, *digits_arrays, files=files)


def losses(metrics):
    return [row[name] for row in metrics["history"] for name in ("loss", "val_loss")]


# Everything new that takes part in a step.
ALL = {
    "optimizer": "lamb",
    "schedule": "cosine",
    "clip_norm": 0.05,
    "weight_averaging": 0.9,
    "learning_rate": 0.01,
    "learning_rate_scaling": "none",
    "weight_decay": 0.01,
}


@pytest.fixture(scope="module")
def at_once(few_digits, tmp_path_factory):
    """A training by all of them in batches of 64: its folder and metrics.json."""
    folder = tmp_path_factory.mktemp("64")
    return folder, trained(few_digits, folder, batch_size=64, **ALL)


def test_four_batches_of_16_are_one_of_64(train, few_digits, at_once):
    _, at_once = at_once
    accumulated = train(few_digits, "4x16", batch_size=16, accumulation=4, **ALL)
    assert losses(accumulated) == pytest.approx(losses(at_once), rel=1e-5)
    replicas = [metrics["replicas"][CHIEF] for metrics in (at_once, accumulated)]
    assert [(r["steps"], r["examples"]) for r in replicas] == [(6, 384), (6, 384)]


@pytest.mark.slow
def test_two_workers_with_32_are_one_with_64(train, one_batch, make_job):
    job = make_job(
        PAIR, one_batch, batch_size=16, accumulation=2, epochs=4, outputs="metrics", units=16, **ALL
    )
    job.start()
    assert job.wait() == dict.fromkeys(PAIR, 0), job.log(CHIEF)
    alone = train(one_batch, batch_size=64, epochs=4, **ALL)
    assert job.metrics["replicas"][WORKER]["examples"] == 4 * 32
    assert losses(job.metrics) == pytest.approx(losses(alone), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [
        {**ALL, "batch_size": 2, "accumulation": 4, "dropout": 0.3},
        {"batch_size": 8, "optimizer": "lion", "schedule": "one_cycle", "learning_rate": 1e-3},
    ],
    ids=["lamb", "lion"],
)
def test_an_interrupted_training_ends_as_an_undisturbed_one(train, few_digits, monkeypatch, flags):
    """Interrupted within the second epoch of 20 steps."""
    undisturbed = without_seconds(train(few_digits, "undisturbed", **flags))
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    with monkeypatch.context() as patch:
        saves = []

        def interrupted(*args, save=checkpoints.save):
            if len(saves) == 3:
                raise Interruption
            saves.append(save(*args))

        patch.setattr(checkpoints, "save", interrupted)
        with pytest.raises(Interruption):
            train(few_digits, **flags)
    assert without_seconds(train(few_digits, **flags)) == undisturbed


DESCENT = {"optimizer": "sgd", "learning_rate": 0.1}


@pytest.fixture(scope="module")
def plain(few_digits, tmp_path_factory):
    """metrics.json of a training by plain descent."""
    return trained(few_digits, tmp_path_factory.mktemp("plain"), **DESCENT)


@pytest.mark.slow
def test_clipped_steps_of_plain_descent_are_shorter(train, few_digits, plain):
    clipped = train(few_digits, "clipped", clip_norm=1e-6, epochs=1, **DESCENT)
    # Next to no change, in steps of a millionth of the rate.
    assert clipped["history"][0]["val_loss"] > plain["history"][0]["val_loss"] + 0.01


def test_averages_are_what_is_evaluated_and_kept(train, few_digits, plain):
    """The training itself is the same with and without them, and with a bound far above its
    gradients' norm: a power of two, so that dividing by it and multiplying rounds nothing.
    """
    averaged = train(few_digits, weight_averaging=0.99, clip_norm=2.0**19, **DESCENT)
    assert [r["loss"] for r in averaged["history"]] == [r["loss"] for r in plain["history"]]
    assert averaged["validation"]["loss"] != plain["validation"]["loss"]
    digests = [metrics["replicas"][CHIEF] for metrics in (plain, averaged)]
    assert digests[0]["last_weights_sha256"] == digests[1]["last_weights_sha256"]
    assert averaged["weights_sha256"] == digests[1]["weights_sha256"]
    assert averaged["weights_sha256"] != digests[1]["last_weights_sha256"]


def test_a_falling_rate_depends_on_the_length_so_a_longer_training_is_another(few_digits, at_once):
    folder, _ = at_once
    with pytest.raises(TrainingError, match="with epochs=3; this one has epochs=4"):
        trained(few_digits, folder, batch_size=64, epochs=4, **ALL)
