"""Try a model's own file on one batch, in seconds: does it build, learn, export, and how fast?

Without a dataset, it takes a made-up batch: images of the size that you name, or rows with a
feature of each kind (number, truth value, text, time, sequence), or with those that you name, with
NULLs. It refuses the file for the same reasons as a training would, and says on which line. A file
with `fit` and `load` is fitted on a sample instead, saved, and loaded in a new process, which must
predict the same.

Examples:
  python -m trainer try residual.py
  python -m trainer try residual.py --task regression --width 64
  python -m trainer try residual.py --images 64x64x3 --classes 5
  python -m trainer try scans.py --feature scan=sequence:1024 --feature age=numeric
  python -m trainer try lesions.py --feature photo=image:64x64x3 --feature age=numeric
  python -m trainer try residual.py --dataset gs://bucket/cells/datasets/77b0/

docs/how-to/own-model.md explains the file. Exit codes: 0 it can be trained, 1 it cannot, 2 wrong
flags.
"""

import argparse
import importlib.util
import os
import re
import sys
from collections.abc import Sequence

from trainer import dataset_description
from trainer.models import ModelError
from trainer.models.own import OwnModel, read
from trainer.storage import StorageError
from trainer.stored import StoredError
from trainer.training import TrainingError
from trainer.training.flags import add_hyperparameters
from trellis_contracts import hyperparameters, job_image
from trellis_contracts.dataset import DatasetDescription, DatasetError
from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    IMAGE,
    NUMERIC,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
)
from trellis_contracts.models import words_for
from trellis_contracts.tasks import TASKS

_KINDS = (NUMERIC, BOOLEAN, CATEGORICAL, TIMESTAMP, SEQUENCE, TEXT, IMAGE)
_SIZE = r"[1-9]\d{0,3}x[1-9]\d{0,3}x[13]"

NO_TENSORFLOW = (
    "TensorFlow is not installed in this environment ({python}), and a model is built with it. In "
    "a checkout of Trellis, `make setup` installs the trainer's environment: run\n"
    "  .venv/trainer/bin/python -m trainer try {file}\n"
    "or run the same command in the trainer's image, which has it:\n"
    "  docker run --rm -v $PWD:/work -w /work --entrypoint python REGISTRY/trainer:{tag} "
    "-m trainer try {file}"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    first, _ = _parser(add_help=False).parse_known_args(argv)
    try:
        own = read(first.file) if first.file else None
        parser = _parser()
        if own is None:
            parser.parse_args(argv)
            parser.error("name the model's file")
        add_hyperparameters(parser, own.table, own)
        options = parser.parse_args(argv)
        estimator = own.declaration.estimator
        if not estimator and importlib.util.find_spec("tensorflow") is None:
            text = NO_TENSORFLOW.format(python=sys.executable, file=options.file, tag=job_image.TAG)
            print(text, file=sys.stderr)
            return 1
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        names = hyperparameters.of_model(own.name, own.table)
        given = {n: v for n in names if (v := getattr(options, n)) is not None}
        trial = importlib.import_module(
            f"trainer.{'estimators' if estimator else 'training'}.trial"
        )
        dataset = _dataset(parser, options, own)
        warnings = trial.run(own, dataset, own.table(**given), options.dataset)
    except (ModelError, DatasetError, StorageError, StoredError, TrainingError) as error:
        print(f"{first.file}: refused: {error}", file=sys.stderr)
        return 1
    but = f", but see the {len(warnings)} warnings above" if len(warnings) > 1 else ""
    but = ", but see the warning above" if len(warnings) == 1 else but
    print(f"{own.name} can be trained{but}.")
    return 0


def _parser(add_help: bool = True) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainer try",
        usage="%(prog)s FILE [--task TASK] [--images SIZE | --dataset ADDRESS] [...]; see --help",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=add_help,
    )
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", help="the model's Python file")
    add("--task", choices=TASKS, help="of a made-up batch (default: classification)")
    add(
        "--images",
        type=_size,
        metavar="SIZE",
        help="made-up images of HEIGHTxWIDTHxCHANNELS (default: rows; 32x32x3 if the file's INPUTS "
        "are images alone)",
    )
    add("--scale", metavar="RULE", help="of those images, as of trainer.export: they have 16 bits")
    add(
        "--feature",
        action="append",
        type=_feature,
        metavar="NAME=KIND[:SIZE]",
        help=f"a feature of made-up rows, as often as there are some: {', '.join(_KINDS)}; of a "
        "sequence also how many elements all have, of an image its HEIGHTxWIDTHxCHANNELS (default: "
        "one column of each kind, no image)",
    )
    add("--classes", type=int, metavar="N", help="classes of a made-up batch (default: 2, or 10)")
    add("--dataset", metavar="ADDRESS", help="a dataset whose first examples to take")
    return parser


