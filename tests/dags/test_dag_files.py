"""The DAG files as the DAG processor reads them, with good and wrong experiments."""

import importlib
import os
import shutil
import subprocess
import sys

import pytest

from tests.airflow_side import ROOT
from tests.wording import says
from trellis.workflow.validation.file import NAME, OTHER_DAGS

pytestmark = pytest.mark.usefixtures("airflow_database")


SHIPPED = list((ROOT / "dags/experiments").glob("*.yaml"))
# One keeps requests, which `watch` compares.
FEW = [ROOT / f"dags/experiments/{n}.yaml" for n in ("digits", "gradient-boosting", "patients")]


def dags_of(files):
    """The names of the DAGs that a group with these files of experiments has."""
    predictions = {f"{file.stem}-predict" for file in files if "\npredict:" in file.read_text()}
    reserves = {f"{file.stem}-reserve" for file in files if "\ndeploy:" in file.read_text()}
    experiments = {file.stem for file in files}
    return {*experiments, *predictions, *reserves, "rollback", "undeploy_previous", "watch"}


@pytest.fixture
def folder(tmp_path):
    """A copy of dags/ with few experiments, to put others into."""
    left_out = (file.name for file in SHIPPED if file not in FEW)
    ignored = shutil.ignore_patterns("__pycache__", *left_out)
    shutil.copytree(ROOT / "dags", tmp_path / "dags", ignore=ignored)
    # platform.yaml names it.
    (tmp_path / "demo").mkdir()
    shutil.copy(ROOT / "demo/images.yaml", tmp_path / "demo")
    return tmp_path / "dags"


@pytest.fixture
def every_file(folder):
    """All experiments are in the folder."""
    for file in SHIPPED:
        shutil.copy(file, folder / "experiments")


@pytest.fixture
def parse(folder):
    """Reads a DAG file of the folder: the DAGs, and the import errors."""
    from airflow.dag_processing.dagbag import BundleDagBag
    from airflow.utils.file import iter_airflow_imports

    def parse(name):
        # As the DAG processor does before it forks: the time for a file is not that for imports.
        for module in iter_airflow_imports(str(folder / name)):
            importlib.import_module(module)
        bag = BundleDagBag(dag_folder=folder / name, bundle_path=folder, bundle_name="dags-folder")
        return bag.dags, bag.import_errors

    return parse


@pytest.mark.usefixtures("every_file")
def test_every_experiment_is_a_dag(parse, folder):
    text = (folder / "experiments/digits.yaml").read_text()
    (folder / "experiments/again.yaml").write_text(text)
    dags, errors = parse("trellis_dags.py")
    assert set(dags) == {"again", "again-predict", "again-reserve", *dags_of(SHIPPED)}
    assert errors == {}


@pytest.mark.usefixtures("every_file")
def test_the_values_in_the_trigger_form_are_valid(parse):
    """Airflow does not look at them: the DAGs are built without its check, which takes long."""
    dags, _ = parse("trellis_dags.py")
    # A rollback has to be told of which experiment.
    for dag in (dags[name] for name in dags_of(SHIPPED) - {"rollback"}):
        assert dag.params.validate() == dag.params.dump()


@pytest.mark.one_airflow
def test_a_wrong_experiment_harms_no_other(parse, folder):
    (folder / "experiments/wrong.yaml").write_text("owner: 1\n")
    dags, errors = parse("trellis_dags.py")
    assert set(dags) == dags_of(FEW)
    assert errors == {}


def test_wrong_experiments_are_import_errors_with_file_line_and_field(parse, folder):
    text = (folder / "experiments/digits.yaml").read_text()
    (folder / "experiments/wrong.yaml").write_text(text.replace("trials: 6", "trails: 6"))
    (folder / "experiments/broken.yaml").write_bytes(b"\xff")
    dags, errors = parse("trellis_errors.py")
    assert dags == {}
    (report,) = errors.values()
    assert "experiments/wrong.yaml: 2 problems" in report
    assert says(report, "tune.trails", "'trials'")
    assert "experiments/broken.yaml: 1 problem" in report


