""".github/renovate.json covers what the repository pins."""

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = json.loads((ROOT / ".github/renovate.json").read_text())


def files(pattern):
    done = subprocess.run(
        ["git", "ls-files", pattern], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_every_list_of_requirements_that_is_written_by_hand_is_read():
    patterns = [each.strip("/") for each in SETTINGS["pip_requirements"]["managerFilePatterns"]]
    for file in files("*.in"):
        assert any(re.search(pattern, file) for pattern in patterns), file


def test_every_list_with_a_pin_is_written_by_hand_and_read_or_compiled():
    compiled = {file.removesuffix(".in") + ".txt" for file in files("*.in")}
    record = {"tests/composer_image.txt"}
    """What Composer's image has: no choice of ours."""
    patterns = [each.strip("/") for each in SETTINGS["pip_requirements"]["managerFilePatterns"]]
    for file in files("*.txt"):
        if "==" in (ROOT / file).read_text() and file not in compiled | record:
            assert any(re.search(pattern, file) for pattern in patterns), file


# What a manager reads unless told otherwise: https://docs.renovatebot.com/modules/manager/
MANAGERS = {
    "dockerfile": r"(^|/)[Dd]ockerfile[^/]*$",
    "cloudbuild": r"(^|/)cloudbuild\.ya?ml",
    "github-actions": r"(^|/)(workflow-templates|\.github/workflows)/[^/]+\.ya?ml$",
    "terraform": r"\.tf$",
}


def images():
    """(file, image) of every image that the repository names, as pin.sh lists them."""
    done = subprocess.run(
        ["bash", "infra/release/pin.sh", "--all"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_every_image_that_is_pinned_by_digest_has_its_manager():
    assert MANAGERS.keys() <= {*SETTINGS["enabledManagers"]}
    assert "docker:pinDigests" in SETTINGS["extends"]
    (own,) = SETTINGS["customManagers"]
    assert "custom.regex" in SETTINGS["enabledManagers"]
    seen = set()
    for file, image in images():
        found = [name for name, pattern in MANAGERS.items() if re.search(pattern, file)]
        if not found:
            assert any(re.search(each.strip("/"), file) for each in own["managerFilePatterns"])
            pattern = own["matchStrings"][0].replace("(?<", "(?P<")
            match = re.search(pattern, (ROOT / file).read_text())
            assert f"{match['depName']}:{match['currentValue']}@{match['currentDigest']}" == image
            found = ["custom.regex"]
        seen.update(found)
    assert seen == {"dockerfile", "cloudbuild", "custom.regex"}


def test_no_dockerfile_and_no_builder_is_forgotten():
    """What pin.sh lists is all that a Dockerfile or a build of the repository starts from."""
    listed = {file for file, _ in images()}
    named = {file for file in files("*") if re.search(MANAGERS["dockerfile"], file)}
    assert named | {"infra/cloudbuild.yaml"} <= listed
    # A stage, or an argument (docker/Dockerfile.image: our own image) is no image of others.
    known = {image.split("@")[0].rpartition("/")[2].split(":")[0] for _, image in images()}
    for file in named:
        for base in re.findall(r"^FROM ([^\s:@]+)[:@]", (ROOT / file).read_text(), re.M):
            assert base.rpartition("/")[2] in known, file


def test_actions_are_pinned_by_commit():
    for file in files(".github/workflows/*"):
        for action in re.findall(r"uses: (\S+)", (ROOT / file).read_text()):
            assert re.search(r"@[0-9a-f]{40}$", action), f"{file}: {action}"
