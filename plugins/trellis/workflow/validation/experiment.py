"""What must fit together in an experiment: fields with one another, and with the trainer."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from croniter import croniter

from research import bqml, cost
from research.machine_checks import machine_problems
from research.problems import Field as Where
from research.problems import Problem, did_you_mean

if TYPE_CHECKING:
    from research.experiment import Experiment, Range
    from research.trainer_schema import Hyperparameter, TrainerSchema

# Airflow's names for schedules that a cron expression could say too.
PRESETS = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")
MANUAL = "manual"

# As BigQuery names them: https://cloud.google.com/bigquery/docs/tables#table_naming
TABLE = re.compile(r"([a-z][a-z0-9-]*[a-z0-9]\.)?\w{1,1024}\.[^.`*$]{1,1024}")


def problems(experiment: "Experiment", schema: "TrainerSchema") -> list[Problem]:
    """Everything that a look at one field alone does not show."""
    return [
        *_schedule(experiment),
        *_counts(experiment),
        *_source(experiment),
        *_split(experiment),
        *_trainer(experiment, schema),
        *_metric(experiment, schema),
        *_hyperparameters(experiment, schema),
        *_machines(experiment),
        *_baselines(experiment),
    ]


def schedule_problems(schedule: str, where: Where) -> Iterator[Problem]:
    """What is wrong with the schedule of a DAG, which stands at `where`."""
    if schedule not in (MANUAL, *PRESETS) and not croniter.is_valid(schedule):
        known = ", ".join((MANUAL, *PRESETS))
        yield Problem(where, f"got {schedule!r}; expected {known}, or cron as in '0 3 * * 1'")


def _schedule(experiment: "Experiment") -> Iterator[Problem]:
    schedule = experiment.schedule
    yield from schedule_problems(schedule, ("schedule",))
    if schedule == MANUAL and experiment.until is not None:
        yield Problem(("until",), "ends a schedule, and this experiment has none")


def _counts(experiment: "Experiment") -> Iterator[Problem]:
    tune, train = experiment.tune, experiment.train
    if train.top > tune.trials:
        yield Problem(
            ("train", "top"), f"the best {train.top} of {tune.trials} trials: fewer, or more trials"
        )
    if tune.parallel > tune.trials:
        yield Problem(("tune", "parallel"), f"got {tune.parallel} of only {tune.trials} trials")
    workers, shards = train.machines.workers, experiment.source.shards
    if workers > shards:
        yield Problem(
            ("source", "shards"),
            f"{shards} files for {workers} workers, and each reads its own; at least {workers}",
        )


def _source(experiment: "Experiment") -> Iterator[Problem]:
    from research.experiment import OF_IMAGES, OF_TABLES

    source = experiment.source
    given = [name for name in ("images", "bigquery", "query") if getattr(source, name) is not None]
    if len(given) != 1:
        found = f"got {' and '.join(given)}" if given else "nothing to read"
        yield Problem(
            ("source",),
            f"{found}; expected one of `images: MANIFEST`, `bigquery: TABLE` and `query: SQL`",
        )
        return
    image = source.kind == "image"
    written = {
        info.alias or name
        for name, info in type(source).model_fields.items()
        if name in source.model_fields_set
    }
    for name in OF_TABLES if image else OF_IMAGES:
        if name in written:
            other = "tables and queries" if image else "images"
            yield Problem(("source", name), f"belongs to {other}; this source is `{given[0]}`")
    needed = {"size": source.size} if image else {"key": source.key_, "label": source.label}
    for name, value in needed.items():
        if value is None:
            info = next(i for n, i in type(source).model_fields.items() if (i.alias or n) == name)
            yield Problem(("source", name), f"missing beside `{given[0]}`: {info.description}")
    if not image:
        yield from _table(experiment)


def _table(experiment: "Experiment") -> Iterator[Problem]:
    source = experiment.source
    if source.bigquery is not None and not TABLE.fullmatch(source.bigquery):
        yield Problem(
            ("source", "bigquery"),
            f"got {source.bigquery!r}; expected DATASET.TABLE or PROJECT.DATASET.TABLE",
        )
    roles = {"key": source.key_, "label": source.label, "partition": source.partition}
    features = source.features or []
    for role in ("key", "label"):
        for other, column in roles.items():
            if other not in ("key", role) and roles[role] and roles[role] == column:
                yield Problem(("source", other), f"'{column}' is the {role} already")
        if roles[role] in features:
            message = f"'{roles[role]}' is the {role}; a model would only have to read it off"
            yield Problem(("source", "features", features.index(roles[role])), message)
    for name in ("features", "categorical"):
        columns = getattr(source, name) or []
        for n, column in enumerate(columns):
            if column in columns[:n]:
                yield Problem(("source", name, n), f"'{column}' stands here twice")
    for n, column in enumerate(source.categorical):
        if source.features is not None and column not in features:
            message = f"'{column}' is no feature; {did_you_mean(column, features)}"
            yield Problem(("source", "categorical", n), message)


def _split(experiment: "Experiment") -> Iterator[Problem]:
    split = experiment.source.split
    total = split.train + split.validation + split.test
    if total != 100:
        yield Problem(("source", "split"), f"the shares add up to {total}; expected 100 percent")


def _trainer(experiment: "Experiment", schema: "TrainerSchema") -> Iterator[Problem]:
    for where, known in (("model", schema.models), ("task", schema.tasks)):
        word = getattr(experiment, where)
        if word not in known:
            yield Problem((where,), f"unknown {where} '{word}'; {did_you_mean(word, known)}")
        elif (kind := experiment.source.kind) not in known[word]["inputs"]:
            fitting = [name for name, entry in known.items() if kind in entry["inputs"]]
            yield Problem(
                (where,), f"{word} is not for a source of {kind}s; known: {', '.join(fitting)}"
            )


def _metric(experiment: "Experiment", schema: "TrainerSchema") -> Iterator[Problem]:
    tune = experiment.tune
    if (tune.maximize is None) == (tune.minimize is None):
        yield Problem(("tune",), "expected one of `maximize: METRIC` and `minimize: METRIC`")
        return
    where = ("tune", tune.goal)
    task = schema.tasks.get(experiment.task, {})
    known = task.get("metrics", list(schema.metrics))
    if tune.metric not in known:
        message = f"unknown metric '{tune.metric}' of {experiment.task}; "
        yield Problem(where, message + did_you_mean(tune.metric, known))
    elif schema.metrics[tune.metric]["goal"] != tune.goal:
        better = {"maximize": "more", "minimize": "less"}
        wanted = schema.metrics[tune.metric]["goal"]
        message = f"{better[wanted]} of '{tune.metric}' is better: write `{wanted}: {tune.metric}`"
        yield Problem(where, message)


def _hyperparameters(experiment: "Experiment", schema: "TrainerSchema") -> Iterator[Problem]:
    if experiment.model not in schema.models:
        return
    known = schema.of_model(experiment.model)
    for name, value in experiment.hyperparameters.items():
        where = ("hyperparameters", name)
        if name not in known:
            yield Problem(where, _unknown(name, known, experiment.model))
        elif name in experiment.tune.search:
            yield Problem(where, "fixed here and searched in `tune`: one of the two")
        elif idle := _without_effect(known[name], experiment, schema):
            yield Problem(where, idle)
        elif wrong := known[name].problem_with(value):
            yield Problem(where, f"got {value!r}; {wrong}")
    for name, range_ in experiment.tune.search.items():
        where = ("tune", "search", name)
        if name not in known:
            yield Problem(where, _unknown(name, known, experiment.model))
        elif idle := _without_effect(known[name], experiment, schema):
            yield Problem(where, idle)
        else:
            for part, message in _range(range_, known[name], experiment.tune.algorithm):
                yield Problem((*where, *part), message)


def _unknown(name: str, known: Any, model: str) -> str:
    return f"the model '{model}' has no hyperparameter '{name}'; {did_you_mean(name, known)}"


def _without_effect(
    parameter: "Hyperparameter", experiment: "Experiment", schema: "TrainerSchema"
) -> str | None:
    """The trainer refuses what would change nothing, so that nobody believes that it did."""
    kind, task = experiment.source.kind, experiment.task
    if task not in schema.tasks or parameter.has_effect(kind, task):
        return None
    return (
        f"changes nothing for {task} on a source of {kind}s: it has an effect {parameter.only}; "
        "leave it out"
    )


def _range(
    range_: "Range", parameter: "Hyperparameter", algorithm: str
) -> Iterator[tuple[tuple[str, ...], str]]:
    ends = (range_.from_, range_.to)
    if range_.choose is not None:
        if ends != (None, None) or range_.scale == "log":
            yield (), "expected {choose} or {from, to, scale}, not both"
        yield from _choices(range_.choose, parameter)
        return
    if None in ends:
        yield (), "expected {from: A, to: B} or {choose: [A, B]}"
        return
    if parameter.type not in ("number", "integer") or "enum" in parameter.schema:
        yield (), f"{parameter.name} is {parameter.expected}: use {{choose: [...]}}"
        return
    low, high = ends
    for end, value in (("from", low), ("to", high)):
        if wrong := parameter.problem_with(value):
            yield (end,), f"got {value!r}; {wrong}"
    if low >= high:  # type: ignore[operator]
        yield ("from",), f"got {low!r}, which is not below `to: {high!r}`"
    elif range_.scale == "log" and low <= 0:  # type: ignore[operator]
        yield ("from",), f"got {low!r}; a log scale starts above 0"
    if algorithm == "grid" and parameter.type == "number":
        yield (), "a grid needs values to stand on: use {choose: [...]}, or another algorithm"


def _choices(choices: list[Any], parameter: "Hyperparameter") -> Iterator[tuple[tuple, str]]:
    if len(choices) < 2 or len(set(choices)) < len(choices):
        yield ("choose",), "expected at least two different values"
    for n, value in enumerate(choices):
        if wrong := parameter.problem_with(value):
            yield ("choose", n), f"got {value!r}; {wrong}"


def _machines(experiment: "Experiment") -> Iterator[Problem]:
    prices = cost.prices()
    for section in ("tune", "train"):
        yield from machine_problems(
            getattr(experiment, section).machines,
            (section, "machines"),
            prices.machines,
            prices.gpus,
            "no limit to what it costs",
        )


def _baselines(experiment: "Experiment") -> Iterator[Problem]:
    baselines, kind = experiment.baselines, experiment.source.kind
    where = ("baselines", "bqml")
    if baselines.bqml and kind == "image":
        yield Problem(
            where,
            "BigQuery ML learns from tables, and this source is images; what fits them: "
            "`automl: {node_hours: 8}`",
        )
    else:
        for n, name in enumerate(baselines.bqml):
            yield from _bqml(experiment, name, (*where, n))
            if name in baselines.bqml[:n]:
                yield Problem((*where, n), f"'{name}' stands here twice")
    if baselines.automl is not None:
        least, most = (8, 800) if kind == "image" else (1, 72)
        if not least <= baselines.automl.node_hours <= most:
            yield Problem(
                ("baselines", "automl", "node_hours"),
                f"got {baselines.automl.node_hours:g}; AutoML on a source of {kind}s takes "
                f"{least} to {most}",
            )


def _bqml(experiment: "Experiment", name: str, where: tuple) -> Iterator[Problem]:
    if name not in bqml.TYPES:
        yield Problem(where, f"unknown type '{name}'; {did_you_mean(name, bqml.TYPES)}")
        return
    fitting = bqml.fitting(experiment.task)
    if fitting and name not in fitting:
        message = f"{name} does not learn {experiment.task}; what does: {', '.join(fitting)}"
        yield Problem(where, message)
