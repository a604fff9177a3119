"""tests/run.sh, with programs in place of the environments' Pythons that end as pytest would."""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "run.sh"
PASSED, FAILED, NOTHING_SELECTED = 0, 1, 5


@pytest.fixture
def checkout(tmp_path):
    """Makes a checkout: the script's path; what the Python of each environment does."""

    def make(programs):
        (tmp_path / "tests").mkdir(exist_ok=True)
        for environment, program in programs.items():
            python = tmp_path / ".venv" / environment / "bin" / "python"
            python.parent.mkdir(parents=True, exist_ok=True)
            python.write_text(f"#!/bin/sh\n{program}\n")
            python.chmod(0o755)
        return shutil.copy(SCRIPT, tmp_path / "tests")

    return make


@pytest.fixture
def run_sh(checkout):
    """Runs the script in a checkout where an environment's pytest has the given exit code."""

    def run(exit_codes, args=None):
        script = checkout(
            {name: f'printf "<%s>" "$@"; echo; exit {code}' for name, code in exit_codes.items()}
        )
        environ = {k: v for k, v in os.environ.items() if k not in ("ARGS", "PARTS")}
        if args is not None:
            environ["ARGS"] = args
        return subprocess.run(
            ["sh", script, "-m", "not slow"],
            env=environ,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    return run


def everywhere(code, **others):
    return (
        dict.fromkeys(re.findall(r"^ *run (\w+)", SCRIPT.read_text(), re.MULTILINE), code) | others
    )


def test_all_parts_pass_and_what_ran_beside_is_shown_at_the_end(run_sh, tmp_path):
    ended = run_sh(everywhere(PASSED))
    assert ended.returncode == 0
    beside = (tmp_path / ".local/tests.log").read_text()
    assert "== trainer: tests/contracts" in beside
    assert ended.stdout.endswith(beside)


@pytest.mark.parametrize("part", ["local_gcp", "trainer", "infra", "composer"])
def test_one_failing_part_fails_the_run_and_the_others_are_run(run_sh, part):
    ended = run_sh(everywhere(PASSED, **{part: FAILED}))
    assert ended.returncode == 1
    assert "== airflow: tests/end_to_end" in ended.stdout
    assert "== composer: tests/dags" in ended.stdout


def test_what_the_part_beside_another_says_counts(run_sh):
    ended = run_sh(everywhere(NOTHING_SELECTED, infra=PASSED), args="-k terraform")
    assert ended.returncode == 0


def test_a_part_without_tests_fails_a_full_run(run_sh):
    assert run_sh(everywhere(PASSED, trainer=NOTHING_SELECTED)).returncode == 1


def test_args_need_not_select_a_test_in_every_part(run_sh):
    codes = everywhere(NOTHING_SELECTED, trainer=PASSED)
    assert run_sh(codes, args="-k split").returncode == 0
    codes["trainer"] = FAILED
    assert run_sh(codes, args="-k split").returncode == 1


def test_args_that_select_nothing_at_all_fail(run_sh):
    ended = run_sh(everywhere(NOTHING_SELECTED), args="-k no_such_test")
    assert ended.returncode == 1
    assert 'ARGS="-k no_such_test" selects none' in ended.stderr


def test_args_are_split_as_a_shell_splits_words(run_sh):
    ended = run_sh(everywhere(PASSED), args='-k "split or key" -x')
    assert "<-m><not slow><-k><split or key><-x>" in ended.stdout


def test_ctrl_c_ends_both_lines_and_begins_no_further_part(checkout, tmp_path):
    started = tmp_path / "started"
    started.touch()
    script = checkout(everywhere(f"echo $$ >> {started}; exec sleep 60"))
    # As from a terminal: this process may have been told to ignore Ctrl-C.
    command = ["env", "--default-signal=INT", "sh", script, "-m", "not slow"]
    both = subprocess.Popen(command, start_new_session=True)
    deadline = time.monotonic() + 30
    while len(pids := started.read_text().split()) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(both.pid, signal.SIGINT)
    assert both.wait(timeout=30) == -signal.SIGINT
    while any(Path("/proc", pid).exists() for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert started.read_text().split() == pids
