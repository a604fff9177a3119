"""Variants: what is given, what is refused."""

import dataclasses
import subprocess
import sys

import pytest

from local_gcp.variants import VARIABLE, VariantError, Variants, described


def test_the_defaults_are_the_probable():
    assert Variants.from_environment({}) == Variants()
    assert Variants.from_environment({VARIABLE: ""}).list_operations == "answered"


def test_the_last_of_a_name_counts():
    given = {VARIABLE: "list-lag=5, etags=aborted,list-lag=2.5"}
    assert Variants.from_environment(given) == Variants(list_lag=2.5, etags="aborted")


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ("etag=aborted", "no variant 'etag'; there are: operation-seconds, .*etags"),
        ("etags", "etags is checked or aborted or failed-precondition, not ''"),
        ("list-lag=nan", "list-lag is a number from 0 to 3600, not 'nan'"),
        ("list-lag=-1", "not '-1'"),
        ("failing-operations=0.5", "not '0.5'"),
    ],
)
def test_what_there_is_not_is_refused(given, answer):
    with pytest.raises(VariantError, match=answer):
        Variants.parse(given)


def test_up_says_what_it_refuses_before_it_starts(tmp_path):
    command = [sys.executable, "-m", "local_gcp", "--home", tmp_path, "up", "--variant", "a=b"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "There is no variant 'a'" in done.stderr


def test_help_names_every_variant():
    lines = list(described())
    for field in dataclasses.fields(Variants):
        assert any(line.startswith(f"{field.name.replace('_', '-')}=") for line in lines)
