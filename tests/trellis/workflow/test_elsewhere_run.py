"""Whole runs with a file of predictions: a run's split is written, scikit-learn learns from it
elsewhere, and what it predicts is a contender of the next run; a wrong file stops a run early.
"""

import json
import subprocess

import pandas as pd
import pytest
import yaml

from tests.airflow_side import ROOT, run_dag
from tests.trellis.workflow import succession
from tests.trellis.workflow.succession import read
from tests.trellis.workflow.whole_runs import states
from trellis.__main__ import main
from trellis.workflow.assembly import training
from trellis.workflow.spec.platform import Platform
from trellis.workflow.validation.file import with_changes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROWS = """
    SELECT CONCAT('s', CAST(n AS STRING)) AS sample_id,
      IF(0.4 * SIN(n) + ABS(COS(n * 3)) + 0.15 * SIN(n * 7.1) > 0.64, 'yes', 'no') AS malignant,
      SIN(n) AS radius, COS(n * 3) AS texture
    FROM UNNEST(GENERATE_ARRAY(1, 400)) AS n
"""


@pytest.fixture
def platform(google, group):
    (google.buckets / "elsewhere-runs").mkdir()
    values = group.model_dump(mode="json", exclude_none=True)
    return Platform.model_validate(values | {"bucket": "elsewhere-runs", "retry_seconds": 1})


@pytest.fixture
def split(platform, tmp_path):
    """Writes the split of the newest run of an experiment by the command; returns its folder."""
    (tmp_path / "platform.yaml").write_text(
        yaml.safe_dump(platform.model_dump(mode="json", exclude_none=True))
    )

    def write(experiment, name, *flags):
        where = ["--to", str(tmp_path / name), "--platform", str(tmp_path)]
        assert main(["export-split", experiment, *where, *flags]) == 0
        return tmp_path / name

    return write


def test_what_scikit_learn_has_learned_elsewhere_competes_with_the_score_that_it_gives_itself(
    google, platform, breast_cancer, split
):
    """And then a file without one of the keys stops a run before its search."""
    name = "elsewhere"
    changes = {
        ("source", "bigquery"): None,
        ("source", "partition"): None,
        ("source", "query"): ROWS,
        ("baselines",): None,
        ("tune", "trials"): 1,
        ("tune", "parallel"): 1,
        ("tune", "epochs"): 1,
        ("train", "top"): 1,
        ("train", "epochs"): 1,
        ("deploy",): None,
        ("predict",): None,
    }
    first = with_changes(breast_cancer, changes).model_copy(update={"name": name})
    run = run_dag(training.build(first, platform))
    assert run.state == "success", states(run)

    rows, answers = split(name, "rows"), split(name, "answers", "--test-labels")
    assert "label" not in pd.read_parquet(rows / "test.parquet")
    bucket = google.buckets / platform.bucket
    file = bucket / "lab/predictions.parquet"
    file.parent.mkdir()
    program = ROOT / "tests/trellis/programs/elsewhere.py"
    command = [ROOT / ".venv/trainer/bin/python", program, rows, file, answers / "test.parquet"]
    itself = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    changes[("baselines",)] = {"files": {"lab": "lab/predictions.parquet"}}
    second = with_changes(breast_cancer, changes).model_copy(update={"name": name})
    dag = training.build(second, platform)
    run = run_dag(dag)
    assert run.state == "success", states(run)
    board = read(succession.newest_run(google, platform, name) / "leaderboard/leaderboard.json")
    (ours,) = (c for c in board["contenders"] if c["name"] == "baselines/file-lab")
    assert (ours["kind"], ours["status"]) == ("file", "ok")
    scores = {metric: ours["metrics"][metric]["value"] for metric in itself}
    # The leaderboard has six decimals.
    assert scores == pytest.approx(itself, abs=1e-6)
    assert board["winner"] == "baselines/file-lab"

    predicted = pd.read_parquet(file)
    predicted[1:].to_parquet(file)
    run = run_dag(dag)
    ended = states(run)
    assert run.state == "failed", ended
    assert ended["check_files"] == "failed"
    assert {ended[task] for task in ("tune", "choose", "train", "compare")} == {"upstream_failed"}
    (task,) = (ti for ti in run.get_task_instances() if ti.task_id == "check_files")
    assert task.try_number == 1
    whole = (succession.newest_run(google, platform, name) / "examples/check_files.txt").read_text()
    assert "baselines.files.lab, lab/predictions.parquet: " in whole
    assert f"1 missing: {predicted['key'][0]!r}" in whole
