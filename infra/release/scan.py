"""Refuse a release whose images have a critical vulnerability that a newer package repairs.

Waits until Artifact Analysis has looked at each image of .release/images (images.sh writes it).
accepted.txt names the vulnerabilities that the group accepts, each with its reason.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

WAITS = {"PENDING", "SCANNING", "ANALYSIS_STATUS_UNSPECIFIED"}
"""States of an analysis that has not ended:
https://docs.cloud.google.com/artifact-analysis/docs/reference/rest/v1/DiscoveryOccurrence"""

DONE = {"FINISHED_SUCCESS", "COMPLETE"}
TRIES = int(os.environ.get("SCAN_TRIES", "60"))
PAUSE = float(os.environ.get("SCAN_PAUSE", "15"))
"""Seconds between two looks: an image of 4 GB takes some minutes."""

ACCEPTED = Path(__file__).with_name("accepted.txt")


def look(image: str) -> dict:
    """Return what the registry and Artifact Analysis know of an image."""
    command = ["gcloud", "artifacts", "docker", "images", "describe", image]
    project = image.split("/")[1]
    options = ["--show-package-vulnerability", "--project", project, "--format=json"]
    done = subprocess.run([*command, *options], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def states(report: dict) -> set[str]:
    """Return the states of an image's analyses; an image of which none is known waits for one."""
    found = report.get("discovery_summary", {}).get("discovery", [])
    return {each.get("discovery", {}).get("analysisStatus", "PENDING") for each in found} or {
        "PENDING"
    }


def scanned(image: str) -> dict:
    """Wait for the analyses of an image and return its report. Exits if they fail or do not end."""
    for attempt in range(TRIES):
        report = look(image)
        if not states(report) & WAITS:
            break
        if attempt == 0:
            print(f"Waits for the scan of {image}", flush=True)
        time.sleep(PAUSE)
    if wrong := states(report) - DONE:
        sys.exit(
            f"Nothing was released: {image} is not scanned ({', '.join(sorted(wrong))}). Is "
            "containerscanning.googleapis.com enabled? It scans an image once, when it is pushed."
        )
    return report


def repairable(report: dict) -> Iterator[tuple[str, str]]:
    """Yield identifier and description of the critical vulnerabilities that have a repair."""
    for found in vulnerabilities(report).get("CRITICAL", []):
        for issue in found.get("vulnerability", {}).get("packageIssue", []):
            if issue.get("fixAvailable"):
                has, repaired = (
                    issue.get(key, {}).get("fullName", "?")
                    for key in ("affectedVersion", "fixedVersion")
                )
                package = issue.get("affectedPackage", "?")
                identifier = found.get("noteName", "").rpartition("/")[2]
                yield identifier, f"{identifier}: {package} {has}, repaired in {repaired}"


def vulnerabilities(report: dict) -> dict[str, list]:
    """Return the vulnerabilities of an image by severity."""
    return report.get("package_vulnerability_summary", {}).get("vulnerabilities", {})


def main() -> None:
    """Print the counts of each image, and exit with 1 after all if one is refused."""
    lines = [line for line in ACCEPTED.read_text().splitlines() if line and line[0] != "#"]
    accepted = {line.split()[0] for line in lines}
    refused = []
    for image in Path(".release/images").read_text().split():
        report = scanned(image)
        counts = {severity: len(found) for severity, found in vulnerabilities(report).items()}
        print(f"{image}: {counts or 'nothing is known'}", flush=True)
        refused += [f"{image}: {text}" for name, text in repairable(report) if name not in accepted]
    if refused:
        print(*refused, sep="\n", file=sys.stderr)
        sys.exit(
            "Nothing was released: raise these packages or the base image, and TAG in "
            "contracts/trellis_contracts/job_image.py; or name what you accept in "
            f"infra/release/{ACCEPTED.name}, with its reason."
        )


if __name__ == "__main__":
    main()
