"""The scripts of a release: images, packages and DAGs that fit, each once."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.infra import terraform
from tests.infra.release_checkout import PLATFORM
from tests.wording import says

OWN = "dags/experiments/images"


@pytest.fixture(scope="module")
def built(cloned, tmp_path_factory):
    """A checkout whose images were built and pushed: to read, or to copy."""
    checkout = cloned.copy(tmp_path_factory.mktemp("built"))
    result = checkout.run("images.sh")
    assert result.returncode == 0, result.stderr
    assert "@sha256:" in result.stdout
    return checkout


@pytest.fixture(scope="module")
def documented(built, tmp_path_factory):
    """A checkout whose images were built, and have their documents: to read, or to copy."""
    checkout = built.copy(tmp_path_factory.mktemp("documented"))
    result = checkout.run("documents.sh")
    assert result.returncode == 0, result.stderr
    return checkout


@pytest.fixture
def released(built, tmp_path):
    """A checkout whose images were built and pushed."""
    return built.copy(tmp_path)


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
    assert re.search(r"trellis-airflow \d+\.\d+\.\d+ .*images \d+\.", result.stdout)


@pytest.mark.parametrize(
    ("variables", "platform", "complaint"),
    [
        ({"DAGS_BUCKET": ""}, PLATFORM, "_DAGS_BUCKET is empty"),
        ({"IMAGES_PROJECT": ""}, PLATFORM, "_IMAGES_PROJECT names no second project"),
        ({"IMAGES_PROJECT": "our-lab"}, PLATFORM, "_IMAGES_PROJECT names no second project"),
        ({"PLATFORM": "platform-prod.yaml"}, PLATFORM, "there is no dags/platform-prod.yaml"),
        ({}, PLATFORM.replace("our-lab", "local-gcp"), "is not of project our-lab"),
        ({"NAME": "second"}, PLATFORM, "does not take its images from"),
    ],
    ids=["bucket", "no images' project", "images' own project", "file", "project", "registry"],
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
    assert says(result.stderr, "requirements-composer.txt", "trellis-airflow==")


def test_every_image_that_dags_name_is_built_and_pushed(built):
    builds = [line for line in built.asked if line.startswith("docker build ")]
    targets = re.findall(r"--target (\S+)", "\n".join(builds))
    assert sorted(targets) == ["export", "serve", "serve", "trainer", "trainer"]
    assert sum("ACCELERATOR=gpu" in line and "-gpu" in line for line in builds) == 2
    stages = re.findall(
        r"^FROM .* AS (\S+)$", (built.folder / "docker/Dockerfile").read_text(), re.M
    )
    assert set(targets) <= set(stages)
    version = re.search(r'^TAG = "(.*)"$', job_image_of(built), re.MULTILINE)[1]
    own = {file.stem: tag_of(file) for file in (built.folder / OWN).glob("*.txt")}
    assert own
    assert {tag for tag in built.pushed if ":source-" not in tag} == {
        *(f"{name}:{tag}{gpu}" for name, tag in own.items() for gpu in ("", "-gpu")),
        f"trainer:{version}",
        f"trainer:{version}-gpu",
        f"serve:{version}",
        f"serve:{version}-gpu",
        f"export:{version}",
    }


def tag_of(requirements):
    """The tag that the DAGs name, as tests/trellis/workflow/spec/test_own_image.py has it."""
    version = (terraform.ROOT / "contracts/trellis_contracts/job_image.py").read_text()
    version = re.search(r'^TAG = "(.*)"$', version, re.MULTILINE)[1]
    return f"{version}-{hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]}"


def test_an_own_image_is_ours_with_the_packages_of_its_file(built):
    (line,) = [one for one in built.asked if re.search(r"build .*/torch:\S+-gpu ", one)]
    version = re.search(r'^TAG = "(.*)"$', job_image_of(built), re.MULTILINE)[1]
    assert "--file docker/Dockerfile.image " in line
    assert re.search(rf"--build-arg TRAINER=\S+/trainer:{re.escape(version)}-gpu ", line)
    assert f"--build-arg REQUIREMENTS={OWN}/torch.txt " in line


def test_changed_requirements_are_another_image_beside_the_old_one(released):
    """And the only one that is built."""
    before = {*released.pushed}
    file = released.folder / OWN / "torch.txt"
    file.write_text(file.read_text() + "einops==0.8.2\n")
    result = released.run("images.sh")
    assert result.returncode == 0, result.stderr
    new = {tag for tag in {*released.pushed} - before if ":source-" not in tag}
    assert new == {f"torch:{tag_of(file)}", f"torch:{tag_of(file)}-gpu"}
    builds = [one for one in released.asked if one.startswith("docker build ")]
    assert len(builds) == 2


def job_image_of(checkout):
    return (checkout.folder / "contracts/trellis_contracts/job_image.py").read_text()


def test_each_image_that_was_built_has_its_packages_and_its_provenance(documented):
    """With the digests that the base images had, whether or not they stand in the Dockerfile."""
    kept = documented.registry / "documents"
    assert {f"{file.parent.name}:{file.name}" for file in kept.glob("*/*")} == {
        tag for tag in documented.pushed if ":source-" not in tag
    }
    version = re.search(r'^TAG = "(.*)"$', job_image_of(documented), re.MULTILINE)[1]
    export = kept / "export" / version
    assert {file.name for file in export.iterdir()} == {
        "provenance.dsse.json",
        "provenance.json",
        "sbom.spdx.json",
        "sources.sha256",
    }
    statement = json.loads((export / "provenance.json").read_text())
    (subject,) = statement["subject"]
    assert subject["name"].endswith("/trellis/export")
    build = documented.pushed[f"export:{version}"]
    assert subject["digest"]["sha256"] == hashlib.sha256(build.encode()).hexdigest()
    definition = statement["predicate"]["buildDefinition"]
    assert definition["externalParameters"]["docker build"][-2:] == ["--target", "export"]
    sources, *bases = definition["resolvedDependencies"]
    listed = (export / "sources.sha256").read_bytes()
    assert sources["digest"]["sha256"] == hashlib.sha256(listed).hexdigest()
    assert b"trainer/export.py" in listed
    named = {base["name"]: base["digest"]["sha256"] for base in bases}
    (beam,) = (name for name in named if name.startswith("apache/beam_python3.11_sdk:"))
    assert named[beam] == hashlib.sha256(f"{beam}\n".encode()).hexdigest()
    assert any(name.startswith("python:3.11") for name in named)
    details = statement["predicate"]["runDetails"]
    assert details["metadata"]["invocationId"].endswith("/builds/0123-abcd")


def test_the_release_signs_what_an_image_was_built_of(documented, tmp_path):
    """With a real key, in place of that in Cloud KMS."""
    line = next(line for line in documented.asked if "asymmetric-sign" in line)
    assert "--key=trellis-release --keyring=trellis-release --version=1" in line
    folder = next((documented.registry / "documents").glob("export/*"))
    public = tmp_path / "public.pem"
    pair = documented.registry / "key.pem"
    subprocess.run(["openssl", "ec", "-in", pair, "-pubout", "-out", public], check=True)

    def check(file):
        command = [sys.executable, terraform.ROOT / "infra/release/dsse.py", "check", file, public]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    signed = folder / "provenance.dsse.json"
    assert check(signed).stdout == (folder / "provenance.json").read_text()
    envelope = json.loads(signed.read_text())
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    statement = base64.b64decode(envelope["payload"]).replace(b"export", b"serve ")
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(envelope | {"payload": base64.b64encode(statement).decode()}))
    result = check(forged)
    assert (result.returncode, result.stdout) == (1, "")
    assert "is not signed by" in result.stderr


def test_of_an_image_of_an_older_release_nothing_is_written_again(documented, tmp_path):
    checkout = documented.copy(tmp_path)
    checkout.run("images.sh")
    result = checkout.run("documents.sh")
    assert (result.returncode, result.stderr) == (0, "")
    assert not [line for line in checkout.asked if "upload" in line]


def test_an_image_of_which_nothing_was_recorded_is_named(released):
    """A release that was cut short between images.sh and documents.sh."""
    released.run("images.sh")
    result = released.run("documents.sh")
    assert result.returncode == 0
    assert says(result.stderr, "nobody recorded", "/our-images/trellis/export:")


SCANNED = {
    "discovery_summary": {"discovery": [{"discovery": {"analysisStatus": "FINISHED_SUCCESS"}}]}
}


def vulnerability(identifier, fix, package="openssl"):
    """An occurrence, as `gcloud artifacts docker images describe` prints it."""
    versions = {"affectedVersion": {"fullName": "3.0.1"}, "fixedVersion": {"fullName": "3.0.2"}}
    issue = {"affectedPackage": package, "fixAvailable": fix, **versions}
    return {
        "noteName": f"projects/goog-vulnz/notes/{identifier}",
        "vulnerability": {"packageIssue": [issue]},
    }


def scan(released, critical=(), first=SCANNED, **others):
    """Scans the images of a release; `first` is what the first look at the first image shows."""
    found = {"CRITICAL": [*critical], **others}
    report = SCANNED | {"package_vulnerability_summary": {"vulnerabilities": found}}
    (released.registry / "scan.json").write_text(json.dumps(first))
    (released.registry / "scan2.json").write_text(json.dumps(report))
    return released.run("scan.py")


def test_a_critical_vulnerability_with_a_repair_stops_a_release(released):
    result = scan(released, [vulnerability("CVE-2026-1", True), vulnerability("CVE-2026-2", False)])
    assert result.returncode == 1
    assert says(result.stderr, "CVE-2026-1", "openssl 3.0.1", "3.0.2")
    assert "CVE-2026-2" not in result.stderr, "nobody can do anything about it"
    assert "Nothing was released" in result.stderr


def test_one_that_the_group_accepts_does_not_and_neither_do_lesser_ones(released):
    accepted = released.folder / "infra/release/accepted.txt"
    accepted.write_text(accepted.read_text() + "CVE-2026-1 no image calls it\n")
    lesser = [vulnerability("CVE-2026-3", True)]
    result = scan(released, [vulnerability("CVE-2026-1", True)], HIGH=lesser)
    assert result.returncode == 0, result.stderr
    assert "{'CRITICAL': 1, 'HIGH': 1}" in result.stdout


def test_a_scan_is_waited_for(released):
    pending = {"discovery_summary": {"discovery": [{"discovery": {"analysisStatus": "SCANNING"}}]}}
    result = scan(released, first=pending)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("Waits for the scan of") == 1


@pytest.mark.parametrize("state", ["FINISHED_FAILED", "FINISHED_UNSUPPORTED", None])
def test_an_image_that_nobody_scans_stops_a_release(released, state):
    discovery = [{"discovery": {"analysisStatus": state}}] if state else []
    for name in ("scan.json", "scan2.json"):
        report = {"discovery_summary": {"discovery": discovery}}
        (released.registry / name).write_text(json.dumps(report))
    result = released.run("scan.py", SCAN_TRIES="2")
    assert result.returncode == 1
    assert f"is not scanned ({state or 'PENDING'})" in result.stderr


def test_what_was_released_is_not_built_again(released):
    result = released.run("images.sh")
    assert result.returncode == 0
    assert not [line for line in released.asked if re.match("docker (build|push)", line)]


def test_a_release_cut_short_is_finished_with_the_same_image(released):
    before = released.pushed
    version = next(tag for tag in before if re.match(r"export:\d", tag))
    next((released.registry / "remote").glob(f"*_{version}")).unlink()
    result = released.run("images.sh")
    assert result.returncode == 0, result.stderr
    assert released.pushed == before
    assert not [line for line in released.asked if line.startswith("docker build ")]


def test_other_sources_under_a_released_version_are_refused(released):
    (released.folder / "trainer/serve.py").write_text("# changed\n")
    result = released.run("images.sh")
    assert result.returncode == 1
    assert "was built of other sources. Raise TAG" in result.stderr
    assert not [line for line in released.asked if re.match("docker (build|push)", line)]


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
