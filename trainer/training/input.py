"""TFRecord files -> batches on every replica.

- Shares: each worker reads its own share of a split, whole files where that divides the examples
  evenly, else every n-th record.
- Order: a share is shuffled anew in every epoch, as a pure function of (seed, epoch), so a restart
  takes up the data exactly where a checkpoint was made, without any saved iterator.
- Speed: records are parsed by the batch, ten times faster than one by one. A share that fits in
  memory is decoded once and kept as pixels; a larger one is decoded anew in every epoch, and
  shuffled through a buffer of encoded images, its files in a new order.
- Evaluation takes every example exactly once, on any number of replicas: all of them make the same
  number of steps, and what is missing from the last batches is filled with examples of weight 0.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import tensorflow as tf

from trainer import preprocessing, storage
from trainer.dataset_description import DatasetDescription, Shard
from trainer.hyperparameters import Hyperparameters
from trainer.training import TrainingError
from trainer.training.distribution import Distribution

# Decoded pixels that a worker keeps in memory, per split.
CACHE_BYTES = 2 << 30
# Encoded images in the shuffle buffer of a share that is not kept.
SHUFFLE_BYTES = 512 << 20
# Pixels decoded in one call: enough to hide the call's cost.
_DECODE_BYTES = 16 << 20
_READ_BUFFER_BYTES = 4 << 20
_PARALLEL_READS = 8

# Shares may differ by this much of their mean before whole files give way to single records.
_EVEN = 0.01

Batches = Callable[[tf.distribute.InputContext], tf.data.Dataset]


@dataclass(frozen=True)
class Shares:
    """How a split is divided among workers. smallest, largest: examples of a worker's share."""

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
    """The batches of one training.

    Raises TrainingError if the train split is smaller than one global batch.
    """

    def __init__(
        self,
        address: str,
        dataset: DatasetDescription,
        distribution: Distribution,
        h: Hyperparameters,
        seed: int,
        epochs: int,
    ):
        self._address = address
        self._dataset = dataset
        self._distribution = distribution
        self._h = h
        self._seed = seed
        self._epochs = epochs
        self._shape = dataset.features[0].shape
        self._replica_share = divide(dataset.files["train"], len(distribution.cluster)).smallest
        self._replica_share //= distribution.local_replicas
        if not self.steps_per_epoch:
            replicas = distribution.replicas
            raise TrainingError(
                f"batch_size={h.batch_size} on {replicas} replica(s) is a global batch of "
                f"{self.global_batch}, more than the {dataset.examples('train')} examples of the "
                f"train split: use at most {self._replica_share}"
            )

    @property
    def global_batch(self) -> int:
        """Examples of one step, over all replicas."""
        return self._h.batch_size * self._distribution.replicas

    @property
    def steps_per_epoch(self) -> int:
        """Full global batches in the train split; the remainder is another one in each epoch."""
        return self._replica_share // self._h.batch_size

    def examples(self, split: str) -> int:
        """Examples in a split, by the dataset's description."""
        return self._dataset.examples(split)

    def evaluation_steps(self, split: str) -> int:
        """Steps in which all replicas together see every example of a split."""
        shares = divide(self._dataset.files[split], len(self._distribution.cluster))
        return -(-shares.largest // (self._h.batch_size * self._distribution.local_replicas))

    def train(self, first_step: int) -> Iterator:
        """Batches (images uint8 (b, h, w, c), labels int64 (b,)) of every replica, to the last
        epoch's end, from step `first_step` of the whole training on.
        """
        return self._distribute(lambda context: self.train_batches(context, first_step))

    def evaluation(self, split: str) -> Iterator:
        """Batches (images, labels, weights float32 (b,)) of every replica, the split over and
        over: `evaluation_steps` of them are the split once.
        """
        return self._distribute(lambda context: self.evaluation_batches(context, split))

    def _distribute(self, batches: Batches) -> Iterator:
        return iter(self._distribution.strategy.distribute_datasets_from_function(batches))

    def train_batches(
        self, context: tf.distribute.InputContext, first_step: int
    ) -> tf.data.Dataset:
        """The batches of `train` for one worker's replicas, in turn."""
        local = self._distribution.local_replicas
        first_epoch, skipped = divmod(first_step, self.steps_per_epoch)
        read = self._reader("train", context)
        if self._fits("train"):
            kept = self._examples(read(None)).cache()
            buffer = self.examples("train")

            def shuffled(epoch):
                return self._batched(kept.shuffle(buffer, self._epoch_seed(epoch), False))
        else:
            size = sum(shard.bytes for shard in self._dataset.files["train"])
            buffer = max(self._h.batch_size, SHUFFLE_BYTES * self.examples("train") // size)

            def shuffled(epoch):
                records = read(epoch).shuffle(buffer, self._epoch_seed(epoch), False)
                return self._batched(records).map(self._parse, tf.data.AUTOTUNE)

        def of_epoch(epoch):
            skip = tf.where(epoch == first_epoch, skipped * local, 0)
            return (
                shuffled(epoch)
                .take(self.steps_per_epoch * local)
                .enumerate()
                .skip(tf.cast(skip, tf.int64))
                .map(self._augmentation(epoch, context.input_pipeline_id), tf.data.AUTOTUNE)
            )

        epochs = tf.data.Dataset.range(first_epoch, max(first_epoch, self._epochs))
        return epochs.flat_map(of_epoch).prefetch(2 * local)

    def evaluation_batches(
        self, context: tf.distribute.InputContext, split: str
    ) -> tf.data.Dataset:
        """The batches of `evaluation` for one worker's replicas, in turn."""
        batches = self.evaluation_steps(split) * self._distribution.local_replicas
        examples = self._examples(self._reader(split, context)(None))
        real = examples.map(lambda image, label: (image, label, 1.0))
        nothing = (tf.zeros(self._shape, tf.uint8), tf.zeros([], tf.int64), 0.0)
        padding = tf.data.Dataset.from_tensors(nothing).repeat()
        padded = self._batched(real.concatenate(padding)).take(batches)
        return (padded.cache() if self._fits(split) else padded).repeat().prefetch(2)

    def _reader(self, split: str, context: tf.distribute.InputContext):
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

    def _examples(self, records: tf.data.Dataset) -> tf.data.Dataset:
        """Single examples (image, label), parsed and decoded by the batch."""
        height, width, channels = self._shape
        batch = max(1, min(1024, _DECODE_BYTES // (height * width * channels)))
        return records.batch(batch).map(self._parse, tf.data.AUTOTUNE).unbatch()

    def _parse(self, serialized: tf.Tensor):
        parsed = tf.io.parse_example(
            serialized,
            {
                self._dataset.features[0].name: tf.io.FixedLenFeature([], tf.string),
                self._dataset.label.name: tf.io.FixedLenFeature([], tf.int64),
            },
        )
        images = preprocessing.decode(parsed[self._dataset.features[0].name], self._shape)
        return images, parsed[self._dataset.label.name]

    def _batched(self, dataset: tf.data.Dataset) -> tf.data.Dataset:
        return dataset.batch(self._h.batch_size, drop_remainder=True)

    def _augmentation(self, epoch: tf.Tensor, worker: int):
        def vary(index, batch):
            images, labels = batch
            if self._h.augment or self._h.flip:
                seed = tf.random.fold_in(self._seeds(epoch), index)
                seed = tf.random.fold_in(seed, worker)
                images = preprocessing.augment(
                    images, seed, shift=self._h.augment, flip=self._h.flip
                )
            return images, labels

        return vary

    def _epoch_seed(self, epoch: tf.Tensor) -> tf.Tensor:
        return self._seed * 1_000_003 + epoch

    def _seeds(self, epoch: tf.Tensor) -> tf.Tensor:
        return tf.stack([tf.constant(self._seed, tf.int64), tf.cast(epoch, tf.int64)])

    def _fits(self, split: str) -> bool:
        height, width, channels = self._shape
        examples = divide(self._dataset.files[split], len(self._distribution.cluster)).largest
        return examples * height * width * channels <= CACHE_BYTES
