"""Requirements of an experiment on the group's platform."""

import dataclasses

import pytest

from tests.wording import says
from trellis.workflow.pricing import machines
from trellis.workflow.spec.platform import PlatformError
from trellis.workflow.validation import group as validation
from trellis.workflow.validation.file import with_changes
from trellis_contracts.withheld import shown


def problems(experiment, platform):
    return [str(problem) for problem in validation.problems(experiment, platform)]


def test_the_demos_platform_has_what_its_experiments_need(digits, group):
    assert problems(digits, group) == []


def test_models_run_as_an_account_of_the_groups(digits, group):
    """Without one, a deployed model and a batch prediction see no bucket of the project."""
    nobody = group.model_copy(update={"service_account": None})
    found = problems(digits, nobody)
    sections = [name for name in ("deploy", "predict") if getattr(digits, name) is not None]
    assert [text.split(":")[0] for text in found] == sections
    assert all("platform.yaml names none" in text for text in found)
    with pytest.raises(PlatformError, match=r"digits: deploy: needs the group's service_account"):
        validation.require(digits, nobody)


def test_an_experiment_that_serves_nothing_needs_no_account(digits, group):
    nobody = group.model_copy(update={"service_account": None})
    silent = with_changes(digits, {("deploy",): None, ("predict",): None})
    assert problems(silent, nobody) == []


@pytest.mark.parametrize("section", ["tune", "train"])
def test_a_reservation_is_where_the_jobs_run(digits, group, section):
    def reserved(zone):
        machines = {"type": "n1-standard-4", "reservation": f"{zone}/night"}
        return problems(with_changes(digits, {(section, "machines"): machines}), group)

    assert reserved(f"{group.region}-b") == []
    (text,) = reserved("europe-west4-a")
    assert says(text, f"{section}.machines.reservation", "europe-west4-a", group.region)


def test_a_private_endpoint_needs_a_network(digits, group):
    private = with_changes(digits, {("deploy", "private"): True})
    (found,) = problems(private, group)
    assert found.startswith("deploy.private: ")
    assert "platform.yaml names none" in found


def test_a_machine_without_a_price_in_the_region_is_refused(digits, group, monkeypatch):
    here = machines.table()
    prices = {name: price for name, price in here.prices.items() if "-4" not in name}
    lacking = dataclasses.replace(here, prices=prices)
    monkeypatch.setattr(validation.machines, "table", lambda region: lacking)
    found = problems(digits, group)
    assert {"train.machines", "predict.machines"} <= {text.split(":")[0] for text in found}
    assert says(found[-1], "n1-standard-4", "us-central1", "2026-07-30")


@pytest.mark.parametrize(
    ("rows", "classes", "said"),
    [
        (569, None, "AutoML needs at least 1,000 rows, and the source has 569"),
        (1000, None, None),
        (None, None, None),
        (200, {"cat": 100, "dog": 100}, None),
        (
            199,
            {"cat": 100, "dog": 99},
            "at least 100 images of each class, and these have fewer: d",
        ),
    ],
)
def test_automl_has_googles_minimum(digits, group, rows, classes, said):
    """The demo's platform lowers it, as local_gcp learns from fewer."""
    defaults = {"automl_minimum_rows": 1000, "automl_minimum_images": 100}
    google = group.model_copy(update=defaults)
    with_automl = with_changes(digits, {("baselines", "automl"): {"node_hours": 8}})
    found = validation.too_few_for_automl(with_automl, google, rows, classes)
    assert (said in shown(found)) if said else found is None
    silent = with_changes(digits, {("baselines",): None})
    assert validation.too_few_for_automl(silent, google, rows, classes) is None
