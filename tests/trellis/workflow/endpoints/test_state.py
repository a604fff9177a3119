"""Idle endpoints and their costs: from messages of Vertex AI's alone."""

from datetime import UTC, datetime, timedelta

import pytest
from google.cloud import aiplatform_v1 as api

from trellis.workflow.endpoints.monitoring import Counted
from trellis.workflow.endpoints.state import State, describe, removal_order
from trellis.workflow.pricing.machines import table
from trellis.workflow.spec.machines import Machine

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)
REGION = "us-central1"
OLD = NOW - timedelta(days=30)


def deployed(id_, version, since=OLD, **machine):
    spec = {"machine_type": "n1-standard-2", **machine}
    return {
        "id": id_,
        "model": f"projects/p/locations/{REGION}/models/digits",
        "model_version_id": version,
        "create_time": since,
        "dedicated_resources": {
            "machine_spec": spec,
            "min_replica_count": 2,
            "max_replica_count": 3,
        },
    }


def endpoint(*models, split=None, since=OLD, **fields):
    return api.Endpoint(
        name=f"projects/1/locations/{REGION}/endpoints/digits",
        display_name="Digits",
        labels={"trellis-experiment": "digits", "group": "lab"},
        create_time=since,
        deployed_models=models,
        traffic_split={"1": 100} if split is None else split,
        **fields,
    )


def described(message, counts=(), busy=False, labels=None):
    return describe(message, counts, busy, labels or {"group": "lab"}, REGION, NOW, days=14)


ASKED = Counted("another", "another", "another", 3, NOW - timedelta(days=2))
OF_ANOTHER = [ASKED]
YOUNG = NOW - timedelta(days=13)
ONE, TWO = deployed("1", "4"), deployed("2", "3")
PRIVATE = {"private_service_connect_config": {"enable_private_service_connect": True}}


@pytest.mark.parametrize(
    ("message", "state"),
    [
        (endpoint(ONE), State.IDLE),
        (endpoint(ONE, TWO), State.IDLE),
        (endpoint(), State.EMPTY),
        (endpoint(ONE, TWO, split={"1": 90, "2": 10}), State.CANARY),
        (endpoint(ONE, since=YOUNG), State.NEW),
        (endpoint(ONE, deployed("2", "5", YOUNG)), State.NEW),
        (endpoint(ONE, **PRIVATE), State.UNKNOWN),
        (endpoint(ONE, network="projects/1/global/networks/lab"), State.UNKNOWN),
    ],
)
def test_which_state_it_is_in(message, state):
    assert described(message, OF_ANOTHER).state == state


def test_no_answer_another_group_and_an_operation_keep_it():
    assert described(endpoint(ONE), counts=None).state == State.UNKNOWN
    assert described(endpoint(ONE), busy=True).state == State.BUSY
    assert described(endpoint(ONE), labels={"group": "demo"}).state == State.OTHERS


@pytest.mark.parametrize(
    "labels", [("digits", "", ""), ("4711", "Digits", ""), ("4711", "", "1")], ids=str
)
def test_any_label_of_a_series_that_fits_keeps_it(labels):
    """No page says whether an endpoint with an ID of the group's own has it in `endpoint_id`."""
    last = NOW - timedelta(days=3)
    found = described(endpoint(ONE), [ASKED, Counted(*labels, 0, last)])
    assert (found.state, found.predictions, found.last) == (State.IN_USE, 0, last)


def test_cost_of_the_fewest_replicas():
    known = table(REGION)
    gpu = {"accelerator_type": "NVIDIA_TESLA_T4", "accelerator_count": 1}
    found = described(endpoint(ONE, deployed("2", "3", **gpu)))
    plain, with_gpu = found.models
    assert plain.usd_per_day == pytest.approx(
        2 * 24 * known.usd(Machine(type="n1-standard-2"), "serving")
    )
    machine = Machine(type="n1-standard-2", gpu="NVIDIA_TESLA_T4")
    assert with_gpu.usd_per_day == pytest.approx(2 * 24 * known.usd(machine, "serving"))
    assert found.usd_per_day == plain.usd_per_day + with_gpu.usd_per_day
    assert with_gpu.machine == "n1-standard-2 + 1 NVIDIA_TESLA_T4"
    unknown = described(endpoint(deployed("1", "4", machine_type="z9-mega-8")))
    assert (unknown.usd_per_day, described(endpoint()).usd_per_day) == (None, 0)


def test_what_has_requests_is_undeployed_last():
    found = described(endpoint(ONE, TWO))
    assert [model.version for model in removal_order(found)] == ["digits@3", "digits@4"]
