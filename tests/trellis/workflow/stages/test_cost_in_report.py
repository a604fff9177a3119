"""Cost of a run in its report."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.airflow_side import ROOT
from tests.tables import row
from tests.trellis.workflow.plans import a_plan
from trellis.workflow.contracts.layout import Run
from trellis.workflow.stages import cost_in_report
from trellis.workflow.stages.cost_in_report import BEGIN, END, fill, table

TEMPLATE = ROOT / "trainer/report/templates/cost.html.j2"


def test_the_trainer_leaves_the_place():
    page = Path(TEMPLATE).read_text()
    assert page.index(BEGIN) < page.index(END)
    filled = fill(page, "12.50")
    assert "writes here" not in filled
    assert "12.50" in filled


def numbers(page, stage):
    return list(row(page, "Stage", stage).values())[1:]


def test_each_stage_with_its_limit():
    page = table({"tune": 1.5, "train": 20}, {"tune": 0.25, "train": 10.001, "<b>": 0.001}, {})
    assert numbers(page, "tune") == ["1.50", "0.25"]
    assert numbers(page, "<b>") == ["\N{EN DASH}", "< 0.01"]
    assert numbers(page, "together") == ["21.50", "10.25"]
    # On a phone the table scrolls, not the page.
    assert '<div class="scroll"><table' in page


def test_what_spot_machines_have_saved_stands_beside_it():
    page = table({"tune": 1.5, "compare": 1}, {"tune": 0.25, "compare": 1}, {"tune": 0.2})
    assert "Spot machines saved of it" in page
    assert numbers(page, "tune") == ["1.50", "0.25", "0.20"]
    assert numbers(page, "together") == ["2.50", "1.25", "0.20"]
    assert "Spot machines saved" not in table({"tune": 1.5}, {"tune": 0.25}, {})


text = st.text().filter(lambda text: "<!--" not in text)


@given(text, text, text, text, text)
def test_only_what_is_between_the_marks_changes(before, after, old, new, newer):
    page = f"{before}{BEGIN}{old}{END}{after}"
    filled = fill(page, new)
    assert filled.startswith(before + BEGIN)
    assert filled.endswith(END + after)
    assert fill(filled, newer) == fill(page, newer)
    assert fill(before + after, new) == before + after


def test_the_report_in_the_bucket(google, group, digits):
    plan = a_plan(digits, Run(group.bucket, "digits", "r"))
    folder = google.buckets / group.bucket / "cost-in-report"
    folder.mkdir(parents=True)
    uri = f"gs://{group.bucket}/cost-in-report/report.html"
    cost_in_report.write(group, uri, plan, {"tune": 0.25}, {})
    assert not (folder / "report.html").exists()
    (folder / "report.html").write_text(f"<p>{BEGIN}{END}</p>")
    cost_in_report.write(group, uri, plan, {"tune": 0.25}, {})
    assert "0.25" in (folder / "report.html").read_text()
