"""The text of a new experiment file: every choice with its reason beside it."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from trellis.new import source as section
from trellis.new.described import Images, Rows
from trellis.new.roles import Roles
from trellis.new.source import SHARES, SMALL, WIDTH, because, line, scalar, values_and_pages
from trellis.workflow.spec import baselines, bqml
from trellis_contracts import catalog
from trellis_contracts.metrics import METRICS
from trellis_contracts.tasks import (
    BINARY,
    MULTICLASS,
    MULTILABEL,
    ONE_CLASS,
    TASKS,
    natural_order,
)

MODELINE = "# yaml-language-server: $schema=../experiment.schema.json"


def of_rows(
    rows: Rows,
    roles: Roles,
    classes: Mapping[str, int],
    pictures: Mapping[str, Images],
    masks: Sequence[tuple[str, int | str]],
    owner: str,
    budget: str,
) -> str:
    """An experiment on a table. classes: rows by class, empty for a regression. pictures: what the
    images of each column of addresses are like. masks: names of the values of the label's masks.
    """
    model = "recurrent   # the ARRAY columns are sequences" if roles.sequences else "dense"
    heavy = _heavy(rows.rows, pictures.values())
    columns = _columns(rows, roles)
    alone = columns == len(pictures)
    if pictures:
        model = "unet" if masks else _picture_model(alone)
    which = f"{columns} column{'s' if columns > 1 else ''} of {rows.address}"
    return "\n".join(
        [
            *_head(
                f"{roles.label.name} from {which}, {rows.rows:,} rows.",
                _counts(classes),
                owner,
                budget,
            ),
            *section.of_rows(rows, roles, classes, pictures),
            *_masks(masks),
            "",
            f"model: {model}",
            f"task: {roles.task}   # {roles.remark}",
            *_positive(roles.task, classes),
            *_batch(rows.rows),
            "",
            *_training(
                _goal(roles.task, classes),
                rows.rows,
                _MASK_SEARCH if masks else _IMAGE_SEARCH if pictures else _ROW_SEARCH,
                *_machine(heavy),
            ),
            "",
            *_row_baselines(roles, len(classes), alone),
            "",
            *_deploy(roles.task, classes),
            "",
        ]
    )


def of_images(images: Images, task: str, source: str, owner: str, budget: str) -> str:
    """An experiment on images. source: the manifest as the file names it."""
    regression = task == "regression"
    what = "with a number each" if regression else f"in {len(images.classes)} classes"
    if task == MULTILABEL:
        what = f"with any number of {len(images.classes)} classes each"
    if images.masks:
        what = f"with masks of {len(images.masks)} classes"
    split = []
    if images.grouped:
        shares = f", {SHARES}" if images.count < SMALL else ""
        split = because(f"  split: {{by: group{shares}}}", "the third field of every line")
    elif not images.frozen and images.count < SMALL:
        rule = "stratify: label, " if task in ONE_CLASS else ""
        split = because(f"  split: {{{rule}{SHARES}}}", "few images")
    heavy = _heavy(images.count, [images])
    return "\n".join(
        [
            *_head(
                f"{images.count:,} images {what}.",
                "" if regression else _counts(images.classes),
                owner,
                budget,
            ),
            "source:",
            f"  images: {scalar(source)}",
            f"  size: {images.size}   # pixels of one side; smaller is faster",
            *(
                ["  resize: letterbox   # the images have several shapes: proportions are kept"]
                if images.resize == "letterbox"
                else []
            ),
            f"  channels: {images.channels}",
            *values_and_pages(images),
            f"  encoding: {'png' if images.size <= 64 or images.bits > 8 else 'jpeg'}",
            *_masks(images.masks),
            *split,
            "",
            f"model: {'unet' if images.masks else 'convolutional'}",
            f"task: {task}"
            + (f"   # {len(images.classes):,} numbers are labels" if regression else ""),
            *_positive(task, images.classes),
            *_batch(images.count),
            "",
            *_training(
                _goal(task, images.classes),
                images.count,
                _MASK_SEARCH if images.masks else _IMAGE_SEARCH,
                *_machine(heavy),
            ),
            "",
            *_deploy(task, images.classes),
            "",
        ]
    )


def _masks(known: Sequence[tuple[str, int | str]]) -> Iterator[str]:
    """The classes of masks, by the values that were seen."""
    if known:
        yield "  masks:   # a name of yours for each value; a mask with another value is rejected"
        for name, value in known:
            yield f"    {name}: {scalar(value) if isinstance(value, str) else value}"


def _heavy(examples: int, of_each: Iterable[Images]) -> bool:
    """Return whether a GPU pays for itself."""
    return examples * sum(images.size**2 for images in of_each) > 20_000 * 96**2


def _goal(task: str, classes: Mapping[str, int]) -> str:
    metric = _metric(task, classes)
    goal = f"{METRICS[metric].goal}: {metric}"
    if metric == TASKS[task].metric:
        return goal
    most = max(classes, key=lambda name: classes[name])
    share = classes[most] / sum(classes.values())
    return f"{goal}   # the mean of the recalls: {share:.0%} of the examples are {line(most)}"


def _metric(task: str, classes: Mapping[str, int]) -> str:
    """What to tune for: not the accuracy, where always the same answer would have most of it."""
    if task == MULTICLASS and max(classes.values(), default=0) * 2 > sum(classes.values()):
        return "balanced_accuracy"
    return TASKS[task].metric


def _machine(heavy: bool) -> tuple[str, str | None]:
    return ("n1-standard-8", "NVIDIA_TESLA_T4") if heavy else ("n1-standard-4", None)


_ROW_SEARCH = (
    "    learning_rate: {from: 3e-4, to: 3e-2, scale: log}",
    "    units:         {choose: [16, 64, 256]}",
    "    dropout:       {from: 0.0, to: 0.4}",
)
_IMAGE_SEARCH = (
    "    learning_rate: {from: 3e-4, to: 1e-2, scale: log}",
    "    filters:       {choose: [16, 32, 64]}",
    "    dropout:       {from: 0.0, to: 0.4}",
)


_MASK_SEARCH = (
    "    learning_rate: {from: 3e-4, to: 1e-2, scale: log}",
    "    filters:       {choose: [8, 16, 32]}",
)


def _head(what: str, counts: str, owner: str, budget: str) -> Iterator[str]:
    yield MODELINE
    yield from textwrap.wrap(
        f"{what} {counts}".strip(),
        WIDTH,
        initial_indent="# ",
        subsequent_indent="# ",
        break_on_hyphens=False,
    )
    # The comment until here describes the experiment in Airflow, its report and its model card.
    yield ""
    yield "# Written by `trellis new experiment`: read every choice once. An editor shows what a"
    yield "# key means; `trellis reference` prints them all; `trellis check FILE` checks the file."
    yield f"owner: {scalar(owner)}"
    yield 'schedule: manual   # or UTC cron, as in "0 6 * * 1", or @daily'
    yield f"budget: {budget}   # a run that may cost more is refused before anything is spent"
    yield ""


def _training(
    metric: str, examples: int, search: Sequence[str], machine: str, gpu: str | None = None
) -> Iterator[str]:
    trial, full = next(each for most, *each in _EPOCHS if examples < most)
    large = examples >= 100_000 or gpu
    machines = f"{{type: {machine}{f', gpu: {gpu}' if gpu else ''}, spot: true}}"
    yield "tune:"
    yield f"  {metric}"
    yield "  trials: 6"
    yield "  parallel: 2"
    yield f"  epochs: {trial}"
    yield "  search:"
    yield from search
    yield f"  machines: {machines}"
    yield f"  timeout: {'1 hour' if large else '30 minutes'}"
    yield ""
    yield "train:"
    yield "  top: 2                # the best trials, trained in full"
    yield f"  epochs: {full:<13} # at most; early stopping ends a training before"
    yield f"  machines: {machines}"
    yield f"  timeout: {'4 hours' if large else '1 hour'}"


# Examples below which: epochs of a trial, and of a training.
_EPOCHS: tuple[tuple[float, int, int], ...] = (
    (5_000, 15, 60),
    (100_000, 6, 30),
    (float("inf"), 2, 10),
)


def _positive(task: str, classes: Mapping[str, int]) -> list[str]:
    """The positive class of two: the one that the export would take, for the author to see."""
    if task != BINARY or len(classes) != 2:
        return []
    names = sorted(classes, key=natural_order)
    return [
        f"positive: {scalar(names[1])}   # not {line(names[0])}: its metrics, curves and "
        "thresholds lead"
    ]


def _batch(examples: int) -> list[str]:
    """A smaller batch than the default, if the train split would not fill four of those."""
    train = examples * 6 // 10  # as `_split` divides few rows
    default = int(catalog.load().hyperparameters["batch_size"].schema["default"])
    fitting = 1 << max(0, (train // 4).bit_length() - 1)
    if fitting >= default:
        return []
    return [f"hyperparameters: {{batch_size: {fitting}}}   # few examples: several steps an epoch"]


def _picture_model(alone: bool) -> str:
    return "convolutional" if alone else "convolutional   # and the other columns"


def _row_baselines(roles: Roles, classes: int, alone: bool) -> list[str]:
    unfit = TASKS[roles.task].unfit
    if {"baselines.bqml", "baselines.automl"} <= unfit.keys():
        why = unfit["baselines.bqml"].replace(": leave it out", "")
        text = f"No baselines of services: {why}."
        return textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ")
    if roles.free_texts:
        return ["# No baselines: BigQuery ML and AutoML read no free text."]
    if alone:
        return ["# No baselines: BigQuery ML reads no images. AutoML does: automl: {node_hours: 8}"]
    if roles.sequences:
        return ["# No baselines: BigQuery ML and AutoML read no sequences."]
    if classes > bqml.MOST_CLASSES:
        most = f"BigQuery ML takes up to {bqml.MOST_CLASSES} classes"
        more = f"AutoML takes {baselines.MOST_CLASSES_OF_ROWS}: automl: {{node_hours: 8}}"
        return [f"# No baselines: {most}. {more}"]
    types = (
        "[logistic_reg, boosted_tree_classifier]"
        if roles.classification
        else "[linear_reg, boosted_tree_regressor]"
    )
    return ["baselines:", f"  bqml: {types}   # is the network worth it?"]


def _deploy(task: str, classes: Mapping[str, int]) -> Iterator[str]:
    yield "# To serve the selected training, remove the # below and choose its conditions."
    yield "# A deployed model costs money every day; `trellis check` says how much."
    yield "# deploy:"
    yield f"#   gate: {{require: {{{_metric(task, classes)}: {TASKS[task].bound}}}}}"
    yield "#   machines: {type: n1-standard-2}"


def _columns(rows: Rows, roles: Roles) -> int:
    if roles.features is not None:
        return len(roles.features)
    column = roles.splits[0] if roles.splits else None
    event = roles.event.name if roles.event else None
    roles_ = (roles.label.name, event, roles.key, roles.group, rows.partition, column)
    return sum(column.name not in roles_ for column in rows.columns)


def _counts(classes: Mapping[str, int]) -> str:
    if not classes:
        return ""
    shown = list(classes.items())[:10]
    more = f", and {len(classes) - 10} more" if len(classes) > 10 else ""
    return f"Classes: {', '.join(f'{line(n)} {count:,}' for n, count in shown)}{more}."
