"""Sentences about a run's models and how they were trained, in the past tense, as Markdown. Each
function takes its facts.
"""

from collections.abc import Mapping
from typing import Any

from trellis.results.writeup.facts import Facts
from trellis.results.writeup.markdown import code, count, listed, table
from trellis_contracts.models import MODELS


def models(f: Facts) -> str:
    """What competed."""
    parts = []
    for model, how in f.models.items():
        name = f.name_of(model)
        known = MODELS.get(name)
        what = f": {known.description}" if known else ", a program of the group's own"
        parts.append(f"{code(name)}{_with(how.get('hyperparameters', {}))}{what}.")
    baselines = f.settings.get("baselines", {})
    options = baselines.get("options", {})
    others = [
        f"BigQuery ML's {code(name)}{_with(options.get(name, {}))}"
        for name in baselines.get("bqml", ())
    ]
    if automl := baselines.get("automl"):
        others.append(f"AutoML with {automl['node_hours']:g} node hours")
    others += [f"predictions made elsewhere ({code(name)})" for name in baselines.get("files", {})]
    if others:
        parts.append(f"Baselines, trained on the same split: {listed(others)}.")
    return " ".join(parts)


def _with(values: Mapping[str, Any]) -> str:
    return f" ({', '.join(f'{code(k)} = {v}' for k, v in values.items())})" if values else ""


_ALGORITHMS = {"bayesian": "Bayesian optimization", "random": "random", "grid": "grid"}


def search(f: Facts) -> str:
    """How hyperparameters were chosen."""
    tune = f.settings.get("tune")
    if not tune:
        return "Hyperparameters were not searched: the model was trained with fixed ones."
    goal = "maximize" if "maximize" in tune else "minimize"
    metric = f.board.metrics[tune[goal]].title if tune[goal] in f.board.metrics else tune[goal]
    of_each = " of each model" if len(f.trials) > 1 else ""
    parts = [
        f"Hyperparameters were searched by Vertex AI in {tune['trials']} trials{of_each} "
        f"({_ALGORITHMS[tune['algorithm']]}, {tune['parallel']} at a time) of "
        f"{count(tune['epochs'], 'epoch')} each, to {goal} {metric} on the validation split."
    ]
    for model, found in f.trials.items():
        space = f.models[model].get("search", {})
        ended = sum(trial.final is not None for trial in found.trials)
        parts.append(
            f"{code(f.name_of(model))}: {listed(_range(k, v) for k, v in space.items())}; "
            f"{ended} of {len(found.trials)} trials came to a result."
        )
    if tune.get("stop_early"):
        parts.append("A trial whose metric was worse than the others' median was stopped.")
    return " ".join(parts)


def _range(name: str, span: Mapping[str, Any]) -> str:
    if "choose" in span:
        return f"{code(name)} of {', '.join(map(str, span['choose']))}"
    scale = ", logarithmic" if span.get("scale") == "log" else ""
    return f"{code(name)} from {span['from']} to {span['to']}{scale}"


def training(f: Facts) -> str:
    """How the contenders were trained, and which of them was selected."""
    train = f.settings["train"]
    top = f"The best {train['top']} trials" if train["top"] > 1 else "The best trial"
    several = len(f.models) > 1
    first = (
        f"{top}{' of each model' if several else ''}" if f.settings.get("tune") else "Each model"
    )
    was = "were" if train["top"] > 1 and f.settings.get("tune") else "was"
    text = (
        f"{first} {was} trained in full, for up to {count(train['epochs'], 'epoch')}; the weights "
        "of the epoch with the best metric on the validation split were kept."
    )
    chosen = f.selected
    if chosen is None or chosen.training is None:
        return f"{text} No training could be scored."
    facts = chosen.training
    began = ", which began with the weights of the model that was served" if facts.start else ""
    size = f", {facts.parameters:,} trainable parameters" if facts.parameters else ""
    chosen_one = (
        f"{text} The validation split selected {code(chosen.name)} among "
        f"{count(len(f.trainings), 'training')}: {code(facts.model)}{size}, epoch "
        f"{facts.best_epoch} of {facts.epochs_run}, seed {facts.seed}{began}."
    )
    if (folds := f.board.folds) is None:
        return f"{chosen_one} The test split took no part in that choice."
    rows = folds.deployed_examples
    return (
        f"{chosen_one} It was trained on {rows['train']:,} examples, with {rows['validation']:,} "
        "for validation. Search, choice and training were repeated in each fold without its "
        "examples (nested cross-validation): the scores are those of this "
        "procedure, not of that model."
    )


