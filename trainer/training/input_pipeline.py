"""TFRecord files -> batches on every replica.

- Shares: each worker reads its own share of a split, whole files if that divides the examples
  evenly, else every n-th record.
- Order: a share is reshuffled in every epoch, as a pure function of (seed, epoch), so a restart
  takes up the data exactly where a checkpoint was made, without any saved iterator.
- Speed: records are parsed by the batch, ten times faster than one by one. A share that fits in
  the machine's memory or on its disk is parsed once and kept, as pixels or as columns; a larger
  one is parsed again in every epoch, and shuffled through a buffer of records, its files in a new
  order.
- Evaluation takes every example exactly once, on any number of replicas: all of them make the same
  number of steps, and what is missing from the last batches is filled with examples of weight 0.
"""

import copy
import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import tensorflow as tf

from trainer import storage
from trainer.models.image_inputs import image_input
from trainer.training import TrainingError, kept, patches, records, windows
from trainer.training.augmentation import Augmentation
from trainer.training.distribution import Distribution
from trainer.training.records import do_not_convert
from trellis_contracts import byte_size
from trellis_contracts.dataset import DatasetDescription, Shard
from trellis_contracts.dataset_features import IMAGE
from trellis_contracts.hyperparameters import Common

# Records in the shuffle buffer of a share that is not kept.
SHUFFLE_BYTES = 512 << 20
_READ_BUFFER_BYTES = 4 << 20
_PARALLEL_READS = 8
_OF_PATCHES = 1 << 16

# If shares differ by more than this fraction of their mean, workers split records, not files.
_EVEN = 0.01

Batches = Callable[[tf.distribute.InputContext], tf.data.Dataset]
# An epoch, or None for the order on disk -> a worker's records.
Read = Callable[[tf.Tensor | None], tf.data.Dataset]
# A batch's index in its epoch, and what Records.parse returns -> the same, augmented.
Vary = Callable[[tf.Tensor, tuple], tuple]
# (epoch, batches in it, batches to pass over, how to vary) -> the rest.
Epoch = Callable[[tf.Tensor, int, tf.Tensor, Vary], tf.data.Dataset]


@dataclass(frozen=True)
class Shares:
    """The division of a split among workers. smallest, largest: examples of a worker's share."""

    whole_files: bool
    smallest: int
    largest: int


