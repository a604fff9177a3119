"""The images install what the tests ran with: each lock is a part of the environment's."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def pins(name):
    lines = (ROOT / f"trainer/requirements{name}.txt").read_text().split()
    return dict(line.split("==") for line in lines)


@pytest.mark.parametrize("image", ["-serve", "-train", "-export"])
def test_an_image_has_the_versions_that_were_tested(image):
    assert pins(image).items() <= pins("").items()


def test_with_cuda_only_tensorflow_is_another_distribution():
    gpu, cpu = pins("-gpu"), pins("-train")
    assert gpu.pop("tensorflow") == cpu.pop("tensorflow-cpu")
    assert cpu.items() <= gpu.items()
    assert all(name.startswith("nvidia-") for name in gpu.keys() - cpu.keys())


def test_the_trainer_adds_to_what_serves():
    """The trainer's image is built on that layer: a package cannot have another version in it."""
    assert pins("-serve").items() < pins("-train").items()


def test_tensorflow_and_beam_never_meet_in_an_image():
    assert "tensorflow-cpu" not in pins("-export")
    assert "apache-beam" not in pins("-train")


def test_boot_and_the_sdk_have_one_version():
    dockerfile = (ROOT / "docker/Dockerfile").read_text()
    assert re.search(r"^ARG BEAM=([^@\n]+)", dockerfile, re.M)[1] == pins("-export")["apache-beam"]
