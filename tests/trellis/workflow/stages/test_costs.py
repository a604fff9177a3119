import dataclasses
import json
from types import SimpleNamespace

import pytest

from tests.trellis.workflow.plans import a_plan
from tests.trellis.workflow.prices import DISK, hourly
from tests.wording import says
from trellis.bigquery.operators import BigQueryJobOperator
from trellis.workflow.assembly import chain
from trellis.workflow.assembly.training import build
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.table import Column, Feature, Table
from trellis.workflow.lookups import left, own_dataset, plans
from trellis.workflow.pricing import cost, machines, prediction, services
from trellis.workflow.stages import bqml, costs
from trellis.workflow.validation.file import with_changes


def test_the_limit_is_machines_times_timeouts(digits, group):
    """6 trials of half an hour, 2 trainings on 2 machines of an hour."""
    limit = chain.at_most(digits, group)
    machine = hourly("n1-standard-4") + DISK
    assert limit.stages["tune"] == pytest.approx(6 * 0.5 * machine)
    assert limit.stages["train"] == pytest.approx(2 * 2 * 1 * machine)
    assert limit.stages["compare"] == pytest.approx(0.5 * machine)
    worker = 4 * 0.056 + 15 * 0.003557 + 25 * 0.000054
    launcher = 1.15 * 0.0949995
    assert limit.stages["export"] == pytest.approx(0.5 * (2 * worker + launcher))
    assert limit.usd == pytest.approx(sum(limit.stages.values()))
    assert str(limit).startswith(
        f"at most {limit.usd:.2f} USD (snapshot 0.00, export {limit.stages['export']:.2f}, tune "
    )


def test_gpus_cost_extra(digits, group):
    machines = {"type": "n1-standard-4", "gpu": "NVIDIA_TESLA_T4", "gpus": 2, "workers": 2}
    with_gpus = with_changes(digits, {("train", "machines"): machines})
    more = chain.at_most(with_gpus, group).usd - chain.at_most(digits, group).usd
    assert more == pytest.approx(2 * 2 * 2 * hourly("NVIDIA_TESLA_T4"))


def test_parameter_servers_and_their_chief_are_paid_too(digits, group):
    machines = {"type": "n1-standard-4", "workers": 3, "parameter_servers": {"count": 2}}
    limit = chain.at_most(with_changes(digits, {("train", "machines"): machines}), group)
    assert limit.stages["train"] == pytest.approx(
        2 * (1 + 3 + 2) * 1 * (hourly("n1-standard-4") + DISK)
    )


def test_reduction_servers_are_paid_too(digits, group):
    machines = {"type": "n1-standard-4", "gpu": "NVIDIA_TESLA_T4", "workers": 2}
    alone = with_changes(digits, {("train", "machines"): machines})
    reducers = {"reduction_servers": {"count": 3, "type": "n1-standard-4"}}
    reduced = with_changes(digits, {("train", "machines"): machines | reducers})
    more = chain.at_most(reduced, group).usd - chain.at_most(alone, group).usd
    assert more == pytest.approx(2 * 3 * 1 * (hourly("n1-standard-4") + DISK))


def test_the_hours_that_baselines_are_bounded_by_are_enforced(breast_cancer, group):
    """The jobs have the bounds that the limit supposes of AutoML's prediction and of external
    training.
    """
    radius = Feature("radius", "radius", "FLOAT64", "numeric")
    key, label = Column("sample_id", "STRING"), Column("malignant", "STRING")
    table = Table(key, label, None, [radius], regression=False)
    plan = a_plan(breast_cancer, Run("bucket", "breast-cancer", "manual"), table)
    trees = bqml.job(plan, group, ("boosted_tree_classifier", None))
    assert trees["jobTimeoutMs"] == "3600000"
    limit = chain.at_most(breast_cancer, group).stages["automl"]
    # 40 machines work on the prediction of a table, whatever the job names.
    assert limit == pytest.approx(21.252 + 1 * 40 * 0.5442, rel=1e-4)
    assert (
        build(breast_cancer, group).get_task("automl.predict").limit
        == cost.AUTOML_PREDICTION_LIMIT.total_seconds()
    )


def test_spot_machines_do_not_lower_the_limit(digits, group):
    """Their price changes; the limit has to hold."""
    steady = with_changes(digits, {("train", "machines", "spot"): False})
    assert chain.at_most(steady, group).usd == chain.at_most(digits, group).usd


