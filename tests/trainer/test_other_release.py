"""An image refuses the jobs of DAGs with another version of the contracts."""

import os
import subprocess
import sys

import pytest

from trellis_contracts import VERSION
from trellis_contracts.job_image import COMMANDS, STARTED_BY


def started(command, version, *flags):
    """A command's exit code and the lines of its error output."""
    environment = {**os.environ, STARTED_BY: version}
    argv = [sys.executable, *command.argv[1:], *flags]
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, check=False)
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_so_in_one_line_before_it_reads_its_flags(name):
    code, (refusal,) = started(COMMANDS[name], "7.1.0", "--of-another-release")
    assert code == 1
    assert VERSION in refusal
    assert "7.1.0" in refusal


def test_the_same_release_is_obeyed():
    assert started(COMMANDS["weights"], VERSION, "--help") == (0, [])


def test_dataflow_passes_no_variables_and_the_export_has_a_flag():
    flags = ("--contracts", "7.1.0", "--of-another-release")
    code, lines = started(COMMANDS["export"], VERSION, *flags)
    assert code == 2
    assert "7.1.0" in lines[-1]
    assert "required" not in lines[-1]
