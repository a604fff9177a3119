"""plugins/ as the plugins folder of an Airflow in which only trellis-contracts is installed."""

import json
import os
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow

PROGRAM = """
import importlib.metadata, json, sys
from airflow import plugins_manager
from airflow.dag_processing.dagbag import BundleDagBag

timetables = sorted(plugins_manager.get_timetables_plugins())
known = plugins_manager.get_plugin_info()
loaded = sorted(name for name in sys.modules if name.startswith("trellis"))
bag = BundleDagBag(dag_folder=sys.argv[1], bundle_path=sys.argv[1], bundle_name="dags-folder")
print(json.dumps({
    "installed": [d.name for d in importlib.metadata.distributions() if "trellis" in d.name],
    "from": sys.modules["trellis"].__file__,
    "loaded": loaded,
    "plugins": [plugin["name"] for plugin in known],
    "apps": [app for plugin in known for app in plugin["fastapi_apps"]],
    "views": [view for plugin in known for view in plugin["external_views"]],
    "plugin_errors": plugins_manager.get_import_errors(),
    "timetables": timetables,
    "dags": sorted(bag.dags),
    "dag_errors": bag.import_errors,
}))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> dict:
    """Return what an Airflow with this plugins folder and the demo's DAG folder finds in them."""
    home = tmp_path_factory.mktemp("airflow")
    # This environment once more, by links, without the editable install of plugins/.
    venv.create(home / "venv", symlinks=True)
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if "trellis" not in package.name or "trellis_contracts" in package.name:
            link = home / "venv/lib/python3.11/site-packages" / package.name
            link.symlink_to(package)
    variables = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        # The first parsing imports Airflow's providers, which takes longer on a busy machine.
        "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "0",
    }
    done = subprocess.run(
        [home / "venv/bin/python", "-c", PROGRAM, ROOT / "dags"],
        cwd=home,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_package_comes_from_the_folder(seen):
    assert seen["installed"] == ["trellis-contracts"]
    assert seen["from"] == str(ROOT / "plugins/trellis/__init__.py")


def test_airflow_registers_the_timetable(seen):
    assert "trellis" in seen["plugins"]  # beside those of Airflow's providers
    assert seen["plugin_errors"] == {}
    assert seen["timetables"] == ["trellis.schedules.CronUntilTimetable"]


def test_airflow_imports_no_more_than_it_needs_of_a_plugin(seen):
    """Every process of Airflow does; the pages are the api-server's alone."""
    modules = ["trellis", "trellis.compatibility", "trellis.plugin", "trellis.schedules"]
    assert seen["loaded"] == [*modules, "trellis_plugin"]


def test_the_pages_are_mounted_and_in_the_navigation(seen):
    assert [app["url_prefix"] for app in seen["apps"]] == ["/trellis"]
    (view,) = seen["views"]
    assert (view["href"], view["destination"]) == ("trellis/", "nav")


def test_the_dags_are_parsed(seen):
    assert seen["dag_errors"] == {}
    assert {"digits", "breast-cancer", "digits-predict", "rollback"} <= set(seen["dags"])
