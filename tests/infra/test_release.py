"""The scripts of a release, with docker, gcloud, curl and uv replaced by programs that write down
what they were asked for.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.infra import terraform

OWN = "dags/experiments/images"

PLATFORM = """\
project: our-lab
registry: us-central1-docker.pkg.dev/our-lab/trellis
"""

RECORD = """\
#!/bin/sh
echo "$(basename "$0") $*" >>"$RECORD"
"""

# Images are files that hold a number, one for each build: $REGISTRY/remote/ and $REGISTRY/local/.
# A tag that was pushed cannot be pushed again with another image, as in our repository.
DOCKER = (
    RECORD
    + """\
cd "$REGISTRY" && mkdir -p local remote
name() { echo "$1" | tr / _; }
case "$1" in
    manifest) [ -f "remote/$(name "$3")" ] ;;
    build)
        echo x >>builds
        while [ $# -gt 0 ]; do
            [ "$1" = --tag ] && wc -l <builds >"local/$(name "$2")"
            shift
        done ;;
    tag) cp "local/$(name "$2")" "local/$(name "$3")" ;;
    pull) cp "remote/$(name "$3")" "local/$(name "$3")" ;;
    push)
        if [ -f "remote/$(name "$2")" ] && ! cmp -s "local/$(name "$2")" "remote/$(name "$2")"; then
            echo "tag $2 is immutable" >&2
            exit 1
        fi
        cp "local/$(name "$2")" "remote/$(name "$2")" ;;
    inspect) echo "$4@sha256:0123" ;;
    buildx) echo "$6" | sha256sum | sed 's/^\\(.*\\)  -$/sha256:\\1/' ;;
esac
"""
)

GCLOUD = (
    RECORD
    + """\
case "$*" in
    *describe*) cat "$INSTALLED" ;;
    *"storage ls"*)
        if [ -f "$REGISTRY/there" ]; then
            cat "$REGISTRY/there"
        else
            echo "ERROR: One or more URLs matched no objects." >&2
            exit 1
        fi ;;
    *"endpoints list"*)
        name=$(echo "$*" | sed 's/.*trellis-experiment=\\([^ ]*\\).*/\\1/')
        if [ -f "$REGISTRY/$name.endpoints" ]; then
            cat "$REGISTRY/$name.endpoints"
        else
            echo '[]'
        fi ;;
    *list-runs*)
        set -- $(echo "$*" | sed 's/.* -- //')
        if [ -f "$REGISTRY/$1.$3" ]; then
            cat "$REGISTRY/$1.$3"
        elif [ -f "$REGISTRY/$1" ]; then
            echo "No data found"
        else
            echo "Dag id $1 not found" >&2
            exit 1
        fi ;;
