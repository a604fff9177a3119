"""What the served model of a whole run answers: the endpoint, and a batch prediction."""

from typing import Any

from tests.airflow_side import run_dag
from tests.trellis.workflow.succession import read
from trellis.workflow.assembly import prediction


def endpoint(folder: Any, rows: Any) -> dict[str, Any]:
    """The endpoint's answer to each row, by key. folder: of the run. rows: a frame of features."""
    from google.cloud import aiplatform_v1
    from google.protobuf import json_format, struct_pb2

    client = aiplatform_v1.PredictionServiceClient(
        client_options={"api_endpoint": "us-central1-aiplatform.googleapis.com"}
    )
    instances = [json_format.ParseDict(row, struct_pb2.Value()) for row in rows.to_dict("records")]
    name = read(folder / "deployment.json")["endpoint"]
    answer = client.predict(endpoint=name, instances=instances)
    answers = [json_format.MessageToDict(one) for one in type(answer).pb(answer).predictions]
    return dict(zip(rows.index, answers, strict=True))


def in_bulk(google: Any, experiment: Any, platform: Any) -> dict[str, Any]:
    """Run the experiment's batch prediction, its first one: the table's rows, by key."""
    from google.cloud import bigquery

    ended = run_dag(prediction.build(experiment, platform))
    assert ended.state == "success", {t.task_id: str(t.state) for t in ended.get_task_instances()}
    (plan,) = (google.buckets / platform.bucket).glob("**/predictions/*/plan.json")
    client = bigquery.Client(project=platform.project, location=platform.location)
    rows = client.query_and_wait(f"SELECT * FROM `{read(plan)['output']}`")
    return {row["key"]: dict(row) for row in rows}
