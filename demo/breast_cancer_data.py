"""Loads a real table into BigQuery: scikit-learn's breast cancer data, as a lab would have it.

Runs in the trainer environment (scikit-learn and BigQuery's client live there together) with the
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

from google.cloud.bigquery import SchemaField
from sklearn.datasets import load_breast_cancer

from demo import tables

FIRST_DAY = datetime.date(2024, 1, 1)
DAYS = 5


def main(name: str) -> None:
    tables.load(name, *table(), day="measured_on")


def table() -> tuple[list[SchemaField], list[dict]]:
    """The table's columns, and its rows as JSON values."""
    data = load_breast_cancer()
    names = [name.replace(" ", "_") for name in data.feature_names]
    fields = [
        SchemaField("sample_id", "STRING", "REQUIRED"),
        SchemaField("measured_on", "DATE", "REQUIRED"),
        SchemaField("malignant", "BOOL", "REQUIRED"),
        *(SchemaField(name, "FLOAT64") for name in names),
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
