"""Trainings as real processes, on one machine and as a cluster on loopback, and killed.

The reference is always a training of the same settings that nobody disturbed: what comes out must
be the same, bit for bit.
"""

import random
import signal
import time

import pytest

from testbed.predicting import predict
from testbed.trainings import without_seconds
from tests.wording import says
from trainer import dataset_description
from trainer.metrics import classification

CHIEF, WORKER = PAIR = ("chief:0", "worker:0")

# Dropout, augmentation and both patient callbacks have a state that a restart must find again.
SETTINGS = {
    "model": "convolutional",
    "filters": 8,
    "dropout": 0.2,
    "augment": True,
    "plateau_patience": 1,
    "early_stopping_patience": 0,
    "batch_size": 8,
    "epochs": 8,
    "outputs": "metrics",
}

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def undisturbed(few_digits, make_job):
    job = make_job(PAIR, few_digits, **SETTINGS)
    job.start()
    assert job.wait() == {CHIEF: 0, WORKER: 0}, job.log(CHIEF) + job.log(WORKER)
    return job


EPOCHS = 3


@pytest.fixture(scope="module")
def pair(few_digits, make_job):
    """A training of two workers that nobody disturbs, nor waits for."""
    job = make_job(PAIR, few_digits, epochs=EPOCHS, batch_size=8, dropout=0.2, outputs="metrics")
    # They need not come at the same time.
    assert job.run(apart=2) == {CHIEF: 0, WORKER: 0}, job.log(CHIEF) + job.log(WORKER)
    return job


