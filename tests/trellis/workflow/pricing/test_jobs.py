"""The price of an hour of a job, by its own message: that by which the plan was made."""

import dataclasses

import pytest
from google.cloud.aiplatform_v1.types import (
    BatchPredictionJob,
    CustomJob,
    HyperparameterTuningJob,
)

from tests.trellis.workflow.plans import a_plan
from tests.trellis.workflow.prices import DISK, hourly
from trellis.vertex.jobs import CUSTOM, TUNING, message_of
from trellis.workflow.contracts.layout import Run
from trellis.workflow.pricing import cost, jobs, machines
from trellis.workflow.stages import compare, train, tune
from trellis.workflow.validation.file import with_changes

REGION = "us-central1"
V100 = {"machine_type": "n1-standard-8", "accelerator_type": "NVIDIA_TESLA_V100"}


def pool(machine, replicas=1, **disk):
    return {"machine_spec": machine, "replica_count": replicas, "disk_spec": disk}


def test_a_job_costs_its_machines_and_disks():
    pools = [pool(V100 | {"accelerator_count": 2}), pool({"machine_type": "n1-standard-4"}, 3)]
    job = CustomJob(job_spec={"worker_pool_specs": pools})
    chief = hourly("n1-standard-8") + 2 * hourly("NVIDIA_TESLA_V100")
    usd = chief + 3 * hourly("n1-standard-4") + 4 * DISK
    assert jobs.per_hour(job, REGION) == pytest.approx(usd)
    larger = [pool({"machine_type": "n1-standard-4"}, boot_disk_size_gb=500)]
    job = HyperparameterTuningJob(trial_job_spec={"worker_pool_specs": larger})
    assert jobs.per_hour(job, REGION) == pytest.approx(hourly("n1-standard-4") + 5 * DISK)


def test_a_spot_machine_costs_less_where_its_price_is_known(monkeypatch):
    spec = {"worker_pool_specs": [pool({"machine_type": "n1-standard-4"})]}
    job = CustomJob(job_spec=spec | {"scheduling": {"strategy": "SPOT"}})
    assert jobs.per_hour(job, REGION) == pytest.approx(hourly("n1-standard-4") + DISK)
    monkeypatch.setattr(machines.Machines, "spot_usd", lambda self, machine: 0.05)
    assert jobs.per_hour(job, REGION) == pytest.approx(0.05 + DISK)
    job.job_spec.scheduling.strategy = "ON_DEMAND"
    assert jobs.per_hour(job, REGION) == pytest.approx(hourly("n1-standard-4") + DISK)


def test_a_batch_prediction_costs_its_replicas():
    machine = {"machine_spec": {"machine_type": "n1-standard-4"}, "max_replica_count": 3}
    job = BatchPredictionJob(dedicated_resources=machine)
    assert jobs.per_hour(job, REGION) == pytest.approx(3 * hourly("n1-standard-4", "serving"))


@pytest.fixture
def plan(digits, group):
    changes = {
        ("train", "machines"): {"type": "n1-standard-8", "workers": 2},
        ("tune", "machines"): {"type": "n1-standard-4", "gpu": "NVIDIA_TESLA_T4", "gpus": 2},
    }
    experiment = with_changes(digits, changes)
    plan = a_plan(experiment, Run("b", "digits", "r"))
    return dataclasses.replace(plan, rates=cost.rates(experiment, group.region))


def test_the_figure_of_a_plan_is_the_price_of_its_jobs_for_their_whole_time(plan, group):
    """So the first attempt has its whole time limit."""
    job = message_of(CUSTOM, train.job(plan, group, train.UNTUNED), {})
    hours = job.job_spec.scheduling.timeout.total_seconds() / 3600
    whole = jobs.per_hour(job, group.region) * hours
    assert train.figure(plan, group) == pytest.approx(whole)
    search = message_of(TUNING, tune.job(plan, group), {})
    hours = search.trial_job_spec.scheduling.timeout.total_seconds() / 3600
    whole = search.max_trial_count * jobs.per_hour(search, group.region) * hours
    assert tune.figure(plan, group) == pytest.approx(whole)
    job = message_of(CUSTOM, compare.job(plan, group), {})
    assert jobs.per_hour(job, group.region) == pytest.approx(compare.per_hour(group))
