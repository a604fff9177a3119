"""The whole page: everything that the templates show, gathered and rendered."""

import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import jinja2
import yaml

from trainer.comparison.outcome import Outcome
from trainer.comparison.run import Contender, Run
from trainer.comparison.test_split import TestSplit
from trainer.dataset_description import SPLITS
from trainer.report import charts, intervals
from trainer.report.champion import champion_section
from trainer.report.hyperparameters import hyperparameter_section
from trainer.report.learning import learning_curves
from trainer.report.scales import text
from trainer.report.tuning import tuning_section

_TEMPLATES = Path(__file__).parent / "templates"


def render(run: Run, board: Mapping, outcome: Outcome, split: TestSplit) -> str:
    """report.html as text.

    board: the content of leaderboard.json. outcome: the champion's. The page needs nothing from
    outside itself, and its Content-Security-Policy forbids the browser to ask for anything.
    """
    champion = next(c for c in run.contenders if c.name == board["champion"])
    configuration = run.plan.get("configuration") or {}
    tuning = run.tuning if run.tuning and run.tuning.trials else None
    search = (configuration.get("tune") or {}).get("search") or {}
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            board=board,
            run=run,
            dataset=run.dataset,
            splits=SPLITS,
            ranking=intervals.ranking_forest(board, board["primary_metric"]),
            differences=intervals.difference_forest(board, board["primary_metric"]),
            trainings=learning_curves(run.contenders),
            searched={name for trial in tuning.trials for name in trial.parameters}
            if tuning
            else set(),
            tuning=tuning_section(tuning) if tuning else None,
            hyperparameters=hyperparameter_section(tuning, search) if tuning else None,
            champion=champion_section(outcome, split, run.dataset.features),
            configuration=_yaml(configuration),
            command=_command(champion, run),
        )
    )


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "score": charts.score,
        "interval": intervals.interval,
        "moment": _moment,
        "sentence": lambda title: title[:1].upper() + title[1:],
        "value": text,
        "percent": lambda share: f"{share:.1%}",
        "thousands": lambda number: f"{number:,}",
        "duration": _duration,
    }
    return environment


def _yaml(document: Mapping) -> str:
    """As a researcher writes it in an experiment file."""
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def _moment(iso: str) -> str:
    """2026-01-01 07:30:00 UTC for a reader; only the date if it is midnight UTC."""
    try:
        moment = datetime.fromisoformat(iso).astimezone(UTC)
    except (TypeError, ValueError):
        return str(iso)
    if moment.time() == datetime.min.time():
        return moment.date().isoformat()
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{seconds:.1f} s"


def _argument(value: object) -> str:
    """A flag's value such that it is read back as it was: all digits of a number."""
    return str(value).lower() if isinstance(value, bool) else shlex.quote(str(value))


def _command(champion: Contender, run: Run) -> str:
    """The command that trains the champion once more, by hand and in one process."""
    training = champion.training
    configured = (run.plan.get("configuration") or {}).get("train") or {}
    flags = {
        "dataset": run.dataset_uri,
        "model": training.get("model"),
        "task": training.get("task"),
        "metric": training.get("metric"),
        "epochs": configured.get("epochs", training.get("epochs_run")),
        "seed": training.get("seed"),
        **champion.parameters,
        "output": "champion/",
    }
    pairs = [f"--{name} {_argument(value)}" for name, value in flags.items() if value is not None]
    return " \\\n  ".join(["python -m trainer.task", *pairs])
