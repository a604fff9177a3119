"""From a task to the page of its run."""

from types import SimpleNamespace

from trellis.workflow.assembly import training
from trellis.workflow.assembly.links import ResultsLink
from trellis.workflow.contracts.layout import Run


def test_the_link_leads_to_the_runs_folder(digits, group):
    again = digits.model_copy(update={"generation": 2})
    key = SimpleNamespace(run_id="scheduled__2026-01-01T00:00:00+00:00")
    link = ResultsLink(again.name, again.generation).get_link(None, ti_key=key)
    folder = Run.of(again, group, key.run_id).folder
    assert folder.endswith("~2")
    assert link == f"trellis/experiments/digits/runs/{folder}"


def test_tasks_keep_the_links_of_their_operators(digits, group):
    dag = training.build(digits, group)
    names = {
        name: [link.name for link in dag.get_task(name).operator_extra_links]
        for name in ("plan", "compare", "result", "tune")
    }
    assert names["plan"] == names["result"] == ["All runs: this one"]
    console = "Google Cloud console"
    assert names["compare"] == ["Vertex AI Custom Job", console, "All runs: this one"]
    assert names["tune"] == ["Vertex AI Training", console]
