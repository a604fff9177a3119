"""From one run's dataset to the next one's, against a real Cloud Storage."""

import json

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException

from tests.contracts.datasets import IMAGE, dataset
from tests.trellis.results.made import a_leaderboard
from tests.trellis.workflow.plans import plan_run
from tests.wording import says
from trellis.workflow.contracts.record import RunRecord
from trellis.workflow.lookups import records
from trellis.workflow.stages import changes
from trellis.workflow.validation.file import with_changes

EVEN = {"a": 50, "b": 50}
SKEWED = {"a": 90, "b": 10}


@pytest.fixture
def run(google, digits, group, request):
    """Runs the experiment up to its task `changes`: returns the run's changes.json.

    classes: how many train examples each has in the run's new manifest. trained: whether the run
    then comes to a leaderboard. `run.told` has what people were told, by run.
    """
    told = []
    bucket = google.buckets / "changes-tests"
    bucket.mkdir(exist_ok=True)
    name = request.node.name[5:40].replace("_", "-").strip("-")
    platform = group.model_copy(update={"bucket": bucket.name})
    refusing = {("source", "changes", "beyond"): "refuse", ("source", "images"): f"{name}.csv"}
    experiment = with_changes(digits, refusing).model_copy(update={"name": name})
    with DAG(name):
        tell = lambda context, text: told.append((context["run_id"], text))  # noqa: E731
        callable_ = changes.task(experiment, platform, tell).operator.python_callable

    def run(run_id, classes, trained=True, **conf):
        manifest = "".join(
            f"gs://changes-tests/{label}{i}.png,{label}\n"
            for label, count in classes.items()
            for i in range(count)
        )
        path = bucket / f"{name}.csv"
        # Uploaded again, it would be another dataset.
        if not path.exists() or path.read_text() != manifest:
            path.write_text(manifest)
        made = plan_run(experiment, platform, run_id, **conf)
        records.begin(platform, made.run, RunRecord.planned(made.file()))
        folder = bucket / made.dataset.uri.removeprefix("gs://changes-tests/")
        if not made.dataset.exists:
            folder.mkdir(parents=True)
            (folder / "dataset.json").write_text(json.dumps(dataset(IMAGE, classes=classes)))
        try:
            callable_(run_id=run_id)
            if trained:
                records.end(platform, made.run, a_leaderboard(), None, None)
        finally:
            path = bucket / made.run.changes.removeprefix("gs://changes-tests/")
            run.content = json.loads(path.read_text())
        return run.content

    run.told = told
    return run


def test_the_first_dataset_is_compared_with_none(run, capsys):
    content = run("first", EVEN)
    assert (content["previous"], content["findings"]) == (None, [])
    assert content["remark"].startswith("no run ")
    assert content["remark"] in capsys.readouterr().out


def test_a_change_beyond_a_limit_is_refused_before_training(run):
    run("first", EVEN)
    with pytest.raises(AirflowFailException) as refused:
        run("second", SKEWED)
    text = str(refused.value)
    assert says(text, "50.0%", "90.0%", "10 points")
    assert "Nothing was spent on training" in text
    assert "`accept_changes`" in text
    assert run.told == []  # the task fails: that is told
    # The refused run says so in its folder, too.
    assert run.content["previous"].endswith("/")
    (finding,) = run.content["findings"]
    assert finding["check"] == "classes"
    assert "the share of class a was 50.0%" in finding["text"]
    assert "/changes.json" in text


def test_a_refused_dataset_is_no_measure_for_the_next(run):
    run("first", EVEN)
    for again in ("second", "third"):
        with pytest.raises(AirflowFailException):
            run(again, SKEWED)
    assert run("fourth", {"a": 52, "b": 48})["findings"] == []


def test_a_run_that_came_to_nothing_is_no_measure_either(run):
    run("first", EVEN)
    run("second", SKEWED, trained=False, accept_changes=True)
    with pytest.raises(AirflowFailException):
        run("third", SKEWED)


def test_what_was_accepted_once_is_accepted_for_ever(run, capsys):
    run("first", EVEN)
    content = run("second", SKEWED, accept_changes=True)
    assert content["limits"]["beyond"] == "warn"
    assert [finding["check"] for finding in content["findings"]] == ["classes"]
    assert "Warning: label" in capsys.readouterr().out
    ((told, text),) = run.told
    assert told == "second"
    assert text.startswith("TRELLIS WARNING: what-was-accepted-once")
    assert says(text, "50.0%", "90.0%")
    assert run("second", SKEWED, accept_changes=True) == content  # cleared
    # The same dataset in another run.
    assert run("same-again", SKEWED)["remark"] == "a run has trained on this one before"
    assert run("later", {"a": 88, "b": 12})["findings"] == []
    with pytest.raises(AirflowFailException):
        run("back", EVEN)


def test_an_earlier_dataset_that_cannot_be_read_does_not_stop_a_run(run, google):
    previous = run("first", EVEN)
    (mark,) = (google.buckets / "changes-tests").glob("an-earlier-dataset-that*/datasets/*/*.json")
    mark.write_text('{"schema": 1}')
    content = run("second", SKEWED)
    assert "another version of Trellis" in content["remark"]
    assert previous["remark"] != content["remark"]
