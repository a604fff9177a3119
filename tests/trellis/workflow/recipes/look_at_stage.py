"""Prints what the digits DAG and `trellis check` say of the stage audit, as JSON. Runs in a copy of
the tree.
"""

import contextlib
import io
import json
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

from airflow.dag_processing.dagbag import BundleDagBag

from trellis.__main__ import main as trellis
from trellis.doctor import demand
from trellis.workflow.assembly import alerts, chain
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.contracts.table import Column, resolve
from trellis.workflow.pricing import cost
from trellis.workflow.spec import platform
from trellis.workflow.stages import costs, dry_run
from trellis.workflow.validation.file import load
from trellis_contracts import documents
from trellis_contracts.plan import PlannedDataset


def main(dags: Path) -> None:
    group = platform.load(dags)
    digits = load(dags / "experiments/digits.yaml", profile=group.profile)
    file = dags / "trellis_dags.py"
    bag = BundleDagBag(dag_folder=file, bundle_path=dags, bundle_name="dags-folder")
    assert not bag.import_errors, bag.import_errors
    dag = bag.dags["digits"]
    limit = chain.at_most(digits, group)
    target = SimpleNamespace(experiments={Path("digits.yaml"): digits}, platform=group)
    quotas = demand.vertex(target)
    columns = [Column(name, "STRING") for name in ("key", "image", "label", "rejected")]
    plan = Plan(
        experiment=digits,
        run=Run.of(digits, group, "r1"),
        run_id="r1",
        created="2025-01-01T00:00:00+00:00",
        data_interval={"start": None, "end": None},
        dataset=PlannedDataset(
            uri="gs://b/digits/datasets/f/",
            fingerprint="f",
            exists=False,
            source="the source",
            statement="SELECT 1",
            partition=None,
            examples=100,
            classes=None,
            previous=None,
        ),
        table=resolve(digits, "a manifest", columns),
        baselines=[],
        jobs={},
        rates=cost.rates(digits, group.region),
        cost={"at_most_usd": limit.usd, "stages": limit.stages, "assumptions": ""},
    )
    try:
        documents.check("audit", {"schema": 1, "contenders": 0}, "audit.json")
        refused = None
    except documents.ContractError as error:
        refused = str(error)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        good = trellis(["check", str(dags / "experiments/digits.yaml")]) == 0
    found = {
        "check": (good, out.getvalue()),
        "errors": bag.import_errors,
        "before": sorted(dag.get_task("audit").upstream_task_ids),
        "after": sorted(dag.get_task("audit").downstream_task_ids),
        "job": dag.get_task("audit").custom_job.__name__,
        "page": [line for line in dag.doc_md.splitlines() if line.startswith("| audit |")],
        "dry_run": [x for x in dry_run.lines(chain.STAGES, plan, group) if "audit" in x],
        "usd": limit.stages["audit"],
        "total": limit.usd,
        "jobs": costs.jobs(chain.STAGES, plan),
        "quotas": {need.metric: asdict(need) for need in quotas},
        "advice": alerts.advice(chain.advice(), "audit"),
        "refused": refused,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