@pytest.mark.one_airflow
def test_a_file_above_its_budget_is_reported_and_keeps_its_dag(parse, folder):
    file = folder / "experiments/digits.yaml"
    file.write_text(file.read_text().replace("budget: 3 USD", "budget: 0.01 USD"))
    (report,) = parse("trellis_errors.py")[1].values()
    assert says(report, "experiments/digits.yaml: 1 problem", ", budget: ", " 0.01 USD")
    dags, errors = parse("trellis_dags.py")
    assert "digits" in dags
    assert errors == {}


@pytest.mark.one_airflow
def test_the_platforms_profile_decides_which_form_of_a_file_is_read(parse, folder):
    file = folder / "experiments/digits.yaml"
    file.write_text(f"{file.read_text()}\nlocal: {{train: {{epochs: 0}}}}\n")
    assert set(parse("trellis_dags.py")[0]) == dags_of(FEW) - {
        "digits",
        "digits-predict",
        "digits-reserve",
    }
    (report,) = parse("trellis_errors.py")[1].values()
    assert says(report, "digits.yaml", "`local`")
    group = folder / "platform.yaml"
    group.write_text(group.read_text().replace("profile: local\n", ""))
    assert set(parse("trellis_dags.py")[0]) == dags_of(FEW)
    assert parse("trellis_errors.py") == ({}, {})


@pytest.mark.one_airflow
@pytest.mark.usefixtures("every_file")
def test_good_experiments_are_no_import_error(parse):
    assert parse("trellis_errors.py") == ({}, {})


@pytest.mark.one_airflow
def test_a_file_with_another_ending_is_not_left_out_silently(parse, folder):
    (folder / "experiments/digits.yaml").rename(folder / "experiments/digits.yml")
    (report,) = parse("trellis_errors.py")[1].values()
    assert "experiment files end with .yaml" in report


@pytest.mark.one_airflow
def test_an_experiment_that_cannot_be_built_harms_no_other(parse, folder, monkeypatch):
    """Whatever no rule has foreseen: here, its last stage cannot be made."""
    from trellis.workflow.stages import result

    task = result.task

    def broken(experiment, platform, stages):
        if experiment.name == "digits":
            raise RecursionError("too deep")
        return task(experiment, platform, stages)

    monkeypatch.setattr(result, "task", broken)
    dags, errors = parse("trellis_dags.py")
    assert (set(dags), errors) == (dags_of(FEW) - {"digits"}, {})
    (report,) = parse("trellis_errors.py")[1].values()
    assert "experiments/digits.yaml: 1 problem" in report
    assert "RecursionError: too deep" in report


@pytest.mark.one_airflow
def test_a_dag_of_all_experiments_that_cannot_be_built_harms_no_other(parse, monkeypatch):
    from trellis.workflow.assembly import rollback

    monkeypatch.setattr(rollback, "page", lambda *_: 1 / 0)
    dags, errors = parse("trellis_dags.py")
    assert (set(dags), errors) == (dags_of(FEW) - {"rollback"}, {})
    (report,) = parse("trellis_errors.py")[1].values()
    assert "rollback" in report
    assert "ZeroDivisionError" in report


@pytest.mark.one_airflow
def test_a_file_whose_name_is_no_text_is_reported(parse, folder):
    name = os.fsdecode(b"m\xfc.yaml")
    (folder / "experiments" / name).write_text("owner: lab\n")
    dags, errors = parse("trellis_dags.py")
    assert (set(dags), errors) == (dags_of(FEW), {})
    (report,) = parse("trellis_errors.py")[1].values()
    assert "m\\udcfc.yaml" in report
    report.encode()


@pytest.mark.one_airflow
def test_what_editors_leave_is_no_experiment(parse, folder):
    for name in (".#digits.yaml", "._digits.yaml", "digits.yaml~"):
        (folder / "experiments" / name).write_bytes(b"\0")
    assert parse("trellis_errors.py") == ({}, {})


def test_a_wrong_platform_is_everyones_error(parse, folder):
    (folder / "platform.yaml").write_text("project: local-gcp\n")
    dags, errors = parse("trellis_dags.py")
    assert dags == {}
    assert "platform.yaml" in next(iter(errors.values()))


def test_a_tasks_process_makes_only_its_own_dag(parse, folder, monkeypatch):
    for number in range(3):
        text = (folder / "experiments/digits.yaml").read_text()
        (folder / f"experiments/other-{number}.yaml").write_text(text)
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "other-1")
    assert set(parse("trellis_dags.py")[0]) == {"other-1"}


