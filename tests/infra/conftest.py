"""Terraform, and the plans that infra's own tests make."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.infra import provider_schema, terraform
from tests.infra.release_checkout import Checkout


@pytest.fixture(scope="session")
def schemas() -> dict[str, Any]:
    """Schemas of the google provider, and of the parts that infra/ uses."""
    return provider_schema.read(terraform.schema_names())


@pytest.fixture(scope="session", autouse=True)
def offline(schemas: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with terraform.offline(schemas, tmp_path_factory.mktemp("terraform")):
        yield


@pytest.fixture(scope="session")
def infra(offline: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of infra/, initialised."""
    return terraform.copy(tmp_path_factory.mktemp("copy"))


@pytest.fixture(scope="session")
def tested(infra: Path) -> terraform.Result:
    """Output of `terraform test`: the tests, and the whole plan of each."""
    return terraform.run(infra, "test", "-json", "-verbose")


@pytest.fixture(scope="session")
def plans(tested: terraform.Result) -> dict[str, dict[str, Any]]:
    """The plans of installation.tftest.hcl by the name of their run."""
    return {
        event["@testrun"]: event["test_plan"]
        for event in tested.events()
        if event["type"] == "test_plan" and "installation" in event["@testfile"]
    }


@pytest.fixture(scope="session")
def cloned(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """What a release is made of: to copy, not to change."""
    return Checkout.of_repository(tmp_path_factory.mktemp("cloned"))


@pytest.fixture
def checkout(cloned: Checkout, tmp_path: Path) -> Checkout:
    """What a release is made of."""
    return cloned.copy(tmp_path)
