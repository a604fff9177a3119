"""The section `predict`: what is refused in the file, the form, the page, the cost."""

import pytest

from tests.airflow_side import ROOT
from tests.trellis.workflow.prices import hourly
from tests.wording import says
from trellis.workflow.assembly import prediction
from trellis.workflow.contracts.prediction_params import apply, run_params
from trellis.workflow.pricing import cost, services
from trellis.workflow.pricing import prediction as prediction_cost
from trellis.workflow.spec.problems import FileError
from trellis.workflow.stages import compare
from trellis.workflow.validation.file import load, with_changes

TRUTH = {"truth": "SELECT sample, diagnosis FROM research.followup"}
TABLE = {"bigquery": "research.new_cells", "partition": "measured_on", "schedule": "@daily"}


@pytest.fixture
def of_images(digits):
    return lambda **predict: with_changes(digits, {("predict",): {"images": "new", **predict}})


@pytest.fixture
def of_rows(breast_cancer):
    return lambda **predict: with_changes(breast_cancer, {("predict",): {**TABLE, **predict}})


@pytest.mark.parametrize(
    ("predict", "said"),
    [
        ({}, "predict: nothing to predict; expected one of `images: FOLDER`"),
        ({"images": "a", "query": "SELECT 1"}, "predict: got images and query"),
        ({"bigquery": "a.b"}, "predict.bigquery: the models of this experiment learn from images"),
        ({"images": "a", "partition": "day"}, "predict.partition: belongs to tables"),
        ({"images": "/a"}, ("predict.images", "'/a'")),
        ({"images": "a", "output": "gs://"}, "predict.output: got 'gs://'"),
        ({"images": "a", "schedule": "daily"}, ("predict.schedule", "'daily'")),
        ({"images": "a", "timeout": "1 week"}, "predict.timeout: got '1 week'; expected"),
        ({"images": "a", "max_failed": 2}, "predict.max_failed: got 2; expected a number from 0"),
        ({"images": "a", "machine": {}}, ("predict.machine", "'machines'")),
        (
            {"images": "a", "machines": {"type": "n1-standard-3"}},
            ("predict.machines.type", "'n1-standard-3'"),
        ),
        ({"images": "a", "machines": {"replicas": 0}}, "predict.machines.replicas: got 0"),
        ({"images": "a", "machines": {"gpus": 2}}, "predict.machines.gpus: 2 of which type?"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(digits, predict, said):
    with pytest.raises(FileError) as refused:
        with_changes(digits, {("predict",): predict})
    assert says(str(refused.value), said)


def test_tables_are_named_as_bigquery_does(of_rows):
    with pytest.raises(FileError, match=r"predict.bigquery: got 'cells'; expected DATASET.TABLE"):
        of_rows(bigquery="cells")
    with pytest.raises(FileError, match=r"predict.output: got 'gs://a'; expected DATASET.TABLE"):
        of_rows(output="gs://a")


def test_the_form_starts_from_the_file(of_rows, of_images):
    params = run_params(of_rows())
    assert set(params) == {"source", "from", "to", "model", "replicas"}
    assert params["model"].value == "champion"
    assert "from" in run_params(of_images(images="new/{date}"))
    assert "from" not in run_params(of_images())
    for param in params.values():
        assert param.description
        assert param.schema["title"]
        assert param.schema["section"]


def test_a_run_changes_what_it_says(of_rows):
    changed = apply(of_rows(), {"source": "a.b", "replicas": 3})
    assert (changed.predict.bigquery, changed.predict.machines.replicas) == ("a.b", 3)
    with pytest.raises(FileError, match=r"replica: unknown parameter; did you mean 'replicas'\?"):
        apply(of_rows(), {"source": "a.b", "replicas": 3, "replica": 2})


def test_the_limit_is_machines_times_time(of_images, group):
    one = prediction_cost.at_most(of_images(timeout="2 hours"), group)
    assert one.usd == pytest.approx(2 * hourly("n1-standard-4"))
    four = of_images(timeout="2 hours", machines={"replicas": 4})
    four = prediction_cost.at_most(four, group)
    assert four.usd == pytest.approx(4 * one.usd)


def test_scoring_on_later_labels_costs_a_comparison(of_rows, group):
    without, beside = (prediction_cost.at_most(of_rows(**more), group) for more in ({}, TRUTH))
    hours = group.compare.timeout.total_seconds() / 3600
    assert beside.stages["score"] == pytest.approx(compare.per_hour(group) * hours)
    assert beside.stages["truth"] == pytest.approx(2 * cost.scan(0, group.region))
    assert beside.usd - without.usd == pytest.approx(
        beside.stages["score"] + beside.stages["truth"]
    )
    tib = prediction_cost.of_truth(group, 2**40).stages["truth"]
    assert tib == 2 * services.table(group.region).query_tib


def test_a_survival_is_scored_later_where_answers_have_what_its_metric_needs():
    survival = load(ROOT / "dags/experiments/survival.yaml")
    assert "recurred" in survival.prediction.truth

    def chosen_by(metric):
        return {("tune", "maximize"): None, ("tune", "minimize"): metric}

    assert with_changes(survival, chosen_by("horizon_brier")).metric == "horizon_brier"
    refused = r"predict.truth: 'integrated_brier', .* concordance, uno_concordance, horizon_brier,"
    with pytest.raises(FileError, match=refused):
        with_changes(survival, chosen_by("integrated_brier"))


def test_masks_are_not_scored_on_later_labels():
    cells = load(ROOT / "dags/experiments/cells.yaml")
    with pytest.raises(FileError, match=r"predict.truth: a mask's label is a file"):
        with_changes(cells, {("predict",): {"images": "new"} | TRUTH})


def chain(dag):
    return [task.task_id for task in dag.topological_sort()]


def test_the_chains(of_rows, of_images, group):
    rows = prediction.build(of_rows(), group)
    assert rows.dag_id == "breast-cancer-predict"
    assert chain(rows) == ["plan", "snapshot", "changes", "predict", "publish", "result"]
    images = prediction.build(of_images(), group)
    assert chain(images) == ["plan", "predict", "result"]
    of_later = prediction.build(of_images(**TRUTH), group)
    assert {"truth", "score", "performance", "publish"} == set(of_later.task_ids) - set(
        images.task_ids
    )
    assert of_later.get_task("publish").upstream_task_ids == {"predict"}
    beside = prediction.build(of_rows(**TRUTH), group)
    assert {"truth", "score", "performance"} == set(beside.task_ids) - set(rows.task_ids)
    assert beside.get_task("truth").upstream_task_ids == {"plan"}
    for task in [*rows.tasks, *images.tasks]:
        assert task.retries == 3
        assert task.on_failure_callback
    assert images.get_task("predict").limit == 3600


def test_a_schedule_covers_the_interval_before_it(of_rows, of_images, group):
    assert prediction.build(of_images(), group).schedule is None
    timetable = prediction.build(of_rows(), group).timetable
    assert timetable.__class__.__name__ == "CronDataIntervalTimetable"


def test_the_page_says_what_a_person_needs(of_rows, of_images, group):
    page = prediction.build(of_rows(output="research.risks"), group).doc_md
    for words in (
        "whose `measured_on` is in a run's data interval",
        "`local-gcp.research.risks_RUN`",
        "When it fails at night",
        "at most ",
    ):
        assert words in page
    later = prediction.build(of_images(**TRUTH), group).doc_md
    assert "a run from before the file had `truth` has none, and is not scored" in later
