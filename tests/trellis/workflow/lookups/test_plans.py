"""A run's plan, read from a real Cloud Storage."""

import pytest
from airflow.sdk.exceptions import AirflowFailException

from tests.trellis.workflow.plans import a_plan
from trellis.workflow.contracts.layout import Run
from trellis.workflow.lookups import documents, plans, storage
from trellis_contracts.documents import ContractError

RUN_ID = "manual__2025-01-01T00:00:00+00:00"


@pytest.fixture
def platform(google, group):
    (google.buckets / "plans-tests").mkdir(exist_ok=True)
    return group.model_copy(update={"bucket": "plans-tests"})


@pytest.fixture
def written(digits, platform):
    """A plan.json: its address, and its content."""
    run = Run.of(digits, platform, RUN_ID)
    content = a_plan(digits, run).file().to_document()
    documents.write(platform, "plan", run.plan, content)
    return run.plan, content


def test_the_run_and_the_generation_lead_to_the_plan(digits, platform, written):
    assert plans.load(digits, platform, RUN_ID).file().to_document() == written[1]
    again = digits.model_copy(update={"generation": 2})
    with pytest.raises(AirflowFailException, match=r"no gs://plans-tests/.*~2/plan.json.*: clear"):
        plans.load(again, platform, RUN_ID)


def test_a_plan_of_another_version_is_refused_with_file_and_field(digits, platform, written):
    address, content = written
    storage.write_json(platform, address, content | {"schema": 2})
    with pytest.raises(AirflowFailException, match=rf"(?s){address} .*schema: expected 1"):
        plans.load(digits, platform, RUN_ID)


def test_a_plan_of_an_earlier_version_must_be_made_again(digits, platform, written):
    address, content = written
    del content["dataset"]["statement"]
    storage.write_json(platform, address, content)
    with pytest.raises(
        AirflowFailException,
        match=r"'statement'.*`plan`",
    ):
        plans.load(digits, platform, RUN_ID)


def test_a_parameter_of_another_version_is_refused(digits, platform, written):
    address, content = written
    content["configuration"]["tune"]["trails"] = 6
    storage.write_json(platform, address, content)
    with pytest.raises(
        AirflowFailException, match=r"tune.trails: unknown key.*\nAnother version .*clear"
    ):
        plans.load(digits, platform, RUN_ID)


def test_what_does_not_fit_is_not_written(digits, platform):
    address = "gs://plans-tests/wrong.json"
    with pytest.raises(ContractError, match=r"wrong.json does not match plan.schema"):
        documents.write(platform, "plan", address, {"schema": 1})
    assert documents.find(platform, "plan", address) is None
