"""The programs of docs/upstream show the holes of the provider that we close. One that no longer
does makes code of ours superfluous.
"""

import re
import subprocess
import sys

import pytest

from tests.airflow_side import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PROGRAM = re.compile(r"```python\n(.*?)```(.*?)(?=```python|\Z)", re.S)
STATED = re.compile(r"(?:prints|ends with)[^`]*(?:```\n(.*?)```|`([^`]+)`)", re.S)


def programs():
    """(program, lines of its output, by the report) of each report on Google's provider."""
    for file in sorted((ROOT / "docs/upstream").glob("google-*.md")):
        for number, (program, text) in enumerate(PROGRAM.findall(file.read_text()), 1):
            stated = STATED.search(text)
            lines = "".join(stated.groups("")) if stated else table(text)
            yield pytest.param(program, lines.splitlines(), id=f"{file.stem} {number}")


def table(text):
    return "\n".join(line for line in text.splitlines() if line.startswith("| `"))


@pytest.mark.parametrize(("program", "stated"), programs())
def test_the_provider_still_has_the_hole(program, stated):
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
    )
    assert stated
    assert [
        line for line in stated if without_chance(line) not in without_chance(done.stdout)
    ] == []


def without_chance(text):
    """A text without the random suffixes of jobs' names."""
    return re.sub(r"-[0-9a-f]{8}\b", "", text)
