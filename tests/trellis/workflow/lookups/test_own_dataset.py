"""The client of the group's dataset."""

from google.cloud.bigquery import QueryJobConfig

from trellis.bigquery.submission import JOB_TIMEOUT_MS
from trellis.workflow.lookups import own_dataset


def test_a_query_of_a_task_has_a_time_limit_beside_its_own(google, group):
    client = own_dataset.client(group)
    limited = QueryJobConfig(maximum_bytes_billed=20 * 2**20)
    for config in (None, limited):
        job = client.query("SELECT 1", job_config=config)
        done = client.get_job(job.job_id).configuration
        assert int(done.job_timeout_ms) == JOB_TIMEOUT_MS
    assert done.maximum_bytes_billed == 20 * 2**20
