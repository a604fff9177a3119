"""Where a training's time goes: made slow in one part, that part is named."""

import contextlib
import functools
import io
import json
import signal
import time

import pytest
import tensorflow as tf
from tensorboard.backend.event_processing import event_accumulator

from testbed.trainings import arguments
from trainer import dataset_description
from trainer.estimators import run
from trainer.training import input_pipeline, kept, speed, synchronous
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts.speed import Speed, shares
from trellis_contracts.training import Training

# Longer than all else that a step or an evaluation of these small models does.
DELAY = 0.05


@pytest.fixture(autouse=True)
def every_call(monkeypatch):
    """These trainings take less than a second: all calls are measured, not one in a second."""
    monkeypatch.setattr(speed.Samples, "due", lambda self: True)


def training(address, folder, **flags):
    """The metrics.json of a training."""
    flags = {"epochs": 3, "batch_size": 16, "outputs": "metrics", **flags}
    settings = parse_flags(arguments(address, output=folder, **flags), "")
    assert run.train(settings, checked_dataset(settings)) == 0
    return Training.parse(settings.places.metrics.read_text(), "metrics.json")


@pytest.fixture
def trained(few_digits, tmp_path):
    """A function: flags -> the metrics.json of a training."""
    return functools.partial(training, few_digits, tmp_path / "output")


