"""tests/run.sh, with programs in place of the environments' Pythons that end as pytest would."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "run.sh"
PASSED, FAILED, NOTHING_SELECTED = 0, 1, 5


@pytest.fixture
def run_sh(tmp_path):
    """Runs the script in a checkout where an environment's pytest has the given exit code."""

    def run(exit_codes, args=None):
        (tmp_path / "tests").mkdir(exist_ok=True)
        script = shutil.copy(SCRIPT, tmp_path / "tests")
        for environment, code in exit_codes.items():
            python = tmp_path / ".venv" / environment / "bin" / "python"
            python.parent.mkdir(parents=True, exist_ok=True)
            python.write_text(f'#!/bin/sh\nprintf "<%s>" "$@"; echo\nexit {code}\n')
            python.chmod(0o755)
        environ = {k: v for k, v in os.environ.items() if k != "ARGS"}
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


def test_all_parts_pass(run_sh):
    assert run_sh(everywhere(PASSED)).returncode == 0


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
