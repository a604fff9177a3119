"""The objectives of a time to an event: what they answer, and that replicas learn what one does."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

from testbed.trainings import arguments
from tests.trainer.exporting.tables.helpers import feature, run, write_table
from trainer.estimators import run as estimator
from trainer.metrics import survival_estimates as estimates
from trainer.training import objectives, sample
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trainer.training.objectives import cox
from trellis_contracts.hyperparameters import Hyperparameters

CHIEF, WORKER = PAIR = ("chief:0", "worker:0")


def built(objective, intervals=20):
    dataset = sample.rows("time_to_event", 0).trained_by(objective, intervals)
    h = Hyperparameters(objective=objective, intervals=intervals)
    return dataset, objectives.build(dataset, h)


def some(count=40, seed=0):
    """Times with ties, some of them 0, events, weights, and log-hazards."""
    random = np.random.default_rng(seed)
    times = random.integers(0, 12, count) * 50.0
    labels = np.stack([times, random.random(count) < 0.6], axis=1).astype(np.float32)
    return labels, random.exponential(1, count).astype(np.float32), random.normal(size=(count, 1))


@pytest.mark.parametrize("intervals", [2, 20])
def test_hazards_that_follow_the_data_give_its_survival(intervals):
    """The examples are equal: the most likely hazards are those of the intervals' own counts, and
    their curve is close to Kaplan and Meier's, but for the last events, whose hazard has no bound.
    """
    _, aim = built("hazards", intervals)
    random = np.random.default_rng(1)
    times, left = random.uniform(0, 1000, 4000), random.uniform(0, 1500, 4000)
    labels = np.stack([np.minimum(times, left), times <= left], axis=1).astype(np.float32)
    logits = tf.Variable(tf.zeros([1, intervals]))
    optimizer = tf.keras.optimizers.Adam(0.2)
    optimizer.build([logits])

    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(aim.losses(tf.constant(labels), tf.tile(logits, [4000, 1])))
        optimizer.apply_gradients([(tape.gradient(loss, logits), logits)])

    for _ in range(120):
        step()
    found = aim.answers(logits)["survival"].numpy()[0]
    known = estimates.survival(labels.astype(float)).at(np.array(aim.event.times))
    assert np.abs(found - known)[:-3].max() < (0.12 if intervals == 2 else 0.03)


def test_every_term_has_the_gradient_of_the_whole_likelihood():
    """So that replicas, of which each has some of the terms, have its gradient together."""
    _, aim = built("cox")
    labels, weights, outputs = some()
    taken = tf.constant(outputs, tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(taken)
        ours = tf.reduce_sum(aim.weighted(tf.constant(labels), taken, tf.constant(weights)))
        parts = [tf.cast(part, tf.float64) for part in (labels[:, 0], labels[:, 1], weights)]
        whole = tf.reduce_sum(cox.efron(*parts, tf.cast(taken[:, 0], tf.float64)))
    assert float(ours) == pytest.approx(float(whole), rel=1e-6)
    slopes = [tape.gradient(each, taken).numpy() for each in (ours, whole)]
    np.testing.assert_allclose(*slopes, atol=1e-6)


def test_a_whole_weight_is_as_many_rows_where_times_differ():
    labels, _, outputs = some()
    labels[:, 0] = np.arange(len(labels))
    counts = np.random.default_rng(2).integers(1, 3, len(labels))
    parts = [labels[:, 0], labels[:, 1], counts, outputs[:, 0]]
    once = cox.efron(*(tf.constant(part, tf.float64) for part in parts))
    # By Breslow, copies of a row are its weight; Efron's correction takes the ties of copies apart.
    censored = labels[:, 1] == 0
    assert (once.numpy()[censored] == 0).all()
    risks = np.exp(outputs[:, 0]) * counts
    left = np.cumsum(risks[::-1])[::-1]
    expected = counts * (np.log(left) - outputs[:, 0]) * labels[:, 1]
    assert float(tf.reduce_sum(once)) == pytest.approx(expected.sum())


def test_breslows_baseline_of_equal_hazards_is_nelson_and_aalens():
    labels, _, _ = some()
    times = np.array([100.0, 300.0, 500.0])
    found = estimates.breslow(labels.astype(float), np.zeros(40), np.ones(40), times)
    known = np.unique(labels[:, 0])
    jumps = [
        ((labels[:, 0] == t) & (labels[:, 1] == 1)).sum() / (labels[:, 0] >= t).sum() for t in known
    ]
    assert found == pytest.approx([sum(np.array(jumps)[known <= time]) for time in times])


@pytest.fixture(scope="module")
def one_batch(tmp_path_factory):
    """A train split of 64 rows: one global batch, so its order does not matter."""
    folder = tmp_path_factory.mktemp("one_batch")
    labels, weights, outputs = some(104)
    columns = {
        "key": [f"row {n}" for n in range(104)],
        "split": ["train"] * 64 + ["validation"] * 20 + ["test"] * 20,
        "label": labels[:, 0].astype(float),
        "label_event": labels[:, 1].astype(int),
        "example_weight": weights.astype(float) + 0.1,
        "x": outputs[:, 0],
    }
    form = {"task": "time_to_event", "event": {"name": "died"}, "weight": {"name": "w"}}
    source = write_table(
        folder / "source", columns, [feature("x")], split={"rule": "column fold"}, **form
    )
    assert run(source, folder / "dataset", shards=2) == 0
    return str(folder / "dataset")


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["cox", "hazards"])
def test_two_workers_and_accumulated_batches_learn_what_one_does(
    one_batch, tmp_path, make_job, objective
):
    flags = {
        "model": "dense",
        "task": "time_to_event",
        "objective": objective,
        "units": 4,
        "epochs": 4,
        "learning_rate": 0.05,
        "learning_rate_scaling": "none",
        "metric": "integrated_brier",
    }

    def alone(name, **more):
        argv = arguments(one_batch, output=tmp_path / name, **flags, **more)
        settings = parse_flags(argv, "")
        assert estimator.train(settings, checked_dataset(settings)) == 0
        return json.loads(settings.places.metrics.read_text())

    job = make_job(PAIR, one_batch, batch_size=32, **flags)
    job.start()
    assert job.wait() == dict.fromkeys(PAIR, 0), job.log(CHIEF)
    at_once, cut = alone("64", batch_size=64), alone("4x16", batch_size=16, accumulation=4)
    for other in (job.metrics, cut):
        for name in ("val_integrated_brier", "val_concordance"):
            ours, theirs = ([row[name] for row in m["history"]] for m in (other, at_once))
            assert ours == pytest.approx(theirs, rel=1e-4)
        assert other["test"] == pytest.approx(at_once["test"], rel=1e-4)


def test_a_dataset_says_how_many_outputs_an_objective_has():
    dataset, _ = built("hazards", 7)
    assert dataset.outputs == 7
    assert dataclasses.replace(dataset).trained_by("cox", 7).outputs == 1
    assert "outputs" not in sample.rows("time_to_event", 0).label.to_document()
