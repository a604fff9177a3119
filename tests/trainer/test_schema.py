"""The document that the Airflow side reads instead of this package."""

import subprocess
import sys
from pathlib import Path

from jsonschema import Draft202012Validator

from trainer import hyperparameters, schema
from trainer.comparison.scoreboard import metrics_for
from trainer.dataset_description import CLASSIFICATION, FAMILIES
from trainer.hyperparameters import Hyperparameters

ROOT = Path(__file__).parents[2]
COPY = ROOT / "plugins/trellis/workflow/spec/trainer_schema.json"


def test_the_airflow_side_has_the_schema_that_the_trainer_prints():
    printed = subprocess.run(
        [sys.executable, "-m", "trainer.task", "--schema"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout
    assert printed == COPY.read_text(), (
        f"run: python -m trainer.task --schema > {COPY.relative_to(ROOT)}"
    )


def test_every_hyperparameter_is_valid_json_schema_and_its_default_fits():
    for name, words in schema.document()["hyperparameters"].items():
        Draft202012Validator.check_schema(words)
        assert Draft202012Validator(words).is_valid(getattr(Hyperparameters(), name))


def test_models_name_only_hyperparameters_that_exist():
    for model in schema.document()["models"].values():
        assert set(model["hyperparameters"]) <= set(hyperparameters.schema())


def test_tasks_name_only_metrics_that_exist():
    for task in schema.document()["tasks"].values():
        assert {*task["metrics"], *task["bounds"]} <= set(schema.METRICS)


def test_all_that_the_leaderboard_computes_can_be_tuned_for_or_bounded():
    """Under its own name, but for the log loss, which is the loss of all classifications."""
    for name, task in schema.TASKS.items():
        of_leaderboard = metrics_for(name if name in FAMILIES else CLASSIFICATION)
        offered = {*task.metrics, *task.bounds} - {"loss"}
        assert offered | {"log_loss"} == {*of_leaderboard, "log_loss"}
        for metric in offered:
            assert schema.METRICS[metric].goal == of_leaderboard[metric].goal
