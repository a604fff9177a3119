"""Batch predictions of a container: observe_batch.py BUCKET, whose dashes are none."""

import datetime
import json
import re
import sys
import zoneinfo
from pathlib import Path
from typing import Any

from google.cloud import bigquery, storage
from observing import (
    JOBS,
    MACHINE,
    MODELS,
    PARENT,
    PROJECT,
    accepted,
    client,
    ended,
    fields,
    operation,
    serving,
    show,
    states,
    tried,
    upload,
)

BUCKET = sys.argv[1]
GOOD = "\n".join(json.dumps({"a": n, "b": 1}) for n in range(70))
MIXED = "\n".join(json.dumps({"a": "bad" if n == 1 else n}) for n in range(6))
upload(
    BUCKET,
    **{"model/saved_model.pb": "x", "good.jsonl": GOOD, "mixed.jsonl": MIXED},
)
jobs, models, tables = client(JOBS), client(MODELS), bigquery.Client(PROJECT)
server = str(Path(__file__).with_name("observed_server.py"))
model = {"display_name": "observed", "artifact_uri": f"gs://{BUCKET}/model"}
model["container_spec"] = serving(server)
NAME = models.upload_model(parent=PARENT, model=model).result(timeout=60).model
tables.create_dataset(BUCKET)
for table, texts in (("good", "'c'"), ("bad", "'bad'"), ("mixed", "IF(a = 1, 'bad', 'c')")):
    numbers = "UNNEST(GENERATE_ARRAY(0, 9)) AS a"
    query = f"CREATE TABLE {BUCKET}.{table} AS SELECT a, {texts} AS text, 2.5 AS b FROM {numbers}"
    tables.query(query).result()
found: dict[str, Any] = {}


def start(source: str, output: str, **more: Any) -> Any:
    """A job from an object or a table (bq://...) to a folder or a dataset."""
    inputs: dict[str, Any] = {"instances_format": "jsonl", "gcs_source": {"uris": [source]}}
    outputs: dict[str, Any] = {
        "predictions_format": "jsonl",
        "gcs_destination": {"output_uri_prefix": output},
    }
    if source.startswith("bq:"):
        inputs = {"instances_format": "bigquery", "bigquery_source": {"input_uri": source}}
    if output.startswith("bq:"):
        outputs = {"predictions_format": "bigquery", "bigquery_destination": {"output_uri": output}}
    job = {
        "display_name": "observed",
        "model": NAME,
        "input_config": inputs | more.pop("input_config", {}),
        "output_config": outputs,
        "dedicated_resources": {"machine_spec": MACHINE, "starting_replica_count": 1},
        **more,
    }
    return jobs.create_batch_prediction_job(parent=PARENT, batch_prediction_job=job)


def predict(source: str, output: str = f"bq://{PROJECT}.{BUCKET}", **more: Any) -> Any:
    done, _ = ended(jobs.get_batch_prediction_job, start(source, output, **more))
    return done


def rows(name: str) -> list[dict[str, Any]]:
    return [dict(row) for row in tables.query(f"SELECT * FROM {BUCKET}.{name}").result()]


def bigquery_uri(name: str) -> str:
    return f"bq://{PROJECT}.{BUCKET}.{name}"


def kinds(answered: list[dict[str, Any]]) -> list[str]:
    return sorted({json.loads(row["prediction"])["kind"] for row in answered})


