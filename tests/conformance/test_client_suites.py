"""How the clients' own tests are counted: made reports, in place of runs that take an hour."""

import pytest

from tests.conformance import client_suites

REPORT = """
<testsuites><testsuite>
<testcase classname="t" name="good"/>
<testcase classname="t" name="left"><skipped message="no key"/></testcase>
<testcase classname="t" name="told"><failure message="x">501 local_gcp does not emulate a.</failure>
</testcase>
<testcase classname="t" name="hidden"><properties><property name="refusal" value="v"/></properties>
<failure message="Request failed with status code 501">x</failure></testcase>
<testcase classname="t" name="cut"><failure message="x">..."reason":"notImplemented"}</failure>
</testcase>
<testcase classname="t" name="wrong"><failure message="assert 1 == 2">x</failure></testcase>
<testcase classname="t" name="setup"><error message="no table">x</error></testcase>
<testcase classname="t" name="slow"><failure message="x">Failed: Timeout (&gt;120.0s) from
pytest-timeout.</failure></testcase>
<testcase classname="t" name="twice"><failure message="x">local_gcp does not emulate b.</failure>
</testcase>
<testcase classname="t" name="twice"><error message="404 at the teardown">x</error></testcase>
<testcase classname="t" name="public"><failure message="x">no bigquery-public-data</failure>
</testcase>
</testsuite></testsuites>
"""


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "report.xml"
    path.write_text(REPORT)
    return path


def test_outcomes(report):
    found = {name.removeprefix("t."): c for name, (c, _) in client_suites.outcomes(report).items()}
    refused = dict.fromkeys(("told", "hidden", "cut", "twice"), "refused by name")
    wrong = dict.fromkeys(("wrong", "setup", "public"), "wrong")
    assert found == {"good": "right", "left": "skipped", "slow": "hang", **refused, **wrong}


def test_what_cannot_be_compared_is_no_failure(report):
    found = client_suites.judged("google-cloud-bigquery", report)
    assert found["t.public"][0] == "not comparable"
    assert found["t.wrong"][0] == "wrong"


def test_each_group_says_why():
    groups = client_suites.not_comparable()
    assert groups.keys() == client_suites.SUITES.keys()
    for group in (each for of_client in groups.values() for each in of_client):
        assert group["why"]
        assert ("says" in group) != ("tests" in group)
