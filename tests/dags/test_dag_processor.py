"""Airflow's own DAG processor beside broken files: whose DAGs are read again, and what is reported.

The processor runs as the process that a deployment has, over a folder with two groups and a DAG of
somebody else's, and writes to Airflow's database, from which the scheduler and the UI read.
"""

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from tests.airflow_side import ROOT
from tests.dags.test_any_file import MODEL, OWN

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.usefixtures("airflow_database"),
]

OTHERS = """\
from airflow.sdk import DAG
from airflow.providers.standard.operators.empty import EmptyOperator

with DAG("somebody_elses", schedule=None):
    EmptyOperator(task_id="nothing")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A DAGs folder: groups `here` and `there` with two experiments each, and another DAG."""
    folder = tmp_path_factory.mktemp("deployed")
    (folder / "others.py").write_text(OTHERS)
    for group in ("here", "there"):
        (folder / group / "experiments").mkdir(parents=True)
        for name in ("trellis_dags.py", "trellis_errors.py"):
            shutil.copy(ROOT / "dags" / name, folder / group / name)
        platform = (ROOT / "dags/platform.yaml").read_text()
        (folder / group / "platform.yaml").write_text(f"{platform}\ndag_prefix: {group}_\n")
        shutil.copy(ROOT / "dags/experiments/digits.yaml", folder / group / "experiments/good.yaml")
        (folder / group / "experiments/own.yaml").write_text(OWN)
        (folder / group / "experiments/mine.py").write_text(MODEL)
    return folder


@pytest.fixture
def changed(folder):
    """Writes text into a file of the folder until the test ends."""
    before = {}

    def change(name, text):
        file = folder / name
        before.setdefault(file, file.read_text() if file.exists() else None)
        file.write_text(text)
        return file

    yield change
    for file, text in before.items():
        file.unlink() if text is None else file.write_text(text)


@pytest.fixture
def processed(folder):
    """Lets the DAG processor read every file once: (DAGs that it has read, errors by file)."""
    from airflow.models import DagModel
    from airflow.models.errors import ParseImportError
    from airflow.utils.session import create_session

    def process():
        start = datetime.now(UTC)
        subprocess.run(
            [sys.executable, "-m", "airflow", "dag-processor", "--num-runs", "1"],
            env={
                **os.environ,
                "AIRFLOW__CORE__DAGS_FOLDER": str(folder),
                "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "0",
                "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": "600",
            },
            check=True,
            capture_output=True,
        )
        with create_session() as session:
            read = {
                dag.dag_id
                for dag in session.query(DagModel).filter(DagModel.last_parsed_time > start)
                if not dag.is_stale
            }
            errors = {each.filename: each.stacktrace for each in session.query(ParseImportError)}
        return read, errors

    return process


def dags_of(group, *experiments):
    """Ids of the DAGs of these experiments, and of those that serve all of a group's."""
    own = (name for one in experiments for name in (one, f"{one}-predict", f"{one}-reserve"))
    shared = ("rollback", "undeploy_previous") if experiments else ()
    return {f"{group}_{name}" for name in (*own, *shared)}


THERE = {*dags_of("there", "good", "own"), "somebody_elses"}


def test_good_files(processed):
    assert processed() == ({*dags_of("here", "good", "own"), *THERE}, {})


@pytest.mark.parametrize(
    ("name", "old", "new", "line", "left"),
    [
        ("platform.yaml", "bucket: trellis-local", "bucket: gs://x", "bucket", ()),
        ("platform.yaml", "location: US", "location: EU", "location", ()),
        ("platform.yaml", "region: us-central1", "\x0bregion: us-central1", "region", ()),
        ("experiments/good.yaml", "owner: trellis", "owner: !env USER", "owner", ("own",)),
        ("experiments/mine.py", "def build(", "def build((", "def build", ("good",)),
    ],
)
def test_a_broken_file_costs_nobody_else(processed, changed, folder, name, old, new, line, left):
    text = (folder / "here" / name).read_text()
    assert old in text
    file = changed(f"here/{name}", text.replace(old, new))
    read, errors = processed()
    assert read == {*THERE, *dags_of("here", *left)}
    broken = "trellis_errors.py" if left else "trellis_dags.py"
    assert {os.path.basename(where) for where in errors} <= {"trellis_errors.py", broken}
    said = next(text for where, text in errors.items() if where.endswith(broken))
    number = next(
        n for n, each in enumerate(file.read_text().split("\n"), 1) if each.strip().startswith(line)
    )
    assert file.name in said
    assert f"line {number}" in said