@pytest.fixture(scope="module")
def undelayed(few_digits, tmp_path_factory):
    """A training with a profile of some steps, whose examples are kept in memory: its metrics.json,
    its folder, and what it printed.
    """
    folder, printed = tmp_path_factory.mktemp("undelayed"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(speed.Samples, "due", lambda self: True)
        patch.setattr(kept, "places", lambda size: [kept.MEMORY])
        metrics = training(few_digits, folder, profile="3-5")
    return metrics, folder, printed.getvalue()


@pytest.fixture(scope="module")
def unmeasured(few_digits, tmp_path_factory):
    """The metrics.json of a training whose steps cannot read the time, and whose examples are kept
    nowhere.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(speed, "readable", lambda distribution: distribution.kind == "none")
        patch.setattr(kept, "places", lambda size: [])
        return training(few_digits, tmp_path_factory.mktemp("unmeasured"))


def source_bytes(address):
    dataset = dataset_description.load(address)
    return sum(f.bytes for split in ("train", "validation") for f in dataset.files[split])


def paused(batch):
    """The batch, after a delay."""
    with tf.control_dependencies([tf.py_function(lambda: time.sleep(DELAY), [], [])]):
        return tf.nest.map_structure(tf.identity, batch)


def test_a_slow_input_is_named(trained, monkeypatch):
    batches = input_pipeline.Input.train_batches

    def slow(*args):
        return batches(*args).map(lambda *batch: paused(batch), num_parallel_calls=1)

    monkeypatch.setattr(input_pipeline.Input, "train_batches", slow)
    found = trained()
    assert found.limit.name == "input"
    assert found.limit.share > 0.5


def test_a_slow_step_is_no_slow_input(trained, monkeypatch):
    """Though its batches take long, too: they are read while the step computes."""
    build = synchronous.step.build

    def slow(*args):
        step = build(*args)
        return lambda batch, *rest: step(paused(batch), *rest)

    monkeypatch.setattr(synchronous.step, "build", slow)
    found = trained()
    assert found.limit.name == "computing"
    assert shares(found.speed)["input"] < 0.2


def test_a_slow_evaluation_is_named(trained, monkeypatch):
    build = synchronous.evaluation.build

    def slow(*args):
        evaluate = build(*args)

        def paused():
            time.sleep(20 * DELAY)
            return evaluate()

        return paused

    monkeypatch.setattr(synchronous.evaluation, "build", slow)
    assert trained().limit.name == "evaluation"


def test_every_epoch_has_a_row(undelayed):
    found, *_ = undelayed
    assert [row.epoch for row in found.speed] == [1, 2, 3]
    for row, epoch in zip(found.speed, found.history, strict=True):
        assert row.seconds >= epoch["seconds"]
        assert row.examples > 0
        assert 0 <= row.cpu <= 1.5
        assert row.memory > 1e8
        assert row.input + row.communication + row.evaluation + row.checkpoints <= row.seconds


def test_files_are_read_once_where_their_examples_are_kept(
    trained, undelayed, few_digits, monkeypatch
):
    """On disk, what is read are the examples as they are kept, which counts for nothing here; but
    what is on its way when an epoch ends may count to the other side, hence half.
    """
    monkeypatch.setattr(kept, "places", lambda size: [kept.DISK])
    for found in (undelayed[0], trained()):
        read = [row.read for row in found.speed]
        assert read[0] >= source_bytes(few_digits) / 2
        assert min(read) >= 0
        # The second epoch also has what the check of the first one reads.
        assert read[2] < source_bytes(few_digits) / 10


def test_files_are_read_again_where_they_are_not(unmeasured, few_digits):
    read = [row.read for row in unmeasured.speed]
    # Half of it: input reads ahead, so that an epoch's end may belong to the epoch before.
    assert all(one > source_bytes(few_digits) / 2 for one in read), read


def test_the_log_says_how_fast_it_is(undelayed):
    lines = [line for line in undelayed[2].splitlines() if line.startswith("epoch ")]
    assert len(lines) == 3
    for words in ("examples/s", "waiting for input", "of CPU", "of memory", "read"):
        assert all(words in line for line in lines)


def test_tensorboard_has_the_figures_of_each_epoch(undelayed):
    found, folder, _ = undelayed
    logs = str(folder / "logs/train")
    events = event_accumulator.EventAccumulator(logs, {"tensors": 0}).Reload()
    for name in found.speed[0].figures():
        points = events.Tensors(f"epoch_{name}")
        shown = [float(tf.make_ndarray(point.tensor_proto)) for point in points]
        assert shown == pytest.approx([row.figures()[name] for row in found.speed]), name
    assert {"read_bytes", "cpu_share", "memory_bytes"} <= {*found.speed[0].figures()}


def test_where_steps_cannot_read_the_time_it_is_not_measured(unmeasured):
    assert unmeasured.limit is None
    assert all(row.input is None and row.communication is None for row in unmeasured.speed)
    assert all(process.computed is None for process in unmeasured.replicas.values())


def test_the_second_call_is_measured_and_then_one_every_few_seconds(monkeypatch):
    monkeypatch.undo()
    clock = iter([0.0, 0.1, 0.2, 5.0, 5.2, 9.0, 10.3])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    samples = speed.Samples()
    assert [samples.due() for _ in range(7)] == [False, True, False, False, True, False, True]


def test_a_machine_without_nvml_has_no_figures_of_gpus(undelayed):
    assert speed.Devices().take() is None
    assert all("devices" not in row.to_document() for row in undelayed[0].speed)


def test_a_profile_of_some_steps(undelayed):
    _, folder, printed = undelayed
    (file,) = (folder / "logs").glob("plugins/profile/*/*.xplane.pb")
    assert b"step_num" in file.read_bytes(), "steps have no marks"
    assert "profile of steps 3 to 5" in printed
    graph = event_accumulator.EventAccumulator(str(folder / "logs/train")).Reload().Graph()
    assert "MatMul" in {node.op for node in graph.node}


def test_a_profile_beyond_the_steps_is_refused_with_their_number(trained, capsys):
    with pytest.raises(Exception, match="steps") as error:
        trained(profile="10-100000")
    assert "--profile 10-100000" in str(error.value)


@pytest.mark.slow
def test_a_worker_at_half_speed_is_named(few_digits, make_job):
    """It is suspended half of the time; the chief waits for it."""
    job = make_job(
        ("chief:0", "worker:0"),
        few_digits,
        model="convolutional",
        filters=32,
        batch_size=16,
        epochs=60,
        early_stopping_patience=0,
        outputs="metrics",
    )
    job.start()
    job.wait_for("worker:0", "epoch 1/")
    while "epoch 59/" not in job.log("worker:0"):
        job.kill("worker:0", signal.SIGSTOP)
        time.sleep(DELAY)
        job.kill("worker:0", signal.SIGCONT)
        time.sleep(DELAY)
    assert job.wait() == {"chief:0": 0, "worker:0": 0}, job.log("worker:0")
    found = Training.from_document(job.metrics)
    assert "worker:0" in found.limit.advice
    assert shares(found.speed)["communication"] > 0.1


def test_rows_are_read_back(undelayed):
    row = undelayed[0].speed[0]
    assert Speed.from_document(json.loads(json.dumps(row.to_document()))) == row
