"""The provider's schema, read from the bindings, beside what the provider's documentation says."""

import pytest

from tests.infra import provider_schema, terraform


def test_it_is_of_the_version_that_infra_asks_for():
    major, minor, _ = provider_schema.version().split(".")
    assert f'version = "~> {major}.{minor}"' in (terraform.INFRA / "versions.tf").read_text()


def test_attributes_are_required_optional_or_computed(schemas):
    bucket = schemas["google_storage_bucket"]["attributes"]
    assert bucket["location"]["required"]
    assert bucket["force_destroy"] == {
        "type": "bool",
        "required": False,
        "optional": True,
        "computed": False,
    }
    assert bucket["url"] == {
        "type": "string",
        "required": False,
        "optional": False,
        "computed": True,
    }
    assert bucket["labels"]["type"] == ["map", "string"]
    assert bucket["project_number"]["type"] == "number"


def test_blocks_nest_as_in_the_provider(schemas):
    blocks = schemas["google_storage_bucket"]["blocks"]
    assert (blocks["versioning"]["nesting"], blocks["versioning"]["max"]) == ("LIST", 1)
    assert (blocks["lifecycle_rule"]["nesting"], blocks["lifecycle_rule"]["max"]) == ("LIST", 0)
    condition = blocks["lifecycle_rule"]["block"]["blocks"]["condition"]
    assert (condition["nesting"], condition["min"], condition["max"]) == ("SET", 1, 1)
    assert condition["block"]["attributes"]["matches_prefix"]["type"] == ["list", "string"]
    assert blocks["timeouts"]["nesting"] == "SINGLE"


def test_what_the_provider_does_not_have_is_an_error():
    with pytest.raises(provider_schema.SchemaError, match="google_storage_bukket"):
        provider_schema.read(["google", "google_storage_bukket"])
