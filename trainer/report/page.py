"""The whole page: everything that the templates show, gathered and rendered."""

import functools
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import vl_convert
import yaml
from markupsafe import Markup

from trainer.comparison.held_out_split import HeldOutSplit
from trainer.comparison.run_folder import Contender, Run
from trainer.families import FAMILIES
from trainer.metrics.outcome import AnyOutcome, Outcome, of_kind
from trainer.report import moments, numbers, predictions
from trainer.report.contenders import contender_styles
from trainer.report.dataset import dataset_section
from trainer.report.decisions import decision_section
from trainer.report.drift import DriftSection, drift_section
from trainer.report.features import feature_section, importance_section
from trainer.report.forests import (
    MOST_SLICES,
    difference_forest,
    ranking_forest,
    slice_forest,
)
from trainer.report.hyperparameters import hyperparameter_section
from trainer.report.learning import learning_curves
from trainer.report.methods import methods_text
from trainer.report.numbers import MINUS, text
from trainer.report.predictions import Predicted
from trainer.report.speeds import training_speeds
from trainer.report.tuning import tuning_section
from trellis_contracts import folds, layout
from trellis_contracts.charts import VERSION, inlined
from trellis_contracts.dataset import SPLITS
from trellis_contracts.drift import LIMITS
from trellis_contracts.leaderboard import Leaderboard
from trellis_contracts.slices import FEW
from trellis_contracts.training import Training

_TEMPLATES = Path(__file__).parent / "templates"
_NONE: Mapping[str, AnyOutcome] = {}


def render(
    run: Run,
    board: Leaderboard,
    outcomes: Mapping[str, AnyOutcome],
    split: HeldOutSplit,
    uncalibrated: Mapping[str, AnyOutcome] = _NONE,
) -> tuple[str, dict[str, Any]]:
    """report.html as text, and the content of figures.json.

    outcomes: by name of the scored contenders. uncalibrated: before calibration. The page
    needs nothing from outside itself, and its Content-Security-Policy forbids the browser to ask
    for anything.
    """
    winner = next(c for c in run.contenders if c.name == board.winner)
    ranked = contender_styles(run.contenders, [c.name for c in board.contenders if c.rank])
    configuration = run.plan.configuration
    search = {
        configuration["model"]: configuration.get("tune", {}).get("search", {}),
        **{
            name: one.get("search", {})
            for name, one in configuration.get("other_models", {}).items()
        },
    }
    trainings = learning_curves(run.contenders)
    searches = [
        (model, tuning_section(model, tuning), hyperparameter_section(model, tuning, search[model]))
        for model, tuning in run.tunings.items()
    ]
    predicted = predictions.part(Predicted(outcomes, uncalibrated, ranked, split, run))
    figures = {"ranking": ranking_forest(board)}
    if differences := difference_forest(board):
        figures["differences"] = differences
    if board.slices and (drawn := slice_forest(board, board.slices)):
        figures["slices"] = drawn
    decisions = decision_section(board, of_kind(outcomes, Outcome), ranked)
    for section in (
        decisions,
        *predicted.sections.values(),
        *trainings,
        *(tuning for _, tuning, _ in searches),
    ):
        figures |= getattr(section, "figures", {})
    for _, _, hyperparameters in searches:
        if hyperparameters:
            figures |= {**hyperparameters.parallel, **hyperparameters.slices}
    page = (
        _environment()
        .get_template("page.html.j2")
        .render(
            board=board,
            run=run,
            dataset=run.dataset,
            card=dataset_section(run, split),
            splits=SPLITS,
            figures=figures,
            draw=lambda name: _drawn(figures[name]),
            trainings=trainings,
            speeds=training_speeds(run.contenders),
            several=bool(configuration.get("other_models")),
            searched={
                name
                for tuning in run.tunings.values()
                for trial in tuning.trials
                for name in trial.parameters
            },
            searches=searches,
            **predicted.sections,
            predicted=predicted,
            methods=methods_text(board),
            decisions=decisions,
            features=feature_section(run.dataset),
            importances=importance_section(run.contenders),
            previous=run.plan.dataset.previous,
            drift=_drift(run),
            configuration=_yaml(configuration),
            commands=[
                (contender.name, _command(contender, contender.training, run))
                for contender in run.contenders
                if contender.name in {c.name for c in (board.first, board.selected) if c}
                and contender.training
            ],
            options=_yaml(winner.baseline.options) if winner.baseline else None,
            thresholds=[
                (name, outcome.threshold.text(split.classes))
                for name, outcome in of_kind(outcomes, Outcome).items()
                if outcome.threshold
            ],
            tie=board.metrics[FAMILIES[split.family].loss].title,
            selected=board.selected,
            most_slices=MOST_SLICES,
            few=FEW,
        )
    )
    return page, {"schema": 1, "figures": figures}


def _drawn(figure: Mapping[str, Any]) -> Markup:
    """A figure as an element of the page. Vega escapes the texts, `inlined` the description."""
    svg = vl_convert.vegalite_to_svg(dict(figure), vl_version=VERSION, allowed_base_urls=[])
    return Markup(inlined(svg, figure["description"]))


def _drift(run: Run) -> DriftSection | None:
    """Since the previous dataset, by the limits of the experiment's own file."""
    if run.previous is None:
        return None
    limits = run.plan.configuration["source"].get("changes", LIMITS)
    return drift_section(run.previous, run.dataset, limits)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "score": numbers.score,
        "interval": numbers.interval,
        "breakable": _breakable,
        "setting": _setting,
        "typeset": lambda sentence: re.sub(r"(?<!\w)-(?=\d)", MINUS, sentence),
        "figure": numbers.figure,
        "usd": lambda cost: f"{cost:,.2f}" if cost >= 0.01 or cost == 0 else "< 0.01",
        "moment": moments.moment,
        "sentence": lambda title: title[:1].upper() + title[1:],
        "value": text,
        "percent": lambda share: f"{share:.1%}",
        "thousands": lambda number: f"{number:,}",
        "duration": moments.duration,
    }
    return environment


def _setting(value: object) -> str:
    """A setting for a reader: of several its names and values."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {text(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(text, value))
    return text(value)


def _breakable(name: str) -> Markup:
    """A name that a browser may break after its separators."""
    return Markup("<wbr>").join(re.findall(r"[^/_-]*[/_-]*", name))


def _yaml(document: Mapping) -> str:
    """Format the value for an experiment file."""
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def _argument(value: object) -> str:
    """A flag's value such that it is read back as it was: all digits of a number."""
    return str(value).lower() if isinstance(value, bool) else shlex.quote(str(value))


def _command(contender: Contender, training: Training, run: Run) -> str:
    """The command that trains it once more, by hand and in one process."""
    if contender.name == layout.ENSEMBLE:
        return f"python -m trainer.ensemble --run {_argument(run.uri)}"
    own = run.plan.model_files.get(training.model)
    flags = {
        "dataset": folds.dataset(run.dataset_uri, folds.EVERYTHING)
        if run.everything
        else run.dataset_uri,
        "model": own["uri"] if own else training.model,
        **({"model_sha256": own["sha256"]} if own else {}),
        "task": training.task,
        "metric": training.metric,
        "epochs": run.plan.configuration["train"]["epochs"],
        "seed": training.seed,
        **contender.parameters,
        "output": f"{contender.name}/",
    }
    pairs = [f"--{name} {_argument(value)}" for name, value in flags.items()]
    return " \\\n  ".join(["python -m trainer.task", *pairs])
