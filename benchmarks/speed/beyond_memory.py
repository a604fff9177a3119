"""A share of twice the memory that a process has: images/s of the input pipeline, from epoch 2 on.

Each candidate is a process of its own, which reads the dataset once, takes an epoch and, in each
round, ROUND batches of the next. Ours and the peer have MEMORY bytes (a control group); what ours
keeps where, it finds out by itself. The limit is ours with all of the machine's memory, where the
share must fit. Images are shifted and flipped, as those of most trainings: README.md has what a
disk gives of others.

    python -m benchmarks.speed.beyond_memory ADDRESS CANDIDATE      one such process
"""

import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path

import tensorflow as tf

from benchmarks.datasets import make_dataset
from benchmarks.speed.inputs import BATCH, FEATURES, ONE_PROCESS, taking
from benchmarks.speed.memory_limit import control_group
from trainer import dataset_description
from trainer.training.input_pipeline import Input
from trellis_contracts.hyperparameters import Hyperparameters

SIDE, CHANNELS = 128, 3
FEW, COPIES = 5_000, 15
"""Images that differ, and how many times the train split has its files."""

SHARE = FEW * 4 // 5 * COPIES * SIDE * SIDE * CHANNELS
MEMORY = SHARE // 2
ROUND = 100
SHUFFLED = 1_000
"""Images in the peer's shuffle buffer: 49 MB."""

JOIN = 'echo $$ > "$0" && exec "$@"'
"""A shell's program: join the control group of a file, then run the command."""


@contextmanager
def epochs(scratch):
    address = make_dataset(scratch / "d", SIDE, CHANNELS, FEW, "jpeg")
    _repeat_files(Path(address))
    with ExitStack() as stack:
        commands: dict[str, list] = {"limit": []}
        for name in ("ours", "peer"):
            group = stack.enter_context(control_group(MEMORY))
            commands[name] = ["sh", "-c", JOIN, group / "cgroup.procs"]
        yield {
            name: stack.enter_context(_process(address, name, commands[name]))
            for name in ("ours", "peer", "limit")
        }


def _repeat_files(folder):
    """List the files of the train split COPIES times, each under a name of its own."""
    dataset = dataset_description.load(str(folder))
    shards = []
    for copy in range(COPIES):
        for shard in dataset.files["train"]:
            shards.append(replace(shard, name=f"{copy}-{shard.name}"))
            os.link(folder / shard.name, folder / shards[-1].name)
    counts = dataset.counts["train"]
    counts = replace(
        counts,
        examples=counts.examples * COPIES,
        classes={name: count * COPIES for name, count in counts.classes.items()},
    )
    more = replace(
        dataset,
        files={**dataset.files, "train": tuple(shards)},
        counts={**dataset.counts, "train": counts},
    )
    (folder / "dataset.json").write_text(more.to_json())


@contextmanager
def _process(address, name, before):
    """A function that has a new process take an epoch, and gives its images a second."""
    command = [*before, sys.executable, "-m", "benchmarks.speed.beyond_memory", address, name]
    folder = Path(address).with_name(name)
    folder.mkdir()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=os.environ | {"TMPDIR": str(folder)}, **pipes) as process:

        def rate():
            with suppress(BrokenPipeError):
                process.stdin.write("\n")
                process.stdin.flush()
            if not (line := process.stdout.readline()):
                raise SystemExit(f"{name} ended with exit code {process.wait()}")
            return float(line)

        try:
            yield rate
        finally:
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()
    shutil.rmtree(folder)


def _ours(address, dataset):
    h = Hyperparameters(batch_size=BATCH, augment=True, flip=True)
    data = Input(address, dataset, ONE_PROCESS, h, 0, 1000)
    return data.train_batches(tf.distribute.InputContext(), 0)


def _cached_on_disk(address, dataset):
    """tf.data's cache of decoded images in a file, then a buffer that shuffles."""

    def parse(record):
        found = tf.io.parse_single_example(record, FEATURES)
        image = tf.io.decode_image(found["image"], CHANNELS, expand_animations=False)
        return image, found["label"]

    def varied(image, label):
        image = tf.image.random_flip_left_right(image)
        padded = tf.pad(image, [[4, 4], [4, 4], [0, 0]])
        return tf.image.random_crop(padded, [SIDE, SIDE, CHANNELS]), label

    parsed = tf.data.TFRecordDataset(dataset.uris(address, "train")).map(parse, tf.data.AUTOTUNE)
    cached = parsed.cache(f"{os.environ['TMPDIR']}/cache").shuffle(SHUFFLED)
    batches = cached.map(varied, tf.data.AUTOTUNE).batch(BATCH, drop_remainder=True)
    return batches.repeat().prefetch(tf.data.AUTOTUNE)


def main(address, name):
    dataset = dataset_description.load(address)
    with redirect_stdout(sys.stderr):
        batches = (_cached_on_disk if name == "peer" else _ours)(address, dataset)
    take, iterator = taking(batches), iter(batches)
    take(iterator, dataset.examples("train") // BATCH)
    for _ in sys.stdin:
        begun = time.perf_counter()
        take(iterator, ROUND)
        print(ROUND * BATCH / (time.perf_counter() - begun), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
