"""Google's SDK over tables: dataset, AutoML, evaluation, batch prediction: sdk_tables.py BUCKET.

BUCKET also names a BigQuery dataset. Prints what the SDK says of the results.
"""

import csv
import io
import json
import sys

from google.cloud import aiplatform, bigquery, storage
from sklearn.datasets import load_breast_cancer

SETS = ("training", "training", "training", "validation", "test")


def table():
    """[(column, values)] of the breast-cancer table, with a key and a predefined split."""
    data = load_breast_cancer()
    columns = {
        name.replace(" ", "_"): data.data[:, i].tolist()
        for i, name in enumerate(data.feature_names)
    }
    rows = range(len(data.target))
    columns["label"] = ["benign" if value else "malignant" for value in data.target]
    columns["key"] = [f"k{row}" for row in rows]
    columns["ml_use"] = [SETS[row % 5] for row in rows]
    return columns


def as_csv(columns):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def train(source):
    dataset = aiplatform.TabularDataset.create("cells", labels={"lab": "pathology"}, **source)
    columns = sorted(dataset.column_names)
    features = [name for name in columns if name not in ("label", "key", "ml_use")]
    job = aiplatform.AutoMLTabularTrainingJob(
        "cells", "classification", column_specs=dict.fromkeys(features, "auto")
    )
    model = job.run(
        dataset,
        "label",
        predefined_split_column_name="ml_use",
        budget_milli_node_hours=1000,
        model_display_name="cells",
        model_labels={"from": next(iter(source))},
    )
    return dataset, columns, model


def evaluation(model):
    (found,) = model.list_model_evaluations()
    shown = found.metrics
    resource = found.gca_resource
    (attribution,) = resource.model_explanation.mean_attributions
    return {
        "schema": resource.metrics_schema_uri,
        "auRoc": shown["auRoc"],
        "logLoss": shown["logLoss"],
        "confidences": len(shown["confidenceMetrics"]),
        "classes": [s["displayName"] for s in shown["confusionMatrix"]["annotationSpecs"]],
        "rows": sum(map(sum, shown["confusionMatrix"]["rows"])),
        "attributed": len(attribution.feature_attributions),
    }


def main():
    bucket = storage.Client().create_bucket(BUCKET)
    columns = table()
    bucket.blob("cells.csv").upload_from_string(as_csv(columns))
    tables = bigquery.Client()
    tables.create_dataset(BUCKET)
    load = bigquery.LoadJobConfig(source_format="CSV", autodetect=True)
    tables.load_table_from_uri(
        f"gs://{BUCKET}/cells.csv", f"{BUCKET}.cells", job_config=load
    ).result()
    aiplatform.init(
        project="local-gcp", location="us-central1", staging_bucket=f"gs://{BUCKET}/staging"
    )
    dataset, names, model = train({"gcs_source": f"gs://{BUCKET}/cells.csv"})
    answer = {"columns": names, "csv": evaluation(model), "description": model.description}
    job = model.batch_predict(
        "predict-csv",
        gcs_source=f"gs://{BUCKET}/cells.csv",
        instances_format="csv",
        predictions_format="csv",
        gcs_destination_prefix=f"gs://{BUCKET}/predictions",
    )
    (blob,) = job.iter_outputs()
    answer["csv_file"] = blob.name
    answer["csv_rows"] = list(csv.DictReader(io.StringIO(blob.download_as_text())))[:2]

    _, _, model = train({"bq_source": f"bq://local-gcp.{BUCKET}.cells"})
    answer["bigquery"] = evaluation(model)
    job = model.batch_predict(
        "predict-bigquery",
        bigquery_source=f"bq://local-gcp.{BUCKET}.cells",
        bigquery_destination_prefix=f"bq://local-gcp.{BUCKET}",
        labels={"run": "one"},
    )
    info = job.output_info
    answer["table"] = f"{info.bigquery_output_dataset}.{info.bigquery_output_table}"
    answer["successful"] = job.completion_stats.successful_count
    answer["by_label"] = [
        found.display_name
        for found in aiplatform.BatchPredictionJob.list(filter='labels.run="one"')
    ]
    name = answer["table"].removeprefix("bq://")
    schema = tables.get_table(name).schema
    answer["prediction_type"] = [
        (f.name, f.field_type, [(g.name, g.field_type, g.mode) for g in f.fields])
        for f in schema
        if f.name.startswith("predicted_")
    ]
    answer["scored"] = [
        {"key": row["key"], **row["predicted_label"]}
        for row in tables.list_rows(name, max_results=3)
    ]
    answer["datasets"] = [d.display_name for d in aiplatform.TabularDataset.list()]
    dataset.delete()
    answer["left"] = len(aiplatform.TabularDataset.list())
    print(json.dumps(answer))


if __name__ == "__main__":
    (BUCKET,) = sys.argv[1:]
    main()
