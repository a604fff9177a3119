"""Code on the page of one run, and its notebook, run as they stand."""

import json
import os
import shutil
import subprocess
import sys

from tests.airflow_side import ROOT
from tests.wording import says

WITHOUT = """
import importlib.metadata, sys
from packaging.requirements import Requirement
def plain(requirement):
    return Requirement(requirement).name.lower().replace("_", "-")
def wanted(requirement):
    marker = Requirement(requirement).marker
    return marker is None or marker.evaluate({"extra": ""})
there, named = set(), sys.argv[2:]
while named:
    name = plain(named.pop())
    if name not in there:
        there.add(name)
        more = importlib.metadata.requires(name) or ()
        named += filter(wanted, more)
modules = importlib.metadata.packages_distributions()
others = {m for m, made_by in modules.items() if not there & set(map(plain, made_by))}
class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top in others - {"trellis", "trellis_contracts"} or top == "tensorflow":
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Refuse())
known = importlib.metadata.version
def version(name):
    if "airflow" in name:
        raise importlib.metadata.PackageNotFoundError(name)
    return known(name)
importlib.metadata.version = version
import trellis
run = trellis.load_run(sys.argv[1])
print(len(run.predictions()))
run.model()
"""


def test_a_run_needs_what_the_page_lists_and_its_model_tensorflow(run):
    """The credentials and the address of Cloud Storage are those of the environment."""
    page = (ROOT / "docs/how-to/results.md").read_text()
    (line,) = (one for one in page.splitlines() if one.startswith("pip install croniter"))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, run, *line.split()[2:]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "6\n", done.stderr
    error = done.stderr.splitlines()[-1]
    assert says(error, "ImportError: training/1", "pip install tensorflow")


def test_the_notebook_runs(run, capsys):
    """Cell by cell, on this run; a last line that is an expression is shown, as a notebook does."""
    notebook = json.loads((ROOT / "docs/how-to/results.ipynb").read_text())
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    address = '"gs://my-bucket/patients/runs/manual__2026-05-01/"'
    assert sum(address in cell for cell in cells) == 1
    names = {}
    for cell in cells:
        exec(compile(cell.replace(address, repr(run)), "results.ipynb", "exec"), names)
    assert names["wrong"].index.tolist() == ["k2"]
    assert "site" in names["by_site"].index.name
    assert all(not cell.get("outputs") for cell in notebook["cells"])


DOCUMENTED = """
import sys
from pathlib import Path
from tests.trellis.results import made_model
made_model.main(Path(sys.argv[1]), Path(sys.argv[2]))
sys.path += sys.argv[3:]  # last: what this environment lacks of the packages that the page lists
import numpy as np
import pandas as pd
exec(compile(sys.stdin.read(), "results.md", "exec"))
found, offline = model.predict(run.rows()), run.predictions().loc[run.rows().index]
assert list(found["predicted"]) == list(offline["predicted"])
for name in ("p.0", "p.1"):
    np.testing.assert_allclose(found[name], offline[name], atol=1e-6)
assert offline["p.1"].std() > 0.01
print(len(found))
"""


def test_the_page_has_code_that_runs_and_predicts_as_offline(run, google, bucket, tmp_path):
    """Run the code on the page of one run, where TensorFlow and a clone are, and the run has a real
    model of a table: offline is the endpoint's answer (tests/trainer/serving/test_frames.py).
    """
    folder = google.buckets / bucket / "digits"
    shutil.rmtree(folder / "datasets/3f2a")
    page = (ROOT / "docs/how-to/results.md").read_text().partition("## In Python")[2]
    blocks = [part.partition("```")[0] for part in page.split("```python\n")[1:]]
    code = "\n".join(block for block in blocks if "load_runs" not in block)
    address = '"gs://my-bucket/digits/runs/manual__2026-05-01/"'
    assert code.count(address) == 1
    assert "model.predict(run.rows())" in code
    done = subprocess.run(
        [
            *(ROOT / ".venv/trainer/bin/python", "-c", DOCUMENTED),
            *(folder / "datasets/3f2a", folder / "runs/r/training/1", *sys.path),
        ],
        input=code.replace(address, repr(run)),
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'plugins'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "20\n", done.stderr
