"""Images are named by their digest: pin.sh writes it, and a release says where it is missing."""

import hashlib
import re

import pytest


def test_tags_that_stand_alone_get_their_digest(checkout):
    result = checkout.run("pin.sh")
    assert result.returncode == 0, result.stderr
    dockerfile = (checkout.folder / "docker/Dockerfile").read_text()
    arguments = re.findall(r"^ARG (?:PYTHON|BEAM|LAUNCHER)=(.*)$", dockerfile, re.M)
    steps = re.findall(r"name: (.*)", (checkout.folder / "infra/cloudbuild.yaml").read_text())
    named = arguments + steps
    assert len(named) == 13
    assert all(re.fullmatch(r"[^@]+@sha256:[0-9a-f]{64}", name) for name in named), named
    beam = f"apache/beam_python3.11_sdk:{arguments[1].split('@')[0]}"
    assert hashlib.sha256(f"{beam}\n".encode()).hexdigest() in arguments[1]

    before = dockerfile
    assert checkout.run("pin.sh").stdout == ""
    assert (checkout.folder / "docker/Dockerfile").read_text() == before


@pytest.mark.parametrize(
    ("file", "written", "bare"),
    [
        (
            "docker/Dockerfile",
            "# syntax=docker/dockerfile:1.18@",
            "# syntax=docker/dockerfile:1.18",
        ),
        ("infra/cloudbuild.yaml", "cloud-cli:578.0.0-stable@", "cloud-cli:578.0.0-stable"),
        ("infra/release/images.sh", "SYFT=anchore/syft:v1.51.1@", "SYFT=anchore/syft:v1.51.1"),
        (
            "dags/experiments/programs/nearest/Dockerfile",
            "FROM python:3.11.16-slim-bookworm@",
            "FROM python:3.11.16-slim-bookworm AS base",
        ),
    ],
    ids=["frontend", "builder", "program", "stage"],
)
def test_an_image_of_any_file_gets_its_digest(checkout, file, written, bare):
    path = checkout.folder / file
    path.write_text(re.sub(rf"{re.escape(written)}\S+", bare, path.read_text()))
    assert bare in path.read_text()
    assert checkout.run("pin.sh").returncode == 0
    assert re.search(rf"{re.escape(written)}sha256:[0-9a-f]{{64}}", path.read_text())


def test_every_image_of_the_repository_has_a_digest_but_for_two(checkout):
    """Those of Beam and of the launcher are published by their registries alone."""
    bare = checkout.run("pin.sh", "--list").stdout.split()
    assert [re.split(r"[:@]", image)[0] for image in bare] == [
        "apache/beam_python3.11_sdk",
        "gcr.io/dataflow-templates-base/python312-template-launcher-base",
    ]


def test_a_release_names_the_images_whose_tag_can_be_moved(checkout):
    before = (checkout.folder / "docker/Dockerfile").read_text()
    result = checkout.run("check.sh")
    assert result.returncode == 0
    assert "infra/release/pin.sh writes them here" in result.stderr
    assert "apache/beam_python3.11_sdk" in result.stderr
    assert "python:3" not in result.stderr
    assert not [line for line in checkout.asked if line.startswith("docker")]
    assert (checkout.folder / "docker/Dockerfile").read_text() == before
    checkout.run("pin.sh")
    assert checkout.run("check.sh").stderr == ""


def test_an_answer_that_is_no_digest_is_not_written(checkout):
    checkout.program("bin/docker", "#!/bin/sh\necho 'no such manifest'\n")
    before = (checkout.folder / "docker/Dockerfile").read_text()
    result = checkout.run("pin.sh")
    assert result.returncode == 1
    assert "has no digest: no such manifest" in result.stderr
    assert (checkout.folder / "docker/Dockerfile").read_text() == before
