"""Parameter servers as real processes on loopback: trained, and killed."""

import signal

import pytest

CHIEF, FIRST, SECOND, SERVER = CLUSTER = ("chief:0", "worker:0", "worker:1", "ps:0")
ALL_WELL = dict.fromkeys(CLUSTER, 0)

SETTINGS = {"model": "convolutional", "filters": 8, "batch_size": 8, "outputs": "metrics"}

DIVERGING = """
import sys
from trainer.training import optimizer
optimizer.peak_rate = lambda h, replicas: 1e30
from trainer.task import main
sys.exit(main())
"""

pytestmark = pytest.mark.timeout(600)


def test_workers_train_at_their_own_pace(digits, make_job):
    job = make_job(CLUSTER, digits, epochs=2)
    assert job.run() == ALL_WELL, job.log(CHIEF)
    assert job.metrics["strategy"] == "parameter_server"
    steps = 2 * (1437 // 32)
    chief = job.metrics["replicas"][CHIEF]
    assert (chief["steps"], chief["examples"]) == (steps, steps * 32)
    assert job.metrics["validation"]["accuracy"] > 0.8
    assert (job.folder / "output/predictions.parquet").exists()


@pytest.mark.slow
def test_every_kind_of_step(few_rows, make_job):
    """Accumulated, clipped and averaged; rows with features of every kind."""
    flags = {"accumulation": 2, "clip_norm": 0.5, "weight_averaging": 0.9, "schedule": "cosine"}
    job = make_job(
        CLUSTER, few_rows, task="binary_classification", batch_size=8, outputs="metrics", **flags
    )
    job.start()
    assert job.wait() == ALL_WELL, job.log(CHIEF)


@pytest.mark.slow
def test_without_a_lost_worker_the_other_goes_on_and_it_joins_again(digits, make_job):
    job = make_job(CLUSTER, digits, epochs=16, **SETTINGS)
    job.start()
    job.wait_for(CHIEF, "epoch 2/16")
    job.kill(FIRST)
    job.wait_for(CHIEF, "epoch 4/16")
    job.start(FIRST)
    # While it is about to join: now both are lost at once.
    job.wait_for(FIRST, "waiting for the chief's steps", times=2)
    job.kill(SECOND)
    job.start(SECOND)
    assert job.wait() == ALL_WELL, job.log(CHIEF)
    assert "resuming" not in job.log(CHIEF)
    assert job.metrics["replicas"][CHIEF]["steps"] == 16 * (1437 // 8)


@pytest.mark.slow
@pytest.mark.parametrize("victim", [CHIEF, SERVER])
def test_a_lost_chief_or_server_ends_all_and_the_training_is_resumed(digits, make_job, victim):
    job = make_job(CLUSTER, digits, epochs=8, **SETTINGS)
    job.start()
    job.wait_for(CHIEF, "epoch 3/8")
    job.kill(victim)
    assert job.wait() == dict.fromkeys(CLUSTER, 75) | {victim: -signal.SIGKILL}, job.log(CHIEF)
    job.start()
    assert job.wait() == ALL_WELL, job.log(CHIEF)
    assert "resuming from step-" in job.log(CHIEF)
    assert job.metrics["replicas"][CHIEF]["steps"] == 8 * (1437 // 8)


@pytest.mark.slow
def test_asked_to_stop_the_chief_saves(digits, make_job):
    job = make_job(CLUSTER, digits, epochs=8, **SETTINGS)
    job.start()
    job.wait_for(CHIEF, "epoch 3/8")
    job.kill(CHIEF, signal.SIGTERM)
    assert job.wait() == dict.fromkeys(CLUSTER, 75) | {CHIEF: 143}
    assert "stopped: asked to stop after step " in job.log(CHIEF)


@pytest.mark.slow
def test_divergence_ends_all(digits, make_job):
    flags = {**SETTINGS, "optimizer": "sgd", "warmup_epochs": 0}
    job = make_job(CLUSTER, digits, program=["-c", DIVERGING], **flags)
    job.start()
    assert job.wait()[CHIEF] == 1
    assert "the loss is not a number at step" in job.log(CHIEF)
    assert "examples are not known" in job.log(CHIEF)