def test_what_spot_machines_save_is_told_where_their_price_is_known(
    digits, group, monkeypatch, tmp_path
):
    usd = {"export": 1.0, "tune": 2.0, "train": 10.0, "compare": 1.0}
    assert costs.spot_savings(chain.STAGES, digits, group, usd) == {}
    raw = json.loads(machines.TABLE.read_text())
    n1 = {"usd": 0.19, "spot_usd": 0.04, "training_usd": 0.2}
    raw["prices"]["us-central1"]["n1-standard-4"] = n1
    (tmp_path / "machines.json").write_text(json.dumps(raw))
    known = machines.table("us-central1", tmp_path / "machines.json")
    monkeypatch.setattr(machines, "table", lambda region=None: known)
    # A quarter of the machine's price: 0.04, and 0.01 for Vertex AI. The disk costs the same.
    saved = costs.spot_savings(chain.STAGES, digits, group, usd)
    share = 0.15 / (0.2 + DISK)
    assert saved == pytest.approx({"tune": 2.0 * share, "train": 10.0 * share})
    servers = with_changes(digits, {("train", "machines", "parameter_servers"): {"count": 2}})
    assert costs.spot_savings(chain.STAGES, servers, group, usd) == pytest.approx(saved)
    steady = with_changes(digits, {("train", "machines", "spot"): False})
    assert costs.spot_savings(chain.STAGES, steady, group, usd).keys() == {"tune"}


def test_serving_is_paid_by_the_day_and_is_no_part_of_a_run(digits, group):
    machines = {"type": "n1-standard-4", "gpu": "NVIDIA_TESLA_T4", "gpus": 2, "replicas": [1, 3]}
    larger = with_changes(digits, {("deploy", "machines"): machines})
    assert chain.at_most(larger, group).usd == chain.at_most(digits, group).usd
    serving = cost.serving(larger, group.region)
    a_day = 24 * (hourly("n1-standard-4", "serving") + 2 * hourly("NVIDIA_TESLA_T4", "serving"))
    assert (serving.least, serving.most) == pytest.approx((a_day, 3 * a_day))
    amounts = f"at most {3 * a_day:.2f} USD a day, at least {a_day:.2f}"
    assert str(serving).startswith(f"{amounts} (unverified prices), tw")
    assert cost.serving(with_changes(digits, {("deploy",): None}), group.region) is None


def test_google_chooses_the_machines_of_automls_model_of_images(digits, group):
    changes = {
        ("baselines",): {"automl": {"node_hours": 8}},
        ("deploy", "gate", "beat"): None,
        ("deploy", "allow"): ["trainings", "automl"],
        ("deploy", "machines", "replicas"): [1, 2],
    }
    serving = cost.serving(with_changes(digits, changes), group.region)
    node = services.table().automl["image"]["deployment"]
    assert serving.automl == (24 * node, 48 * node)
    assert f"{24 * node:.2f} to {48 * node:.2f}" in str(serving)
    assert serving.to_json()["automl_usd_per_day"] == [round(24 * node, 2), round(48 * node, 2)]


def test_a_prediction_by_automl_is_on_many_machines(breast_cancer, group):
    """Those of Google's choice, whatever `predict.machines` has."""
    ours = with_changes(breast_cancer, {("predict",): {"bigquery": "lab.rows"}})
    by_server, by_automl = (
        prediction.at_most(ours, group, automl=which).stages["predict"] for which in (False, True)
    )
    hours = cost.hours(ours.prediction.timeout)
    assert by_automl == cost.automl_prediction(ours, hours, group.region) > by_server
    allowed = {("deploy", "allow"): ["trainings", "automl"], ("deploy", "gate", "beat"): None}
    assert prediction.at_most(with_changes(ours, allowed), group).stages["predict"] == by_automl


def test_the_limit_says_whose_prices_it_has(digits, group, monkeypatch):
    there = dataclasses.replace(machines.table(), region="europe-west4")
    monkeypatch.setattr(machines, "table", lambda region=None: there)
    limit = chain.at_most(digits, group.model_copy(update={"region": "europe-west4"}))
    assert says(limit.assumptions, "on-demand prices of europe-west4 (", "Dataflow", "us-central1")


def test_every_query_of_a_run_has_a_limit_of_bytes(breast_cancer, group, monkeypatch):
    """MiB of each task in BigQuery: what the plan expects, or what is there to be read."""
    plan = dataclasses.replace(
        a_plan(breast_cancer, Run("bucket", "breast-cancer", "manual")),
        cost={"query_bytes": 30 * 2**20},
    )
    table = SimpleNamespace(num_bytes=50 * 2**20)
    monkeypatch.setattr(plans, "load", lambda *_: plan)
    monkeypatch.setattr(left, "returned", lambda ti, task_id, name: {name: "p.d.predictions"})
    for needed in ("snapshot", "snapshot_to_check", "snapshot_to_extract"):
        monkeypatch.setattr(left, needed, lambda *_: None)
    client = SimpleNamespace(get_table=lambda name: table)
    monkeypatch.setattr(own_dataset, "client", lambda _: client)
    limits = {}
    for task in build(breast_cancer, group).tasks:
        if isinstance(task, BigQueryJobOperator):
            job = task.configuration({"run_id": "manual", "ti": None, "task": task}, None)
            if job is not None and "query" in job:
                limits[task.task_id] = int(job["query"]["maximumBytesBilled"]) / 2**20
    assert limits == {
        "snapshot": 30,
        "check": 90,
        "bqml.logistic_reg": 90,
        "bqml.boosted_tree_classifier": 90,
        "automl.views": 30,
        # A tenth more than its table.
        "automl.export": pytest.approx(55),
    }
