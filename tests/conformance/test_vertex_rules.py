"""Vertex AI's published rules for fields: local_gcp takes the good values and refuses the bad."""

import json
import re
from functools import reduce
from pathlib import Path

import pytest
from google.cloud import aiplatform_v1

from tests.conformance.vertex_rules import RULES

PROGRAM = Path(__file__).parent / "programs/vertex_rules.py"


def documentation(message):
    """Return the text of Google's client on a message, in one line."""
    return re.sub(r"\s+", " ", reduce(getattr, message.split("."), aiplatform_v1).__doc__)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.source}: {rule.field}")
def test_google_publishes_the_rule(rule):
    assert rule.says in documentation(rule.source)


def cases(values):
    return [(rule, value) for rule in RULES for value in getattr(rule, values)]


@pytest.fixture(scope="module")
def answers(local_gcp):
    """Every error, by "good" and "bad", in the order of `cases`; None for an accepted value."""

    def tried(values):
        asked = [(rule.request, rule.field, value) for rule, value in cases(values)]
        return json.loads(local_gcp.run(PROGRAM, json.dumps(asked)))

    return {values: tried(values) for values in ("good", "bad")}


def test_good_values_are_no_errors(answers):
    # Jobs are refused for their image, which is unknown, and deployments for their model.
    for (rule, value), error in zip(cases("good"), answers["good"], strict=True):
        named = set(error["violations"]) if error else set()
        assert error is None or error["code"] in ("INVALID_ARGUMENT", "NOT_FOUND"), error
        assert {n for n in named if n.startswith(rule.field)} == set(), (rule.field, value)
        assert all("image_uri" in name for name in named), (rule.field, value, error)


def test_bad_values_are_refused_in_googles_form(answers):
    for (rule, value), error in zip(cases("bad"), answers["bad"], strict=True):
        assert error is not None, (rule.field, value)
        assert error["code"] == "INVALID_ARGUMENT", (rule.field, value, error)
        ((field, message),) = error["violations"].items()
        assert field.startswith(rule.field), (rule.field, value, error)
        assert error["message"] == f"List of found errors:\t1.Field: {field}; Message: {message}\t"
