"""Earlier predictions, scored by the trainer's program when their labels have arrived."""

import pytest
from google.cloud import storage

from tests.contracts.datasets import categorical, dataset, numeric
from tests.trellis.workflow.stages.prediction.conftest import BUCKET, LEARNED
from tests.wording import says
from trellis.results.index import load_index
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.stages.prediction import truth
from trellis.workflow.validation.file import with_changes

ROWS = (
    "SELECT n AS sample, CAST(MOD(n, 2) AS FLOAT64) AS x, 'early' AS stage, "
    "CURRENT_TIMESTAMP() AS `taken at` FROM UNNEST(GENERATE_ARRAY(1, 60)) AS n"
)
"""Every other row is predicted as true."""

TRUTH = "SELECT sample_id, malignant FROM truth_tests.followup; -- by now"


@pytest.fixture(scope="module")
def client(google):
    from google.cloud import bigquery

    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("truth_tests", exists_ok=True)
    client.query_and_wait(
        "CREATE OR REPLACE TABLE truth_tests.followup AS SELECT n AS sample_id, "
        "IF(n > 40, NULL, MOD(n, 2) = 1) AS malignant FROM UNNEST(GENERATE_ARRAY(1, 80)) AS n"
    )
    return client


@pytest.fixture
def made(client, predictions):
    made = predictions("later", query=ROWS, truth=TRUTH)
    learned = dataset(
        numeric("x", [0.0, 1.0] * 50),
        categorical("stage", ["early"] * 100),
        numeric("taken at", [1.0, 2.0] * 50, kind="timestamp") | {"column": "taken"},
        classes={"false": 50, "true": 50},
    )
    made.promote("champion", table=LEARNED, learned=learned, answered={"false": 50, "true": 50})
    return made


# Three whole predictions, and the trainer's program as a job, which imports its libraries.
@pytest.mark.slow
def test_predictions_are_scored_as_their_labels_arrive(made, client, states, capfd):
    first = states(made.run())
    assert (first["result"], first["truth"], first["performance"]) == (
        "success",
        "skipped",
        "skipped",
    )
    second = states(made.run())
    assert {second[name] for name in ("truth", "score", "performance")} == {"success"}
    assert "40 labels" in capfd.readouterr().out
    found = load_index(storage.Client(project="local-gcp"), BUCKET).predictions
    (scored,) = (one for one in found if one.experiment == "later" and one.performance)
    later = scored.performance
    assert (later.examples, later.groups) == (40, None)
    assert later.score.name == made.experiment.metric
    assert (later.score.value, later.score.high) == (1.0, 1.0)
    # Further labels, which are all wrong.
    client.query_and_wait(
        "UPDATE truth_tests.followup SET malignant = MOD(sample_id, 2) = 0 WHERE malignant IS NULL"
    )
    third = states(made.run())
    assert third["performance"] == "success"
    found = load_index(storage.Client(project="local-gcp"), BUCKET).predictions
    both = [one.performance for one in found if one.experiment == "later" and one.performance]
    assert [one.examples for one in both] == [60, 60]
    assert both[0].score.value < 1.0


def test_what_the_query_lacks_is_said_before_anything_is_read(made, client):
    def refused(text):
        changed = with_changes(made.experiment, {("predict", "truth"): text})
        with pytest.raises(SourceError) as error:
            truth.check(changed, client)
        return str(error.value)

    said = refused("SELECT sample_id FROM truth_tests.nowhere")
    assert "BigQuery refuses the query (predict.truth): Not found: Table" in said
    said = refused("SELECT sample_id, malignant AS malign FROM truth_tests.followup")
    assert says(said, "(predict.truth) lacks columns", "'malignant'", "'malign'")
