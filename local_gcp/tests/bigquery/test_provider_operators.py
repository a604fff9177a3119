"""The Airflow provider's own operators, synchronous and deferrable: what they return and leave."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

PROGRAMS = Path(__file__).with_name("programs")


@pytest.mark.slow
def test_the_hook_begins_a_job_and_knows_one_that_is_there(local_gcp, client, dataset):
    job_id = f"job_{dataset}"
    query = f"CREATE TABLE {dataset}.t AS SELECT 1 AS x"
    printed = local_gcp.run(PROGRAMS / "provider_hook.py", job_id, query, environment="airflow")
    answer = json.loads(printed.splitlines()[-1])
    assert answer["job"]["jobReference"]["jobId"] == job_id
    assert f"Already Exists: Job {client.project}:US.{job_id}" in answer["conflict"]
    assert client.get_job(job_id).query == query
    assert client.get_table(f"{dataset}.t").num_rows == 1


@pytest.mark.slow
def test_all_in_a_dag_run(local_gcp, client, folder):
    (folder / "in").mkdir()
    for day in (3, 4):
        lines = ["key,value,day", *(f"k{i},{i}.5,2024-01-0{day}" for i in range(2))]
        (folder / f"in/{day}.csv").write_text("\n".join(lines) + "\n")

    printed = local_gcp.run(
        PROGRAMS / "provider_operators.py", folder.name, "from_airflow", environment="airflow"
    )
    answer = json.loads(printed.splitlines()[-1])

    assert set(answer["states"].values()) == {"success"}, answer["states"]
    returned = answer["returned"]
    assert [row["__data__"] for row in returned["get_data"]] == [["k0", "1.0"], ["k1", "3.0"]]
    written = sorted((folder / "out").iterdir())
    assert [path.name for path in written] == ["rows-000000000000.parquet", "rows.csv"]
    assert pq.read_table(written[0]).to_pydict() == {"key": ["k0", "k1"], "value": [1.0, 3.0]}
    assert written[1].read_text() == "key,value\nk0,1.0\nk1,3.0\n"
    job = client.get_job(returned["deferred"])
    assert [tuple(row.values()) for row in job.result()] == [(4,)]
    assert client.get_job(returned["snapshot"]).labels["team"] == "vision"
    assert "from_airflow" not in [d.dataset_id for d in client.list_datasets()]