def test_both_workers_take_part_and_end_with_equal_weights(pair):
    metrics = pair.metrics
    assert metrics["strategy"] == "multi_worker"
    chief, worker = (metrics["replicas"][name] for name in PAIR)
    steps = EPOCHS * (161 // (2 * 8))
    assert chief["steps"] == worker["steps"] == steps
    assert chief["examples"] == worker["examples"] == steps * 8
    assert chief["weights_sha256"] == worker["weights_sha256"] == metrics["weights_sha256"]
    assert chief["last_weights_sha256"] == worker["last_weights_sha256"]


def test_all_processes_see_the_same_metrics(pair):
    def lines(name):
        log = pair.log(name).splitlines()
        return [line.rpartition(" lr ")[0] for line in log if line.startswith("epoch")]

    assert len(lines(CHIEF)) == EPOCHS
    assert lines(CHIEF) == lines(WORKER)


def test_what_the_workers_exchange_is_no_warning(pair):
    """It would hide the last line of a training, which has its scores."""
    for name in PAIR:
        assert "retracing" not in pair.log(name)


@pytest.mark.slow
def test_two_workers_score_as_one_process_does(few_digits, make_job):
    """37 validation examples, of which each worker reads its own; ranks of ten classes."""
    job = make_job(PAIR, few_digits, epochs=1, metric="average_precision")
    job.start()
    assert job.wait() == dict.fromkeys(PAIR, 0), job.log(CHIEF)
    dataset = dataset_description.load(few_digits)
    model = job.folder / "output/model"
    _, labels, answers = predict(model, few_digits, dataset, "validation")
    validation = job.metrics["validation"]
    assert len(validation) == 7
    assert validation == pytest.approx(classification.exact(labels, answers), abs=1e-6)


def test_the_rate_is_scaled_with_the_replicas(pair):
    assert pair.metrics["history"][0]["learning_rate"] == pytest.approx(0.001 * 2**0.5)


@pytest.mark.slow
@pytest.mark.parametrize("victim", PAIR)
def test_a_killed_process_ends_its_peer_and_both_go_on_to_the_same_end(
    few_digits, make_job, undisturbed, victim
):
    (survivor,) = set(PAIR) - {victim}
    job = make_job(PAIR, few_digits, **SETTINGS)
    job.start()
    job.wait_for(victim, "epoch 4/8")
    job.kill(victim)
    killed = time.monotonic()
    assert job.wait() == {victim: -signal.SIGKILL, survivor: 75}
    # The heartbeats' own limit is 10 s; a busy machine adds to it.
    assert time.monotonic() - killed < 60
    assert f"lost: {victim} is gone, after step" in job.log(survivor)
    assert "Traceback" not in job.log(survivor)
    job.start()
    assert job.wait() == dict.fromkeys(PAIR, 0)
    assert "resuming from step-" in job.log(CHIEF)
    assert without_seconds(job.metrics) == without_seconds(undisturbed.metrics)


@pytest.mark.slow
def test_one_process_that_restarts_finds_its_peers_second_attempt(
    few_digits, make_job, undisturbed
):
    """The killed worker is started again at once, while the old chief still runs."""
    job = make_job(PAIR, few_digits, **SETTINGS)
    job.start()
    job.wait_for(WORKER, "epoch 2/8")
    job.kill(WORKER)
    job.start(WORKER)
    job.wait_for(CHIEF, f"lost: {WORKER} is gone, after step")
    job.start(CHIEF)
    assert job.wait() == dict.fromkeys(PAIR, 0)
    assert "resuming from step-" in job.log(CHIEF)
    assert without_seconds(job.metrics) == without_seconds(undisturbed.metrics)


@pytest.mark.slow
@pytest.mark.parametrize("asked", [WORKER, pytest.param(CHIEF, marks=pytest.mark.slow)])
def test_asked_to_stop_all_save_and_stop_at_the_same_step(few_digits, make_job, undisturbed, asked):
    """The signals are those of a spot machine that is taken away: SIGTERM, 30 seconds before the
    end.
    """
    job = make_job(PAIR, few_digits, **SETTINGS)
    job.start()
    job.wait_for(asked, "epoch 3/8")
    job.kill(asked, signal.SIGTERM)
    assert job.wait() == dict.fromkeys(PAIR, 143)
    (reason,) = {job.log(name).splitlines()[-1] for name in PAIR}
    assert reason.startswith("stopped: asked to stop after step ")
    job.start()
    assert job.wait() == dict.fromkeys(PAIR, 0)
    assert without_seconds(job.metrics) == without_seconds(undisturbed.metrics)


@pytest.mark.slow
@pytest.mark.parametrize("victim", PAIR)
@pytest.mark.parametrize("repetition", range(3))
def test_killed_at_any_moment(few_digits, make_job, undisturbed, victim, repetition):
    """From the import of TensorFlow to the last epoch, again and again until the end."""
    job = make_job(PAIR, few_digits, **SETTINGS)
    for attempt in range(1, 4):
        job.start()
        time.sleep(random.uniform(0, 12))
        met = job.log(victim).count("have started") == attempt
        job.kill(victim)
        if not met:
            job.start(victim)  # the other one waits for it, as it should
            job.wait_for(victim, "have started", times=attempt)
            job.kill(victim)
        if set(job.wait().values()) == {0}:
            break
    else:
        job.start()
        assert job.wait() == dict.fromkeys(PAIR, 0)
    assert without_seconds(job.metrics) == without_seconds(undisturbed.metrics)


@pytest.mark.slow
def test_a_single_process_stops_and_goes_on(few_digits, make_job):
    flags = SETTINGS | {"outputs": "all", "epochs": 40, "plateau_patience": 0}
    job = make_job([CHIEF], few_digits, **flags)
    job.start()
    job.wait_for(CHIEF, "epoch 3/40")
    job.kill(CHIEF, signal.SIGTERM)
    assert job.wait() == {CHIEF: 143}
    job.start()
    assert job.wait() == {CHIEF: 0}
    assert len(job.metrics["history"]) == 40
    assert job.metrics["test"]["accuracy"] > 0.5


DIVERGING = """
import sys
from trainer.training import optimizer
optimizer.peak_rate = lambda h, replicas: 1e30
from trainer.task import main
sys.exit(main())
"""


@pytest.mark.slow
def test_divergence_ends_all_processes_with_the_same_reason(few_digits, make_job):
    job = make_job(PAIR, few_digits, program=["-c", DIVERGING], optimizer="sgd", warmup_epochs=0)
    job.start()
    assert job.wait() == {CHIEF: 1, WORKER: 1}
    (reason,) = {job.log(name).splitlines()[-1] for name in PAIR}
    assert says(reason, "not a number", "step 2 ")


BATCH_NORMALIZATION = """
import sys
import tensorflow as tf
from keras import layers
from trainer.models import convolutional

class OwnStatistics(layers.Layer):
    def build(self, shape):
        self.mean = self.add_weight(shape=(), name="mean", trainable=False)
    def call(self, x, training=None):
        if training:
            self.mean.assign(tf.reduce_mean(x))
        return x

def convolution(x, filters, kernel):
    x = layers.Conv2D(filters, kernel, padding="same", use_bias=False)(x)
    return layers.ReLU()(NORMALIZATION(x))

convolutional._convolution = convolution
from trainer.task import main
sys.exit(main())
"""


def normalized_by(layer):
    return ["-c", BATCH_NORMALIZATION.replace("NORMALIZATION", layer)]


@pytest.mark.slow
def test_batch_normalization_is_over_all_workers(few_digits, make_job):
    program = normalized_by("layers.BatchNormalization()")
    job = make_job(PAIR, few_digits, program, **SETTINGS | {"batch_size": 4})
    job.start()
    assert job.wait() == {CHIEF: 0, WORKER: 0}, job.log(CHIEF) + job.log(WORKER)
    chief, worker = (job.metrics["replicas"][name] for name in PAIR)
    assert chief["last_weights_sha256"] == worker["last_weights_sha256"]
    assert chief["steps"] == 8 * (161 // (2 * 4))


@pytest.mark.slow
def test_weights_that_each_worker_changes_on_its_own_are_refused_at_once(few_digits, make_job):
    job = make_job(PAIR, few_digits, normalized_by("OwnStatistics()"), **SETTINGS)
    job.start()
    assert job.wait() == {CHIEF: 1, WORKER: 1}, job.log(CHIEF)
    (reason,) = {job.log(name).splitlines()[-1] for name in PAIR}
    assert says(reason, "different weights", "step 10", "own_statistics/mean")
    assert "epoch 1/8" not in job.log(CHIEF)


@pytest.mark.slow
def test_two_devices_of_one_machine(few_digits, make_job, monkeypatch):
    monkeypatch.setenv("LOCAL_GCP_ACCELERATORS", "2")
    job = make_job([CHIEF], few_digits, dropout=0.1)
    job.start()
    assert job.wait() == {CHIEF: 0}, job.log(CHIEF)
    assert job.metrics["strategy"] == "mirrored"
    replica = job.metrics["replicas"][CHIEF]
    assert replica["steps"] == 3 * (161 // (2 * 32))
    assert replica["examples"] == 3 * (161 // (2 * 32)) * 64


@pytest.mark.slow
@pytest.mark.parametrize("victim", PAIR)
def test_a_training_on_rows_survives_a_kill_too(few_rows, make_job, victim):
    """Embeddings, GRUs and a metric that is gathered from both workers."""
    flags = {
        "model": "recurrent",
        "task": "binary_classification",
        "metric": "auc",
        "dropout": 0.2,
        "batch_size": 8,
        "epochs": 8,
        "early_stopping_patience": 0,
    }
    undisturbed = make_job(PAIR, few_rows, **flags)
    undisturbed.start()
    assert undisturbed.wait() == dict.fromkeys(PAIR, 0), undisturbed.log(CHIEF)
    (survivor,) = set(PAIR) - {victim}
    job = make_job(PAIR, few_rows, **flags)
    job.start()
    job.wait_for(victim, "epoch 4/8")
    job.kill(victim)
    assert job.wait() == {victim: -signal.SIGKILL, survivor: 75}
    job.start()
    assert job.wait() == dict.fromkeys(PAIR, 0), job.log(CHIEF)
    assert "resuming from step-" in job.log(CHIEF)
    assert without_seconds(job.metrics) == without_seconds(undisturbed.metrics)
    assert 0 < job.metrics["test"]["auc"] <= 1