def divide(shards: Sequence[Shard], workers: int) -> Shares:
    """Whole files if their examples divide evenly; else records in turn, read by all workers."""
    sizes = [sum(shard.examples for shard in shards[worker::workers]) for worker in range(workers)]
    total = sum(sizes)
    if max(sizes) - min(sizes) <= _EVEN * total / workers:
        return Shares(True, min(sizes), max(sizes))
    return Shares(False, total // workers, -(-total // workers))


class Input:
    """The batches of one training. names: of a row's inputs, those that the model takes; None: all.

    Raises TrainingError if the train split is smaller than one global batch.
    """

    def __init__(
        self,
        address: str,
        dataset: DatasetDescription,
        distribution: Distribution,
        h: Common,
        seed: int,
        epochs: int,
        names: Collection[str] | None = None,
    ):
        self._address = address
        self._dataset = dataset
        self._distribution = distribution
        self._h = h
        self._seed = seed
        self._epochs = epochs
        self._names = names
        self._records = records.Records(dataset, names)
        self._varied: Augmentation | None = Augmentation(
            h, dataset.features_of(IMAGE), dataset.entry.of_pixels
        )
        self._patch: int = getattr(h, "patch", 0)
        files, workers = dataset.files["train"], len(distribution.cluster)
        shares = divide(files, workers)
        if not shares.whole_files:
            why = "fewer than" if len(files) < workers else "of uneven shares for"
            print(
                f"train: {len(files)} files, {why} {workers} workers: each reads all of them and "
                "takes its own records. More `shards` let each read its own files",
                flush=True,
            )
        self._replica_share = shares.smallest
        self._replica_share //= distribution.local_replicas
        if not self.steps_per_epoch:
            replicas = distribution.replicas
            several = f" and accumulation={h.accumulation}" if h.accumulation > 1 else ""
            raise TrainingError(
                f"batch_size={h.batch_size}{several} on {replicas} replica(s) is a global batch of "
                f"{self.global_batch}, more than the {dataset.examples('train')} examples of the "
                f"train split: use at most {self._replica_share // h.accumulation}"
            )

    @property
    def _step_examples(self) -> int:
        """Examples of one step of one replica."""
        return self._h.batch_size * self._h.accumulation

    @property
    def global_batch(self) -> int:
        """Examples of one step, over all replicas."""
        return self._step_examples * self._distribution.replicas

    @property
    def steps_per_epoch(self) -> int:
        """Full global batches in the train split; the remainder is another one in each epoch."""
        return self._replica_share // self._step_examples

    def examples(self, split: str) -> int:
        """Examples in a split, by the dataset's description."""
        return self._dataset.examples(split)

    def evaluation_steps(self, split: str) -> int:
        """Number of steps in which the replicas together process every example of a split."""
        shares = divide(self._dataset.files[split], len(self._distribution.cluster))
        return -(-shares.largest // (self._h.batch_size * self._distribution.local_replicas))

    def train(self, first_step: int) -> Iterator:
        """Batches (inputs as trainer.models.inputs says, labels as Records.parse has them or Mixed,
        weights (b,) as it has them) of every replica, to the last epoch's end, from step
        `first_step` of the whole training on. b: all that it accumulates.
        """
        return self._distribute(lambda context: _endless(self.train_batches(context, first_step)))

    def keys(self, step: int) -> list[str]:
        """Keys of the examples that this process takes in a step, 0 the first of the training.

        Reads up to the step as a restart does.
        """
        cluster = self._distribution.cluster
        context = tf.distribute.InputContext(
            len(cluster), cluster.names.index(cluster.name), self._distribution.replicas
        )
        same = copy.copy(self)
        same._records, same._varied = records.keyed(self._dataset, self._names), None
        same._patch = 0
        batches = same.train_batches(context, step).take(self._distribution.local_replicas)
        return [key.decode() for _, keys, *_ in batches for key in keys.numpy()]

    def evaluation(self, split: str) -> Iterator:
        """Batches (inputs, labels, weights float32 (b,)) of every replica, the split over and
        over: `evaluation_steps` of them are the split once. weights: 1, or 0 of what only fills a
        batch: metrics count every example once, whatever it counts in training.
        """
        return self._distribute(lambda context: _endless(self.evaluation_batches(context, split)))

    def _distribute(self, batches: Batches) -> Iterator:
        return iter(self._distribution.strategy.distribute_datasets_from_function(batches))

    def train_batches(
        self, context: tf.distribute.InputContext, first_step: int
    ) -> tf.data.Dataset:
        """The batches of `train` for one worker's replicas, in turn."""
        local = self._distribution.local_replicas
        first_epoch, skipped = divmod(first_step, self.steps_per_epoch)
        batches = self._shuffled(self._reader("train", context))

        @do_not_convert
        def of_epoch(epoch):
            skip = tf.cast(tf.where(epoch == first_epoch, skipped * local, 0), tf.int64)
            vary = self._augmentation(epoch, context.input_pipeline_id)
            return batches(epoch, self.steps_per_epoch * local, skip, vary)

        epochs = tf.data.Dataset.range(first_epoch, max(first_epoch, self._epochs))
        return epochs.flat_map(of_epoch).prefetch(2 * local)

    def passes(self, context: tf.distribute.InputContext, first_epoch: int) -> tf.data.Dataset:
        """Batches of one of several workers that each take the whole train split, over and over.

        Its passes have the orders of every n-th epoch from its own on: no two workers' are alike.
        """
        worker = tf.cast(context.input_pipeline_id, tf.int64)
        workers = tf.cast(context.num_input_pipelines, tf.int64)
        read = self._reader("train", tf.distribute.InputContext(1, 0, 1))

        @do_not_convert
        def of_epoch(epoch):
            first, vary = tf.constant(0, tf.int64), self._augmentation(epoch, 0)
            return self._streamed(read, epoch, self.steps_per_epoch, first, vary)

        epochs = tf.data.Dataset.range(first_epoch + worker, tf.int64.max, workers)
        return epochs.flat_map(of_epoch).prefetch(2)

    def evaluation_batches(
        self, context: tf.distribute.InputContext, split: str
    ) -> tf.data.Dataset:
        """The batches of `evaluation` for one worker's replicas, in turn."""
        steps = self.evaluation_steps(split) * self._distribution.local_replicas
        size = self._h.batch_size
        if (own := self._kept(split, self._reader(split, context))) and own.rows:

            @do_not_convert
            def once(_):
                places = tf.range(steps * size, dtype=tf.int64)
                places = tf.minimum(places, own.rows - 1)

                @do_not_convert
                def batch(index, examples):
                    real = index * size + tf.range(size, dtype=tf.int64) < own.rows
                    return *self._padded(examples)[:2], tf.cast(real, tf.float32)

                if own.on_disk:
                    return windows.in_order(own, places, size).map(batch, tf.data.AUTOTUNE)
                every = own.tensors()

                @do_not_convert
                def gathered(index):
                    return batch(index, own.gather(every, places[index * size :][:size]))

                return tf.data.Dataset.range(steps).map(gathered, tf.data.AUTOTUNE)

            return tf.data.Dataset.range(1).repeat().flat_map(once).prefetch(2)

        @do_not_convert
        def parse(serialized, weights):
            return *self._records.parse(serialized)[:2], weights

        real = self._reader(split, context)(None).map(do_not_convert(lambda record: (record, 1.0)))
        padding = tf.data.Dataset.from_tensors((self._records.blank(), 0.0)).repeat()
        batches = self._batched(real.concatenate(padding), size).take(steps)
        return batches.map(parse, tf.data.AUTOTUNE).repeat().prefetch(2)

    def _shuffled(self, read: Read) -> Epoch:
        if own := self._kept("train", read):
            return functools.partial(self._gathered, own)
        return functools.partial(self._streamed, read)

    def _kept(self, split: str, read: Read) -> kept.Kept | None:
        """This worker's examples of a split, in memory or on disk; None: they fit nowhere."""
        examples = divide(self._dataset.files[split], len(self._distribution.cluster)).largest
        size = examples * self._records.example_bytes
        full = ""
        for place in kept.places(size):
            try:
                found = kept.keep(self._records.batches(read(None)), place)
            except OSError as error:  # other processes fill it as well
                full += f"; not {place.name}: {error.strerror}"
            else:
                what = f"{split}: {byte_size.text(size)} of examples"
                print(f"{what}, kept {place.name}{full}", flush=True)
                return found
        memory, disk = byte_size.text(kept.free_memory()), byte_size.text(kept.free_disk())
        print(
            f"{split}: {byte_size.text(size)} of examples, decoded again in every epoch: "
            f"{memory} of memory and {disk} of disk are free{full}",
            flush=True,
        )
        return None

    def _padded(self, examples: tuple) -> tuple:
        inputs, labels, weights = examples
        return self._records.padded(inputs), labels, weights

    def _streamed(
        self, read: Read, epoch: tf.Tensor, count: int, skip: tf.Tensor, vary: Vary
    ) -> tf.data.Dataset:
        size = sum(shard.bytes for shard in self._dataset.files["train"])
        buffer = max(self._step_examples, SHUFFLE_BYTES * self.examples("train") // size)
        shuffled = read(epoch).shuffle(buffer, self._epoch_seed(epoch), False)
        batches = self._batched(shuffled, self._step_examples).take(count).enumerate().skip(skip)
        return batches.map(lambda i, r: vary(i, self._records.parse(r)), tf.data.AUTOTUNE)

    def _gathered(
        self,
        own: kept.Kept,
        epoch: tf.Tensor,
        count: int,
        skip: tf.Tensor,
        vary: Vary,
    ) -> tf.data.Dataset:
        size = self._step_examples
        if own.rows < count * size:
            # A share that is not kept shows it at the end of the epoch.
            raise TrainingError(
                f"this worker's files of the train split hold {own.rows} examples, fewer than "
                "dataset.json says: export the dataset again"
            )
        seeds = self._seeds(epoch)

        def batch(index, examples):
            return vary(index, self._padded(examples))

        if own.on_disk:
            following = self._seeds(epoch + 1)
            batches = windows.shuffled(own, seeds, following, size, skip, count)
            return batches.map(batch, tf.data.AUTOTUNE)
        order = tf.random.experimental.stateless_shuffle(tf.range(own.rows, dtype=tf.int64), seeds)
        every = own.tensors()

        def gathered(index):
            places = tf.ensure_shape(order[index * size :][:size], [size])
            return batch(index, own.gather(every, places))

        return tf.data.Dataset.range(skip, count).map(gathered, tf.data.AUTOTUNE)

    def _reader(self, split: str, context: tf.distribute.InputContext) -> Read:
        """A function epoch -> serialized examples of this worker; epoch None: files in order."""
        workers, worker = context.num_input_pipelines, context.input_pipeline_id
        shares = divide(self._dataset.files[split], workers)
        uris = self._dataset.uris(self._address, split)
        paths = [str(storage.local_path(uri)) for uri in uris]
        own = paths[worker::workers] if shares.whole_files else paths

        def read(epoch: tf.Tensor | None) -> tf.data.Dataset:
            files = tf.constant(own)
            if epoch is not None:
                files = tf.random.experimental.stateless_shuffle(files, self._seeds(epoch))
            records = tf.data.TFRecordDataset(
                files, buffer_size=_READ_BUFFER_BYTES, num_parallel_reads=_PARALLEL_READS
            )
            return records if shares.whole_files else records.shard(workers, worker)

        return read

    def _batched(self, dataset: tf.data.Dataset, size: int) -> tf.data.Dataset:
        return dataset.batch(size, drop_remainder=True)

    def _augmentation(self, epoch: tf.Tensor, worker: int) -> Vary:
        def vary(index, batch):
            varies = self._varied is not None and self._varied.varies
            if not (varies or self._patch):
                return batch
            seed = tf.random.fold_in(tf.random.fold_in(self._seeds(epoch), index), worker)
            inputs, labels, weights = batch
            if self._varied is not None and varies:
                inputs, labels = self._varied(inputs, labels, seed)
            if self._patch:
                (feature,) = self._dataset.features_of(IMAGE)
                # Another seed than those of the augmentation.
                own, name = tf.random.fold_in(seed, _OF_PATCHES), image_input(feature)
                inputs, labels = patches.cut(inputs, labels, name, self._patch, own)
            return inputs, labels, weights

        return vary

    def _epoch_seed(self, epoch: tf.Tensor) -> tf.Tensor:
        return self._seed * 1_000_003 + epoch

    def _seeds(self, epoch: tf.Tensor) -> tf.Tensor:
        return tf.stack([tf.constant(self._seed, tf.int64), tf.cast(epoch, tf.int64)])


def _endless(batches: tf.data.Dataset) -> tf.data.Dataset:
    """Repeat the batches; the caller takes no more of them than there are.

    Of a dataset that may end, a strategy asks all processes in each step whether they have another
    batch: a message as long as that of the gradients of a small model.
    """
    return batches.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
