"""The estimator of Keras models: a whole training, top to bottom."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from trainer import models
from trainer.models.answering import Traced
from trainer.stored import batches
from trainer.training import (
    TrainingError,
    callbacks,
    checkpoints,
    cluster,
    distribution,
    failures,
    learning,
    loop,
    objectives,
    optimizer,
    own_step,
    parameter_servers,
    phases,
    precision,
    records,
    reduction_server,
    rendezvous,
    sample,
)
from trainer.training.averages import Averages
from trainer.training.checkpoints import Saved
from trainer.training.cluster import Cluster
from trainer.training.distribution import Distribution, PeerLostError, weights_digest
from trainer.training.input_pipeline import Input
from trainer.training.loop import Progress, Steps
from trainer.training.objectives.objective import Objective
from trainer.training.parameter_servers import Asynchronous
from trainer.training.protocol import Fitted
from trainer.training.saved_model import KerasPredictor
from trainer.training.settings import Settings
from trainer.training.speed import Meter
from trainer.training.stop import StoppedError, StopRequest
from trainer.training.synchronous import Synchronous
from trainer.training.training_state import TrainingState
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import IMAGE
from trellis_contracts.hyperparameters import Hyperparameters
from trellis_contracts.speed import Speed
from trellis_contracts.training import Replica

# os.EX_TEMPFAIL: "the user is invited to retry". 143 is what a shell reports of SIGTERM.
LOST, STOPPED = os.EX_TEMPFAIL, 143

# Examples in one call of the model.
_AT_ONCE = 256


class KerasEstimator:
    """See trainer.training.protocol.Estimator."""

    def fit(
        self,
        settings: Settings,
        dataset: DatasetDescription,
        finish: Callable[[Fitted], None],
        at_end: Callable[[], None],
    ) -> int:
        """See trainer.training.protocol.Estimator. at_end: called before TensorFlow takes its input
        pipelines down.
        """
        try:
            with failures.explained(settings.dataset, dataset):
                _train(settings, dataset, finish, at_end)
            return 0
        except StoppedError as reason:
            print(f"stopped: {reason}; a checkpoint is saved", file=sys.stderr)
            return STOPPED
        except PeerLostError as reason:
            print(f"lost: {reason}; start all again to resume", file=sys.stderr, flush=True)
            # TensorFlow's threads may still wait for the peer: a normal exit could hang.
            os._exit(LOST)

    def load(self, folder: Path, dataset: DatasetDescription) -> KerasPredictor:
        """See trainer.training.protocol.Estimator."""
        return KerasPredictor.loaded(folder, dataset)


def _train(
    settings: Settings,
    dataset: DatasetDescription,
    finish: Callable[[Fitted], None],
    at_end: Callable[[], None],
) -> None:
    peers = cluster.from_environment(os.environ)
    distribution.emulate_accelerators(os.environ)
    kind = distribution.choose(settings.strategy, peers)
    if kind == "reduction_server":
        reduction_server.check()
        peers = peers.workers
    checkpoint = checkpoints.latest(settings.places.checkpoints)
    if kind == "parameter_server":
        if not peers.is_chief:
            return _serve(settings, peers)
        rendezvous.await_servers(peers)
    else:
        checkpoint = rendezvous.meet(peers, checkpoint)
    with distribution.watching(peers, lambda: "while connecting"):
        spread = distribution.connect(kind, peers, settings.seed, settings.common.deterministic)
    progress = Progress(spread.replicas)
    with distribution.watching(peers, lambda: f"after step {progress.step}"):
        _train_together(settings, dataset, spread, checkpoint, progress, finish, at_end)


def _serve(settings: Settings, peers: Cluster) -> None:
    parameter_servers.serve(peers)
    if not settings.places.metrics.exists():
        raise PeerLostError(f"{peers.chief} is gone")


def _train_together(
    settings: Settings,
    dataset: DatasetDescription,
    spread: Distribution,
    checkpoint: str,
    progress: Progress,
    finish: Callable[[Fitted], None],
    at_end: Callable[[], None],
) -> None:
    h, is_chief = settings.common, spread.cluster.is_chief
    dataset = dataset.trained_by(h.objective, h.intervals)
    state = _build(settings, dataset, spread)
    names = [tensor.name for tensor in state.model.inputs]
    data = Input(settings.dataset, dataset, spread.alone, h, settings.seed, settings.epochs, names)
    last_phase = state.phases[-1].epoch
    # Elsewhere, to read a variable may need the other processes, which do not ask at that time.
    watched = spread.kind in ("single", "mirrored")
    calls = callbacks.build(
        settings,
        dataset,
        state.model,
        last_phase,
        is_chief=is_chief,
        watched=watched,
        losses=state.learning.losses,
    )
    # Lists, because a model as such does not lead tf.train.Checkpoint to its dropout seeds.
    variables = tf.train.Checkpoint(
        model=state.model.variables,
        optimizer=state.optimizer.variables,
        **({"averages": state.averages.variables} if state.averages else {}),
    )
    decisive = _decisive_settings(settings, dataset, spread)

    def save() -> None:
        if is_chief:
            kept, best = callbacks.state(calls), callbacks.best_weights(calls)
            content = Saved(decisive, progress.to_dict(), kept, best)
            name = checkpoints.name(progress.step, len(progress.history))
            checkpoints.save(settings.places.checkpoints, name, variables, content)

    if is_chief and (left := _left_out(settings, dataset)):
        print(left, flush=True)
    calls.on_train_begin()
    if checkpoint != checkpoints.NONE:
        saved = checkpoints.load(settings.places.checkpoints, checkpoint, variables, decisive)
        progress.restore(saved.progress)
        callbacks.restore(calls, saved.callbacks, saved.best, progress.history)
        print(f"resuming from {checkpoint}", flush=True)
    if not progress.finished(settings.epochs):
        with StopRequest() as stop:
            meter = Meter()
            steps = _steps(settings, dataset, spread, state, data, progress)
            loop.fit(settings, spread, state, data, steps, calls, progress, meter, save, stop)
    last = weights_digest(state.model)
    calls.on_train_end()  # restores the best epoch's weights
    replicas = _compare_replicas(spread, progress, weights_digest(state.model), last)
    if is_chief:
        model = _of_one_device(settings, dataset, spread, state.model)
        traced = Traced(model)
        if state.objective.settles:
            _settle(settings, dataset, traced, state.objective)
        finish(
            Fitted(
                predictor=KerasPredictor.built(traced, dataset, state.objective.answers),
                history=progress.history,
                best_epoch=callbacks.best_epoch(calls),
                strategy=spread.kind,
                replicas=replicas,
                speed=tuple(map(Speed.from_document, progress.speed)),
                weights_sha256=next(iter(replicas.values())).weights_sha256,
                parameters=sum(int(np.prod(weight.shape)) for weight in model.trainable_weights),
                warnings=callbacks.warnings(calls),
            )
        )
    # The others are done, but all must start again if the chief dies before it has written.
    spread.barrier()
    at_end()


def _of_one_device(
    settings: Settings, dataset: DatasetDescription, spread: Distribution, trained: keras.Model
) -> keras.Model:
    """The trained model as it is saved: in float32, its variables not mirrored."""
    if spread.kind == "single" and not settings.common.mixed_precision:
        return trained
    model = _build_model(settings, dataset)
    model.set_weights(trained.get_weights())
    return model


def _settle(
    settings: Settings, dataset: DatasetDescription, traced: Traced, aim: Objective
) -> None:
    """Let the objective estimate what it needs of the train split, whose examples are read once."""
    reader = records.Records(dataset, traced.names)
    parts = []
    for batch in batches(settings.dataset, dataset, "train", _AT_ONCE):
        inputs, labels, weights = reader.parse(tf.constant(batch.payloads))
        parts.append([part.numpy() for part in (labels, traced(inputs), weights)])
    aim.settle(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _steps(
    settings: Settings,
    dataset: DatasetDescription,
    spread: Distribution,
    state: TrainingState,
    data: Input,
    progress: Progress,
) -> Steps:
    if spread.kind != "parameter_server":
        return Synchronous(settings, spread, state, data, progress.step)
    with precision.computing_in(settings.common.mixed_precision):
        copy = _build_model(settings, dataset)
    return Asynchronous(settings, spread, state, data, len(progress.history), copy)


def _build(settings: Settings, dataset: DatasetDescription, spread: Distribution) -> TrainingState:
    """Model and optimizer, their variables on every replica."""
    h = settings.common
    with spread.strategy.scope():
        with precision.computing_in(h.mixed_precision):
            model = _build_model(settings, dataset)
        if settings.start:
            checkpoints.start(settings.start, model)
        if spread.replicas > 1:
            distribution.synchronize_normalization(model)
        if h.jit_compile and spread.servers:
            raise TrainingError(
                "jit_compile: XLA cannot compile steps whose weights are on parameter servers: "
                "leave jit_compile out"
            )
        if h.jit_compile and (problem := distribution.not_compiled(model, h.deterministic)):
            raise TrainingError(f"jit_compile: {problem}: leave jit_compile out")
        update = optimizer.build(h, spread.replicas)
        update.build(model.trainable_variables)
        # Keras' callbacks look for the optimizer at the model.
        model.compile(optimizer=update, jit_compile=False)
    own, own_loss, own_metrics, stepping = settings.own, None, None, False
    if own:
        own_loss, own_metrics = own.loss(dataset, h), own.metrics(dataset, h)
        stepping = own.declaration.train_step
    aim = objectives.build(dataset, h, own_loss, settings.metric, own_metrics, own_step=stepping)
    own_steps = None
    if own and stepping:
        with precision.computing_in(h.mixed_precision):
            like = _build_model(settings, dataset)
        taken = sample.stored(settings.dataset, dataset, own_step.EXAMPLES)
        own_steps = own_step.tried(own, like, aim, dataset, h, taken)
    peak_rate, decay = optimizer.peak_rate(h, spread.replicas), h.weight_averaging
    averages = Averages(model, spread.strategy, decay) if decay else None
    return TrainingState(
        model=model,
        objective=aim,
        learning=learning.of(model, aim, own_steps),
        optimizer=update,
        peak_rate=peak_rate,
        phases=phases.of(model, settings.model, h),
        averages=averages,
    )


def _left_out(settings: Settings, dataset: DatasetDescription) -> str:
    """Say that the model reads images or columns alone where there are both; "" if it does not."""
    read = settings.declared.reads(dataset.inputs)
    if read == dataset.inputs:
        return ""
    left = dataset.only(dataset.inputs - read).features
    alone, other = ("images", "columns") if IMAGE in read else ("columns", "images")
    names = ", ".join(feature.name for feature in left)
    return f"{settings.model} reads the {alone} alone, without the {other} {names}"


def _build_model(settings: Settings, dataset: DatasetDescription) -> keras.Model:
    if settings.own:
        return settings.own.build(dataset, settings.common)
    h = settings.hyperparameters
    assert isinstance(h, Hyperparameters), h
    return models.build(settings.model, dataset, h)


def _decisive_settings(
    settings: Settings, dataset: DatasetDescription, spread: Distribution
) -> dict[str, Any]:
    """Settings that must be equal for a process to resume from another's checkpoint."""
    h = settings.common
    return {
        "dataset": dataset.fingerprint,
        "model": settings.own.sha256 if settings.own else settings.model,
        "task": settings.task,
        "metric": settings.metric,
        "seed": settings.seed,
        **({"start": settings.start} if settings.start else {}),
        "strategy": spread.kind,
        "replicas": spread.replicas,
        # Elsewhere a finished training may go on.
        **({"epochs": settings.epochs} if h.schedule != "constant" else {}),
        **settings.read_hyperparameters(dataset.inputs),
    }


def _compare_replicas(
    spread: Distribution, progress: Progress, best: bytes, last: bytes
) -> dict[str, Replica]:
    """Each process's entry in metrics.json.

    best, last: digests of this process's weights at the best and at the last epoch. Raises
    TrainingError if those of another process differ: then they have not trained one model.
    """
    digests = spread.gather(np.frombuffer(best + last, np.uint8).astype(np.int32))
    # In milliseconds, because integers can be gathered.
    computed = spread.gather(np.array([round(progress.computed * 1e3)], np.int32))
    if (digests != digests[0]).any():
        raise TrainingError("the processes ended with different weights; this is a bug, report it")
    local = spread.local_replicas
    return {
        name: Replica(
            steps=progress.steps[index * local],
            examples=sum(progress.examples[index * local : (index + 1) * local]),
            weights_sha256=digest[: len(best)].astype(np.uint8).tobytes().hex(),
            last_weights_sha256=digest[len(best) :].astype(np.uint8).tobytes().hex(),
            computed=float(computed[index, 0]) / 1e3 or None,
        )
        for index, (name, digest) in enumerate(zip(spread.cluster.names, digests, strict=True))
    }
