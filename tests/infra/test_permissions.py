"""Every call of a run is permitted to Airflow's account by a role that infra/ gives it."""

import json
import re

import pytest

from tests.infra import permissions

KNOWN = json.loads(permissions.FACTS.read_text())


def given(account):
    """Roles that the files of infra/ give to an account."""
    text = "\n".join(path.read_text() for path in sorted((permissions.ROOT / "infra").glob("*.tf")))
    name = account.removeprefix("agents.")
    found = set(re.findall(rf'"roles/([\w.]+)"\s*= local\.{account}\b', text))
    if account != name:
        found |= set(re.findall(rf'^ +{name}\s*= "roles/([\w.]+)"$', text, re.M))
    blocks = re.findall(r'^resource "\w+_iam_member" "\w+" \{\n(.*?)^\}', text, re.M | re.S)
    return found | {
        role
        for block in blocks
        if re.search(rf"local\.{account}\b", block)
        for role in re.findall(r'"roles/([\w.]+)"', block)
    }


@pytest.mark.parametrize("account", permissions.ROLES)
def test_the_roles_are_those_that_infra_gives(account):
    assert set(permissions.ROLES[account]) <= given(account)


@pytest.mark.parametrize("what", permissions.WORK.keys() | permissions.STATEMENTS.keys())
def test_work_beside_the_calls_is_permitted(what):
    found = [row for row in permissions.work(KNOWN) if row[0].removeprefix("SQL: ") == what]
    assert found
    assert [row for row in found if not row[3]] == []


def test_every_statement_has_its_permissions():
    plugins = permissions.ROOT / "plugins"
    text = "\n".join(
        p.read_text() for end in ("sql", "py") for p in sorted(plugins.rglob(f"*.{end}"))
    )
    kinds = (
        r"CREATE (?:OR REPLACE )?(\w+)|(EXPORT \w+|ALTER \w+|DELETE FROM|INSERT INTO|MERGE INTO)"
    )
    said = {
        (made and f"CREATE {made}") or other for made, other in re.findall(rf"\b(?:{kinds}) ", text)
    }
    said |= set(re.findall(r"\bFROM\s+(ML\.[A-Z_]+)\(", text))
    assert {"CREATE MODEL", "ML.PREDICT", "EXPORT DATA"} <= said
    assert said <= {each for names in permissions.STATEMENTS for each in names.split(", ")}


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