esac
"""
)

CURL = RECORD + """echo '{"access_token": "secret-token"}'\n"""

UV = RECORD + """echo "check=$UV_PUBLISH_CHECK_URL password=$UV_PUBLISH_PASSWORD" >>"$RECORD"\n"""


class Checkout:
    """The files of a checkout that the scripts read, and the calls that they made."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.record, self.registry = folder / "record", folder / "registry"
        self.installed = folder / "installed.json"
        self.registry.mkdir()
        for name in (
            "infra/release",
            "infra/cloudbuild.yaml",
            "contracts",
            "trainer",
            "docker",
            "dags",
            "tools.txt",
        ):
            copy = shutil.copytree if (terraform.ROOT / name).is_dir() else shutil.copy
            (folder / name).parent.mkdir(exist_ok=True)
            copy(terraform.ROOT / name, folder / name)
        for name in ("plugins/pyproject.toml",):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(terraform.ROOT / name, folder / name)
        (folder / "dags/platform.yaml").write_text(PLATFORM)
        programs = {"docker": DOCKER, "gcloud": GCLOUD, "curl": CURL}
        for name, text in programs.items():
            self.program(f"bin/{name}", text)
        self.program(".venv/tools/bin/uv", UV)
        (folder / "Makefile").write_text(".venv/tools/.ready:\n")

    def program(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        self.record.write_text("")
        environment = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "RECORD": str(self.record),
            "REGISTRY": str(self.registry),
            "INSTALLED": str(self.installed),
            "PROJECT": "our-lab",
            "REGION": "us-central1",
            "NAME": "trellis",
            "DAGS_BUCKET": "us-central1-trellis-0123abcd-bucket",
            "PLATFORM": "platform.yaml",
        }
        return subprocess.run(
            ["bash", f"infra/release/{script}"],
            cwd=self.folder,
            env=environment | variables,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def pushed(self) -> dict[str, str]:
        """The build of each tag in the registry."""
        return {
            path.name.removeprefix("us-central1-docker.pkg.dev_our-lab_trellis_"): path.read_text()
            for path in (self.registry / "remote").glob("*")
        }

    @property
    def asked(self) -> list[str]:
        return self.record.read_text().splitlines()


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


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


def there(checkout, *names):
    """Put experiments where the environment has its DAG files."""
    folder = "gs://us-central1-trellis-0123abcd-bucket/dags/trellis/experiments"
    text = "".join(f"{folder}/{name}.yaml\n" for name in names)
    (checkout.registry / "there").write_text(text)


@pytest.mark.parametrize("state", ["running", "queued"])
@pytest.mark.parametrize("dag", ["gone", "gone-predict", "gone-reserve"])
def test_an_experiment_with_a_run_in_flight_is_not_removed(checkout, dag, state):
    there(checkout, "digits", "gone")
    (checkout.registry / "gone").touch()
    (checkout.registry / f"{dag}.{state}").write_text('[{"dag_id": "x", "run_id": "manual__1"}]')
    result = checkout.run("dags.sh")
    assert result.returncode == 1
    assert f"a run of the DAG {dag} is {state}" in result.stderr
    assert not any("rsync" in command for command in checkout.asked)


def test_an_experiment_whose_runs_have_ended_is_removed(checkout):
    there(checkout, "digits", "gone")
    (checkout.registry / "gone").touch()
    # It stays, so it may run.
    (checkout.registry / "digits.running").write_text('[{"run_id": "manual__1"}]')
    assert checkout.run("dags.sh").returncode == 0
    assert "rsync" in checkout.asked[-1]
    assert not any("digits" in command for command in checkout.asked)


ENDPOINT = "projects/1/locations/us-central1/endpoints/7"


@pytest.mark.parametrize(
    ("traffic", "removed"),
    [
        ({"1": 90, "2": 10}, False),
        ({"1": 50, "2": 50}, False),
        # The other model is deployed, and gets nothing.
        ({"1": 100, "2": 0}, True),
        ({"1": 100}, True),
        ({}, True),
    ],
)
def test_an_experiment_whose_canary_is_half_done_is_not_removed(checkout, traffic, removed):
    """The run has failed: none is in flight, and the traffic stays divided."""
    there(checkout, "gone")
    (checkout.registry / "gone").touch()
    endpoints = [{"name": ENDPOINT, **({"trafficSplit": traffic} if traffic else {})}]
    (checkout.registry / "gone.endpoints").write_text(json.dumps(endpoints))
    result = checkout.run("dags.sh")
    assert (result.returncode == 0) == removed
    assert any("rsync" in command for command in checkout.asked) == removed
    if not removed:
        shares = "/".join(map(str, sorted(traffic.values())))
        assert f"gone is to be removed, and its traffic is divided: {ENDPOINT} {shares}." in (
            result.stderr
        )


def test_endpoints_that_are_not_known_stop_the_release(checkout):
    there(checkout, "gone")
    (checkout.registry / "gone").touch()
    checkout.program("bin/gcloud", GCLOUD.replace("echo '[]'", "exit 1"))
    result = checkout.run("removed.sh")
    assert result.returncode == 1
    assert "the endpoints of gone are not known" in result.stderr


def test_the_prefix_of_the_groups_dags_is_asked_for(checkout):
    there(checkout, "gone")
    (checkout.folder / "dags/platform.yaml").write_text(f"{PLATFORM}dag_prefix: lab-\n")
    (checkout.registry / "lab-gone.running").write_text('[{"run_id": "manual__1"}]')
    assert checkout.run("removed.sh").returncode == 1


def test_runs_that_are_not_known_stop_the_release(checkout):
    there(checkout, "gone")
    refusing = GCLOUD.replace("Dag id $1 not found", "permission denied")
    checkout.program("bin/gcloud", refusing)
    result = checkout.run("removed.sh")
    assert result.returncode == 1
    assert "permission denied" in result.stderr


def test_files_with_a_problem_are_not_released(checkout):
    program = "#!/bin/sh\necho $TRELLIS_PLATFORM $* >>$RECORD\nexit 1\n"
    checkout.program(".venv/airflow/bin/trellis", program)
    result = checkout.run("experiments.sh", PLATFORM="platform.yaml")
    assert result.returncode == 1
    (asked,) = checkout.asked
    assert asked.startswith("platform.yaml check dags/platform.yaml dags/experiments/")
    assert "Nothing was released" in result.stderr
