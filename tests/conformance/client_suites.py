"""Run the system tests of Google's own clients against local_gcp, and count how they end.

    .venv/airflow/bin/python -m tests.conformance.client_suites [SUITE ...]

The tests are not in this repository: they come with the source distributions of the installed
clients, which `pip download` fetches once into FOLDER. A test is right, or refused by name
(local_gcp says what it does not emulate), or wrong, or hangs. `client_suites.yaml` lists the tests
that cannot be compared, each with its reason. Ends with 1 if a test is wrong or hangs.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from tests.conformance.suite_refusals import PROPERTY, REFUSAL

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".local/client-suites"
SUITES = {
    "google-cloud-bigquery": "tests/system",
    "google-cloud-storage": "tests/system",
    "google-resumable-media": "tests/system",
}
"""Clients, and where their sources have the tests of the real service."""
COLUMNS = ("right", "refused by name", "not comparable", "wrong", "hang", "skipped")
PLUGIN = "suite_refusals"
_REASON = '"notImplemented"'
"""local_gcp's reason beside a refusal: a client's message may be cut before the sentence."""
SECONDS = 120
"""After which a test hangs. The longest that ends takes a third."""


def source(client: str) -> Path:
    """Return the unpacked source distribution of the installed version of a client."""
    version = importlib.metadata.version(client)
    name = f"{client.replace('-', '_')}-{version}"
    if not (FOLDER / name).exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        pip = [ROOT / ".venv/tools/bin/python", "-m", "pip", "download", "--quiet", "--no-deps"]
        options = ["--no-binary", ":all:", "--dest", FOLDER, f"{client}=={version}"]
        subprocess.run([*pip, *options], check=True)
        with tarfile.open(FOLDER / f"{name}.tar.gz") as archive:
            # Python has the filter since 3.11.4; Debian's is 3.11.2.
            archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
            archive.extractall(FOLDER / f"{name}.part")
        (FOLDER / f"{name}.part" / name).rename(FOLDER / name)
    return FOLDER / name


def run(client: str, arguments: list[str]) -> Path:
    """Run the tests of a client against a local_gcp of their own; pytest's report as XML."""
    # The tests alone: the client is the installed one.
    house = FOLDER / "run" / client
    shutil.rmtree(house, ignore_errors=True)
    shutil.copytree(source(client) / "tests", house / "tests")
    report = house / "report.xml"
    tests = [sys.executable, "-m", "pytest", SUITES[client], "-q", "--timeout", str(SECONDS)]
    tests += [
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
        "-p",
        PLUGIN,
        "--rootdir",
        house,
        "-c",
        os.devnull,
    ]
    tests += ["--junit-xml", report, "--show-capture", "no", "--tb", "native", *arguments]
    local_gcp = [ROOT / ".venv/local_gcp/bin/local-gcp", "run", "--temporary"]
    local_gcp += ["--images", ROOT / "demo/images.yaml", "--"]
    # Storage's tests name hosts of their own, which only the proxy serves.
    command = [*local_gcp, "env", "-u", "STORAGE_EMULATOR_HOST", *tests]
    # The plugin alone: their package is called `tests`, as ours is.
    shutil.copy(Path(__file__).with_name("suite_refusals.py"), house / f"{PLUGIN}.py")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / '.venv/suites'}:{house}"}
    subprocess.run([*map(str, command)], cwd=house, env=environment, check=False)
    if not report.exists():
        raise SystemExit(f"The tests of {client} did not run: see above.")
    return report


def outcomes(report: Path) -> dict[str, tuple[str, str]]:
    """Return (column, text) of each test in a report, by its name."""
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        problems = [child for child in case if child.tag in ("failure", "error")]
        text = "\n".join((child.text or "") + str(child.get("message")) for child in problems)
        if not problems:
            column = "skipped" if case.find("skipped") is not None else "right"
        elif any(mark in text for mark in (REFUSAL, _REASON)) or any(
            p.get("name") == PROPERTY for p in case.iter("property")
        ):
            column = "refused by name"
        else:
            column = "hang" if "Timeout (>" in text or "Timeout >" in text else "wrong"
        # A test whose teardown fails, too, is there twice.
        found[name] = min((column, text), found.get(name, ("", "")), key=_importance)
    return found


def _importance(outcome: tuple[str, str]) -> int:
    order = ("refused by name", "hang", "wrong", "skipped", "right", "")
    return order.index(outcome[0])


def judged(client: str, report: Path) -> dict[str, tuple[str, str]]:
    """Return the outcomes, those that `client_suites.yaml` names as not comparable."""
    listed = not_comparable()[client]
    found = outcomes(report)
    for name, (column, text) in found.items():
        if column in ("wrong", "hang") and any(_is_one(name, text, group) for group in listed):
            found[name] = ("not comparable", text)
    return found


def not_comparable() -> dict[str, list[dict[str, Any]]]:
    """The groups of tests in client_suites.yaml, by client."""
    found: dict[str, list[dict[str, Any]]] = yaml.safe_load(
        Path(__file__).with_suffix(".yaml").read_text()
    )
    return found


def _is_one(name: str, text: str, group: dict[str, Any]) -> bool:
    """Return whether a group has a test, by its name or by what its error says."""
    said = "says" in group and group["says"] in text
    return said or any(fnmatch.fnmatchcase(name, pattern) for pattern in group.get("tests", ()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suites", nargs="*", choices=[[], *SUITES], help="default: all")
    parser.add_argument("-k", help="run these tests alone, as pytest's -k")
    options = parser.parse_args()
    bad = 0
    print(f"| client | version | tests | {' | '.join(COLUMNS)} |")
    print(f"|---|---|---:{'|---:' * len(COLUMNS)}|")
    details = []
    for client in options.suites or SUITES:
        found = judged(client, run(client, ["-k", options.k] if options.k else []))
        counts = collections.Counter(column for column, _ in found.values())
        cells = [importlib.metadata.version(client), len(found), *(counts[c] for c in COLUMNS)]
        print(f"| {client} | {' | '.join(map(str, cells))} |", flush=True)
        wrong = {n: t for n, (c, t) in found.items() if c in ("wrong", "hang")}
        details += [f"{name}:\n  {text.strip()[-1500:]}" for name, text in wrong.items()]
        bad += len(wrong)
    print("\n".join(details))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
