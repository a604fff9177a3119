"""Google's SDK over managed datasets: `sdk_datasets.py BUCKET FOLDER`.

Tables from CSV, images from a manifest; AutoML, a custom training, and batch predictions of an
AutoML model and of a serving container. BUCKET also names a BigQuery dataset. Prints what the SDK
says of the results.
"""

import io
import json
import sys
from pathlib import Path

from google.cloud import aiplatform, bigquery, storage
from PIL import Image
from sklearn.datasets import load_iris

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
SETS = ("training", "training", "training", "validation", "test")
USE = "labels.aiplatform.googleapis.com/ml_use"

TRAINED = """
import os, pathlib

folder = pathlib.Path(os.environ["AIP_MODEL_DIR"].replace("gs://", os.environ["GCS_ROOT"] + "/"))
folder.mkdir(parents=True)
(folder / "model.txt").write_text("trained")
"""


def iris():
    """CSV of 150 flowers with a predefined split."""
    data = load_iris()
    lines = ["sepal_length,sepal_width,petal_length,petal_width,species,ml_use"]
    for n, (row, target) in enumerate(zip(data.data, data.target, strict=True)):
        name = data.target_names[target]
        lines.append(",".join([*map(str, row), name, SETS[n % 5]]))
    return "\n".join(lines) + "\n"


def fill(bucket, tables):
    bucket.blob("iris.csv").upload_from_string(iris())
    manifest = []
    for n in range(60):
        picture = io.BytesIO()
        Image.new("RGB", (8, 8), (255, n, 0) if n % 2 else (0, n, 255)).save(picture, "PNG")
        bucket.blob(f"{n}.png").upload_from_string(picture.getvalue())
        manifest.append(f"{SETS[n // 2 % 5]},gs://{BUCKET}/{n}.png,{'red' if n % 2 else 'blue'}\n")
    bucket.blob("manifest.csv").upload_from_string("".join(manifest))
    bucket.blob("images.jsonl").upload_from_string(
        "".join(json.dumps({"content": f"gs://{BUCKET}/{n}.png"}) + "\n" for n in range(4))
    )
    tables.create_dataset(BUCKET)
    config = bigquery.LoadJobConfig(source_format="CSV", autodetect=True)
    uri = f"gs://{BUCKET}/iris.csv"
    tables.load_table_from_uri(uri, f"{BUCKET}.iris", job_config=config).result()


def automl_over_csv(answer):
    dataset = aiplatform.TabularDataset.create("iris", gcs_source=f"gs://{BUCKET}/iris.csv")
    answer["columns"] = sorted(dataset.column_names)
    model = aiplatform.AutoMLTabularTrainingJob("iris", "classification").run(
        dataset, "species", predefined_split_column_name="ml_use", budget_milli_node_hours=1000
    )
    (evaluation,) = model.list_model_evaluations()
    (explained,) = evaluation.gca_resource.model_explanation.mean_attributions
    answer["features"] = sorted(explained.feature_attributions)
    answer["auRoc"] = evaluation.metrics["auRoc"]
    job = model.batch_predict(
        "iris",
        gcs_source=f"gs://{BUCKET}/iris.csv",
        instances_format="csv",
        predictions_format="jsonl",
        gcs_destination_prefix=f"gs://{BUCKET}/out",
    )
    blobs = {blob.name.rpartition("/")[2]: blob.download_as_text() for blob in job.iter_outputs()}
    answer["files"] = sorted(blobs)
    answer["iris"] = len(blobs["prediction.results-00000-of-00001"].splitlines())
    return dataset


def custom_training(answer, folder, tables):
    aiplatform.TabularDataset.create("table", bq_source=f"bq://local-gcp.{BUCKET}.iris")
    script = Path(folder, "train.py")
    script.write_text(TRAINED)
    job = aiplatform.CustomTrainingJob(
        display_name="custom",
        script_path=str(script),
        container_uri=IMAGE,
        model_serving_container_image_uri=IMAGE,
        model_serving_container_command=["python", sys.argv[3]],
    )
    model = job.run(base_output_dir=f"gs://{BUCKET}/custom")
    query = f"CREATE TABLE {BUCKET}.numbers AS SELECT 1 AS x, 2.5 AS y UNION ALL SELECT 3, 4.0"
    tables.query(query).result()
    job = model.batch_predict(
        "numbers",
        bigquery_source=f"bq://local-gcp.{BUCKET}.numbers",
        bigquery_destination_prefix=f"bq://local-gcp.{BUCKET}",
        machine_type="n1-standard-2",
    )
    answer["numbers"] = sorted(tuple(row.values()) for row in job.iter_outputs())


def images(answer):
    dataset = aiplatform.ImageDataset.create(
        "colours",
        gcs_source=f"gs://{BUCKET}/manifest.csv",
        import_schema_uri=aiplatform.schema.dataset.ioformat.image.single_label_classification,
    )
    splits = {f"{name}_filter_split": f"{USE}={name}" for name in set(SETS)}
    model = aiplatform.AutoMLImageTrainingJob("colours").run(
        dataset, budget_milli_node_hours=8000, **splits
    )
    job = model.batch_predict(
        "colours",
        gcs_source=f"gs://{BUCKET}/images.jsonl",
        gcs_destination_prefix=f"gs://{BUCKET}/out",
    )
    (blob,) = job.iter_outputs()
    lines = [json.loads(line) for line in blob.download_as_text().splitlines()]
    answer["colours"] = [line["prediction"]["displayNames"][0] for line in lines]


def main(folder):
    bucket, tables = storage.Client().create_bucket(BUCKET), bigquery.Client()
    fill(bucket, tables)
    staging = f"gs://{BUCKET}/staging"
    aiplatform.init(project="local-gcp", location="us-central1", staging_bucket=staging)
    answer = {}
    # Other tests of this server leave datasets, too.
    kinds = {"images": aiplatform.ImageDataset, "tables": aiplatform.TabularDataset}
    before = {d.resource_name for kind in kinds.values() for d in kind.list()}
    dataset = automl_over_csv(answer)
    custom_training(answer, folder, tables)
    images(answer)
    dataset.delete()
    for name, kind in kinds.items():
        added = [d for d in kind.list() if d.resource_name not in before]
        answer[name] = [d.display_name for d in added]
    print(json.dumps(answer))


if __name__ == "__main__":
    BUCKET = sys.argv[1]
    main(sys.argv[2])
