"""The command line of trainer.task."""

import argparse
import dataclasses
import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence

from trainer import storage
from trainer.models import ModelError
from trainer.models.own import OwnModel
from trainer.models.own import read as read_own
from trainer.training.settings import OUTPUTS, STRATEGIES, Places, Settings
from trellis_contracts import documents, hyperparameters
from trellis_contracts.decision import Rule
from trellis_contracts.documents import ContractError
from trellis_contracts.held_out import CHOICES, METHODS, HeldOut
from trellis_contracts.hyperparameters import HyperparameterError, Hyperparameters, Table
from trellis_contracts.metrics import BY_DECISION, METRICS
from trellis_contracts.metrics import of_task as metrics_of
from trellis_contracts.models import MODELS
from trellis_contracts.tasks import TASKS

_VARIABLES = {
    "model": "AIP_MODEL_DIR",
    "checkpoints": "AIP_CHECKPOINT_DIR",
    "logs": "AIP_TENSORBOARD_LOG_DIR",
}

_MAX_SEED = 2**31 - 1


def parse_flags(
    argv: Sequence[str], description: str, environment: Mapping[str, str] = os.environ
) -> Settings:
    """The checked settings. Exits: with code 2 on a wrong flag, with 0 after --help."""
    named, sha256 = _model(argv)
    own: OwnModel | None = None
    if named.endswith(".py"):
        try:
            own = read_own(named, sha256)
        except (ModelError, storage.StorageError) as error:
            _parser(description).error(str(error))
    table: type[Table] = own.table if own else Hyperparameters
    parser = _parser(description, table, own)
    flags, unknown = parser.parse_known_args(argv)
    if own:
        flags.model = own.name
    known = hyperparameters.of_model(flags.model, table)
    names = {field.name for field in dataclasses.fields(table)}
    given = {n: v for n, v in vars(flags).items() if n in names and v is not None}
    if unknown:
        _refuse_unknown(parser, flags.model, unknown[0], [*vars(flags)], known)
    if foreign := [name for name in given if name not in known]:
        parser.error(
            f"--{foreign[0]} is not a hyperparameter of the {flags.model} model, which takes: "
            + ", ".join(f"--{name}" for name in known)
        )
    metrics = metrics_of(flags.task)
    if flags.metric not in (None, *metrics):
        parser.error(f"--metric {flags.metric}: {flags.task} has {', '.join(metrics)}")
    if flags.profile and own and own.declaration.estimator:
        parser.error(f"--profile: {own.name} has a function fit, whose steps are its own")
    return Settings(
        dataset=flags.dataset,
        model=flags.model,
        task=flags.task,
        epochs=flags.epochs,
        seed=flags.seed,
        metric=flags.metric or metrics[0],
        outputs=flags.outputs,
        strategy=flags.strategy,
        hyperparameters=table(**given),
        places=_places(parser, flags.output, environment),
        own=own,
        held_out=held_out_of(parser, flags, flags.task),
        profile=flags.profile,
        start=flags.start,
    )


def held_out_of(parser: argparse.ArgumentParser, flags: argparse.Namespace, task: str) -> HeldOut:
    """What the flags of `add_held_out` ask for. Exits with code 2 if it is not for the task."""
    asked = HeldOut(**{name: getattr(flags, name) for name in CHOICES})
    for name, why in asked.unfit(task):
        parser.error(f"--{name}: {why}")
    return asked


def add_held_out(parser: argparse.ArgumentParser) -> None:
    """Add the flags for what is chosen on the validation split."""
    add = parser.add_argument
    add(
        "--calibrate",
        choices=METHODS,
        help="calibrate the probabilities on the validation split, when the training has ended: "
        + _listed(METHODS)
        + " (default: not at all)",
    )
    add(
        "--decide",
        type=_rule,
        metavar="JSON",
        help="choose on the validation split above which probability the second of two classes is "
        'decided, after calibration: {"cost": {"missed": 10, "false_alarm": 1}}, the least cost; '
        '{"sensitivity": 0.95}, at least that, with the highest specificity; {"maximize": METRIC}, '
        f"one of {', '.join(BY_DECISION)} (default: a half)",
    )
    add(
        "--abstain",
        type=_share,
        metavar="SHARE",
        help="share of the examples, the least certain, that the model hands back; the certainty "
        "below which it does is that of the validation split (default: none)",
    )
    add(
        "--coverage",
        type=_share,
        metavar="SHARE",
        help="probability with which the set of classes, or the interval, of a prediction has the "
        "truth, by split-conformal prediction on the validation split (default: there are none)",
    )


