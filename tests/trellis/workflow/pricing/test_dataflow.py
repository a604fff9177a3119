"""The price of an export by what its launch says: that by which the plan was made."""

import pytest

from trellis.dataflow import jobs
from trellis.workflow.assembly import chain
from trellis.workflow.pricing import dataflow
from trellis.workflow.stages import export


def test_the_figure_of_a_plan_is_the_price_of_its_job_for_its_whole_time(digits, group):
    """So the first attempt has its whole time limit."""
    launch = export.launch(group, "digits-export", {}, {})["launchParameter"]["environment"]
    (limit,) = launch["additionalExperiments"]
    hours = int(limit.removeprefix(f"{jobs.LIMIT}=")) / 3600
    price = jobs.price(jobs.machines(launch), group.region, dataflow.per_hour)
    assert chain.at_most(digits, group).stages["export"] == pytest.approx(price * hours)


def test_each_worker_costs_and_the_launcher_once(group):
    one, two, three = (dataflow.per_hour("n1-standard-4", n, group.region) for n in (1, 2, 3))
    assert three - two == pytest.approx(two - one)
    assert one > two - one
