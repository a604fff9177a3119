"""The README shows an experiment file of the demo as it is."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_is_an_experiment_that_the_demo_runs():
    (example,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert example == (ROOT / "dags/experiments/breast-cancer.yaml").read_text()
