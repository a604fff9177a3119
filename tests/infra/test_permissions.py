"""Every call of a run is permitted to Airflow's account by a role that infra/ gives it."""

import json
import re

import pytest

from tests.infra import permissions

KNOWN = json.loads(permissions.FACTS.read_text())


def given():
    """Roles that the files of infra/ give to Airflow's account."""
    text = "\n".join(path.read_text() for path in sorted((permissions.ROOT / "infra").glob("*.tf")))
    project = set(re.findall(r'"roles/([\w.]+)"\s*= local\.composer\b', text))
    blocks = re.findall(r'^resource "\w+_iam_member" "\w+" \{\n(.*?)^\}', text, re.M | re.S)
    return project | {
        role
        for block in blocks
        if "local.composer" in block
        for role in re.findall(r'role\s*= "roles/([\w.]+)"', block)
    }


def test_the_roles_are_those_that_infra_gives():
    assert set(permissions.AIRFLOW) <= given()


@pytest.mark.parametrize("call", permissions.calls())
def test_a_call_of_a_run_is_permitted(call):
    found = [row for row in permissions.rows(KNOWN) if row[0] == call]
    assert [row for row in found if not row[2]] == []
    assert bool(found) != (call in permissions.NO_PERMISSION), "its permission is not known"


def test_what_is_known_by_name_is_a_permission_of_a_role():
    of_roles = {p for held in KNOWN["roles"].values() for p in held}
    assert {p for found in permissions.BY_NAME.values() for p in found} <= of_roles


def test_the_page_is_current():
    assert permissions.PAGE.read_text() == permissions.page(KNOWN)
