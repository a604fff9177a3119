"""Loads a real table into BigQuery: scikit-learn's diabetes data, in its original units.

Runs in the trainer environment (scikit-learn and BigQuery's client live there together) with the
variables of `local_gcp env`, through Google's client. Creates the table DATASET.TABLE of 442 rows
(Efron, Hastie, Johnstone and Tibshirani, 2004; as shipped with scikit-learn):

patient      STRING, patient-001 ...
age, sex, bmi, bp, s1 ... s6   FLOAT64: years, 1 or 2, kg/m2, mmHg, six blood measurements
progression  FLOAT64: measure of the disease's progression one year later, 25 to 346

    python -m demo.diabetes_data PROJECT.DATASET.TABLE
"""

import sys

from google.cloud.bigquery import SchemaField
from sklearn.datasets import load_diabetes

from demo import tables


def main(name: str) -> None:
    tables.load(name, *table())


def table() -> tuple[list[SchemaField], list[dict]]:
    """The table's columns, and its rows as JSON values."""
    data = load_diabetes(scaled=False)
    fields = [
        SchemaField("patient", "STRING", "REQUIRED"),
        *(SchemaField(name, "FLOAT64") for name in data.feature_names),
        SchemaField("progression", "FLOAT64", "REQUIRED"),
    ]
    rows = [
        {
            "patient": f"patient-{number:03d}",
            **dict(zip(data.feature_names, map(float, values), strict=True)),
            "progression": float(target),
        }
        for number, (values, target) in enumerate(zip(data.data, data.target, strict=True), start=1)
    ]
    return fields, rows


if __name__ == "__main__":
    main(sys.argv[1])