def _dataset(
    parser: argparse.ArgumentParser, options: argparse.Namespace, own: OwnModel
) -> DatasetDescription:
    if options.dataset:
        return dataset_description.load(options.dataset)
    from trainer.training import sample

    task = options.task or (
        "multiclass_classification" if (options.classes or 2) > 2 else "binary_classification"
    )
    known = TASKS[task]
    default = 10 if task == "multiclass_classification" else known.min_classes
    classes = default if options.classes is None else options.classes
    if not known.min_classes <= classes <= (known.max_classes or classes):
        if known.max_classes is None:
            fitting = f"at least {known.min_classes}"
        else:
            fitting = str(known.max_classes)
        parser.error(f"--classes {classes}: {task} has {fitting}")
    shape = options.images
    if shape is None and own.declaration.inputs == ("image",):
        shape = (32, 32, 3)
    features = options.feature or ()
    if shape and features and options.images:
        parser.error(
            "--feature is of rows, and --images of images alone: name an image of rows as "
            "--feature NAME=image:HEIGHTxWIDTHxCHANNELS"
        )
    columns = {name: kind for name, kind, _ in features if kind != IMAGE}
    images = {name: size for name, kind, size in features if kind == IMAGE}
    inputs = {IMAGE, "table"} if images else {"table"}
    if shape and not features:
        inputs = {IMAGE}
    if inputs.isdisjoint(own.declaration.inputs):
        found = words_for(inputs)
        parser.error(f"{own.name} does not read {found}: its INPUTS are {own.declaration.inputs}")
    if inputs == {IMAGE}:
        return sample.images(shape, task, classes, options.scale)
    lengths = {name: size[0] for name, kind, size in features if kind == SEQUENCE and size}
    kinds = {**(columns or sample.OF_EACH_KIND), **dict.fromkeys(images, IMAGE)}
    return sample.rows(task, classes, kinds, lengths, images, options.scale)


def _feature(text: str) -> tuple[str, str, tuple[int, ...]]:
    """(name, kind, size) of NAME=KIND[:SIZE]; the size of a sequence is (length,)."""
    match = re.fullmatch(r"(.+)=([a-z]+)(?::(\w+))?", text, re.DOTALL)
    sizes = {**dict.fromkeys(_KINDS, ""), SEQUENCE: r"([1-9]\d{0,6})?", IMAGE: _SIZE}
    if not match or match[2] not in _KINDS or not re.fullmatch(sizes[match[2]], match[3] or ""):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not NAME=KIND, as age=numeric, scan={SEQUENCE}:1024 or "
            f"photo={IMAGE}:64x64x3; kinds: {', '.join(_KINDS)}"
        )
    return match[1], match[2], tuple(map(int, match[3].split("x"))) if match[3] else ()


def _size(text: str) -> tuple[int, ...]:
    if not re.fullmatch(_SIZE, text):
        raise argparse.ArgumentTypeError(f"{text!r} is not HEIGHTxWIDTHxCHANNELS, as 64x64x3")
    return tuple(map(int, text.split("x")))


if __name__ == "__main__":
    sys.exit(main())
