"""deploy.allow: who may be deployed, and what a service's model cannot do."""

import pytest

from trellis.workflow.contracts import run_params
from trellis.workflow.spec.problems import FileError
from trellis.workflow.validation import group as groups
from trellis.workflow.validation.file import with_changes

ALLOW = ("deploy", "allow")


@pytest.fixture
def allowed(breast_cancer):
    """A function: further changes -> the experiment, whose baselines are both services'."""

    def make(allow, **changes):
        named = {tuple(key.split("__")): value for key, value in changes.items()}
        # Left out it has its default, and no effect where nothing is to be beaten.
        own = {ALLOW: allow, ("deploy", "gate", "beat"): None}
        return with_changes(breast_cancer, own | named)

    return make


def test_what_may_be_deployed_is_no_hurdle(allowed, breast_cancer):
    assert breast_cancer.deployment.services == ()
    assert breast_cancer.hurdles == 3
    assert allowed(["trainings", "automl"]).hurdles == 2
    both = allowed(["trainings", "automl", "bqml"])
    assert (both.hurdles, both.deployment.services) == (0, ("automl", "bqml"))
    # Without a hurdle there is nothing to beat, whatever the file says.
    assert "beat" not in both.configuration()["deploy"]["gate"]


@pytest.mark.parametrize(
    ("allow", "changes", "place"),
    [
        ([], {}, "deploy.allow"),
        (["networks"], {}, "deploy.allow"),
        (["bqml", "bqml"], {}, "deploy.allow"),
        (["trainings", "automl"], {"baselines__automl": None}, "deploy.allow"),
        (["bqml"], {"calibrate": "temperature"}, "deploy.allow"),
        (["bqml"], {"abstain": 0.1}, "deploy.allow"),
        (["bqml"], {"coverage": 0.9}, "deploy.allow"),
        (
            ["bqml"],
            {"deploy__machines": {"type": "n1-standard-4", "gpu": "NVIDIA_TESLA_T4"}},
            "deploy.machines.gpu",
        ),
    ],
)
def test_what_a_service_cannot_do_is_refused(allowed, allow, changes, place):
    with pytest.raises(FileError) as refused:
        allowed(allow, **changes)
    assert place in str(refused.value)


@pytest.mark.parametrize("service", ["automl", "bqml"])
def test_a_services_model_predicts_in_bulk(allowed, service):
    assert allowed([service], predict={"bigquery": "lab.rows"}).predict is not None


def test_automls_model_of_images_is_served_but_at_no_private_endpoint_and_for_no_rows(digits):
    services = {("baselines",): {"automl": {"node_hours": 8}}, ("deploy", "gate", "beat"): None}
    public = with_changes(digits, {**services, ALLOW: ["automl"]})
    assert public.deployment.services == ("automl",)
    with pytest.raises(FileError, match=r"deploy\.allow"):
        with_changes(public, {("deploy", "private"): True})
    assert with_changes(public, {("predict",): {"images": "new"}}).predict is not None
    with pytest.raises(FileError, match=r"deploy\.allow"):
        with_changes(public, {("predict",): {"bigquery": "lab.rows"}})


def test_a_service_that_a_run_switches_off_does_not_compete(allowed):
    values = {"automl": False, "bqml": True, "deploy": True}
    experiment = allowed(["trainings", "automl", "bqml"])
    defaults = {name: param.value for name, param in run_params.run_params(experiment).items()}
    changed = run_params.apply(experiment, {**defaults, **values})
    assert changed.deployment.allow == ("trainings", "bqml")
    alone = run_params.apply(allowed(["automl"]), {**defaults, **values})
    assert alone.deploy is None


@pytest.mark.parametrize(
    ("location", "region", "good"),
    [
        ("US", "us-central1", True),
        ("EU", "europe-west4", True),
        ("europe-west1", "europe-west1", True),
        ("US", "europe-west4", False),
        ("EU", "europe-west1", False),
    ],
)
def test_bigquery_registers_where_the_endpoint_is(allowed, group, location, region, good):
    platform = group.model_copy(update={"location": location, "region": region})
    found = [str(problem) for problem in groups.problems(allowed(["bqml"]), platform)]
    assert any("deploy.allow" in problem for problem in found) != good