def _model(argv: Sequence[str]) -> tuple[str, str | None]:
    """--model and --model_sha256, which decide what other flags there are."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--model", default="")
    parser.add_argument("--model_sha256")
    try:
        flags, _ = parser.parse_known_args(argv)
    except argparse.ArgumentError:
        return "", None  # the whole command line's parser says what is wrong
    return flags.model, flags.model_sha256


def _parser(
    description: str, table: type[Table] = Hyperparameters, own: OwnModel | None = None
) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainer.task",
        # A usage text with all flags would hide the error message.
        usage="%(prog)s --dataset ADDRESS --model MODEL --task TASK --epochs N [...]; see --help",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--dataset",
        required=True,
        type=_address,
        metavar="ADDRESS",
        help="folder of a dataset that trainer.export wrote, gs://... or a path",
    )
    add(
        "--model",
        required=True,
        choices=None if own else MODELS,
        help=_listed(MODELS) + "; or the address of a Python file that ends with .py, a model of "
        "your own (docs/how-to/own-model.md)",
    )
    add(
        "--model_sha256",
        metavar="DIGEST",
        help="refuse a model's file with another SHA-256 (default: any content)",
    )
    add("--task", required=True, choices=TASKS, help=_listed(TASKS))
    add(
        "--epochs",
        required=True,
        type=_whole(1, 100_000),
        metavar="N",
        help="passes over the train split, unless training stops earlier (early_stopping_patience)",
    )
    add(
        "--seed",
        type=_whole(0, _MAX_SEED),
        default=0,
        metavar="N",
        help="of initial weights, data order, dropout and augmentation. The same seed, number of "
        "replicas and kind of machine give the same weights (default: 0)",
    )
    add(
        "--start",
        type=_address,
        metavar="ADDRESS",
        help="best.npz of another training's checkpoint: the weights to begin with, of a network "
        "of the same layers (default: new weights)",
    )
    add(
        "--metric",
        choices=METRICS,
        help="on the validation split: reported to the tuner after every epoch, and decides which "
        "epoch's weights are kept: of equals, the one with the lower loss. "
        + "; ".join(f"{task}: {', '.join(metrics_of(task))}" for task in TASKS)
        + " (default: the task's first)",
    )
    add(
        "--outputs",
        choices=OUTPUTS,
        default="all",
        help="all: SavedModel, predictions of the test split and metrics.json; metrics: only "
        "metrics.json, as a tuning trial needs (default: all)",
    )
    add_held_out(parser)
    add(
        "--strategy",
        choices=STRATEGIES,
        default="auto",
        help="single: one device; mirrored: all GPUs of this machine; tpu: all TPU chips of this "
        "machine; multi_worker: all machines in TF_CONFIG; reduction_server: the same, with Vertex "
        "AI's Reduction Server, which the job must have; parameter_server: TF_CONFIG's workers, at "
        "their own pace; auto: what the environment offers, but neither TPUs nor Reduction Server "
        "(default: auto)",
    )
    add(
        "--profile",
        type=_steps,
        metavar="FIRST-LAST",
        help="steps, from 1, of which a TensorFlow profile is written to logs/, for TensorBoard's "
        "tab Profile (default: none)",
    )
    add(
        "--output",
        type=_address,
        metavar="ADDRESS",
        help="folder for model/, checkpoints/, logs/, metrics.json and predictions.parquet, for a "
        "run by hand; Vertex AI names the folders in " + ", ".join(_VARIABLES.values()),
    )
    add_hyperparameters(parser, table, own)
    return parser


def add_hyperparameters(
    parser: argparse.ArgumentParser, table: type[Table], own: OwnModel | None
) -> None:
    """Add a flag for every hyperparameter. own: the model's file, if it has one."""
    group = parser.add_argument_group(
        "hyperparameters",
        "In brackets: the models that read it, and the kind of data or task that it affects "
        "(no brackets: all).",
    )
    models = [own.name] if own else [*MODELS]
    for name, words in hyperparameters.schema(table).items():
        readers = [model for model in models if name in hyperparameters.of_model(model, table)]
        limits = [", ".join(readers)] if len(readers) < len(models) else []
        limits += [f"{' and '.join(words['inputs'])}s only"] if "inputs" in words else []
        limits += [f"{' and '.join(words['tasks'])} only"] if "tasks" in words else []
        only = f"[{'; '.join(limits)}] " if limits else ""
        unit = f" {words['unit']}" if "unit" in words else ""
        text = (
            f"{only}{words['description']}: {hyperparameters.expected(name, table)}{unit} "
            f"(default: {str(words['default']).lower()})"
        )
        group.add_argument(
            f"--{name}",
            type=_hyperparameter(name, table),
            metavar="VALUE",
            help=text.replace("%", "%%"),
        )


def _refuse_unknown(
    parser: argparse.ArgumentParser,
    model: str,
    argument: str,
    flags: list[str],
    hyperparameters: list[str],
) -> None:
    name = argument.partition("=")[0]
    near = difflib.get_close_matches(name, [f"--{flag}" for flag in flags], 1)
    parser.error(
        f"unknown flag {name}"
        + (f"; did you mean {near[0]}?" if near else "")
        + f" The hyperparameters of the {model} model are: "
        + ", ".join(f"--{known}" for known in hyperparameters)
    )


def _places(
    parser: argparse.ArgumentParser, output: str | None, environment: Mapping[str, str]
) -> Places:
    if output:
        root = storage.local_path(output)
        return Places(**{name: root / name for name in _VARIABLES})
    missing = [variable for variable in _VARIABLES.values() if not environment.get(variable)]
    if missing:
        parser.error(
            f"no output folder: {', '.join(missing)} not set. Give --output FOLDER, or set a base "
            "output directory for the Vertex AI job"
        )
    return Places(**{n: storage.local_path(environment[v]) for n, v in _VARIABLES.items()})


def _listed(table: Mapping) -> str:
    return "; ".join(f"{name}: {entry.description}" for name, entry in table.items())


def _address(text: str) -> str:
    try:
        storage.local_path(text)
    except storage.StorageError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if not text:
        raise argparse.ArgumentTypeError("the address is empty")
    return text


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1")
    return value


def _rule(text: str) -> Rule:
    try:
        return Rule.from_document(documents.parse("decision", text, "it"))
    except ContractError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
        return value

    return parse


def _steps(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)-(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is no range of steps, such as 10-20")
    return int(found[1]), int(found[2])


def _hyperparameter(name: str, table: type[Table]) -> Callable[[str], hyperparameters.Value]:
    def parse(text: str) -> hyperparameters.Value:
        try:
            return hyperparameters.parse(name, text, table)
        except HyperparameterError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parse
