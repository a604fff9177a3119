"""The queries about AutoML's predictions, against a real local_gcp."""

from google.cloud.bigquery import QueryJobConfig

from tests.trellis.workflow.plans import a_plan
from trellis.workflow.contracts.layout import Run
from trellis.workflow.lookups import own_dataset
from trellis.workflow.stages import automl_tables

BUCKET = "automl-tables-tests"


def test_the_export_of_predictions_reads_their_table_and_no_more(google, breast_cancer, group):
    """A table of over 10 MB, the least that BigQuery bills."""
    (google.buckets / BUCKET).mkdir()
    own_dataset.create(group)
    client = own_dataset.client(group)
    predicted = group.own_table("automl_tables_tests")
    client.query_and_wait(
        f"CREATE OR REPLACE TABLE `{predicted}` AS SELECT CONCAT(REPEAT('k', 100), n) AS key, "
        "STRUCT(['0', '1'] AS classes, [0.25, 0.75] AS scores) AS predicted_label, 1.5 AS x "
        "FROM UNNEST(GENERATE_ARRAY(1, 100000)) AS n"
    )
    plan = a_plan(breast_cancer, Run(BUCKET, "breast-cancer", "manual"))
    job = automl_tables.export(plan, group, predicted)
    size = client.get_table(predicted).num_bytes
    assert size < int(job["query"]["maximumBytesBilled"]) < 1.2 * size
    client.query(job["query"]["query"], QueryJobConfig.from_api_repr(job)).result()
    folder = plan.run.baseline("automl").removeprefix("gs://")
    assert list((google.buckets / folder / "raw").glob("predictions-*.parquet"))
