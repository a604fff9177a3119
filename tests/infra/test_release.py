"""The scripts of a release: images, packages and DAGs that fit, each once."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.infra import terraform
from tests.infra.release_checkout import PLATFORM

OWN = "dags/experiments/images"


def test_scripts_are_free_of_what_shellcheck_knows():
    scripts = sorted((terraform.INFRA / "release").glob("*.sh"))
    shellcheck = Path(sys.executable).with_name("shellcheck")
    result = subprocess.run(
        [shellcheck, "--external-sources", *scripts],
        cwd=terraform.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_a_checkout_that_fits_is_released(checkout):
    result = checkout.run("check.sh")
    assert result.returncode == 0, result.stderr
    assert re.search(r"trellis-airflow \d+\.\d+\.\d+ and images \d+\.\d+\.\d+ into", result.stdout)


@pytest.mark.parametrize(
    ("variables", "platform", "complaint"),
    [
        ({"DAGS_BUCKET": ""}, PLATFORM, "_DAGS_BUCKET is empty"),
        ({"PLATFORM": "platform-prod.yaml"}, PLATFORM, "there is no dags/platform-prod.yaml"),
        ({}, PLATFORM.replace("our-lab", "local-gcp"), "is not of project our-lab"),
        ({"NAME": "second"}, PLATFORM, "does not take its images from"),
    ],
    ids=["bucket", "file", "project", "registry"],
)
def test_one_that_does_not_fit_is_refused_first(checkout, variables, platform, complaint):
    (checkout.folder / "dags/platform.yaml").write_text(platform)
    result = checkout.run("check.sh", **variables)
    assert result.returncode == 1
    assert complaint in result.stderr
    assert "Nothing was released" in result.stderr


def test_a_list_of_packages_of_another_version_is_refused(checkout):
    listed = checkout.folder / "dags/requirements-composer.txt"
    listed.write_text(listed.read_text().replace("trellis-airflow==", "trellis-airflow==9."))
    result = checkout.run("check.sh")
    assert result.returncode == 1
    assert "requirements-composer.txt does not install trellis-airflow==" in result.stderr


def test_every_image_that_dags_name_is_built_and_pushed(checkout):
    result = checkout.run("images.sh")
    assert result.returncode == 0, result.stderr
    built = [line for line in checkout.asked if line.startswith("docker build ")]
    targets = re.findall(r"--target (\S+)", "\n".join(built))
    assert sorted(targets) == ["export", "serve", "serve", "trainer", "trainer"]
    assert sum("ACCELERATOR=gpu" in line and "-gpu" in line for line in built) == 2
    stages = re.findall(
        r"^FROM .* AS (\S+)$", (checkout.folder / "docker/Dockerfile").read_text(), re.M
    )
    assert set(targets) <= set(stages)
    version = re.search(r'^TAG = "(.*)"$', job_image_of(checkout), re.MULTILINE)[1]
    own = {file.stem: tag_of(file) for file in (checkout.folder / OWN).glob("*.txt")}
    assert own
    assert {tag for tag in checkout.pushed if ":source-" not in tag} == {
        *(f"{name}:{tag}{gpu}" for name, tag in own.items() for gpu in ("", "-gpu")),
        f"trainer:{version}",
        f"trainer:{version}-gpu",
        f"serve:{version}",
        f"serve:{version}-gpu",
        f"export:{version}",
    }
    assert "@sha256:" in result.stdout


def tag_of(requirements):
    """The tag that the DAGs name, as tests/trellis/workflow/spec/test_own_image.py has it."""
    version = (terraform.ROOT / "contracts/trellis_contracts/job_image.py").read_text()
    version = re.search(r'^TAG = "(.*)"$', version, re.MULTILINE)[1]
    return f"{version}-{hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]}"


def test_an_own_image_is_ours_with_the_packages_of_its_file(checkout):
    checkout.run("images.sh")
    (line,) = [one for one in checkout.asked if re.search(r"build .*/torch:\S+-gpu ", one)]
    version = re.search(r'^TAG = "(.*)"$', job_image_of(checkout), re.MULTILINE)[1]
    assert "--file docker/Dockerfile.image " in line
    assert re.search(rf"--build-arg TRAINER=\S+/trainer:{re.escape(version)}-gpu ", line)
    assert f"--build-arg REQUIREMENTS={OWN}/torch.txt " in line


def test_changed_requirements_are_another_image_beside_the_old_one(checkout):
    """And the only one that is built."""
    checkout.run("images.sh")
    before = {*checkout.pushed}
    file = checkout.folder / OWN / "torch.txt"
    file.write_text(file.read_text() + "einops==0.8.2\n")
    result = checkout.run("images.sh")
    assert result.returncode == 0, result.stderr
    new = {tag for tag in {*checkout.pushed} - before if ":source-" not in tag}
    assert new == {f"torch:{tag_of(file)}", f"torch:{tag_of(file)}-gpu"}
    builds = [one for one in checkout.asked if one.startswith("docker build ")]
    assert len(builds) == 2


def job_image_of(checkout):
    return (checkout.folder / "contracts/trellis_contracts/job_image.py").read_text()


def test_what_was_released_is_not_built_again(checkout):
    checkout.run("images.sh")
    result = checkout.run("images.sh")
    assert result.returncode == 0
    assert not [line for line in checkout.asked if re.match("docker (build|push)", line)]


def test_a_release_cut_short_is_finished_with_the_same_image(checkout):
    checkout.run("images.sh")
    before = checkout.pushed
    version = next(tag for tag in before if re.match(r"export:\d", tag))
    next((checkout.registry / "remote").glob(f"*_{version}")).unlink()
    result = checkout.run("images.sh")
    assert result.returncode == 0, result.stderr
    assert checkout.pushed == before
    assert not [line for line in checkout.asked if line.startswith("docker build ")]


def test_other_sources_under_a_released_version_are_refused(checkout):
    checkout.run("images.sh")
    (checkout.folder / "trainer/serve.py").write_text("# changed\n")
    result = checkout.run("images.sh")
    assert result.returncode == 1
    assert "was built of other sources. Raise TAG" in result.stderr
    assert not [line for line in checkout.asked if re.match("docker (build|push)", line)]


def test_tags_that_stand_alone_get_their_digest(checkout):
    result = checkout.run("pin.sh")
    assert result.returncode == 0, result.stderr
    dockerfile = (checkout.folder / "docker/Dockerfile").read_text()
    arguments = re.findall(r"^ARG (?:PYTHON|BEAM|LAUNCHER)=(.*)$", dockerfile, re.M)
    steps = re.findall(r"name: (.*)", (checkout.folder / "infra/cloudbuild.yaml").read_text())
    named = arguments + steps
    assert len(named) == 11
    assert all(re.fullmatch(r"[^@]+@sha256:[0-9a-f]{64}", name) for name in named), named
    beam = f"apache/beam_python3.11_sdk:{arguments[1].split('@')[0]}"
    assert hashlib.sha256(f"{beam}\n".encode()).hexdigest() in arguments[1]

    # Cloud Build's own Docker client, which has no versions, too.
    assert any(name.startswith("gcr.io/cloud-builders/docker@") for name in steps)

    before = dockerfile
    assert checkout.run("pin.sh").stdout == ""
    assert (checkout.folder / "docker/Dockerfile").read_text() == before


def test_a_release_names_the_images_whose_tag_can_be_moved(checkout):
    before = (checkout.folder / "docker/Dockerfile").read_text()
    result = checkout.run("check.sh")
    assert result.returncode == 0
    assert "Run infra/release/pin.sh" in result.stderr
    assert "apache/beam_python3.11_sdk" in result.stderr
    assert "gcr.io/cloud-builders/docker" in result.stderr
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


def installed(*packages):
    listed = ", ".join(f'"{name}": "=={version}"' for name, version in packages)
    return f'{{"config": {{"softwareConfig": {{"pypiPackages": {{{listed}}}}}}}}}'


def test_packages_that_composer_has_are_not_installed_again(checkout):
    listed = (checkout.folder / "dags/requirements-composer.txt").read_text()
    packages = [line.split("==") for line in listed.splitlines() if not line.startswith("#")]
    checkout.installed.write_text(installed(*packages))
    result = checkout.run("packages.sh")
    assert result.returncode == 0, result.stderr
    assert [line for line in checkout.asked if " update " in line] == []


@pytest.mark.parametrize(
    "before",
    ['{"config": {"softwareConfig": {}}}', installed(("trellis-airflow", "0.0.9"))],
    ids=["none", "older"],
)
def test_others_are_replaced_by_the_list(checkout, before):
    checkout.installed.write_text(before)
    result = checkout.run("packages.sh")
    assert result.returncode == 0, result.stderr
    assert [line for line in checkout.asked if " update " in line] == [
        "gcloud composer environments update trellis --project our-lab --location us-central1 "
        "--update-pypi-packages-from-file=dags/requirements-composer.txt"
    ]


def test_the_wheel_is_uploaded_and_the_token_stays_off_the_command_line(checkout):
    result = checkout.run("wheel.sh")
    assert result.returncode == 0, result.stderr
    commands = [line for line in checkout.asked if line.startswith("uv ")]
    assert [command.split()[1] for command in commands] == ["build", "build", "publish"]
    assert not [command for command in commands if "secret-token" in command]
    assert (
        "check=https://oauth2accesstoken:secret-token@us-central1-python.pkg.dev/our-lab/"
        "trellis-wheels/simple/ password=secret-token" in checkout.asked
    )


def test_dags_go_into_a_folder_of_their_own(checkout):
    checkout.run("dags.sh")
    *_, command = checkout.asked
    assert "rsync" in command
    assert command.endswith("dags gs://us-central1-trellis-0123abcd-bucket/dags/trellis")
    assert "--delete-unmatched-destination-objects" in command
    exclude = re.search(r"--exclude=(\S+)", command)[1]
    assert re.match(exclude, "__pycache__/a.pyc")
    assert not re.match(exclude, "experiments/digits.yaml")
