"""Classes of the tasks of the examples' DAGs: instances of the provider's operators."""

import re

import pytest
from airflow.dag_processing.dagbag import BundleDagBag
from airflow.sdk.definitions.mappedoperator import MappedOperator

from tests.airflow_side import ROOT

pytestmark = pytest.mark.usefixtures("airflow_database")

GOOGLE = "airflow.providers.google.cloud.operators."
PAGE = (ROOT / "docs/decisions/operators.md").read_text()


@pytest.fixture(scope="module")
def tasks():
    """All tasks of the DAGs of dags/, by (DAG, task)."""
    found = {}
    for file in sorted((ROOT / "dags").glob("trellis_*.py")):
        bag = BundleDagBag(dag_folder=file, bundle_path=ROOT / "dags", bundle_name="dags-folder")
        assert bag.import_errors == {}
        found |= {
            (dag.dag_id, task.task_id): task for dag in bag.dags.values() for task in dag.tasks
        }
    return found


def class_of(task):
    return task.operator_class if isinstance(task, MappedOperator) else type(task)


def provided(kind):
    """The operator of Google's provider that a class derives from."""
    bases = (base for base in kind.__mro__ if base.__module__.startswith(GOOGLE))
    return next((base for base in bases if base.__name__ != "GoogleCloudBaseOperator"), None)


def rows(heading):
    """The cells of a table of the page, below a heading."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_says_which_task_is_which_of_the_providers(tasks):
    table = {}
    for kind, provider, names in rows("Which task is which"):
        table |= {(kind, name): provider for name in re.findall(r"[\w.]+", names)}
    found = {}
    for (_, name), task in tasks.items():
        if provider := provided(class_of(task)):
            name = re.sub(r"_\d+$", "", name)
            name = re.sub(r"^bqml\..*", "bqml", name)
            found[class_of(task).__name__, name] = provider.__name__
    assert table == found


def test_the_dag_file_names_the_modules_that_its_tasks_need(tasks):
    """Airflow's DAG processor then imports them once, not at every parsing."""
    text = (ROOT / "dags/trellis_dags.py").read_text()
    for task in tasks.values():
        if provider := provided(class_of(task)):
            assert f"import {provider.__module__}" in text


def test_all_others_are_on_the_page_with_the_reason(tasks):
    kinds = map(class_of, tasks.values())
    others = {kind.__name__ for kind in kinds if not provided(kind)}
    # The page also has those of DAGs that the examples have not.
    assert others <= {row[0] for row in rows("Which derive from none")}


def test_the_ui_has_the_providers_name_and_links(tasks):
    for task in tasks.values():
        kind = class_of(task)
        if provider := provided(kind):
            assert task.operator_name == provider.__name__
            wanted = {type(link) for link in getattr(provider, "operator_extra_links", ())}
            assert wanted <= {type(link) for link in task.operator_extra_links}
