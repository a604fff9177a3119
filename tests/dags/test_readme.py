"""The README shows the demo's experiment file as it is."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_is_the_experiment_that_the_demo_runs():
    (example,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert example == (ROOT / "dags/experiments/digits.yaml").read_text()