def hyperparameters(f: Facts) -> str:
    """Table of the selected training's hyperparameters, and who set each."""
    chosen = f.selected
    if chosen is None or chosen.training is None:
        return "No training was selected."
    name = chosen.training.model
    how = next((h for model, h in f.models.items() if f.name_of(model) == name), {})
    searched, fixed = how.get("search", {}), how.get("hyperparameters", {})
    rows = [
        (
            code(key),
            f"{value:.6g}" if isinstance(value, float) else value,
            "searched" if key in searched else "fixed" if key in fixed else "default",
        )
        for key, value in chosen.hyperparameters.items()
    ]
    return table(["hyperparameter", "value", "set by"], rows)


def repeats(f: Facts) -> str:
    """How much the score depends on the seed."""
    found = f.board.repeats
    spread = found.metrics.get(f.board.primary_metric) if found else None
    if found is None or spread is None or spread.sd is None:
        return "The selected training was not repeated with other seeds."
    return (
        f"Over {len(found.seeds)} seeds ({', '.join(map(str, found.seeds))}), {code(found.of)} had "
        f"a mean {f.board.primary.title} of {spread.mean:.4g}, standard deviation {spread.sd:.2g}."
    )


def software(f: Facts) -> str:
    """Versions and digests of the programs."""
    known = f.board.provenance
    versions = listed(f"{name} {version}" for name, version in known.versions.items())
    images = listed(f"{code(name)} ({digest})" for name, digest in f.plan.images.items())
    ran = f" in the images {images}" if f.plan.images else ""
    return (
        f"The experiment was run by Trellis {f.version}{ran}, with {versions}; SHA-256 of the "
        f"trainer's code {code(known.code_sha256)}. The experiment's seed was "
        f"{f.settings.get('seed', 0)}."
    )


def hardware(f: Facts) -> str:
    """Machines and their hours."""
    parts = []
    tune = f.settings.get("tune")
    if tune and (hours := f.trial_hours):
        in_folds = sum(len(one.trials) for one in f.fold_trials)
        every = in_folds + sum(len(one.trials) for one in f.trials.values())
        note = f" ({in_folds} of them in folds)" if in_folds else ""
        on = _machines(tune["machines"])
        parts.append(f"{count(every, 'trial')}{note} {hours:.2g} hours on {on}")
    machines = f.settings["train"]["machines"]
    workers = machines.get("workers", 1)
    if f.seconds:
        some = {"in folds": "folds/", "with other seeds": "/seeds/"}
        counts = {what: sum(mark in name for name in f.seconds) for what, mark in some.items()}
        of_them = listed(f"{n} {what}" for what, n in counts.items() if n)
        note = f" ({of_them})" if any(counts.values()) else ""
        each = f", {workers} workers each" if workers > 1 else ""
        total = sum(f.seconds.values()) * workers / 3600
        parts.append(
            f"{count(len(f.seconds), 'full training')}{note} {total:.2g} machine hours on "
            f"{_machines(machines)}{each}"
        )
    nodes = [
        one.baseline.options["trained_milli_node_hours"]
        for one in f.ranked
        if one.baseline and "trained_milli_node_hours" in one.baseline.options
    ]
    if nodes:
        parts.append(f"AutoML {sum(nodes) / 1000:.2g} node hours")
    if not parts:
        text = "Its computing time is not known."
    else:
        # What a training has measured of itself; its machines also start, load and save.
        left_out = " Of trainings epochs count: preparation and lost attempts are left out, as are "
        left_out += "export, comparison and serving."
        text = f"Computing time: {listed(parts)}.{left_out}"
    spent = f.record.spent_usd if f.record else None
    return f"{text} The run cost about {spent:.2f} USD at list prices." if spent else text


def _machines(machines: Mapping[str, Any]) -> str:
    gpu = f" with {machines.get('gpus', 1)} {machines['gpu']}" if machines.get("gpu") else ""
    return f"{machines['type']}{gpu}"
