"""Train a model: one tuning trial, or one full training on any number of machines.

The dataset is what trainer.export wrote, of images or of a table's rows. A row's features are made
fit for a network by the model itself, with statistics of the train split: numbers are standardized
(NULL counts as the mean, and a flag tells of it), terms are embedded (NULL and unknown terms have
embeddings of their own), a time becomes its age, time of day and day of week, and a sequence its
mean, spread, maximum and length (dense) or what a GRU makes of it (recurrent).

After every epoch the validation split is evaluated, a checkpoint saved, and one line printed:

  epoch 3/30 loss 0.213 accuracy 0.931 val_loss 0.201 val_accuracy 0.944 lr 0.001 2.1 s

At the end, the weights of the best epoch (by --metric on the validation split) become
  model/                 SavedModel: encoded images (JPEG, PNG) or raw rows in, one tensor for each
                         column; probabilities out, or for a regression the value in its own unit
  predictions.parquet    what that SavedModel says about every example of the test split
  metrics.json           settings, every epoch, final metrics, what each replica did

Examples:
  python -m trainer.task --dataset gs://bucket/digits/datasets/3f2a/ --model convolutional \\
      --task multiclass_classification --epochs 25 --output /tmp/digits
  python -m trainer.task --dataset gs://bucket/cells/datasets/77b0/ --model dense \\
      --task binary_classification --metric auc --epochs 30 --output /tmp/cells
  ... --learning_rate 0.003 --batch_size 64 --dropout 0.2       other hyperparameters
  ... --outputs metrics                                         as a tuning trial does
  python -m trainer.task --schema                               all of it, for programs

Killed at any moment and started again, it goes on from its last checkpoint and ends with the same
weights, bit for bit, as if it had not been killed. On several machines (TF_CONFIG) all end when
one is lost, and wait for one another when they start again. Exit codes: 0 done, 1 refused or
diverged, 2 wrong flags, 75 lost another machine (start again), 143 asked to stop (SIGTERM).
"""

import os
import sys
from collections.abc import Sequence

from trainer.training import TrainingError
from trainer.training.checks import checked_dataset
from trainer.training.flags import parse_flags


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    settings = parse_flags(sys.argv[1:] if argv is None else argv, __doc__)
    try:
        dataset = checked_dataset(settings)
        # TensorFlow takes seconds to import: what is wrong with the flags or the dataset is said
        # before. Its C++ log says nothing that its exceptions do not (3: only what ends it).
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        from trainer.training import run

        return run.train(settings, dataset)
    except TrainingError as error:
        print(f"training failed: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
