"""Masks in a manifest and in a table: planned, frozen and checked by a real BigQuery."""

import pytest
from google.cloud import bigquery
from google.cloud.bigquery import QueryJobConfig

from tests.trellis.workflow.plans import plan_run
from tests.wording import says
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.stages import check, snapshot
from trellis.workflow.validation.file import with_changes
from trellis_contracts.withheld import shown

MASKS = {"background": 0, "cell": 255}
SEGMENTATION = {
    ("task",): "segmentation",
    ("model",): "backbone",
    ("tune",): None,
    ("train",): {
        "epochs": 2,
        "maximize": "dice",
        "timeout": "1 hour",
        "machines": {"type": "n1-standard-4"},
    },
    ("deploy",): None,
    ("predict",): None,
    ("source", "masks"): MASKS,
}
IMAGES = SEGMENTATION | {("source", "images"): "masks.csv", ("source", "size"): 64}
ROWS = SEGMENTATION | {
    ("baselines",): None,
    ("source", "bigquery"): None,
    ("source", "partition"): None,
    ("source", "label"): "mask",
    ("source", "key"): "id",
    ("source", "features"): ["photo"],
    ("source", "image_columns"): {"photo": {"size": 64}},
}


@pytest.fixture
def client(google, group):
    (google.buckets / group.bucket).mkdir(exist_ok=True)
    return bigquery.Client(project=group.project, location=group.location)


@pytest.fixture
def passed(client, group):
    """The content of columns.json of a plan, or the problems, and the warnings."""

    def passed(planned):
        for job in (snapshot.job(planned, group), check.job(planned, group)):
            statement = job["query"].pop("query")
            config = QueryJobConfig.from_api_repr(job)
            if config.destination:
                client.delete_table(config.destination, not_found_ok=True)
            rows = list(client.query_and_wait(statement, job_config=config))
        row = dict(rows[0].items())
        problems, warnings, _ = check.evaluate(row, planned, group)
        found = [*map(shown, problems)] or check.columns_json(planned, group, row["examples"])
        return found, [*map(shown, warnings)]

    return passed


@pytest.fixture
def of_lines(google, group, digits):
    """Plan a manifest of these lines, or of those that are there."""

    def plan(lines, changes=None):
        if lines:
            (google.buckets / group.bucket / "masks.csv").write_text("\n".join(lines))
        return plan_run(with_changes(digits, IMAGES | (changes or {})), group, "masks")

    return plan


def lines(count=300):
    return [f"gs://bkt/images/{n}.png,gs://bkt/masks/{n}.png" for n in range(count)]


def test_the_lines_of_a_manifest_are_images_and_masks(client, of_lines, passed):
    planned = of_lines([*lines(), "gs://bkt/images/x.png", "gs://bkt/images/y.png,cell"])
    assert (planned.dataset.examples, planned.dataset.classes) == (300, None)
    columns, warnings = passed(planned)
    assert columns["task"] == "segmentation"
    assert columns["masks"] == [{"name": "background", "value": 0}, {"name": "cell", "value": 255}]
    assert warnings == []


def test_a_group_may_stand_after_the_mask(client, of_lines, passed):
    slides = [f"{line},slide {n % 40}" for n, line in enumerate(lines())]
    columns, _ = passed(of_lines(slides, {("source", "split"): {"by": "slide"}}))
    assert columns["split"]["by"] == "slide"


def test_lines_whose_masks_have_no_address_are_rejected_and_counted(client, of_lines):
    bad = [line.replace("gs://bkt/masks", "masks") for line in lines(30)]
    with pytest.raises(SourceError) as refused:
        of_lines([*lines()[30:], *bad])
    assert "30 of 300 lines would be rejected" in str(refused.value)
    assert says(str(refused.value), "30: the mask", "gs://BUCKET/OBJECT")


def test_other_classes_are_another_dataset(client, of_lines):
    one = of_lines(lines()).dataset.fingerprint
    assert of_lines(()).dataset.fingerprint == one
    other = {("source", "masks"): {"background": 0, "cell": 1}}
    assert of_lines((), other).dataset.fingerprint != one


@pytest.mark.parametrize(
    ("mask", "problem", "warning"),
    [
        ("CONCAT('gs://bkt/', n, '.png')", None, None),
        ("IF(n < 9, NULL, CONCAT('gs://bkt/', n, '.png'))", None, "8 of 300 rows have no address"),
        ("IF(n < 99, 'here.png', CONCAT('gs://bkt/', n, '.png'))", "98 of 300 rows have no", None),
    ],
)
def test_rows_without_a_mask_are_rejected_and_counted(
    client, group, breast_cancer, passed, mask, problem, warning
):
    query = (
        f"SELECT CAST(n AS STRING) AS id, CONCAT('gs://bkt/i', n, '.png') AS photo, {mask} AS mask "
        "FROM UNNEST(GENERATE_ARRAY(1, 300)) AS n"
    )
    planned = plan_run(
        with_changes(breast_cancer, ROWS | {("source", "query"): query}), group, "masks"
    )
    found, warnings = passed(planned)
    if problem:
        assert any(problem in text for text in found), found
    else:
        assert found["label"] == {"name": "mask"}
    assert any(warning in text for text in warnings) if warning else warnings == []
