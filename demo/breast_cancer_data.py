"""Loads a real table into BigQuery: scikit-learn's breast cancer data, as a lab would have it.

Runs in the local_gcp environment (scikit-learn and BigQuery's client live there together) with the
variables of `local_gcp env`, through Google's client. Creates the table DATASET.TABLE of 569 rows
(Wisconsin Diagnostic Breast Cancer, as shipped with scikit-learn):

sample_id       STRING, sample-0001 ...
measured_on     DATE, 2024-01-01 to 2024-01-03: the table is partitioned by it
malignant       BOOL
mean_radius ... FLOAT64, 30 measurements of cell nuclei

    python -m demo.breast_cancer_data PROJECT.DATASET.TABLE
"""

import datetime
import sys

from google.api_core.exceptions import NotFound
from google.cloud import bigquery
from sklearn.datasets import load_breast_cancer

FIRST_DAY = datetime.date(2024, 1, 1)
DAYS = 3


def main(name: str) -> None:
    client = bigquery.Client(location="US")
    project, dataset, _ = name.split(".")
    try:
        print(f"{name} already exists, {client.get_table(name).num_rows} rows")
        return
    except NotFound:
        client.create_dataset(f"{project}.{dataset}", exists_ok=True)
    fields, rows = table()
    config = bigquery.LoadJobConfig(
        schema=fields,
        time_partitioning=bigquery.TimePartitioning(field="measured_on"),
        write_disposition=bigquery.WriteDisposition.WRITE_EMPTY,
    )
    # One load job: the table exists with all its rows, or not at all.
    client.load_table_from_json(rows, name, job_config=config).result()
    print(f"{len(rows)} rows are in {name}")


def table() -> tuple[list[bigquery.SchemaField], list[dict]]:
    """The table's columns, and its rows as JSON values."""
    data = load_breast_cancer()
    names = [name.replace(" ", "_") for name in data.feature_names]
    fields = [
        bigquery.SchemaField("sample_id", "STRING", "REQUIRED"),
        bigquery.SchemaField("measured_on", "DATE", "REQUIRED"),
        bigquery.SchemaField("malignant", "BOOL", "REQUIRED"),
        *(bigquery.SchemaField(name, "FLOAT64") for name in names),
    ]
    rows = []
    for number, (values, target) in enumerate(zip(data.data, data.target, strict=True)):
        rows.append(
            {
                "sample_id": f"sample-{number + 1:04d}",
                # Spread over the days in turn, so that each day has both classes.
                "measured_on": (FIRST_DAY + datetime.timedelta(days=number % DAYS)).isoformat(),
                "malignant": bool(target == list(data.target_names).index("malignant")),
                **dict(zip(names, map(float, values), strict=True)),
            }
        )
    return fields, rows


if __name__ == "__main__":
    main(sys.argv[1])
