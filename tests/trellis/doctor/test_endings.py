"""What ends: the one file of days, the diagnosis and the page that are made of it."""

import dataclasses
import io
import re
import runpy
from datetime import date, timedelta

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.airflow_side import ROOT
from tests.wording import says
from trellis.doctor import endings
from trellis.doctor.diagnoses import endings as diagnosis
from trellis.doctor.endings import Ending, day_text, load
from trellis.doctor.findings import Diagnosis, Finding, Notice, Passed
from trellis.doctor.runner import diagnose

TODAY = date(2030, 5, 1)


@dataclasses.dataclass
class Day:
    """A Target without anything but the day, which is all that the diagnosis reads."""

    today: date = TODAY


@pytest.fixture
def ends(monkeypatch):
    """Has these entries in place of the file's; returns what is found."""

    def find(*entries):
        monkeypatch.setattr(diagnosis, "load", lambda: entries)
        return list(diagnosis.diagnose(Day()))

    return find


def used(days, **fields):
    fields = {"what": "the API", "used_for": "exports", "do": "call the other", **fields}
    return Ending(ends=TODAY + timedelta(days=days), **fields)


def test_what_is_used_is_to_be_fixed_from_half_a_year_before_its_end(ends):
    assert not any(isinstance(each, Finding) for each in ends(used(181)))
    (finding,) = ends(used(180))
    assert isinstance(finding, Finding)
    assert says(finding.problem, "28 October 2030", "180 days")
    assert "exports" in finding.why
    assert finding.fix == "call the other"
    (past,) = ends(used(-400))
    assert "ended on" in past.problem


def test_what_trellis_does_not_use_is_to_be_known_until_its_end(ends):
    (notice,) = ends(used(30, used_for="", unused="others do"))
    assert isinstance(notice, Notice)
    assert ends(used(-1, used_for="")) == []


def test_the_next_end_is_named(ends):
    passed = ends(used(2000), used(900, what="the library"), used(300, used_for=""))
    assert passed == [Passed(f"next: the library, {day_text(TODAY + timedelta(days=900))}")]


@given(st.lists(st.tuples(st.integers(-2000, 2000), st.booleans()), max_size=6))
def test_each_entry_is_reported_by_its_own_days_alone(days):
    entries = [used(n, used_for="x" if use else "") for n, use in days]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diagnosis, "load", lambda: entries)
        kinds = [type(each) for each in diagnosis.diagnose(Day())]
    assert kinds.count(Finding) == sum(use and n <= 180 for n, use in days)
    assert kinds.count(Notice) == sum(not use and 0 <= n <= 180 for n, use in days)


def test_a_notice_is_printed_and_is_nothing_to_fix(monkeypatch):
    monkeypatch.setattr(diagnosis, "load", lambda: [used(30, used_for="")])
    out = io.StringIO()
    assert diagnose(Day(), out, [Diagnosis("What ends", diagnosis.diagnose, "")]) == []
    line, problem, *_ = filter(None, out.getvalue().splitlines())
    assert re.fullmatch("What ends +good  1 to know, see below", line)
    assert "the API ends on" in problem


def test_links_of_the_page_are_words_on_a_terminal(ends):
    (finding,) = ends(
        used(3, do="see [the page](how-to/serve.md#part)", sources={"a": "https://b"})
    )
    assert finding.fix == "see the page; see https://b"


@pytest.mark.parametrize(
    "entry",
    [{"what": "no time"}, {"what": "both", "when": "soon", "used_for": "a", "unused": "b"}],
)
def test_an_entry_that_says_too_little_or_too_much_is_refused(tmp_path, entry):
    file = tmp_path / "endings.yaml"
    file.write_text(yaml.safe_dump([entry]))
    with pytest.raises(ValueError, match=entry["what"]):
        load(file)


def test_the_page_has_a_row_for_each_entry():
    """The page itself has none: one place for every day."""
    rows = list(runpy.run_path(str(ROOT / "docs/build.py"))["_endings"]())[2:]
    entries = load()
    assert len(rows) == len(entries) > 10
    for row, entry in zip(rows, entries, strict=True):
        assert row.startswith(f"| {entry.what} |")
        assert row.replace(r"\|", "").count("|") == 6
        assert entry.ends is None or day_text(entry.ends) in row
    page = (ROOT / "docs/deprecations.md").read_text()
    assert "<!-- endings -->" in page
    assert not any(day_text(entry.ends) in page for entry in entries if entry.ends)


def test_the_file_has_known_fields_alone():
    head = endings.FILE.read_text().partition("\n\n")[0]
    for field in dataclasses.fields(Ending):
        assert re.search(rf"^#   {field.name} ", head, re.MULTILINE), field.name
