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


def test_what_is_pinned_by_digest_has_its_manager():
    assert {"dockerfile", "cloudbuild", "github-actions", "terraform"} <= {
        *SETTINGS["enabledManagers"]
    }
    assert "docker:pinDigests" in SETTINGS["extends"]
