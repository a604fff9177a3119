"""Train a model: one tuning trial, or one full training on any number of machines.

Reads a dataset of images or of a table's rows that trainer.export wrote. The model itself
preprocesses a row's features, with statistics of the train split: numbers are standardized (NULL
becomes the mean, and a flag marks it), terms are embedded (NULL and unknown terms have their own
embeddings), a timestamp becomes age, time of day and day of week, and a sequence becomes mean,
standard deviation, maximum and length (dense) or the last state of a GRU (recurrent).

After every epoch, the program evaluates the validation split, saves a checkpoint and prints a line:

  epoch 3/30 loss 0.213 accuracy 0.931 val_loss 0.201 val_accuracy 0.944 lr 0.001 2.1 s

At the end, the weights of the best epoch (by --metric on the validation split) become
  model/                 SavedModel: takes encoded images (JPEG, PNG) or raw rows, one tensor for
                         each column; returns probabilities, or a regression's value in its unit
  predictions.parquet    predictions of that SavedModel for every example of the test split
  metrics.json           settings, every epoch, final metrics, what each replica did

Examples:
  python -m trainer.task --dataset gs://bucket/digits/datasets/3f2a/ --model convolutional \\
      --task multiclass_classification --epochs 25 --output /tmp/digits
  python -m trainer.task --dataset gs://bucket/cells/datasets/77b0/ --model dense \\
      --task binary_classification --metric auc --epochs 30 --output /tmp/cells
  ... --learning_rate 0.003 --batch_size 64 --dropout 0.2       other hyperparameters
  ... --outputs metrics                                         as a tuning trial does
  python -m trainer.task --schema                               all of it, for programs

A training that is killed and started again resumes from its last checkpoint and ends with the same
weights, bit for bit, as one that ran through. On several machines (TF_CONFIG), all processes exit
when one is lost, and wait for each other when they restart; with parameter servers, the others go
on without a lost worker, and no two trainings are alike, bit for bit. Exit codes: 0 done, 1 refused
or diverged, 2 wrong flags, 75 another machine was lost (start again), 143 stopped by SIGTERM.
"""

import os
import sys
from collections.abc import Sequence

from trainer import allocator
from trainer.training import TrainingError
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code, or ends the process after a whole training."""
    settings = parse_flags(sys.argv[1:] if argv is None else argv, __doc__)
    try:
        dataset = checked_dataset(settings)
        allocator.keep_freed_memory()
        # After the checks: TensorFlow takes seconds to import. Its C++ log repeats what its
        # exceptions say (3: fatal messages only).
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        from trainer.estimators import run

        return run.train(settings, dataset, at_end=_leave)
    except TrainingError as error:
        print(f"training failed: {error}", file=sys.stderr)
        return 1


def _leave() -> None:
    """End the process, with 0, as it is: to delete an input pipeline, TensorFlow may first wait up
    to a minute for a thread that it has asked to end (docs/upstream/tensorflow-iterators.md): two
    processes of 17.2 s took 14.6 s (docs/decisions/training-loop.md).
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
