"""The images that an example's instance names."""

import pytest

from trellis_contracts.challenger import Challenger, Example

FILE = {"b64": "iVBO"}


def challenger(**images):
    return Challenger.from_document(
        {
            "contender": "training/1",
            "model": "gs://b/model/",
            "examples": [],
            "hyperparameters": {},
            "provenance": {"run": "r", "dataset": "d", "versions": {}, "code_sha256": "0" * 64},
            **images,
        }
    )


@pytest.mark.parametrize(
    ("images", "instance", "addresses"),
    [
        ({"images": ["image"]}, {"image": "gs://b/1.png"}, ["gs://b/1.png"]),
        ({"images": ["image"]}, {"image": FILE}, []),
        ({}, {"image": "gs://b/a term"}, []),
        ({"images": ["photo"]}, {"photo": FILE, "site": "gs://b/a term"}, []),
        ({"images": ["photo", "scan"]}, {"photo": "gs://b/1", "scan": FILE}, ["gs://b/1"]),
        ({"images": ["photo", "scan"]}, {"photo": "gs://b/1", "scan": "gs://c/2"},
         ["gs://b/1", "gs://c/2"]),
    ],
)  # fmt: skip
def test_addresses_are_those_of_the_columns_of_images(images, instance, addresses):
    assert challenger(**images).addresses(Example("k", instance, {"value": 1})) == addresses


def test_what_is_not_the_default_is_in_the_file():
    assert "images" not in challenger().to_document()
    assert challenger(images=["photo"]).to_document()["images"] == ["photo"]