@pytest.mark.parametrize(
    "wanted", ["lab-digits", "lab-digits-predict", "lab-digits-reserve", "lab-rollback", None]
)
def test_every_dag_has_the_groups_prefix(parse, folder, monkeypatch, wanted):
    file = folder / "platform.yaml"
    file.write_text(f"dag_prefix: lab-\n{file.read_text()}")
    if wanted is not None:
        monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", wanted)
    expected = {wanted} if wanted else {f"lab-{name}" for name in dags_of(FEW)}
    assert set(parse("trellis_dags.py")[0]) == expected


@pytest.mark.one_airflow
def test_what_waits_to_be_undeployed_outlives_a_change_of_the_file(parse, folder):
    for file in (folder / "experiments").glob("*.yaml"):
        assert "keep_previous" not in file.read_text()
    assert "undeploy_previous" in parse("trellis_dags.py")[0]


@pytest.mark.one_airflow
@pytest.mark.parametrize(
    ("name", "asked"), [("digest", "{schedule: '0 7 * * 1'}"), ("idle_endpoints", "{days: 7}")]
)
def test_some_dags_are_only_for_groups_that_ask(parse, folder, name, asked):
    assert name not in parse("trellis_dags.py")[0]
    file = folder / "platform.yaml"
    file.write_text(f"dag_prefix: lab-\n{name}: {asked}\n{file.read_text()}")
    dags, errors = parse("trellis_dags.py")
    assert not NAME.fullmatch(name) or name in OTHER_DAGS
    assert errors == {}
    assert dags[f"lab-{name}"].schedule == {"digest": "0 7 * * 1"}.get(name, "@daily")


@pytest.mark.one_airflow
def test_what_experiments_wait_for_is_watched(parse, folder):
    assert set(parse("trellis_dags.py")[0]["watch"].task_ids) == {"gradient-boosting.requests"}
    for name, schedule in (("digits", "new data"), ("patients", "new champion of digits")):
        file = folder / f"experiments/{name}.yaml"
        file.write_text(file.read_text().replace("schedule: manual", f"schedule: {schedule}"))
    dags, errors = parse("trellis_dags.py")
    assert errors == {}
    assert "watch" in OTHER_DAGS
    assert set(dags["watch"].task_ids) == {
        "digits.source",
        "digits.champion",
        "gradient-boosting.requests",
    }
    assert parse("trellis_errors.py") == ({}, {})


@pytest.mark.one_airflow
def test_who_waits_for_a_missing_experiment_or_itself_is_reported(parse, folder):
    for name, other in (("digits", "digit"), ("patients", "patients")):
        file = folder / f"experiments/{name}.yaml"
        text = file.read_text().replace("schedule: manual", f"schedule: new dataset of {other}")
        file.write_text(text)
    (report,) = parse("trellis_errors.py")[1].values()
    assert says(report, "digits.yaml", "schedule: ", "'digit'", "Known: ")
    assert says(report, "patients.yaml", "schedule: ", "its own dataset")


@pytest.mark.one_airflow
def test_who_waits_for_the_champion_of_what_is_never_deployed_is_reported(parse, folder):
    shutil.copy(ROOT / "dags/experiments/diabetes.yaml", folder / "experiments")
    file = folder / "experiments/patients.yaml"
    waiting = "schedule: new champion of diabetes"
    file.write_text(file.read_text().replace("schedule: manual", waiting))
    (report,) = parse("trellis_errors.py")[1].values()
    assert says(report, "patients.yaml", "schedule: ", "'diabetes' has no section deploy")


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted((ROOT / "dags").glob("trellis_*.py")), ids=lambda f: f.stem)
def test_the_dag_processor_imports_googles_libraries_once(file):
    """Modules of Airflow that a DAG file names are imported before the DAG processor forks.

    Google's libraries must all come with them, or every parsing of the file pays for the rest.
    """
    program = f"""
import importlib, runpy, sys
from airflow.utils.file import iter_airflow_imports
for name in iter_airflow_imports({str(file)!r}):
    importlib.import_module(name)
before = set(sys.modules)
runpy.run_path({str(file)!r})
print(sorted(name for name in set(sys.modules) - before if name.startswith("google.cloud.")))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr[-2000:]
