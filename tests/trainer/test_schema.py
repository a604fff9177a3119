"""The document that the Airflow side reads instead of this package."""

import subprocess
import sys
from pathlib import Path

from jsonschema import Draft202012Validator

from trainer import hyperparameters, schema
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
        assert set(task["metrics"]) <= set(schema.METRICS)
