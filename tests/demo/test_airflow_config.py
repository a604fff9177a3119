"""What Airflow's processes import before they fork."""

import subprocess
import sys

import pytest

from testbed.local_run import ROOT

# A process with the modules of the DAG processor parses the DAG file; prints what that imported.
PARSE = """
import sys
sys.argv = ["airflow", "dag-processor"]
import airflow_local_settings
before = set(sys.modules)
from airflow.dag_processing.dagbag import DagBag
found = DagBag("dags/trellis_dags.py")
print(len(found.dags) > 0, *sorted(n for n in set(sys.modules) - before if n[:7] == "trellis"))
"""


@pytest.mark.slow
def test_a_parsing_of_the_dags_imports_nothing_of_trellis():
    config = ROOT / "demo/airflow_config"
    code = f"import sys; sys.path.insert(0, {str(config)!r})\n{PARSE}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["True"], done.stderr[-2000:]