# To Cloud Storage.
created = start(f"gs://{BUCKET}/good.jsonl", f"gs://{BUCKET}/out")
shown = fields(created)
found["CreateBatchPredictionJob: answer"] = {
    "state": shown["state"],
    "manualBatchTuningParameters": shown.get("manualBatchTuningParameters"),
    "createTime = updateTime": shown["createTime"] == shown["updateTime"],
    "absent": [f for f in ("startTime", "outputInfo", "completionStats") if f not in shown],
}
done, answers = ended(jobs.get_batch_prediction_job, created)
found["BatchPredictionJob: states"] = states(answers)
running = fields(answers[states(answers).index("JOB_STATE_RUNNING")])
found["BatchPredictionJob while it runs"] = {
    "updateTime = startTime": running["updateTime"] == running["startTime"],
    "outputInfo": "outputInfo" in running,
}
folder = done.output_info.gcs_output_directory
_, _, stamp = folder.rpartition("-")
PACIFIC = zoneinfo.ZoneInfo("America/Los_Angeles")
form = "%Y_%m_%dT%H_%M_%S_%f"
said = datetime.datetime.strptime(stamp.removesuffix("Z"), form).replace(tzinfo=PACIFIC)
near = abs((said - done.create_time).total_seconds()) < 5
milliseconds = re.fullmatch(r"\d{4}_\d\d_\d\dT\d\d_\d\d_\d\d_\d{3}Z", stamp)
found["container: gcsOutputDirectory"] = folder.replace(f"gs://{BUCKET}/out", "PREFIX").replace(
    stamp, "<time of Los Angeles>" if near and milliseconds else stamp
)
written = {
    blob.name.rpartition("/")[2]: blob.download_as_text()
    for blob in storage.Client(PROJECT).list_blobs(BUCKET, prefix=folder.split("/", 3)[3])
}
found["container: files of jsonl"] = sorted(written)
lines = [json.loads(line) for line in written["prediction.results-00000-of-00001"].splitlines()]
found["container: line of prediction.results"] = {
    "fields": sorted(lines[0]),
    "instance as sent": sorted(line["instance"]["a"] for line in lines) == [*range(70)],
}
found["container: largest request by default"] = max(line["prediction"]["size"] for line in lines)
found["DeleteBatchPredictionJob: operation"] = operation(
    jobs.delete_batch_prediction_job(name=done.name)
)

done = predict(
    f"gs://{BUCKET}/mixed.jsonl",
    f"gs://{BUCKET}/mixed",
    manual_batch_tuning_parameters={"batch_size": 3},
    labels={"team": "vision"},
)
folder = done.output_info.gcs_output_directory.split("/", 3)[3]
errors = f"{folder}/prediction.errors_stats-00000-of-00001"
text = storage.Client(PROJECT).bucket(BUCKET).blob(errors).download_as_text()
found["container: line of prediction.errors_stats"] = text.rstrip("\n")
found["container: instances that fail with one of three in their request"] = (
    done.completion_stats.failed_count
)
found["BatchPredictionJob: labels"] = dict(done.labels)

# To BigQuery.
done = predict(bigquery_uri("mixed"), manual_batch_tuning_parameters={"batch_size": 5})
info = fields(done)["outputInfo"]
table = info["bigqueryOutputTable"]
found["container: outputInfo of BigQuery"] = {
    **info,
    "bigqueryOutputDataset": info["bigqueryOutputDataset"].replace(BUCKET, "dataset"),
}
digits = [done.name.endswith(table[-3:])]
found["container: type of column prediction"] = [
    field.field_type
    for field in tables.get_table(f"{PROJECT}.{BUCKET}.{table}").schema
    if field.name == "prediction"
]
found["container: kind of an instance of BigQuery"] = kinds(rows(table))
names = [item.table_id for item in tables.list_tables(BUCKET)]
found["container: table of errors"] = [n.replace(table, "<table>") for n in names if "error" in n]
failed = rows(f"{table}_errors")
found["container: prediction_error"] = failed[0]["prediction_error"]
done = predict(bigquery_uri("bad"))
found["container: all instances failed"] = {
    "state": done.state.name,
    "outputInfo": bool(done.output_info.bigquery_output_table),
}
digits.append(done.name.endswith(done.output_info.bigquery_output_table[-3:]))
done = predict(bigquery_uri("good"), instance_config={"included_fields": ["a", "b"]})
included = rows(done.output_info.bigquery_output_table)
found["container: kind of an instance with included_fields"] = kinds(included)
found["container: columns with included_fields"] = list(included[0])
digits.append(done.name.endswith(done.output_info.bigquery_output_table[-3:]))
found["container: digits of each table are the job's"] = all(digits)
found["container: key_field with BigQuery output"] = tried(
    lambda: start(
        bigquery_uri("good"),
        f"bq://{PROJECT}.{BUCKET}",
        instance_config={"key_field": "a"},
    )
)
found["container: a table as destination"] = accepted(
    lambda: start(bigquery_uri("good"), bigquery_uri("given"))
)
found["container: tf-record"] = accepted(
    lambda: start(
        f"gs://{BUCKET}/good.jsonl",
        f"gs://{BUCKET}/out",
        input_config={"instances_format": "tf-record"},
    )
)
show(found)
